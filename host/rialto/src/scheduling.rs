//! The task that brings scheduled releases into force ([`crate::releases`] says how).

use std::sync::Arc;
use std::time::Duration;

use rialto_store_sqlite::Outcome;
use tokio::sync::watch;

use crate::audit::AuditedAction;
use crate::host::Shared;

/// The time between two looks at the clock.
const LOOK: Duration = Duration::from_millis(250);

/// Look at the clock until the host stops.
pub(crate) async fn follow(shared: Arc<Shared>, mut stop: watch::Receiver<bool>) {
    let mut due = tokio::time::interval(LOOK);
    due.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = due.tick() => {}
            _ = stop.wait_for(|stop| *stop) => return,
        }
        let shared = shared.clone();
        let looked = tokio::task::spawn_blocking(move || {
            let brought = shared.releases.look_ahead(&shared.engine);
            audit(&shared, brought.as_slice());
        });
        if let Err(error) = looked.await {
            tracing::error!(%error, "looking for scheduled releases failed; it is tried again");
        }
    }
}

/// Note in the audit log that scheduled releases are in force.
pub(crate) fn audit(shared: &Shared, releases: &[u64]) {
    for number in releases {
        let about = format!("release {number}");
        let audited = AuditedAction::new("release-in-force", &about);
        let outcome = Outcome::Done(format!("release {number} is current, as it was scheduled"));
        shared.audit.of_host(vec![(audited, outcome)]);
    }
}
