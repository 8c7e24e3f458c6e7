//! Logging in: an id and a secret are compared. Wrong secrets are counted, and the operator is alerted. The audit log has who
//! was refused, bounded by the host.
//!
//! An unknown id, a wrong secret and an application that gets no tokens have one and the same answer. A right secret
//! always passes: it has 256 random bits, so that guessing is hopeless, and a lock would only let a stranger who knows
//! an id keep its owner out.

use rialto_sdk::auditing::{Audited, Refused};
use rialto_sdk::documents::Collection;
use serde::{Deserialize, Serialize};

use crate::applications::{Application, active, hash};
use crate::world::World;

/// Failures since the last success, by application.
const FAILURES: Collection<Failures> = Collection::new("failures");
/// Failures in a row that are alerted first; then each time that their number has doubled.
const ALERTED: u32 = 6;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Failures {
    /// In a row.
    pub count: u32,
    /// The number at which the next alert is due.
    pub alert_at: u32,
}

/// Id or secret are wrong, or the application gets no tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wrong;

/// The application of this id and secret. `certified` is the name that the connection's certificate proves: it must be
/// the application's, and a wrong one is not counted.
///
/// # Errors
/// See [`Wrong`].
pub fn login(
    world: &mut impl World,
    id: &str,
    secret: &str,
    certified: Option<&str>,
) -> Result<Application, Wrong> {
    let application = active(world, id);
    let given = hash(world, id, secret);
    let kept = application.as_ref().map(|known| known.secret_hash.clone());
    let is_right = world.same(given.as_bytes(), kept.unwrap_or_default().as_bytes());
    let refused = |world: &mut _, why| {
        refused(world, certified, id, why);
        Wrong
    };
    let application =
        application.ok_or_else(|| refused(world, "no application that gets tokens"))?;
    if certified.is_some_and(|name| name != application.name) {
        return Err(refused(world, "the application is another's"));
    }
    if !is_right {
        failed(world, &application);
        return Err(refused(world, "a wrong secret"));
    }
    if FAILURES.within(world).get(id).is_some() {
        FAILURES.within(world).delete(id);
    }
    Ok(application)
}

/// Keep who was refused: the name that the certificate proves, or else the application that was named. The id of no
/// application is a stranger's text: it is not written.
fn refused(world: &mut impl World, certified: Option<&str>, id: &str, why: &str) {
    let is_known = active(world, id).is_some();
    let named = if is_known { id } else { "" };
    world.refused(&Refused {
        action: "login.refused",
        source: certified.unwrap_or(named),
        about: &format!("application:{named}"),
        why,
    });
}

fn failed(world: &mut impl World, application: &Application) {
    let id = &application.id;
    let before = FAILURES.within(world).get_for_update(id);
    let mut failures = before.unwrap_or(Failures {
        count: 0,
        alert_at: ALERTED,
    });
    failures.count = failures.count.saturating_add(1);
    if failures.count >= failures.alert_at {
        failures.alert_at = failures.alert_at.saturating_mul(2);
        let line = format!(
            "{} wrong secrets in a row for the application {id} of {}",
            failures.count, application.name
        );
        world.alert(&line);
        // With each alert, and not with each failure: strangers can fail as often as they like.
        let about = format!("application:{id}");
        world.audit(&Audited::refused("login.alerted", about, &line));
    }
    FAILURES.within(world).put(id, &failures);
}
