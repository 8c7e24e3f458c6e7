//! Changes of authorization: one operator asks, another one decides (choreography X-05). An approved change takes effect in
//! the turn of the decision.
//!
//! | State | Next |
//! |---|---|
//! | `PENDING` | `APPROVED` or `REJECTED`, by another operator |
//! | | `WITHDRAWN`, by its maker |
//! | | `LAPSED`, after some days |
//! | `APPROVED`, `REJECTED`, `WITHDRAWN`, `LAPSED` | none; it is removed later: [`ends`] |

pub mod apply;
pub mod asked;
pub mod ends;

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
    /// Its maker has taken it back. It has no effect.
    Withdrawn,
    /// Nobody has decided it in time. It has no effect.
    Lapsed,
}

impl State {
    /// Its name in the API.
    const fn name(self) -> &'static str {
        match self {
            Self::Pending => "PENDING",
            Self::Approved => "APPROVED",
            Self::Rejected => "REJECTED",
            Self::Withdrawn => "WITHDRAWN",
            Self::Lapsed => "LAPSED",
        }
    }
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
    /// It waits until this instant: UTC, milliseconds since 1970.
    pub lapses_at: u64,
    /// Who decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checker: Option<String>,
    /// When: UTC, milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided_at: Option<u64>,
    /// When its maker took it back: UTC, milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub withdrawn_at: Option<u64>,
}

impl Change {
    /// Its state at an instant: one that waits too long has lapsed, also while its document does not say so.
    #[must_use]
    pub fn state_at(&self, now: u64) -> State {
        match self.state {
            State::Pending if self.lapses_at <= now => State::Lapsed,
            state => state,
        }
    }

    /// The change as it is told at an instant.
    #[must_use]
    pub fn told(mut self, now: u64) -> Self {
        self.state = self.state_at(now);
        self
    }
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
    is_free(world, &asked.about())?;
    let now = world.now();
    let change = Change {
        id: world.uuid(),
        asked,
        reason,
        state: State::Pending,
        maker: caller.name.clone(),
        created_at: now,
        lapses_at: now + world.settings().waits(),
        checker: None,
        decided_at: None,
        withdrawn_at: None,
    };
    let pending = Pending {
        change: change.id.clone(),
    };
    PENDING.within(world).put(&change.asked.about(), &pending);
    ends::begin(world, &change);
    ends::tidy(world);
    Ok(change)
}

/// Check that no change of a role or subject waits. One that has waited too long lapses now.
fn is_free(world: &mut impl World, about: &str) -> Result<(), Problem> {
    let waiting = PENDING.within(world).get_for_update(about);
    let waiting = waiting.and_then(|waiting| CHANGES.within(world).get_for_update(&waiting.change));
    let Some(waiting) = waiting else {
        return Ok(());
    };
    if waiting.state_at(world.now()) != State::Pending {
        ends::lapse(world, waiting);
        return Ok(());
    }
    let other = waiting.id;
    let detail = format!("the change {other} of `{about}` waits for a decision: decide it first");
    Err(Problem::new(Kind::DuplicateRequest, detail).with("pendingRequest", other))
}

/// A change that still waits.
///
/// # Errors
/// When there is none of this id, or it no longer waits.
fn waiting(world: &mut impl World, id: &str) -> Result<Change, Problem> {
    let found = CHANGES.within(world).get_for_update(id);
    let change = found
        .ok_or_else(|| Problem::new(Kind::RequestUnknown, format!("there is no change {id}")))?;
    let detail = match change.state_at(world.now()) {
        State::Pending => return Ok(change),
        State::Approved | State::Rejected => format!("the change {id} was decided"),
        State::Withdrawn => format!("the change {id} was withdrawn by its maker"),
        State::Lapsed => format!("the change {id} has waited too long: ask for it again"),
    };
    let state = change.state_at(world.now()).name();
    Err(Problem::new(Kind::AlreadyDecided, detail).with("state", state))
}

/// Take a change back.
///
/// # Errors
/// When there is none of this id, it no longer waits, or another one asked for it.
pub fn withdraw(world: &mut impl World, caller: &Caller, id: &str) -> Result<Change, Problem> {
    let mut change = waiting(world, id)?;
    if change.maker != caller.name {
        let detail = format!(
            "`{}` asked for the change {id}, and nobody else takes it back: reject it",
            change.maker
        );
        return Err(Problem::new(Kind::RequestForeign, detail));
    }
    let now = world.now();
    change.state = State::Withdrawn;
    change.withdrawn_at = Some(now);
    ends::finish(world, &change, now);
    Ok(change)
}

/// Decide a change.
///
/// # Errors
/// When there is none of this id, it no longer waits, the caller asked for it, it is about the caller's own roles or keys,
/// or it can no longer be done. Then nothing changes.
pub fn decide(
    world: &mut impl World,
    caller: &Caller,
    id: &str,
    decision: Decision,
) -> Result<Change, Problem> {
    let mut change = waiting(world, id)?;
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
    ends::finish(world, &change, now);
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
