//! The ends of changes: a change that waits too long lapses, and a finished one is removed after some time.
//!
//! A list in the order of time says what is due. A turn that asks for a change looks at its beginning. So there are never
//! many more documents than changes of the time for which they are kept.

use rialto_sdk::documents::{Collection, Range};
use serde::{Deserialize, Serialize};

use super::{CHANGES, Change, PENDING, State};
use crate::world::World;

/// When changes lapse, or are removed, in the order of time.
pub(super) const DUE: Collection<Due> = Collection::new("changes-due");
/// The most changes that a turn has lapse or removes.
const DONE_AT_ONCE: u32 = 20;

/// A change that is due; the instant is in the document's key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Due {
    pub(super) change: String,
}

fn key(at: u64, change: &str) -> String {
    format!("{at:020}/{change}")
}

fn note(world: &mut impl World, at: u64, change: &str) {
    let due = Due {
        change: change.to_owned(),
    };
    DUE.within(world).put(&key(at, change), &due);
}

/// Write a new change, and note when it lapses.
pub fn begin(world: &mut impl World, change: &Change) {
    note(world, change.lapses_at, &change.id);
    CHANGES.within(world).put(&change.id, change);
}

/// Write a change that no longer waits since an instant, and note when it is removed.
pub fn finish(world: &mut impl World, change: &Change, at: u64) {
    let about = change.asked.about();
    let waiting = PENDING.within(world).get_for_update(&about);
    if waiting.is_some_and(|waiting| waiting.change == change.id) {
        PENDING.within(world).delete(&about);
    }
    let lapse = key(change.lapses_at, &change.id);
    DUE.within(world).delete(&lapse);
    let kept = world.settings().keeps();
    note(world, at + kept, &change.id);
    CHANGES.within(world).put(&change.id, change);
}

/// Have a change lapse.
pub fn lapse(world: &mut impl World, mut change: Change) {
    let at = change.lapses_at;
    change.state = State::Lapsed;
    finish(world, &change, at);
}

/// Have some changes lapse whose time is over, and remove some finished ones.
pub fn tidy(world: &mut impl World) {
    let end = key(world.now() + 1, "");
    let due = Range::Between((key(0, ""), end));
    let due = DUE.within(world).scan(&due, None, DONE_AT_ONCE);
    for (key, due) in due.documents {
        DUE.within(world).delete(&key);
        match CHANGES.within(world).get_for_update(&due.change) {
            Some(change) if change.state == State::Pending => lapse(world, change),
            _ => {
                CHANGES.within(world).delete(&due.change);
            }
        }
    }
}
