//! What operators see and decide: load, counters, documents, dead letters.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::commit::Executed;
use crate::engine::Engine;
use crate::ids::{Lsn, TurnId};
use crate::stimulus::{Cause, Delivery, Trace};
use crate::store::{DeadLetter, ScanRange, StoreError, StoredDocument};
use crate::turn::{Interrupt, Turn};

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
    /// Deliveries that wait for another attempt.
    pub turns_delayed: usize,
    /// Executed turns that wait for the disk.
    pub turns_uncommitted: usize,
    /// Reminders that wait.
    pub reminders: usize,
    /// Requests on their way to the outside.
    pub outbound: usize,
    /// Bytes of documents in memory.
    pub document_bytes: usize,
}

impl Engine {
    /// Dead letters, oldest first.
    pub fn dead_letters(&self) -> Result<Vec<DeadLetter>, StoreError> {
        self.shared.environment.store.dead_letters()
    }

    /// Try a dead letter again, or drop it. Answers whether there was one of this id.
    pub fn settle_dead_letter(&self, id: u64, retry: bool) -> Result<bool, StoreError> {
        let shared = &self.shared;
        let all = self.dead_letters()?;
        let Some(letter) = all.into_iter().find(|letter| letter.delivery.id == id) else {
            return Ok(false);
        };
        let mut executed = Executed {
            dead_letters_removed: vec![id],
            ..Executed::default()
        };
        // From now on it stands for itself: what it was the end of is gone from the store.
        let delivery = retry.then(|| {
            Arc::new(Delivery {
                id: shared.fresh_id(),
                cause: Cause::Event,
                ..(*letter.delivery).clone()
            })
        });
        executed.deliveries.extend(delivery.clone());
        let now_us = shared.environment.clock.monotonic_us();
        shared.log.append(executed, None, now_us);
        if let Some(delivery) = delivery {
            self.enqueue_delivery(delivery);
        }
        Ok(true)
    }

    /// Documents of a component as executed, for operators: no turn, no effect.
    pub fn inspect(
        &self,
        component: &str,
        collection: &str,
        range: &ScanRange,
        limit: u32,
    ) -> Result<Vec<StoredDocument>, Interrupt> {
        Turn::new(self.shared.clone(), TurnId(0), Trace::default())
            .scan(component, collection, range, limit)
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
            turns_delayed: shared.delayed.len(),
            turns_uncommitted: shared.log.uncommitted(),
            reminders: shared.reminders.lock().waiting(),
            outbound: usize::try_from(shared.outbound.load(Ordering::Relaxed)).unwrap_or(0),
            document_bytes: shared.documents.bytes(),
        }
    }

    /// The last turn that is on disk.
    pub fn committed(&self) -> Lsn {
        self.shared.log.committed()
    }
}
