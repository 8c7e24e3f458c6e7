//! The quarantine: entries whose signature is not good. They are kept as they came, operators are warned, and the audit log
//! has an entry about each. Nobody drops them unseen: who dismisses one has an entry too.

use rialto_sdk::documents::Collection;
use rialto_sdk::operators::{Kind, Problem};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::bindings::rialto::auditing::audit_entry_quarantined::Event;
use crate::bindings::rialto::host::auditing::{Entry, Outcome};
use crate::world::World;

/// Quarantined entries, by time and number.
pub const QUARANTINE: Collection<Quarantined> = Collection::new("quarantine");
/// How many there are.
const COUNT: Collection<Count> = Collection::new("quarantine-count");
/// The one document of that.
const ONE: &str = "count";
/// The most entries in quarantine. Beyond it nothing is taken from programs whose signature is not good.
pub const MOST: u64 = 10_000;

/// An entry that was not written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Quarantined {
    /// Its id here.
    pub id: String,
    /// Who has sent it.
    pub sender: String,
    /// When it came: UTC, milliseconds since 1970.
    pub at: u64,
    /// What is wrong with it.
    pub reason: String,
    /// The text as it came.
    pub entry: String,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Count {
    /// How many there are.
    kept: u64,
    /// How many there were, ever.
    ever: u64,
}

/// Keep an entry. Returns its id.
///
/// # Errors
/// When the quarantine is full.
pub fn keep(
    world: &mut impl World,
    sender: &str,
    text: &str,
    reason: &str,
) -> Result<String, Problem> {
    let mut count = COUNT.within(world).get_for_update(ONE).unwrap_or_default();
    if count.kept >= MOST {
        let detail = "the quarantine is full: an operator must look at it before more entries without a good signature are taken";
        return Err(Problem::new(Kind::TooMany, detail).with("most", MOST));
    }
    count.kept += 1;
    count.ever += 1;
    let at = world.now();
    let id = format!("{at:013}-{}", count.ever);
    COUNT.within(world).put(ONE, &count);
    let kept = Quarantined {
        id: id.clone(),
        sender: sender.to_owned(),
        at,
        reason: reason.to_owned(),
        entry: text.to_owned(),
    };
    QUARANTINE.within(world).put(&id, &kept);
    note(world, "audit.quarantined", &kept, Outcome::Refused);
    let line =
        format!("an entry of the audit log from `{sender}` is in quarantine as {id}: {reason}");
    world.warn(&format!("audit-quarantine:{id}"), &line);
    // Each would be a notice, and a request to the operators' webhook.
    if count.kept.is_power_of_two() || count.kept == MOST {
        world.publish(&Event {
            id: id.clone(),
            sender: kept.sender,
            reason: kept.reason,
            waiting: count.kept,
            at,
        });
    }
    Ok(id)
}

/// Remove an entry that an operator has looked at. The audit log keeps what it was.
///
/// # Errors
/// When there is none of this id.
pub fn dismiss(world: &mut impl World, id: &str) -> Result<Quarantined, Problem> {
    let found = QUARANTINE.within(world).get_for_update(id);
    let kept = found.ok_or_else(|| {
        let detail = format!("there is no entry {id} in quarantine");
        Problem::new(Kind::NotFound, detail)
    })?;
    QUARANTINE.within(world).delete(id);
    let mut count = COUNT.within(world).get_for_update(ONE).unwrap_or_default();
    count.kept = count.kept.saturating_sub(1);
    COUNT.within(world).put(ONE, &count);
    note(world, "audit.dismissed", &kept, Outcome::Done);
    Ok(kept)
}

fn note(world: &mut impl World, action: &str, kept: &Quarantined, outcome: Outcome) {
    let details = json!({ "sender": kept.sender, "at": kept.at, "entry": kept.entry });
    world.write(&Entry {
        action: action.to_owned(),
        about: format!("audit-quarantine:{}", kept.id),
        outcome,
        note: kept.reason.chars().take(250).collect(),
        details: Some(details.to_string()),
    });
}
