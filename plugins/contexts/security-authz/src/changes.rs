//! Changes of authorization: one operator asks, another one decides (choreography X-05). An approved change takes effect in
//! the turn of the decision.
//!
//! | State | Next |
//! |---|---|
//! | `PENDING` | `APPROVED` or `REJECTED`, by another operator |
//! | `APPROVED`, `REJECTED` | none |

pub mod apply;
pub mod asked;

use rialto_sdk::documents::Collection;
use rialto_sdk::operators::{Caller, Kind, Problem};
use serde::{Deserialize, Serialize};

use crate::bindings::rialto::security_authz::privileges_changed::Event;
use crate::world::World;
pub use asked::Asked;

/// Changes, by id.
pub const CHANGES: Collection<Change> = Collection::new("changes");
/// The change that waits, by what it is about.
const PENDING: Collection<Pending> = Collection::new("pending-changes");
/// The longest reason, in characters.
const REASON_CHARS_MAX: usize = 256;

/// The state of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum State {
    /// It waits for a decision.
    Pending,
    /// It took effect.
    Approved,
    /// It has no effect.
    Rejected,
}

/// A decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Decision {
    /// Yes.
    Approve,
    /// No.
    Reject,
}

/// A change that somebody asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Change {
    /// A UUID.
    pub id: String,
    /// What is to change.
    #[serde(rename = "change")]
    pub asked: Asked,
    /// Why.
    pub reason: String,
    /// Its state.
    pub state: State,
    /// Who asked.
    pub maker: String,
    /// When: UTC, milliseconds since 1970.
    pub created_at: u64,
    /// Who decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checker: Option<String>,
    /// When: UTC, milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided_at: Option<u64>,
}

/// Names the change that waits.
#[derive(Debug, Serialize, Deserialize)]
struct Pending {
    change: String,
}

/// Ask for a change.
///
/// # Errors
/// When it is malformed, changes nothing, is about the caller's own roles, or another one about the same waits.
pub fn ask(
    world: &mut impl World,
    caller: &Caller,
    asked: Asked,
    reason: String,
) -> Result<Change, Problem> {
    let length = reason.chars().count();
    if !(1..=REASON_CHARS_MAX).contains(&length) || reason.chars().any(char::is_control) {
        let detail =
            format!("`reason` must have 1 to {REASON_CHARS_MAX} characters, no control characters");
        return Err(Problem::new(Kind::Malformed, detail));
    }
    not_about(&asked, caller)?;
    asked.check(world)?;
    let change = Change {
        id: world.uuid(),
        asked,
        reason,
        state: State::Pending,
        maker: caller.name.clone(),
        created_at: world.now(),
        checker: None,
        decided_at: None,
    };
    let about = change.asked.about();
    let pending = Pending {
        change: change.id.clone(),
    };
    if !PENDING.within(world).insert_if_absent(&about, &pending) {
        let other = PENDING.within(world).get(&about);
        let other = other.map(|pending| pending.change).unwrap_or_default();
        let detail =
            format!("the change {other} of `{about}` waits for a decision: decide it first");
        return Err(Problem::new(Kind::DuplicateRequest, detail).with("pendingRequest", other));
    }
    CHANGES.within(world).put(&change.id, &change);
    Ok(change)
}

/// Decide a change.
///
/// # Errors
/// When there is none of this id, it was decided, the caller asked for it, it is about the caller's own roles or keys, or
/// it can no longer be done. Then nothing changes.
pub fn decide(
    world: &mut impl World,
    caller: &Caller,
    id: &str,
    decision: Decision,
) -> Result<Change, Problem> {
    let found = CHANGES.within(world).get_for_update(id);
    let mut change = found
        .ok_or_else(|| Problem::new(Kind::RequestUnknown, format!("there is no change {id}")))?;
    if change.state != State::Pending {
        let detail = format!("the change {id} was decided");
        return Err(Problem::new(Kind::AlreadyDecided, detail));
    }
    if change.maker == caller.name {
        let detail = "nobody decides what they asked for themselves";
        return Err(Problem::new(Kind::MakerIsChecker, detail));
    }
    not_about(&change.asked, caller)?;
    let now = world.now();
    change.checker = Some(caller.name.clone());
    change.decided_at = Some(now);
    let about = change.asked.about();
    if decision == Decision::Approve {
        // A refused approval leaves all as it is.
        change.asked.check(world)?;
    }
    let waiting = PENDING.within(world).get_for_update(&about);
    if waiting.is_some_and(|waiting| waiting.change == id) {
        PENDING.within(world).delete(&about);
    }
    if decision == Decision::Reject {
        change.state = State::Rejected;
    } else {
        apply::apply(world, &change, now);
        change.state = State::Approved;
        world.changed(&Event {
            request: change.id.clone(),
            kind: change.asked.kind(),
            about,
            summary: change.asked.summary(),
            maker: change.maker.clone(),
            checker: caller.name.clone(),
            changed_at: now,
        });
    }
    CHANGES.within(world).put(id, &change);
    Ok(change)
}

/// Nobody asks for roles or keys of their own, or decides about them.
fn not_about(asked: &Asked, caller: &Caller) -> Result<(), Problem> {
    if asked.is_about(&caller.name) {
        let detail = "this is about your own roles or keys: two others must ask and decide";
        return Err(Problem::new(Kind::OwnRoles, detail));
    }
    Ok(())
}
