//! A bounded queue of records for a reader that may be slow or away.
//!
//! Adding never waits. When the queue is full, new records are counted and dropped. So a slow reader costs records,
//! never a payment.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use prometheus_client::metrics::counter::Counter;

#[derive(Debug)]
struct Inner<T> {
    waiting: Mutex<VecDeque<T>>,
    waiting_max: usize,
    accepted: Counter,
    lost: Counter,
}

/// See the module's documentation. A clone is another handle.
#[derive(Debug)]
pub struct Queue<T> {
    inner: Arc<Inner<T>>,
}

impl<T> Clone for Queue<T> {
    fn clone(&self) -> Self {
        Self {
            inner: self.inner.clone(),
        }
    }
}

impl<T> Queue<T> {
    /// A queue for this many records at most.
    #[must_use]
    pub fn new(waiting_max: usize) -> Self {
        Self {
            inner: Arc::new(Inner {
                waiting: Mutex::default(),
                waiting_max,
                accepted: Counter::default(),
                lost: Counter::default(),
            }),
        }
    }

    /// Queues a record for the reader.
    pub fn add(&self, record: T) {
        self.add_below(record, self.inner.waiting_max);
    }

    /// The same, if fewer than `most` records wait.
    pub fn add_below(&self, record: T, most: usize) {
        let mut waiting = self.waiting();
        if waiting.len() < most.min(self.inner.waiting_max) {
            waiting.push_back(record);
        } else {
            drop(waiting);
            self.lost(1);
        }
    }

    /// Takes the oldest records, so many at most.
    #[must_use]
    pub fn take(&self, most: usize) -> Vec<T> {
        let mut waiting = self.waiting();
        let end = most.min(waiting.len());
        waiting.drain(..end).collect()
    }

    /// Counts records that the reader has accepted.
    pub fn accepted(&self, count: usize) {
        self.inner.accepted.inc_by(count as u64);
    }

    /// Counts records that are lost.
    pub fn lost(&self, count: usize) {
        self.inner.lost.inc_by(count as u64);
    }

    /// How many were lost so far.
    #[must_use]
    pub fn lost_so_far(&self) -> u64 {
        self.inner.lost.get()
    }

    /// The counters of accepted and of lost records, for the metrics.
    pub(crate) fn counters(&self) -> (&Counter, &Counter) {
        (&self.inner.accepted, &self.inner.lost)
    }

    fn waiting(&self) -> std::sync::MutexGuard<'_, VecDeque<T>> {
        // A push or a drain that panicked leaves a list all the same.
        let waiting = self.inner.waiting.lock();
        waiting.unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_beyond_the_bound_are_counted_and_lost() {
        let queue = Queue::new(3);
        for n in 1..=5 {
            queue.add(n);
        }
        assert_eq!(queue.take(2), [1, 2]);
        queue.accepted(2);
        queue.add(6);
        assert_eq!(queue.take(10), [3, 6]);
        assert!(queue.take(10).is_empty());
        let (accepted, lost) = queue.counters();
        assert_eq!((accepted.get(), lost.get()), (2, 2));
        assert_eq!(queue.lost_so_far(), 2);
    }
}
