//! Deliveries that were pending in too many starts of the host: one of them may be what ends the
//! process each time, and most are not.
//!
//! They run one after the other in the order of their ids, each when the one before it is on disk or
//! has failed in the ordinary way. If the process ends again, the first of those that are left is the
//! one that was running, so the next start parks that one and goes on with the others.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::engine::Engine;
use crate::queue::Job;
use crate::stimulus::{Delivery, Failure};

/// See the module's documentation.
#[derive(Default)]
pub(crate) struct Suspects {
    waiting: VecDeque<Box<Job>>,
    /// The delivery that was running when the process ended.
    culprit: Option<u64>,
}

impl Suspects {
    pub fn is_culprit(&self, delivery: &Delivery) -> bool {
        self.culprit == Some(delivery.id)
    }
}

impl Engine {
    /// Start what the store gave back, in the order of the ids.
    pub(crate) fn resume_deliveries(&self, deliveries: Vec<Delivery>) {
        let starts_max = self.shared.limits.starts_max;
        let (suspects, others): (Vec<_>, Vec<_>) =
            deliveries.into_iter().partition(|d| d.starts > starts_max);
        for delivery in others {
            self.enqueue_delivery(Arc::new(delivery));
        }
        let Some(first) = suspects.first() else {
            return;
        };
        tracing::warn!(
            count = suspects.len(),
            "deliveries were pending in {} starts and more; they run one after the other",
            first.starts
        );
        {
            let mut all = self.shared.suspects.lock();
            // In the start before this one they began to run one after the other.
            all.culprit = (first.starts > starts_max.saturating_add(1)).then_some(first.id);
            all.waiting = suspects
                .into_iter()
                .map(|delivery| self.delivery_job(Arc::new(delivery)))
                .collect();
        }
        self.next_suspect();
    }

    fn next_suspect(&self) {
        let Some(mut job) = self.shared.suspects.lock().waiting.pop_front() else {
            return;
        };
        let engine = self.clone();
        job.waiter = Some(Box::new(move |outcome| {
            if !matches!(outcome, Err(Failure::Shutdown)) {
                engine.next_suspect();
            }
        }));
        // A queue that is closed takes none; the next start does.
        let _ = self.shared.queue.push_if_open(job);
    }
}
