//! The engine's interface for operators: load, counters, and decisions about dead letters.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::commit::Executed;
use crate::engine::Engine;
use crate::fatal::Critical;
use crate::ids::{Lsn, Name, TurnId};
use crate::origin::Origin;
use crate::stimulus::{Cause, Delivery, Failure, Waiter};
use crate::store::{AuditEntry, DeadLetter, StoreError};
use crate::subscriber::{Paused, Waiting};
use crate::time::Timestamp;

/// Counters since the start, for metrics.
#[derive(Debug, Default)]
pub struct Counters {
    /// Turns executed.
    pub executed: AtomicU64,
    /// Runs that failed.
    pub failed: AtomicU64,
    /// Runs that were interrupted by other turns.
    pub conflicts: AtomicU64,
    /// Calls of services outside the host that were begun.
    pub outside_calls: AtomicU64,
    /// Deliveries that became dead letters.
    pub dead_letters: AtomicU64,
    /// Groups written.
    pub commits: AtomicU64,
    /// Turns in those groups.
    pub committed_turns: AtomicU64,
    /// Documents written in those groups.
    pub documents_written: AtomicU64,
    /// Deliveries that were still pending when their group was written.
    pub deliveries_written: AtomicU64,
    /// Microseconds spent writing groups.
    pub commit_us: AtomicU64,
    /// Requests refused because the engine was behind.
    pub refused: AtomicU64,
    /// Pauses of components with which deliveries failed.
    pub pauses: AtomicU64,
}

/// How full the engine is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Load {
    /// Turns ready or running.
    pub turns_active: usize,
    /// Turns that are not done: ready, running, queued for a document, or waiting for a service outside the host,
    /// for a retry or for a paused component.
    pub turns_alive: usize,
    /// Turns that wait for a service outside the host.
    pub turns_outside: usize,
    /// Deliveries that wait for a retry.
    pub turns_delayed: usize,
    /// Deliveries that are kept for a component that is paused or draining.
    pub turns_kept: usize,
    /// Those of both that are only on disk.
    pub turns_on_disk: usize,
    /// Components that are paused.
    pub components_paused: usize,
    /// Executed turns that wait for the disk.
    pub turns_uncommitted: usize,
    /// Reminders that wait.
    pub reminders: usize,
    /// Reminders that are due and wait for earlier deliveries about the same subject.
    pub reminders_blocked: usize,
    /// Those that wait for a dead letter.
    pub reminders_blocked_by_letters: usize,
    /// Outbound requests, in memory.
    pub outbound: usize,
    /// Those of them that wait for the answer to the request that caused them.
    pub outbound_behind_answers: usize,
    /// Outbound requests that wait on disk, each for room at its destination.
    pub outbound_on_disk: usize,
    /// Bytes of documents in memory.
    pub document_bytes: usize,
}

/// What an operator decides about a dead letter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Try it again.
    Retry,
    /// Remove it.
    Drop,
}

/// The outcome of a decision about a dead letter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecisionOutcome {
    /// The decision is on disk.
    Done,
    /// There is no such dead letter.
    Unknown,
    /// Another decision about the same letter is being written.
    UnderWay,
}

/// Dead letters that one decision may be about: each is written once more in one group.
pub const DECISIONS_MAX: usize = 1_000;

/// Selects dead letters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LetterFilter {
    /// Those to this component; none for all.
    pub component: Option<Name>,
    /// Those given up at this instant or later.
    pub since: Option<Timestamp>,
    /// Those given up before this instant.
    pub before: Option<Timestamp>,
}

impl LetterFilter {
    fn has(&self, letter: &DeadLetter) -> bool {
        let component = self.component.as_ref();
        component.is_none_or(|component| *component == letter.delivery.component)
            && self.since.is_none_or(|since| letter.at >= since)
            && self.before.is_none_or(|before| letter.at < before)
    }
}

impl Engine {
    /// Dead letters, oldest first.
    pub fn dead_letters(&self) -> Result<Vec<DeadLetter>, StoreError> {
        self.shared.environment.store.dead_letters()
    }

    /// Try a dead letter again, or drop it. The waiter is called once, after the commit that holds
    /// the decision, and gets a [`DecisionOutcome`].
    ///
    /// Only one decision about a letter is under way at a time. A second one would read the letter before
    /// the first is written, and its effect would happen twice.
    pub fn decide_dead_letter(&self, id: u64, decision: Decision, waiter: Waiter) {
        let _critical = Critical::begin();
        let shared = &self.shared;
        if shared.failed.get().is_some() {
            return waiter(Err(Failure::Shutdown));
        }
        if !shared.deciding.lock().insert(id) {
            return waiter(Ok(Box::new(DecisionOutcome::UnderWay)));
        }
        // Read after it is known that no other decision about it is under way.
        let found = self.dead_letters().map(|all| {
            let mut all = all.into_iter();
            all.find(|letter| letter.delivery.id == id)
        });
        let letter = match found {
            Ok(Some(letter)) => letter,
            other => {
                shared.deciding.lock().remove(&id);
                return waiter(match other {
                    Err(error) => Err(Failure::Store(error.to_string())),
                    Ok(_) => Ok(Box::new(DecisionOutcome::Unknown)),
                });
            }
        };
        let mut executed = Executed {
            dead_letters_removed: vec![id],
            ..Executed::default()
        };
        let delivery = (decision == Decision::Retry).then(|| self.revived(&letter));
        executed.deliveries.extend(delivery.clone());
        let now_us = shared.environment.clock.monotonic_us();
        let engine = self.weak();
        let told: Waiter = Box::new(move |outcome| {
            if let Some(engine) = engine.get() {
                let was = engine.shared.deciding.lock().remove(&id);
                assert!(was, "letter {id} is decided, and no decision was under way");
            }
            waiter(outcome);
        });
        let reply = Box::new(DecisionOutcome::Done);
        match shared.log.append(executed, Some((told, reply)), now_us) {
            Ok(_) => {
                shared.logged(delivery.as_slice());
                shared.over(&letter.delivery);
                if let Some(delivery) = delivery {
                    self.enqueue_delivery(delivery);
                }
            }
            Err(refused) => refused.tell(),
        }
    }

    /// Retry or drop the selected dead letters, oldest first and at most [`DECISIONS_MAX`]. Letters about which
    /// another decision is under way are left out. The waiter is called once, after the commit of the decision.
    /// It gets the number of letters, a `usize`; 0 when none is left.
    pub fn decide_dead_letters(&self, which: &LetterFilter, decision: Decision, waiter: Waiter) {
        let _critical = Critical::begin();
        let shared = &self.shared;
        if shared.failed.get().is_some() {
            return waiter(Err(Failure::Shutdown));
        }
        let mut deciding = shared.deciding.lock();
        // Read while no other decision about any of them can begin.
        let letters = match self.dead_letters() {
            Ok(letters) => letters,
            Err(error) => {
                drop(deciding);
                return waiter(Err(Failure::Store(error.to_string())));
            }
        };
        let letters: Vec<DeadLetter> = letters
            .into_iter()
            .filter(|letter| which.has(letter) && !deciding.contains(&letter.delivery.id))
            .take(DECISIONS_MAX)
            .collect();
        let ids: Vec<u64> = letters.iter().map(|letter| letter.delivery.id).collect();
        deciding.extend(&ids);
        drop(deciding);
        let count = ids.len();
        if count == 0 {
            return waiter(Ok(Box::new(count)));
        }
        let mut executed = Executed {
            dead_letters_removed: ids.clone(),
            ..Executed::default()
        };
        if decision == Decision::Retry {
            let revived = letters.iter().map(|letter| self.revived(letter));
            executed.deliveries.extend(revived);
        }
        let deliveries = executed.deliveries.clone();
        let engine = self.weak();
        let told: Waiter = Box::new(move |outcome| {
            if let Some(engine) = engine.get() {
                let mut deciding = engine.shared.deciding.lock();
                for id in &ids {
                    let was = deciding.remove(id);
                    assert!(was, "letter {id} is decided, and no decision was under way");
                }
            }
            waiter(outcome);
        });
        let now_us = shared.environment.clock.monotonic_us();
        let reply = Box::new(count);
        match shared.log.append(executed, Some((told, reply)), now_us) {
            // Released in order, as the queue has room.
            Ok(lsn) => {
                shared.logged(&deliveries);
                for letter in &letters {
                    shared.over(&letter.delivery);
                }
                for delivery in deliveries {
                    let (id, component) = (delivery.id, delivery.component.clone());
                    let turn = TurnId(shared.fresh_id());
                    let waiting = Waiting::new(delivery, Origin::default(), turn, lsn);
                    shared.waiting.keep(&component, id, waiting, &shared.limits);
                }
            }
            Err(refused) => refused.tell(),
        }
    }

    /// A dead letter's delivery, to be retried. It is an event from now on: the reminder or outbound request
    /// that caused it is no longer in the store.
    fn revived(&self, letter: &DeadLetter) -> Arc<Delivery> {
        Arc::new(Delivery {
            id: self.shared.fresh_id(),
            cause: Cause::Event,
            hops: 0,
            redeliveries: 0,
            ..(*letter.delivery).clone()
        })
    }

    /// How many outbound requests wait on disk, by destination (host and port). Destinations without any are left
    /// out.
    pub fn outbound_on_disk(&self) -> HashMap<Name, usize> {
        self.shared.outbound_queues.on_disk_by_destination()
    }

    /// The components that are paused, in the order of their names.
    pub fn paused(&self) -> Vec<Paused> {
        let now_us = self.shared.environment.clock.monotonic_us();
        self.shared.waiting.paused(now_us)
    }

    /// Why the engine has stopped, if it has.
    pub fn failure(&self) -> Option<&StoreError> {
        self.shared.failed.get()
    }

    /// Counters since the start.
    pub fn counters(&self) -> &Counters {
        &self.shared.counters
    }

    /// How full the engine is.
    pub fn load(&self) -> Load {
        let shared = &self.shared;
        let waiting = shared.waiting.counts();
        let blocked = shared.pending.counts(|one| {
            let reminders = shared.reminders.lock();
            reminders.is_current(&one.component, &one.id, one.generation)
        });
        let behind_answers = shared.answers.waiting();
        let all_waiting = waiting.delayed + waiting.kept;
        Load {
            turns_active: shared.queue.active(),
            turns_alive: shared.queue.alive() + all_waiting,
            turns_outside: shared.queue.outside.load(Ordering::Relaxed),
            turns_delayed: waiting.delayed,
            turns_kept: waiting.kept,
            turns_on_disk: all_waiting.saturating_sub(waiting.in_memory),
            components_paused: waiting.paused,
            turns_uncommitted: shared.log.uncommitted(),
            reminders: shared.reminders.lock().waiting(),
            reminders_blocked: blocked.all,
            reminders_blocked_by_letters: blocked.parked,
            outbound: shared.outbound_queues.in_memory() + behind_answers,
            outbound_behind_answers: behind_answers,
            outbound_on_disk: shared.outbound_queues.on_disk(),
            document_bytes: shared.documents.bytes(),
        }
    }

    /// For how long the oldest executed turn that is not on disk has waited; none if all are.
    pub fn oldest_uncommitted(&self) -> Option<Duration> {
        let now_us = self.shared.environment.clock.monotonic_us();
        self.shared.log.oldest_waits(now_us)
    }

    /// Write an entry of the audit log that belongs to no turn. It is on disk with the next group;
    /// [`Engine::wait_until_durable`] waits for that.
    ///
    /// # Errors
    /// When it never will be, because the host ends.
    pub fn audit(&self, entry: AuditEntry) -> Result<(), Failure> {
        let _critical = Critical::begin();
        let shared = &self.shared;
        let executed = Executed {
            audit: vec![entry],
            ..Executed::default()
        };
        let now_us = shared.environment.clock.monotonic_us();
        let appended = shared.log.append(executed, None, now_us);
        appended.map(drop).map_err(|refused| {
            refused.tell();
            Failure::Shutdown
        })
    }

    /// Wait until all turns that are executed now are on disk. Who is shown executed state may rely on it
    /// after this: a crash does not take it back.
    ///
    /// # Errors
    /// When they never will be, because the host ends.
    pub fn wait_until_durable(&self) -> Result<(), Failure> {
        match self.shared.log.wait_until_durable() {
            true => Ok(()),
            false => Err(Failure::Shutdown),
        }
    }

    /// The last turn that is on disk.
    pub fn committed(&self) -> Lsn {
        self.shared.log.committed()
    }
}
