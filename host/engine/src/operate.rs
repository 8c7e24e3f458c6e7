//! What operators see and decide: load, counters, dead letters.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use crate::commit::Executed;
use crate::engine::Engine;
use crate::ids::{Lsn, Name};
use crate::stimulus::{Cause, Delivery, Failure, Waiter};
use crate::store::{DeadLetter, StoreError};

/// Counters since the start, for metrics.
#[derive(Debug, Default)]
pub struct Counters {
    /// Turns executed.
    pub executed: AtomicU64,
    /// Runs that failed.
    pub failed: AtomicU64,
    /// Runs that were interrupted by other turns.
    pub conflicts: AtomicU64,
    /// Deliveries given up.
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
}

/// How full the engine is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Load {
    /// Turns ready or running.
    pub turns_active: usize,
    /// Turns that are not done: also those that queue for a document or wait for another attempt.
    pub turns_alive: usize,
    /// Deliveries that wait for another attempt.
    pub turns_delayed: usize,
    /// Executed turns that wait for the disk.
    pub turns_uncommitted: usize,
    /// Reminders that wait.
    pub reminders: usize,
    /// Requests on their way to the outside, in memory.
    pub outbound: usize,
    /// Requests to the outside that wait on disk, each for room at its destination.
    pub outbound_on_disk: usize,
    /// Bytes of documents in memory.
    pub document_bytes: usize,
}

/// What an operator decides about a dead letter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Try it again.
    Retry,
    /// Forget it.
    Drop,
}

/// What came of a decision about a dead letter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settled {
    /// It is on disk.
    Done,
    /// There is no such dead letter.
    Unknown,
    /// Another decision about the same letter is being written.
    UnderWay,
}

impl Engine {
    /// Dead letters, oldest first.
    pub fn dead_letters(&self) -> Result<Vec<DeadLetter>, StoreError> {
        self.shared.environment.store.dead_letters()
    }

    /// Try a dead letter again, or drop it. The waiter is called once, after the commit that holds
    /// the decision, and gets a [`Settled`].
    ///
    /// Each letter is settled by one decision at a time: what reads the letter while another is
    /// being written would do its effect twice.
    pub fn settle_dead_letter(&self, id: u64, decision: Decision, waiter: Waiter) {
        let shared = &self.shared;
        if shared.failed.get().is_some() {
            return waiter(Err(Failure::Shutdown));
        }
        if !shared.settling.lock().insert(id) {
            return waiter(Ok(Box::new(Settled::UnderWay)));
        }
        // Read after it is known that nobody else settles it.
        let found = self.dead_letters().map(|all| {
            let mut all = all.into_iter();
            all.find(|letter| letter.delivery.id == id)
        });
        let letter = match found {
            Ok(Some(letter)) => letter,
            other => {
                shared.settling.lock().remove(&id);
                return waiter(match other {
                    Err(error) => Err(Failure::Store(error.to_string())),
                    Ok(_) => Ok(Box::new(Settled::Unknown)),
                });
            }
        };
        let mut executed = Executed {
            dead_letters_removed: vec![id],
            ..Executed::default()
        };
        // From now on it stands for itself: what it was the end of is gone from the store.
        let delivery = (decision == Decision::Retry).then(|| {
            Arc::new(Delivery {
                id: shared.fresh_id(),
                cause: Cause::Event,
                hops: 0,
                starts: 0,
                ..(*letter.delivery).clone()
            })
        });
        executed.deliveries.extend(delivery.clone());
        let now_us = shared.environment.clock.monotonic_us();
        let engine = self.clone();
        let told: Waiter = Box::new(move |outcome| {
            engine.shared.settling.lock().remove(&id);
            waiter(outcome);
        });
        let reply = Box::new(Settled::Done);
        match shared.log.append(executed, Some((told, reply)), now_us) {
            Ok(_) => {
                if let Some(delivery) = delivery {
                    self.enqueue_delivery(delivery);
                }
            }
            Err(refused) => refused.tell(),
        }
    }

    /// How many requests to the outside wait on disk, by destination (host and port), where any do.
    pub fn outbound_on_disk(&self) -> HashMap<Name, usize> {
        self.shared.outlets.on_disk_by_destination()
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
        Load {
            turns_active: shared.queue.active(),
            turns_alive: shared.queue.alive(),
            turns_delayed: shared.delayed.len(),
            turns_uncommitted: shared.log.uncommitted(),
            reminders: shared.reminders.lock().waiting(),
            outbound: shared.outlets.in_memory(),
            outbound_on_disk: shared.outlets.on_disk(),
            document_bytes: shared.documents.bytes(),
        }
    }

    /// The last turn that is on disk.
    pub fn committed(&self) -> Lsn {
        self.shared.log.committed()
    }
}
