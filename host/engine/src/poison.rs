//! Poison messages: deliveries that end the process each time they run.
//!
//! A delivery or reminder is a *candidate* when its redelivery count is above the limit: it was pending
//! in that many starts of the host. Candidates run one at a time, in the order of their ids. The next one
//! begins when the one before it is on disk or has failed. The engine stores the name of a candidate
//! before it runs. If the process ends then, the next start parks that candidate as the poison message.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::engine::Engine;
use crate::queue::Job;
use crate::stimulus::{Cause, Delivery, Failure, Stimulus};

/// The candidates that wait for their run.
#[derive(Default)]
pub(crate) struct PoisonCandidates {
    waiting: VecDeque<Box<Job>>,
    /// The name of the candidate that was running when the process ended.
    poison: Option<String>,
}

impl PoisonCandidates {
    pub fn is_poison(&self, delivery: &Delivery) -> bool {
        self.poison.as_deref() == Some(&name(delivery))
    }
}

/// The name of a delivery that is the same in each start. A reminder's delivery gets a new id in each.
fn name(delivery: &Delivery) -> String {
    match &delivery.cause {
        Cause::Reminder { id, generation } => {
            format!("reminder {} {id} {generation}", delivery.component)
        }
        Cause::Event | Cause::Report { .. } => format!("delivery {}", delivery.id),
    }
}

impl Engine {
    /// Start the deliveries that the store gave back, in the order of their ids. `noted` is the stored
    /// name of the candidate that ran last.
    pub(crate) fn resume_deliveries(&self, deliveries: Vec<Delivery>, noted: Option<String>) {
        assert!(
            deliveries.is_sorted_by(|a, b| a.id < b.id),
            "{} deliveries go on that are not in the order of their ids",
            deliveries.len()
        );
        let redeliveries_max = self.shared.limits.redeliveries_max;
        let (candidates, others): (Vec<_>, Vec<_>) = deliveries
            .into_iter()
            .partition(|d| d.redeliveries > redeliveries_max);
        for delivery in others {
            self.enqueue_delivery(Arc::new(delivery));
        }
        if candidates.is_empty() {
            if noted.is_some() {
                self.note_candidate(None);
            }
            return;
        }
        tracing::warn!(
            count = candidates.len(),
            "deliveries are possible poison messages, because they were pending at more than {redeliveries_max} starts; they run one at a time",
        );
        {
            let mut all = self.shared.poison_candidates.lock();
            all.poison = noted;
            all.waiting = candidates
                .into_iter()
                .map(|delivery| self.delivery_job(Arc::new(delivery)))
                .collect();
        }
        self.next_candidate();
    }

    fn next_candidate(&self) {
        let next = self.shared.poison_candidates.lock().waiting.pop_front();
        let Some(mut job) = next else {
            return self.note_candidate(None);
        };
        if let Stimulus::Delivery(delivery) = &job.stimulus {
            self.note_candidate(Some(&name(delivery)));
        }
        assert!(
            job.waiter.is_none(),
            "somebody waits for turn {}, which only the next candidate waits for",
            job.turn
        );
        let engine = self.weak();
        job.waiter = Some(Box::new(move |outcome| {
            let Some(engine) = engine.get() else { return };
            match outcome {
                Err(Failure::Shutdown) => engine.note_candidate(None),
                _ => engine.next_candidate(),
            }
        }));
        // A queue that is closed takes none; the next start does.
        if self.shared.queue.push_if_open(job).is_err() {
            self.note_candidate(None);
        }
    }

    /// Note that no candidate runs, at the end of all workers.
    pub(crate) fn forget_candidate(&self) {
        if self.shared.queue.outside.load(Ordering::Acquire) > 0 {
            self.note_candidate(None);
        }
    }

    fn note_candidate(&self, candidate: Option<&str>) {
        if let Err(error) = self
            .shared
            .environment
            .store
            .note_poison_candidate(candidate)
        {
            tracing::error!(%error, "the store could not note which possible poison message runs next");
        }
    }
}
