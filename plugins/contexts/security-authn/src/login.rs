//! Logging in: an id and a secret are compared. Wrong secrets are counted, and the operator is alerted. The audit log has who
//! was refused, bounded by the host.
//!
//! An unknown id, a wrong secret and an application that gets no tokens have one and the same answer. Who sends wrong
//! ones is slowed down ([`crate::guesses`]); others with the same id are not, so that no stranger keeps an owner out.

use rialto_sdk::auditing::{Audited, Refused};
use rialto_sdk::documents::Collection;
use serde::{Deserialize, Serialize};

use crate::applications::{Application, active, hash};
use crate::guesses::Sender;
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

/// Why nobody is logged in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wrong {
    /// Id or secret are wrong, or the application gets no tokens.
    Unknown,
    /// The sender has sent too many wrong secrets, and has to wait so many milliseconds. Nothing was compared.
    Waits(u64),
}

/// Who sends a request: the name that the connection's certificate proves, and its address.
#[derive(Debug, Clone, Copy)]
pub struct From<'a> {
    /// The name.
    pub certified: Option<&'a str>,
    /// The address.
    pub address: &'a str,
}

/// The application of this id and secret. The name that the connection's certificate proves must be the application's; a
/// wrong one is not counted for the application.
///
/// # Errors
/// See [`Wrong`].
pub fn login(
    world: &mut impl World,
    id: &str,
    secret: &str,
    from: From<'_>,
) -> Result<Application, Wrong> {
    let certified = from.certified;
    let sender = Sender::of(world, certified, from.address, id);
    if let Some(rest) = sender.waits(world) {
        return Err(Wrong::Waits(rest));
    }
    let application = active(world, id);
    let given = hash(world, id, secret);
    let kept = application.as_ref().map(|known| known.secret_hash.clone());
    let is_right = world.same(given.as_bytes(), kept.unwrap_or_default().as_bytes());
    let refused = |world: &mut _, why| {
        let known = refused(world, certified, id, why);
        sender.guessed(world, known);
        Wrong::Unknown
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
    sender.succeeded(world);
    Ok(application)
}

/// Keep who was refused: the name that the certificate proves, or else the application that was named. The id of no
/// application is a stranger's text: it is not written. Returns the id of the application, or nothing.
fn refused<'a>(world: &mut impl World, certified: Option<&str>, id: &'a str, why: &str) -> &'a str {
    let is_known = active(world, id).is_some();
    let named = if is_known { id } else { "" };
    world.refused(&Refused {
        action: "login.refused",
        source: certified.unwrap_or(named),
        about: &format!("application:{named}"),
        why,
    });
    named
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
