//! Deliveries that were pending in too many starts of the host, reminders among them: one of them may be
//! what ends the process each time, and most are not.
//!
//! They run one after the other in the order of their ids, each when the one before it is on disk or
//! has failed in the ordinary way. Which one runs is noted on disk before it begins. If the process ends
//! again, the next start parks the one that was noted and goes on with the others.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::engine::Engine;
use crate::queue::Job;
use crate::stimulus::{Cause, Delivery, Failure, Stimulus};

/// See the module's documentation.
#[derive(Default)]
pub(crate) struct Suspects {
    waiting: VecDeque<Box<Job>>,
    /// The delivery that was running when the process ended.
    culprit: Option<String>,
}

impl Suspects {
    pub fn is_culprit(&self, delivery: &Delivery) -> bool {
        self.culprit.as_deref() == Some(&name(delivery))
    }
}

/// What stands for a delivery across starts. A reminder's delivery has another id in each.
fn name(delivery: &Delivery) -> String {
    match &delivery.cause {
        Cause::Reminder { id, generation } => {
            format!("reminder {} {id} {generation}", delivery.component)
        }
        Cause::Event | Cause::Report { .. } => format!("delivery {}", delivery.id),
    }
}

impl Engine {
    /// Start what the store gave back, in the order of the ids. `noted` is what was noted last.
    pub(crate) fn resume_deliveries(&self, deliveries: Vec<Delivery>, noted: Option<String>) {
        assert!(
            deliveries.is_sorted_by(|a, b| a.id < b.id),
            "{} deliveries go on that are not in the order of their ids",
            deliveries.len()
        );
        let starts_max = self.shared.limits.starts_max;
        let (suspects, others): (Vec<_>, Vec<_>) =
            deliveries.into_iter().partition(|d| d.starts > starts_max);
        for delivery in others {
            self.enqueue_delivery(Arc::new(delivery));
        }
        if suspects.is_empty() {
            if noted.is_some() {
                self.note_suspect(None);
            }
            return;
        }
        tracing::warn!(
            count = suspects.len(),
            "deliveries were pending in more than {starts_max} starts; they run one after the other",
        );
        {
            let mut all = self.shared.suspects.lock();
            all.culprit = noted;
            all.waiting = suspects
                .into_iter()
                .map(|delivery| self.delivery_job(Arc::new(delivery)))
                .collect();
        }
        self.next_suspect();
    }

    fn next_suspect(&self) {
        let next = self.shared.suspects.lock().waiting.pop_front();
        let Some(mut job) = next else {
            return self.note_suspect(None);
        };
        if let Stimulus::Delivery(delivery) = &job.stimulus {
            self.note_suspect(Some(&name(delivery)));
        }
        assert!(
            job.waiter.is_none(),
            "somebody waits for turn {}, which only the next suspect waits for",
            job.turn
        );
        let engine = self.weak();
        job.waiter = Some(Box::new(move |outcome| {
            let Some(engine) = engine.get() else { return };
            match outcome {
                Err(Failure::Shutdown) => engine.note_suspect(None),
                _ => engine.next_suspect(),
            }
        }));
        // A queue that is closed takes none; the next start does.
        if self.shared.queue.push_if_open(job).is_err() {
            self.note_suspect(None);
        }
    }

    fn note_suspect(&self, suspect: Option<&str>) {
        if let Err(error) = self.shared.environment.store.set_suspect(suspect) {
            tracing::error!(%error, "which delivery may end the host could not be noted");
        }
    }
}
