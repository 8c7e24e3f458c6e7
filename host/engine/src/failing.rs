//! Turns that fail: tried again after a pause, or parked as dead letters. Nothing of them remains but
//! a line in the history.
//!
//! A delivery is parked when it has failed too often, and without being tried when it comes too far
//! down a chain of events, or when it seems to end the process (see `suspects`).

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::commit::Executed;
use crate::engine::{Engine, Shared};
use crate::footprint::release_all;
use crate::history::Ended;
use crate::queue::Job;
use crate::standing::{handled_reminder, is_current, is_reminder};
use crate::stimulus::{Delivery, Failure, Stimulus};
use crate::store::DeadLetter;
use crate::turn::Turn;

impl Engine {
    /// The handler failed. Tell who waits, or try again, or park.
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
        let component = job.stimulus.component().clone();
        let reason = failure.to_string();
        tracing::warn!(%component, turn = %job.turn, attempt = job.attempts, %reason, "a turn failed");
        let last = match &job.stimulus {
            Stimulus::Request { .. } => true,
            Stimulus::Delivery(_) => job.attempts >= shared.limits.attempts_max,
        };
        let waiter = job.waiter.take();
        self.leave_nothing(turn, job, reason, took_us, last);
        if let Some(waiter) = waiter {
            waiter(Err(failure));
        }
    }

    /// Park a delivery without trying it.
    pub(crate) fn give_up(&self, mut job: Box<Job>, reason: String) {
        let waiter = job.waiter.take();
        let component = job.stimulus.component().clone();
        self.leave_nothing(None, job, reason.clone(), 0, true);
        if let Some(waiter) = waiter {
            waiter(Err(Failure::Handler { component, reason }));
        }
    }

    /// Nothing of the turn remains but its line in the history. A delivery is tried again later, or
    /// parked if this was the last time.
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
        job.footprint.clear();
        let probe = Turn::new(shared.clone(), job.turn, job.stimulus.trace());
        let mut staged = staged.unwrap_or_default();
        if let Stimulus::Delivery(delivery) = &job.stimulus
            && staged.subjects.is_empty()
        {
            staged.subjects.clone_from(&delivery.subjects);
        }
        let mut executed = Executed::default();
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
        let record = Arc::new(record);
        if let Some(delivery) = parked {
            if let Some(reminders) = &mut reminders {
                handled_reminder(reminders, &job.stimulus, &mut executed.reminders);
            }
            self.park(delivery, job.attempts, reason, &mut executed);
        }
        let now_us = shared.environment.clock.monotonic_us();
        executed.span = shared.span(job.stimulus.trace(), &record, now_us);
        executed.history = Some(record);
        let appended = shared.log.append(executed, None, now_us);
        drop(reminders);
        if let Err(refused) = appended {
            return refused.tell();
        }
        if matches!(&job.stimulus, Stimulus::Delivery(_)) && !last {
            let due = shared.environment.clock.now() + self.pause_ms(job.attempts);
            shared.delayed.push(due, job);
        }
    }

    fn park(&self, delivery: Arc<Delivery>, attempts: u32, error: String, executed: &mut Executed) {
        let shared = &self.shared;
        shared.counters.dead_letters.fetch_add(1, Ordering::Relaxed);
        tracing::error!(
            component = %delivery.component, interface = %delivery.interface, id = delivery.id,
            %error, "a delivery became a dead letter; see `rialto dead-letters`"
        );
        executed.handled = Some(delivery.clone());
        executed.dead_letters.push(DeadLetter {
            delivery,
            attempts,
            error,
            at: shared.environment.clock.now(),
        });
    }

    /// The pause before the next attempt, in milliseconds: it doubles up to its longest, and half of
    /// it is left to chance, so that what failed together does not come back together.
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
        longest - u64::from_le_bytes(chance) % half.saturating_add(1)
    }
}

/// Why a delivery is parked without being tried, if it is.
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
    let is_culprit =
        delivery.starts > limits.starts_max && shared.suspects.lock().is_culprit(delivery);
    is_culprit.then(|| {
        format!(
            "the host was started {} times while it was pending, and ended the last time while it \
             ran; it may be what ends the host",
            delivery.starts
        )
    })
}
