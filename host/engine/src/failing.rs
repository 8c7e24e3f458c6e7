//! Failed turns. A failed turn leaves only a record in the history.
//!
//! | The turn | What happens |
//! | --- | --- |
//! | of a request | the client gets the failure |
//! | of a delivery that failed | it is retried after a pause (`waiting`) |
//! | of a delivery that failed too often or for too long | it is parked as a dead letter |
//! | of a delivery whose subscriber is paused | it is kept, not parked (`subscriber`) |
//! | of a delivery too far down a chain of events | it is parked untried |
//! | of a poison message | it is parked untried (`poison`) |

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::commit::Executed;
use crate::engine::{Engine, Shared};
use crate::history::Ended;
use crate::ids::Lsn;
use crate::lock_set::release_all;
use crate::origin::Origin;
use crate::queue::Job;
use crate::reminder_check::{handled_reminder, is_current, is_reminder};
use crate::stimulus::{Cause, Delivery, Failure, Stimulus};
use crate::store::DeadLetter;
use crate::subscriber::{FailureEffect, Waiting};
use crate::time::Timestamp;
use crate::turn::Turn;

impl Engine {
    /// Handle a failure of the handler: tell the waiter, retry, or park.
    pub(crate) fn fail(
        &self,
        turn: Option<Turn>,
        mut job: Box<Job>,
        failure: Failure,
        took_us: u32,
    ) {
        let shared = &self.shared;
        shared.counters.failed.fetch_add(1, Ordering::Relaxed);
        job.attempts += 1;
        let now_us = shared.environment.clock.monotonic_us();
        if job.attempts == 1 {
            job.failing_since_us = now_us;
        }
        let component = job.stimulus.component().clone();
        let reason = failure.to_string();
        let trace = job.stimulus.trace().id;
        tracing::warn!(
            %component, turn = %job.turn, attempt = job.attempts, trace = format_args!("{trace:032x}"), %reason,
            "a turn failed"
        );
        let last = match &job.stimulus {
            Stimulus::Request { .. } => true,
            Stimulus::Delivery(delivery) => self.is_last(delivery, &job, &failure, now_us),
        };
        let waiter = job.waiter.take();
        self.leave_nothing(turn, job, reason, took_us, last);
        if let Some(waiter) = waiter {
            waiter(Err(failure));
        }
    }

    /// Whether a failed delivery is parked instead of retried. Notes the failure for its subscriber.
    fn is_last(&self, delivery: &Delivery, job: &Job, failure: &Failure, now_us: u64) -> bool {
        let shared = &self.shared;
        let limits = &shared.limits;
        let clock = &shared.environment.clock;
        let effect = match failure {
            Failure::Handler { reason, .. } => {
                let now = (clock.now(), now_us);
                let first_us = job.failing_since_us;
                shared
                    .waiting
                    .failed(delivery, first_us, reason, now, limits)
            }
            // Not the subscriber's fault.
            _ => shared
                .waiting
                .inconclusive(&delivery.component, delivery.id, now_us),
        };
        match effect {
            FailureEffect::None => {
                let failing_us = now_us.saturating_sub(job.failing_since_us);
                job.attempts >= limits.attempts_max
                    || failing_us >= limits.retry_for_ms.saturating_mul(1_000)
            }
            FailureEffect::AlreadyPaused => false,
            FailureEffect::Paused { subjects, senders } => {
                shared.counters.pauses.fetch_add(1, Ordering::Relaxed);
                tracing::error!(
                    component = %delivery.component, subjects, senders, error = %failure,
                    "the component is paused, because deliveries to it fail and none succeeds; its deliveries \
                     are kept in order, and one is tried from time to time; see `rialto dead-letters paused`"
                );
                false
            }
        }
    }

    /// Note a delivery that was executed: its component is well.
    pub(crate) fn succeeded(&self, delivery: &Delivery) {
        let now_us = self.shared.environment.clock.monotonic_us();
        let ended = self.shared.waiting.succeeded(&delivery.component, now_us);
        if let Some((paused_us, kept)) = ended {
            tracing::warn!(
                component = %delivery.component, seconds = paused_us / 1_000_000, kept,
                "the component is no longer paused; the deliveries that were kept for it run now"
            );
        }
    }

    /// Note the end of a delivery that says nothing about its subscriber.
    pub(crate) fn inconclusive(&self, delivery: &Delivery) {
        let now_us = self.shared.environment.clock.monotonic_us();
        let waiting = &self.shared.waiting;
        waiting.inconclusive(&delivery.component, delivery.id, now_us);
    }

    /// Keep a delivery if its subscriber is paused or draining. Otherwise the job is returned.
    pub(crate) fn kept(&self, job: Box<Job>) -> Option<Box<Job>> {
        let shared = &self.shared;
        let Stimulus::Delivery(delivery) = &job.stimulus else {
            return Some(job);
        };
        // A poison candidate is tried although its subscriber is paused: the next candidate waits for it.
        // Neither is one whose answer from outside is there: it would be lost.
        if job.waiter.is_some()
            || job.remembered.has_answers()
            || !shared
                .waiting
                .keeps(&delivery.component, delivery.id, job.released)
        {
            return Some(job);
        }
        let mut executed = Executed::default();
        let now = shared.environment.clock.now();
        let delivery = durable(delivery, now, &mut executed);
        let logged = executed.deliveries.clone();
        let lsn = if executed.deliveries.is_empty() {
            shared.log.last()
        } else {
            let now_us = shared.environment.clock.monotonic_us();
            match shared.log.append(executed, None, now_us) {
                Ok(lsn) => {
                    shared.logged(&logged);
                    lsn
                }
                Err(refused) => {
                    refused.tell();
                    return None;
                }
            }
        };
        self.wait(job, delivery, lsn, None);
        None
    }

    /// Keep a delivery for its subscriber, or delay it until this instant.
    fn wait(&self, mut job: Box<Job>, delivery: Arc<Delivery>, lsn: Lsn, due_us: Option<u64>) {
        let shared = &self.shared;
        assert!(
            job.waiter.is_none(),
            "the delivery {} is to wait, and somebody waits for its turn {}",
            delivery.id,
            job.turn
        );
        release_all(shared, &mut job);
        let (id, component) = (delivery.id, delivery.component.clone());
        let origin = delivery.origin.clone();
        let mut waiting = Waiting::new(delivery, origin, job.turn, lsn);
        waiting.attempts = job.attempts;
        waiting.failing_since_us = job.failing_since_us;
        let limits = &shared.limits;
        match due_us {
            Some(due_us) => shared
                .waiting
                .delay(&component, id, waiting, due_us, limits),
            None => shared.waiting.keep(&component, id, waiting, limits),
        }
    }

    /// Park a delivery without trying it.
    pub(crate) fn give_up(&self, mut job: Box<Job>, reason: String) {
        if let Stimulus::Delivery(delivery) = &job.stimulus {
            self.inconclusive(delivery);
        }
        let waiter = job.waiter.take();
        let component = job.stimulus.component().clone();
        self.leave_nothing(None, job, reason.clone(), 0, true);
        if let Some(waiter) = waiter {
            waiter(Err(Failure::Handler { component, reason }));
        }
    }

    /// Undo the turn, except for its record in the history. Its delivery is retried, or parked if this was the
    /// last attempt.
    fn leave_nothing(
        &self,
        turn: Option<Turn>,
        mut job: Box<Job>,
        reason: String,
        took_us: u32,
        last: bool,
    ) {
        let shared = &self.shared;
        let staged = turn.map(|mut turn| std::mem::take(&mut turn.staged));
        release_all(shared, &mut job);
        job.lock_set.clear();
        let probe = Turn::new(shared.clone(), job.turn, job.stimulus.trace());
        let mut staged = staged.unwrap_or_default();
        staged.forget_messages_out();
        if let Stimulus::Delivery(delivery) = &job.stimulus
            && staged.subjects.is_empty()
        {
            staged.subjects.clone_from(&delivery.subjects);
        }
        let mut executed = Executed::default();
        let again = match &job.stimulus {
            Stimulus::Delivery(delivery) if !last => {
                Some(durable(delivery, probe.now(), &mut executed))
            }
            _ => None,
        };
        let logged = executed.deliveries.clone();
        let mut reminders = is_reminder(&job.stimulus).then(|| shared.reminders.lock());
        let wanted = reminders
            .as_ref()
            .is_none_or(|r| is_current(r, &job.stimulus));
        let parked = match &job.stimulus {
            Stimulus::Delivery(delivery) if last && wanted => Some(delivery.clone()),
            _ => None,
        };
        let ended = match &parked {
            Some(_) => Ended::Parked(reason.clone()),
            None => Ended::Failed(reason.clone()),
        };
        let record = self.record(&probe, &job.stimulus, &mut staged, took_us, ended);
        let record = shared.sealed(record, &mut staged);
        if let Some(delivery) = &parked {
            // The job is still wanted: if it is of a reminder, that reminder is current.
            executed.reminders.extend(handled_reminder(&job.stimulus));
            if let Some(reminders) = &mut reminders {
                reminders.apply(&executed.reminders);
            }
            self.park(delivery.clone(), job.attempts, reason, &mut executed);
        }
        let now_us = shared.environment.clock.monotonic_us();
        executed.span = shared.span(job.stimulus.trace(), &record, now_us);
        executed.history = Some(record);
        let appended = shared.log.append(executed, None, now_us);
        drop(reminders);
        if appended.is_ok() {
            shared.logged(&logged);
            if let Some(delivery) = &parked {
                shared.parked(delivery);
            }
        }
        match (appended, again) {
            (Ok(lsn), Some(delivery)) => {
                let pause_us = self.pause_ms(job.attempts).saturating_mul(1_000);
                self.wait(job, delivery, lsn, Some(now_us.saturating_add(pause_us)));
            }
            (Ok(_), None) => {}
            (Err(refused), _) => refused.tell(),
        }
    }

    fn park(&self, delivery: Arc<Delivery>, attempts: u32, error: String, executed: &mut Executed) {
        let shared = &self.shared;
        shared.counters.dead_letters.fetch_add(1, Ordering::Relaxed);
        tracing::error!(
            component = %delivery.component, interface = %delivery.interface, id = delivery.id,
            %error, "a delivery became a dead letter; see `rialto dead-letters`"
        );
        assert!(
            executed.handled.is_none(),
            "delivery {} is parked by a turn that handles {:?}",
            delivery.id,
            executed.handled.as_ref().map(|handled| handled.id)
        );
        executed.handled = Some(delivery.clone());
        executed.dead_letters.push(DeadLetter {
            delivery,
            attempts,
            error,
            at: shared.environment.clock.now(),
        });
    }

    /// The pause before the next attempt, in milliseconds. It doubles up to a maximum. Half of it is random, so
    /// that deliveries that failed together do not return together.
    fn pause_ms(&self, attempts: u32) -> u64 {
        let limits = &self.shared.limits;
        let doublings = attempts.saturating_sub(1).min(32);
        let longest = limits
            .retry_initial_ms
            .saturating_mul(1 << doublings)
            .min(limits.retry_max_ms);
        let mut chance = [0; 8];
        self.shared.environment.entropy.fill(&mut chance);
        let half = longest / 2;
        let pause = longest - u64::from_le_bytes(chance) % half.saturating_add(1);
        assert!(
            (longest - half..=longest).contains(&pause),
            "a pause takes {pause} ms, and was to take {} to {longest}",
            longest - half
        );
        pause
    }
}

/// The stored form of a delivery that waits. A report is only in memory; from now on it is a delivery of
/// its own, and its outbound request is over.
pub(crate) fn durable(
    delivery: &Arc<Delivery>,
    now: Timestamp,
    executed: &mut Executed,
) -> Arc<Delivery> {
    if !matches!(delivery.cause, Cause::Report { .. }) {
        return delivery.clone();
    }
    let kept = Arc::new(Delivery {
        cause: Cause::Event,
        origin: Origin {
            since: Some(now),
            ..delivery.origin.clone()
        },
        ..(**delivery).clone()
    });
    assert!(
        executed.handled.is_none() && executed.deliveries.is_empty(),
        "the report {} becomes a delivery beside {} others, in a turn that handles {:?}",
        delivery.id,
        executed.deliveries.len(),
        executed.handled.as_ref().map(|handled| handled.id)
    );
    executed.handled = Some(delivery.clone());
    executed.deliveries.push(kept.clone());
    kept
}

/// The reason to park a delivery untried, if there is one.
pub(crate) fn hopeless(shared: &Shared, job: &Job) -> Option<String> {
    let Stimulus::Delivery(delivery) = &job.stimulus else {
        return None;
    };
    let limits = &shared.limits;
    if delivery.hops > limits.hops_max {
        return Some(format!(
            "it is the end of {} events in a row and {} may follow one upon another; \
             components that publish to each other without end do this",
            delivery.hops, limits.hops_max
        ));
    }
    let is_poison = delivery.redeliveries > limits.redeliveries_max
        && shared.poison_candidates.lock().is_poison(delivery);
    is_poison.then(|| {
        format!(
            "the host was started {} times while it was pending, and ended the last time while it \
             ran; it may be what ends the host",
            delivery.redeliveries
        )
    })
}
