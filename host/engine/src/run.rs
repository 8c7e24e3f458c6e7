//! Runs a job: the handler runs its turn, and the turn goes into the log or back into the queue.

use std::sync::atomic::Ordering;

use crate::commit::{AppendError, Executed};
use crate::engine::{Engine, Handled, Shared};
use crate::failing::hopeless;
use crate::fatal;
use crate::history::{Ended, Record, Step};
use crate::ids::Lsn;
use crate::limits;
use crate::lock_set::{acquire_lock_set, adopt_lock_set, release_all};
use crate::outside::Calls;
use crate::queue::Job;
use crate::reminder_check::{
    ReminderCheck, check_reminders, concerns_reminders, handled_reminder, stale_reminder,
};
use crate::stimulus::{Failure, Reply, Stimulus};
use crate::store::DocumentWrite;
use crate::turn::{Staged, Turn};
use crate::validate::{Conflict, conflict, conflict_now, conflict_of_failed};

impl Engine {
    /// Run a job that was taken from the queue, then the jobs that it causes, up to a limit, because others
    /// wait in the queue. Stops when the engine closes.
    pub(crate) fn run_on(&self, job: Box<Job>) {
        let queue = &self.shared.queue;
        let mut next = self.run_job(job);
        for _ in 0..limits::CONTINUED_MAX {
            match next {
                Some(job) if !queue.is_closed() => next = self.run_job(job),
                _ => break,
            }
        }
        if let Some(job) = next {
            queue.push(job);
        }
        self.job_done();
    }

    /// Run a job. Returns the first of the jobs that it caused, if there are any. The same worker runs that job
    /// next, because its data is in the worker's cache.
    pub(crate) fn run_job(&self, mut job: Box<Job>) -> Option<Box<Job>> {
        let shared = &self.shared;
        if shared.failed.get().is_some() {
            self.turn_away(job);
            return None;
        }
        if let Some(delivery) = stale_reminder(shared, &job) {
            tracing::debug!(component = %delivery.component, "a reminder was replaced or cancelled");
            self.inconclusive(delivery);
            release_all(shared, &mut job);
            return None;
        }
        if let Some(reason) = hopeless(shared, &job) {
            self.give_up(job, reason);
            return None;
        }
        if is_expired(shared, &job) {
            self.fail(None, job, Failure::Expired, 0);
            return None;
        }
        let job = self.kept(job)?;
        // A job without its whole lock set queues for a document; the release of that puts it back.
        let mut job = acquire_lock_set(job)?;
        let span = tracing::debug_span!(
            "turn",
            turn = job.turn.0,
            component = %job.stimulus.component(),
            function = %job.stimulus.function(),
            trace = format_args!("{:032x}", job.stimulus.trace().id),
        );
        let _entered = span.entered();
        let started_us = shared.environment.clock.monotonic_us();
        let mut turn = Turn::new(shared.clone(), job.turn, job.stimulus.trace());
        turn.component = Some(job.stimulus.component().clone());
        turn.expires_us = job.expires_us;
        turn.belongs(&job.origin, &job.stimulus);
        turn.continues(Calls::again(std::mem::take(&mut job.remembered)));
        adopt_lock_set(&mut turn, &mut job);
        assert!(
            job.locks_held == 0 && job.lock_set.is_empty(),
            "turn {} begins with {} documents that are not its turn's",
            job.turn,
            job.lock_set.len()
        );
        if let Stimulus::Delivery(delivery) = &job.stimulus {
            turn.handles(delivery);
        }
        let ran = fatal::contained(|| shared.handler.handle(&job.stimulus, turn));
        let handled = ran.unwrap_or_else(|panic| Handled {
            turn: None,
            outcome: Err(Failure::Handler {
                component: job.stimulus.component().clone(),
                reason: format!("the host panicked: {panic}"),
            }),
        });
        if let Some(turn) = &handled.turn {
            assert!(
                turn.id == job.turn,
                "the handler was given turn {} and gives back turn {}",
                job.turn,
                turn.id
            );
        }
        let took_us = shared
            .environment
            .clock
            .monotonic_us()
            .saturating_sub(started_us);
        let took_us = u32::try_from(took_us).unwrap_or(u32::MAX);
        match handled {
            Handled {
                turn: Some(turn), ..
            } if turn.blocked.is_some() => {
                self.interrupted(turn, job, Conflict::default());
                None
            }
            Handled {
                turn: Some(turn), ..
            } if turn.calls.waits() => {
                self.call_outside(turn, job);
                None
            }
            Handled {
                turn: Some(turn),
                outcome: Ok(reply),
            } => self.execute(turn, job, reply, took_us),
            Handled {
                turn: Some(turn),
                outcome: Err(failure),
            } => {
                match conflict_of_failed(shared, &turn, &job.stimulus) {
                    Some(conflict) => self.interrupted(turn, job, conflict),
                    None => self.fail(Some(turn), job, failure, took_us),
                }
                None
            }
            Handled {
                turn: None,
                outcome: Err(failure),
            } => {
                self.fail(None, job, failure, took_us);
                None
            }
            Handled { turn: None, .. } => {
                let failure = Failure::Handler {
                    component: job.stimulus.component().clone(),
                    reason: "the turn was lost".into(),
                };
                self.fail(None, job, failure, took_us);
                None
            }
        }
    }

    /// Note that a job from the queue, and all jobs that were run right after it, are done.
    pub(crate) fn job_done(&self) {
        if self.shared.queue.done() {
            self.shared.log.idle();
        }
    }

    /// Execute a turn whose handler has returned: validate it, append it to the log, make its writes visible.
    fn execute(
        &self,
        mut turn: Turn,
        mut job: Box<Job>,
        reply: Reply,
        took_us: u32,
    ) -> Option<Box<Job>> {
        let shared = &self.shared;
        assert!(
            turn.blocked.is_none(),
            "turn {} is to be executed, and another one is in its way",
            turn.id
        );
        // Most conflicts exist by now. This check saves the work of preparing the turn for the log.
        if let Some(conflict) = conflict_now(shared, &turn) {
            self.interrupted(turn, job, conflict);
            return None;
        }
        // Locked until the turn has its position in the log, so that reminders change in the log's order.
        let mut reminders =
            concerns_reminders(&turn.staged, &job.stimulus).then(|| shared.reminders.lock());
        match reminders
            .as_ref()
            .map(|r| check_reminders(r, &turn, &job.stimulus))
        {
            None | Some(ReminderCheck::Current) => {}
            Some(ReminderCheck::Stale) => {
                tracing::debug!("a reminder was replaced or cancelled while its turn ran");
                drop(reminders);
                if let Stimulus::Delivery(delivery) = &job.stimulus {
                    self.inconclusive(delivery);
                }
                return None;
            }
            Some(ReminderCheck::Outdated) => {
                drop(reminders);
                self.interrupted(turn, job, Conflict::default());
                return None;
            }
        }
        let mut staged = std::mem::take(&mut turn.staged);
        let record = self.record(&turn, &job.stimulus, &mut staged, took_us, Ended::Executed);
        let record = shared.sealed(record, &mut staged);
        let deliveries = staged.deliveries.clone();
        let mut executed = Executed {
            writes: writes(&turn),
            deliveries: staged.deliveries,
            reminders: staged.reminders,
            outbound: staged.outbound,
            answer: turn.origin.answer.clone(),
            receipts: staged.receipts,
            receipt_hashes: staged.receipt_hashes,
            audit: staged.audit,
            publications: staged.publications,
            ..Executed::default()
        };
        for write in &executed.writes {
            shared.collections.written(write.collection);
        }
        if let Stimulus::Delivery(delivery) = &job.stimulus {
            executed.handled = Some(delivery.clone());
        }
        executed
            .reminders
            .splice(0..0, handled_reminder(&job.stimulus));
        let changes = executed.reminders.clone();
        let answer = job.waiter.take().map(|waiter| (waiter, reply));
        let now_us = shared.environment.clock.monotonic_us();
        executed.span = shared.span(job.stimulus.trace(), &record, now_us);
        executed.history = Some(record);
        let appended = shared
            .log
            .append_if(executed, answer, now_us, |log| conflict(&turn, log));
        if let (Ok(_), Some(reminders)) = (&appended, &mut reminders) {
            reminders.apply(&changes);
        }
        drop(reminders);
        let lsn = match appended {
            Ok(lsn) => lsn,
            Err(AppendError::Closed(refused)) => {
                drop(turn);
                refused.tell();
                return None;
            }
            Err(AppendError::Outdated(conflict, answer)) => {
                job.waiter = answer.map(|(waiter, _)| waiter);
                self.interrupted(turn, job, conflict);
                return None;
            }
        };
        install(shared, &mut turn, lsn);
        turn.calls.executed();
        // Its deliveries are noted before the turn, and the delivery that it handled, are noted as over.
        shared.logged(&deliveries);
        drop(turn);
        shared.counters.executed.fetch_add(1, Ordering::Relaxed);
        if let Stimulus::Delivery(delivery) = &job.stimulus {
            shared.over(delivery);
            self.succeeded(delivery);
        }
        let mut deliveries = deliveries.into_iter();
        let first = deliveries.next();
        for delivery in deliveries {
            self.enqueue_delivery(delivery);
        }
        first.map(|delivery| self.delivery_job(delivery))
    }

    /// Run a turn again after a conflict, with a lock set of all documents that it is known to need.
    pub(crate) fn interrupted(&self, mut turn: Turn, mut job: Box<Job>, conflict: Conflict) {
        let shared = &self.shared;
        shared.counters.conflicts.fetch_add(1, Ordering::Relaxed);
        job.conflicts += 1;
        let mut wanted: Vec<_> = turn
            .touched
            .values()
            .filter(|touch| touch.held)
            .map(|touch| touch.cell.clone())
            .chain(turn.blocked.take())
            .chain(conflict.read)
            .chain(std::mem::take(&mut job.lock_set))
            .collect();
        job.remembered = std::mem::take(&mut turn.calls).remembered();
        drop(turn);
        // A document that cannot be read now is left out; the turn fails when it reads it.
        let scanned = conflict.scanned.iter().filter_map(|key| {
            let store = &*shared.environment.store;
            shared.documents.cell(key, store).ok()
        });
        wanted.extend(scanned);
        wanted.sort_by(|a, b| a.key.cmp(&b.key));
        wanted.dedup_by(|a, b| a.key == b.key);
        if job.conflicts > shared.limits.conflicts_max {
            let failure = Failure::Contention(job.conflicts);
            job.conflicts = 0;
            return self.fail(None, job, failure, 0);
        }
        job.lock_set = wanted;
        job.locks_held = 0;
        shared.queue.push_first(job);
    }

    /// The history's record of a turn that has ended. Moves what it needs out of `staged`.
    pub(crate) fn record(
        &self,
        turn: &Turn,
        stimulus: &Stimulus,
        staged: &mut Staged,
        took_us: u32,
        ended: Ended,
    ) -> Record {
        let mut steps = std::mem::take(&mut staged.steps);
        steps.extend(staged.message_steps());
        for touch in turn.touched.values().filter(|touch| touch.write.is_some()) {
            let key = &touch.cell.key;
            if let Some((component, name)) = self.shared.collections.name(key.collection) {
                let document = format!("{component}/{name}/{}", key.id);
                steps.push(Step::Wrote { document });
            }
        }
        let cause = match stimulus {
            Stimulus::Request { .. } => None,
            Stimulus::Delivery(d) => d.by,
        };
        Record {
            turn: turn.id,
            cause,
            at: turn.now,
            took_us,
            release: staged.release,
            kind: stimulus.kind(),
            component: stimulus.component().clone(),
            function: stimulus.function().clone(),
            trace: turn.trace.id,
            subjects: std::mem::take(&mut staged.subjects),
            steps,
            ended,
        }
    }
}

/// Whether the client of the job has stopped waiting.
pub(crate) fn is_expired(shared: &Shared, job: &Job) -> bool {
    let now_us = shared.environment.clock.monotonic_us();
    job.expires_us
        .is_some_and(|expires_us| expires_us <= now_us)
}

fn writes(turn: &Turn) -> Vec<DocumentWrite> {
    let written = turn.touched.iter().filter_map(|(key, touch)| {
        let body = touch.write.clone()?;
        assert!(
            touch.held,
            "turn {} has written document {:?} and does not hold it",
            turn.id, key.id
        );
        Some(DocumentWrite {
            collection: key.collection,
            id: key.id.clone(),
            version: touch.version + 1,
            body,
        })
    });
    written.collect()
}

/// Make the turn's writes visible to later turns. The turn still has its locks.
fn install(shared: &Shared, turn: &mut Turn, lsn: Lsn) {
    for touch in turn.touched.values_mut() {
        let Some(body) = touch.write.take() else {
            continue;
        };
        let length = body.as_ref().map_or(0, |body| body.len());
        let before = touch.cell.install(turn.id, touch.version, body, lsn);
        shared.documents.replaced(before, length);
    }
}
