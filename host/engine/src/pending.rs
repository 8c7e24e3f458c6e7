//! The pending deliveries by subject, and the reminders that wait for them.
//!
//! A reminder's turn runs after every delivery about one of its subjects that was logged before the reminder
//! fell due. So a message that arrived in time is not called late because the host was slow.
//!
//! - A delivery counts as logged at the instant of the turn with which its chain of events began
//!   ([`Origin`](crate::origin::Origin)).
//! - A pending delivery is ready, running, delayed, kept for a paused component, or parked.
//! - While the delivery is parked, the reminder waits until an operator retries or drops the dead letter. A
//!   log entry says so. A dead letter does not block reminders that were set after it was parked.
//! - A turn that runs counts as a pending delivery about every subject: what it will publish is not known.
//!
//! [`Pending::earlier`] answers the same question for a component that does by hand what a reminder does.
//! There every dead letter counts.
//!
//! Nothing is polled: when a delivery ends, the reminders that wait for it are checked again.

use std::collections::HashMap;
use std::collections::hash_map::Entry as Slot;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::sync::Arc;

use crate::engine::{Engine, Shared};
use crate::ids::{Name, TurnId};
use crate::stimulus::{Cause, Delivery};
use crate::store::StoredReminder;
use crate::sync::Mutex;
use crate::time::{Clock, Timestamp};

const SHARDS: usize = 16;

/// A delivery about a subject.
struct Entry {
    id: u64,
    /// The component that it goes to.
    component: Name,
    /// When it was logged: the instant of its origin.
    since: Timestamp,
    /// The next id when it became a dead letter, if it is one.
    parked: Option<u64>,
    /// The reminders that wait for it.
    reminders: Vec<WaitingReminder>,
}

impl Entry {
    fn is_before(&self, reminder: &StoredReminder) -> bool {
        let known = self.parked.is_some_and(|next| reminder.generation >= next);
        self.since < reminder.due && !known
    }
}

/// A reminder that is due and waits for a delivery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WaitingReminder {
    pub component: Name,
    pub id: Name,
    pub generation: u64,
}

/// The delivery that a reminder waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Blocker {
    id: u64,
    is_parked: bool,
}

/// Something earlier, which a reminder would have to wait for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Earlier {
    /// A turn that began before and still runs. What it will publish is not known yet.
    Turn,
    /// A delivery that is ready, running, delayed or kept for a paused component.
    Delivery {
        /// The delivery's id.
        id: u64,
        /// The component that it goes to.
        component: Name,
    },
    /// A delivery that is parked until an operator retries or drops it.
    DeadLetter {
        /// The delivery's id.
        id: u64,
        /// The component that it goes to.
        component: Name,
    },
}

/// How many reminders wait for deliveries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub all: usize,
    /// Those that wait for a dead letter.
    pub parked: usize,
}

/// The pending deliveries, and the turns that run.
#[derive(Default)]
pub(crate) struct Pending {
    shards: [Mutex<HashMap<Name, Vec<Entry>>>; SHARDS],
    /// Turns that run and begin something, each with its instant.
    beginning: Mutex<Vec<(TurnId, Timestamp)>>,
}

impl Pending {
    fn shard(&self, subject: &str) -> &Mutex<HashMap<Name, Vec<Entry>>> {
        let hash = BuildHasherDefault::<DefaultHasher>::default().hash_one(subject);
        &self.shards[usize::try_from(hash % SHARDS as u64).unwrap_or(0)]
    }

    /// Note the begin of a turn that nothing in the log has caused. Returns its instant.
    pub fn begins(&self, turn: TurnId, clock: &dyn Clock) -> Timestamp {
        // Under the lock: a later caller of `earlier` sees this turn, or has a later clock.
        let mut beginning = self.beginning.lock();
        let now = clock.now();
        beginning.push((turn, now));
        now
    }

    /// Note the end of such a turn, after its deliveries are in the log.
    pub fn has_begun(&self, turn: TurnId) {
        let mut beginning = self.beginning.lock();
        let at = beginning.iter().position(|(one, _)| *one == turn);
        let at = at.unwrap_or_else(|| panic!("turn {turn} ends and has not begun"));
        beginning.swap_remove(at);
    }

    /// The instant before which everything that has arrived is in the log: now, or the begin of the oldest
    /// turn that runs.
    pub fn logged_until(&self, clock: &dyn Clock) -> Timestamp {
        let beginning = self.beginning.lock();
        let now = clock.now();
        let running = beginning.iter().map(|(_, at)| *at);
        running.chain([now]).min().unwrap_or(now)
    }

    /// Add a delivery, just before it is in the log.
    pub fn add(&self, delivery: &Delivery) {
        self.add_entry(delivery, None);
    }

    fn add_entry(&self, delivery: &Delivery, parked: Option<u64>) {
        if delivery.cause != Cause::Event {
            return;
        }
        for subject in &delivery.subjects {
            let mut shard = self.shard(subject).lock();
            shard.entry(subject.clone()).or_default().push(Entry {
                id: delivery.id,
                component: delivery.component.clone(),
                since: delivery.origin.logged(),
                parked,
                reminders: Vec::new(),
            });
        }
    }

    /// Add a dead letter from before this start. `next_id` is the store's next id.
    pub fn add_parked(&self, delivery: &Delivery, next_id: u64) {
        self.add_entry(delivery, Some(next_id));
    }

    /// Note that a delivery has become a dead letter. `next_id` is the engine's next id. Returns how many
    /// reminders wait for the delivery.
    fn park(&self, delivery: &Delivery, next_id: u64) -> usize {
        if delivery.cause != Cause::Event {
            return 0;
        }
        let mut waiting = 0;
        for subject in &delivery.subjects {
            let mut shard = self.shard(subject).lock();
            let entries = shard.get_mut(subject);
            let entry = entries.and_then(|all| all.iter_mut().find(|e| e.id == delivery.id));
            // An operator who is quick has retried or dropped it already.
            let Some(entry) = entry else { continue };
            entry.parked = Some(next_id);
            waiting += entry.reminders.len();
        }
        waiting
    }

    /// Remove a delivery that is over. Returns the reminders that waited for it.
    fn remove(&self, delivery: &Delivery) -> Vec<WaitingReminder> {
        if delivery.cause != Cause::Event {
            return Vec::new();
        }
        let mut waiting = Vec::new();
        for subject in &delivery.subjects {
            let mut shard = self.shard(subject).lock();
            let Slot::Occupied(mut entries) = shard.entry(subject.clone()) else {
                panic!("delivery {} is over and was not pending", delivery.id);
            };
            let at = entries.get().iter().position(|e| e.id == delivery.id);
            let at =
                at.unwrap_or_else(|| panic!("delivery {} is over, and was before", delivery.id));
            waiting.append(&mut entries.get_mut().swap_remove(at).reminders);
            if entries.get().is_empty() {
                entries.remove();
            }
        }
        waiting
    }

    /// Let a reminder wait for an earlier delivery. Returns that delivery; none if there is no earlier one.
    fn block(&self, reminder: &StoredReminder) -> Option<Blocker> {
        reminder.subjects.iter().find_map(|subject| {
            let mut shard = self.shard(subject).lock();
            let entries = shard.get_mut(subject)?;
            let entry = entries.iter_mut().find(|e| e.is_before(reminder))?;
            entry.reminders.push(WaitingReminder {
                component: reminder.component.clone(),
                id: reminder.id.clone(),
                generation: reminder.generation,
            });
            Some(Blocker {
                id: entry.id,
                is_parked: entry.parked.is_some(),
            })
        })
    }

    /// What a reminder about a subject would have to wait for, if it were due at this instant and had been set
    /// before all pending deliveries. Dead letters come first. The turn that asks and the delivery that it
    /// handles (`asks`) are left out.
    pub fn earlier(
        &self,
        (subject, due): (&str, Timestamp),
        asks: (TurnId, Option<u64>),
    ) -> Option<Earlier> {
        // Before the deliveries: a turn's deliveries are added before the turn is removed from here.
        let runs = {
            let beginning = self.beginning.lock();
            beginning
                .iter()
                .any(|(turn, at)| *turn != asks.0 && *at < due)
        };
        let shard = self.shard(subject).lock();
        let entries = shard.get(subject).into_iter().flatten();
        let before = entries.filter(|entry| entry.since < due && Some(entry.id) != asks.1);
        let found = before.max_by_key(|entry| entry.parked.is_some());
        match found {
            Some(entry) => {
                let (id, component) = (entry.id, entry.component.clone());
                Some(match entry.parked {
                    Some(_) => Earlier::DeadLetter { id, component },
                    None => Earlier::Delivery { id, component },
                })
            }
            None => runs.then_some(Earlier::Turn),
        }
    }

    /// How many reminders wait, of those for which `is_wanted` is true.
    pub fn counts(&self, is_wanted: impl Fn(&WaitingReminder) -> bool) -> Counts {
        let mut counts = Counts::default();
        for shard in &self.shards {
            let shard = shard.lock();
            for entry in shard.values().flatten() {
                let count = entry.reminders.iter().filter(|one| is_wanted(one)).count();
                counts.all += count;
                counts.parked += if entry.parked.is_some() { count } else { 0 };
            }
        }
        counts
    }
}

impl Shared {
    /// Note that deliveries are in the log from now on. Call it before a worker can run them and before the
    /// delivery that caused them is over.
    pub fn logged(&self, deliveries: &[Arc<Delivery>]) {
        for delivery in deliveries {
            self.pending.add(delivery);
        }
    }

    /// Note that a delivery is over. The reminders that waited for it are checked again.
    pub fn over(&self, delivery: &Delivery) {
        let waiting = self.pending.remove(delivery);
        if waiting.is_empty() {
            return;
        }
        let mut reminders = self.reminders.lock();
        for reminder in waiting {
            reminders.again(&reminder.component, &reminder.id, reminder.generation);
        }
    }

    /// Note that a delivery has become a dead letter.
    pub fn parked(&self, delivery: &Delivery) {
        let next_id = self.next_id.load(std::sync::atomic::Ordering::Relaxed);
        let reminders = self.pending.park(delivery, next_id);
        if reminders > 0 {
            tracing::error!(
                letter = delivery.id, subjects = ?delivery.subjects, reminders,
                "a delivery became a dead letter, and later reminders wait for it; retry or drop it, see \
                 `rialto dead-letters`"
            );
        }
    }
}

impl Engine {
    /// Let a reminder that is due wait for an earlier delivery. Returns whether it waits.
    pub(crate) fn block_reminder(&self, reminder: &StoredReminder) -> bool {
        let Some(blocker) = self.shared.pending.block(reminder) else {
            return false;
        };
        let (component, id) = (&reminder.component, &reminder.id);
        if blocker.is_parked {
            tracing::error!(
                %component, reminder = %id, letter = blocker.id, subjects = ?reminder.subjects,
                "a due reminder waits for an earlier delivery that is a dead letter; retry or drop that \
                 delivery, see `rialto dead-letters`"
            );
        } else {
            tracing::debug!(%component, reminder = %id, delivery = blocker.id, "a due reminder waits for an earlier delivery");
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::origin::Origin;
    use crate::stimulus::{Payload, Trace};

    fn delivery(id: u64, since: Option<u64>, subjects: &[&str]) -> Delivery {
        Delivery {
            id,
            cause: Cause::Event,
            component: "c".into(),
            interface: "events".into(),
            function: "f".into(),
            payload: Payload::Stored(Arc::from([])),
            by: None,
            trace: Trace::default(),
            subjects: subjects.iter().map(|s| Name::from(*s)).collect(),
            hops: 1,
            redeliveries: 0,
            origin: Origin {
                since: since.map(Timestamp),
                ..Origin::default()
            },
        }
    }

    fn reminder(due: u64, generation: u64, subjects: &[&str]) -> StoredReminder {
        StoredReminder {
            component: "c".into(),
            id: "r".into(),
            due: Timestamp(due),
            generation,
            payload: String::new(),
            subjects: subjects.iter().map(|s| Name::from(*s)).collect(),
            trace: Trace::default(),
        }
    }

    #[test]
    fn a_reminder_waits_for_earlier_deliveries_about_its_subject() {
        shuttle::check_random(
            || {
                let pending = Pending::default();
                pending.add(&delivery(7, Some(10), &["a", "b"]));
                let blocker = |id| {
                    Some(Blocker {
                        id,
                        is_parked: false,
                    })
                };
                assert_eq!(pending.block(&reminder(11, 1, &["a"])), blocker(7));
                assert_eq!(pending.block(&reminder(11, 1, &["x", "b"])), blocker(7));
                assert_eq!(pending.block(&reminder(10, 1, &["a"])), None, "not before");
                assert_eq!(pending.block(&reminder(11, 1, &["x"])), None, "of another");
                assert_eq!(pending.block(&reminder(11, 1, &[])), None, "of nothing");
                // From before a restart: nobody knows when it came.
                pending.add(&delivery(8, None, &["old"]));
                assert_eq!(pending.block(&reminder(1, 1, &["old"])), blocker(8));
            },
            1,
        );
    }

    #[test]
    fn a_waiting_reminder_is_released_only_by_its_delivery() {
        shuttle::check_random(
            || {
                let pending = Pending::default();
                let (first, second) = (
                    delivery(7, Some(10), &["a", "b"]),
                    delivery(8, Some(12), &["a"]),
                );
                pending.add(&first);
                pending.add(&second);
                let waits = reminder(20, 1, &["b"]);
                assert!(pending.block(&waits).is_some());
                assert!(pending.remove(&second).is_empty());
                assert_eq!(pending.remove(&first).len(), 1);
                assert_eq!(pending.block(&waits), None);
                assert_eq!(pending.counts(|_| true), Counts::default());
                let empty = pending.shards.iter().all(|shard| shard.lock().is_empty());
                assert!(empty, "nothing is remembered of what is over");
            },
            1,
        );
    }

    #[test]
    fn a_dead_letter_blocks_reminders_set_before_it_was_parked() {
        shuttle::check_random(
            || {
                let pending = Pending::default();
                let parked = delivery(7, Some(10), &["a"]);
                pending.add(&parked);
                assert!(pending.block(&reminder(20, 5, &["a"])).is_some());
                assert_eq!(pending.park(&parked, 100), 1);
                let later = pending.block(&reminder(20, 99, &["a"]));
                let expected = Blocker {
                    id: 7,
                    is_parked: true,
                };
                assert_eq!(later, Some(expected));
                assert_eq!(pending.block(&reminder(20, 100, &["a"])), None);
                let counts = pending.counts(|_| true);
                assert_eq!((counts.all, counts.parked), (2, 2));
                assert_eq!(pending.remove(&parked).len(), 2);
            },
            1,
        );
    }

    #[test]
    fn earlier_names_dead_letters_first() {
        shuttle::check_random(
            || {
                let pending = Pending::default();
                let me = (TurnId(1), None);
                let at = |due| ("a", Timestamp(due));
                assert_eq!(pending.earlier(at(99), me), None);
                let (first, second) =
                    (delivery(7, Some(10), &["a"]), delivery(8, Some(12), &["a"]));
                pending.add(&first);
                pending.add(&second);
                let component: Name = "c".into();
                let ready = |id| {
                    let component = component.clone();
                    Some(Earlier::Delivery { id, component })
                };
                assert_eq!(pending.earlier(at(10), me), None, "not before");
                assert_eq!(pending.earlier(("b", Timestamp(99)), me), None);
                assert_eq!(pending.earlier(at(11), me), ready(7));
                assert_eq!(
                    pending.earlier(at(11), (TurnId(1), Some(7))),
                    None,
                    "its own"
                );
                assert_eq!(pending.park(&first, 100), 0, "no reminder waits");
                let letter = Earlier::DeadLetter {
                    id: 7,
                    component: component.clone(),
                };
                assert_eq!(pending.earlier(at(99), me), Some(letter));
                let _ = pending.remove(&first);
                assert_eq!(pending.earlier(at(99), me), ready(8));
                let _ = pending.remove(&second);
                assert_eq!(pending.earlier(at(99), me), None);
            },
            1,
        );
    }
}
