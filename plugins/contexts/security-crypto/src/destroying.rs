//! Destroying keys at their providers, after two operators have decided it.
//!
//! | Step | What happens |
//! |---|---|
//! | 1 | The turn of the second operator's decision moves the reference from the key to a destruction ([`begin`]), and sets a reminder. From here on nothing uses the key and nothing takes the decision back. |
//! | 2 | The reminder's turn asks the provider (`try_now`). The host does so only when the decision is on disk. |
//! | 3 | If the provider has destroyed the key, the destruction is removed, and the reference with it. Otherwise another reminder is set, after a pause that doubles up to an hour. |
//!
//! If the turn of step 2 fails after the provider's answer, or the host ends, step 2 is repeated. A key that is gone is
//! no error.
//!
//! The key's document has the state `DESTROYED` from step 1 on, because earlier releases do not know another one. A key
//! with a destruction is told as `DESTROYING`. After a rollback an earlier release shows `DESTROYED` and asks nobody;
//! when a release with this module becomes current again, it goes on ([`resume`]).

use rialto_sdk::documents::{Collection, Range, Store};
use serde::{Deserialize, Serialize};

use crate::bindings::rialto::host::keys::KeyError;
use crate::keys::{KEYS, Key, State};
use crate::words::problem;
use crate::world::World;

/// Destructions that are not done, by the ids of their keys.
pub const DESTRUCTIONS: Collection<Destruction> = Collection::new("destructions");

/// What the ids of reminders begin with. The key's id follows.
const REMINDER: &str = "destroy/";
/// The pause after the first failure, in milliseconds. It doubles with each further one.
const PAUSE_MS_MIN: u64 = 1_000;
/// The longest pause, in milliseconds: an hour.
const PAUSE_MS_MAX: u64 = 3_600_000;
/// From this failure on, operators are alerted of each: it comes about 15 seconds after the first.
const ALERTED_FROM: u32 = 5;
/// Destructions that one activation resumes.
const RESUMED_MAX: u32 = 256;
/// The longest text of a failure, in bytes.
const FAILURE_BYTES_MAX: usize = 500;

/// A destruction that is not done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Destruction {
    /// The host's reference of the key. It is never told.
    pub reference: String,
    /// How often the provider was asked, without success.
    pub tries: u32,
    /// When it was asked last: UTC, milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_tried_at: Option<u64>,
    /// Why that had no success.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// When it is asked next: UTC, milliseconds since 1970.
    pub next_try_at: u64,
}

/// What operators see of a destruction.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Progress {
    tries: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_tried_at: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    failure: Option<String>,
    next_try_at: u64,
}

/// What operators see of a key: all but its reference.
#[derive(Debug, Serialize)]
pub struct Told {
    #[serde(flatten)]
    key: Key,
    #[serde(skip_serializing_if = "Option::is_none")]
    destruction: Option<Progress>,
}

impl Told {
    /// The key's id.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.key.id
    }
}

/// What is told of a key.
pub fn told(store: &mut impl Store, mut key: Key) -> Told {
    key.reference = None;
    key.state = state(store, &key);
    let destruction = match key.state {
        State::Destroying => DESTRUCTIONS.within(store).get(&key.id),
        _ => None,
    };
    Told {
        key,
        destruction: destruction.map(|destruction| Progress {
            tries: destruction.tries,
            last_tried_at: destruction.last_tried_at,
            failure: destruction.failure,
            next_try_at: destruction.next_try_at,
        }),
    }
}

/// The state of a key: its document's, or `DESTROYING`.
pub fn state(store: &mut impl Store, key: &Key) -> State {
    match key.state {
        State::Destroyed if DESTRUCTIONS.within(store).get(&key.id).is_some() => State::Destroying,
        state => state,
    }
}

/// Have the key of this id and reference destroyed, in a turn that follows this one.
pub fn begin(world: &mut impl World, id: &str, reference: String) {
    let destruction = Destruction {
        reference,
        tries: 0,
        last_tried_at: None,
        failure: None,
        next_try_at: world.now(),
    };
    wait(world, id, &destruction);
}

/// Ask the provider now instead of when it would be asked next.
pub fn hurry(world: &mut impl World, id: &str) {
    let now = world.now();
    if let Some(mut destruction) = DESTRUCTIONS.within(world).get_for_update(id) {
        destruction.next_try_at = now;
        wait(world, id, &destruction);
    }
}

/// Go on with destructions whose reminders may have been lost, because a release was current that does not handle
/// them.
pub fn resume(world: &mut impl World) {
    let now = world.now();
    let all = DESTRUCTIONS
        .within(world)
        .scan(&Range::All, None, RESUMED_MAX);
    for (id, _) in all.documents {
        world.remind(&format!("{REMINDER}{id}"), now);
    }
}

/// A reminder has come due.
pub fn reminded(world: &mut impl World, reminder: &str) {
    match reminder.strip_prefix(REMINDER) {
        Some(id) => try_now(world, id),
        None => world.alert(&format!("the unknown reminder {reminder:?} is ignored")),
    }
}

/// Ask the provider to destroy a key. The turn has no other effect, because the provider's may come without it.
fn try_now(world: &mut impl World, id: &str) {
    let Some(destruction) = DESTRUCTIONS.within(world).get_for_update(id) else {
        // An earlier try had success.
        return;
    };
    let key = KEYS.within(world).get_for_update(id);
    let Some(mut key) = key.filter(|key| key.state == State::Destroyed) else {
        let line = format!("the key {id} is not destroyed, because its document does not say so");
        return world.alert(&line);
    };
    match world.destroy(&destruction.reference) {
        Ok(()) => {
            key.destroyed_at = Some(world.now());
            KEYS.within(world).put(id, &key);
            DESTRUCTIONS.within(world).delete(id);
        }
        Err(error) => failed(world, &key, destruction, error),
    }
}

fn failed(world: &mut impl World, key: &Key, mut destruction: Destruction, error: KeyError) {
    let now = world.now();
    let mut failure = problem(error).detail;
    failure.truncate(failure.floor_char_boundary(FAILURE_BYTES_MAX));
    destruction.tries = destruction.tries.saturating_add(1);
    destruction.last_tried_at = Some(now);
    destruction.next_try_at = now.saturating_add(pause_ms(destruction.tries));
    if destruction.tries >= ALERTED_FROM {
        let line = format!(
            "the key {} could not be destroyed at its provider `{}` in {} tries, and may still be there: {failure}. \
             Nothing uses it. The host tries again in {} s",
            key.id,
            key.provider,
            destruction.tries,
            pause_ms(destruction.tries) / 1_000
        );
        world.alert(&line);
    }
    destruction.failure = Some(failure);
    wait(world, &key.id, &destruction);
}

/// The pause after this many failures, in milliseconds.
fn pause_ms(tries: u32) -> u64 {
    let doublings = tries.saturating_sub(1).min(32);
    (PAUSE_MS_MIN << doublings).min(PAUSE_MS_MAX)
}

/// Keep a destruction until its next try.
fn wait(world: &mut impl World, id: &str, destruction: &Destruction) {
    DESTRUCTIONS.within(world).put(id, destruction);
    world.remind(&format!("{REMINDER}{id}"), destruction.next_try_at);
}
