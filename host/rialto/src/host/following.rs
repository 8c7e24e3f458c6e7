//! The tasks of a running host that follow something until its end, and the work from before its start.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use rialto_components::Runtime;
use rialto_engine::Recovery;
use rialto_telemetry::Lines;
use tokio::runtime::Handle;
use tokio::sync::watch;

use super::shared::Shared;
use crate::clients;
use crate::disk;
use crate::live;
use crate::log_lines::Delivery;
use crate::rule_states::RuleStates;
use crate::scheduling;
use crate::signatures::OperatorKeys;
use crate::signers::SignerNotifier;
use crate::starting::{Start, VERSION};
use crate::tls::HostTls;

/// How long all listeners except the operators' stay closed after a start, while there is work from before.
const CATCH_UP_MAX: Duration = Duration::from_secs(10);
/// The time between two checks whether that work is done.
const CATCH_UP_LOOK: Duration = Duration::from_millis(5);

/// Begin the tasks that run until `stop`.
///
/// # Errors
/// When the free disk space cannot be measured.
pub fn follow(
    shared: &Arc<Shared>,
    (signers, rule_states): (&Arc<SignerNotifier>, &Arc<RuleStates>),
    (keys, lines, tls): (OperatorKeys, Lines, &HostTls),
    start: &Start<'_>,
    (handle, stop): (&Handle, &watch::Sender<bool>),
) -> anyhow::Result<()> {
    let (engine, runtime) = (&shared.engine, &shared.runtime);
    // Before any client can send: components must remember each key, in case it is lost later.
    signers.look();
    handle.spawn(signers.clone().follow(stop.subscribe()));
    handle.spawn(shared.access.clone().follow(stop.subscribe()));
    clients::follow(shared, handle, stop);
    let denials = shared.denials.clone();
    handle.spawn(denials.follow(engine.clone(), stop.subscribe()));
    let delivery = Delivery::new(lines, engine.clone(), runtime.clone());
    handle.spawn(delivery.follow(stop.subscribe()));
    let states = rule_states.clone();
    handle.spawn(states.follow(engine.clone(), runtime.clone(), stop.subscribe()));
    keys.watch(shared.clone(), handle, stop.subscribe());
    tls.tell(shared, handle, stop.subscribe());
    let idle = start.operator.engine.instance_idle.into();
    handle.spawn(give_up_unused(runtime.clone(), idle, stop.subscribe()));
    handle.spawn(scheduling::follow(shared.clone(), stop.subscribe()));
    handle.spawn(live::follow(shared.clone(), stop.subscribe()));
    let measured = (start.store, shared.embedded.as_ref());
    disk::watch(&shared.disk, measured, handle, stop.subscribe())
        .context("looking at the free disk space")
}

/// Go on with the work that is pending from before the start.
pub fn resume(shared: &Shared, recovery: Recovery) {
    let (deliveries, requests) = recovery.counts();
    if deliveries + requests > 0 {
        tracing::info!(
            version = VERSION,
            deliveries,
            requests,
            "recovered: the host continues its pending work"
        );
    } else {
        tracing::info!(version = VERSION, "recovered: no work was pending");
    }
    shared.engine.resume(recovery);
}

/// Drop idle instances that were not used for `idle`, until told to stop.
async fn give_up_unused(runtime: Arc<Runtime>, idle: Duration, mut stop: watch::Receiver<bool>) {
    // An interval of 0 would panic.
    let mut due = tokio::time::interval(idle.max(Duration::from_millis(1)));
    due.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = due.tick() => {}
            _ = stop.wait_for(|stop| *stop) => return,
        }
        let runtime = runtime.clone();
        let given_up = tokio::task::spawn_blocking(move || runtime.give_up_unused()).await;
        if let Ok(instances @ 1..) = given_up {
            tracing::debug!(instances, "unused instances of components were dropped");
        }
    }
}

/// Wait for pending deliveries from before the start. A query must not overtake the request that it is about,
/// which was answered before the host stopped.
pub fn catch_up(shared: &Shared) {
    let until = Instant::now() + CATCH_UP_MAX;
    while shared.engine.load().turns_active > 0 {
        if shared.runtime.is_stopping() {
            return;
        }
        if Instant::now() >= until {
            tracing::warn!(
                "work from before the start is not finished yet; the host accepts new requests now"
            );
            return;
        }
        std::thread::sleep(CATCH_UP_LOOK);
    }
}
