//! The engine: takes stimuli, runs their turns through the handler, executes, commits, recovers.
//!
//! The engine itself has no threads. [`crate::threads`] drives it with real ones; a test drives it
//! step by step with `run`, `commit` and `fire_due`, in any order that it likes.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;

use crate::commit::{Executed, Log, group};
use crate::documents::{Collections, Documents};
use crate::history::{Ended, Kind, Record, Step};
use crate::ids::{CollectionId, Lsn, Name, TurnId};
use crate::limits::Limits;
use crate::network::{Network, OutboundRequest, Outcome, Report};
use crate::queue::{Delayed, Job, Queue};
use crate::reminders::{ReminderChange, Reminders};
use crate::stimulus::{
    Cause, Delivery, Failure, LivePayload, Payload, Reply, Stimulus, Trace, Waiter,
};
use crate::store::{
    DeadLetter, DocumentWrite, Group, ScanRange, Store, StoreError, StoredDocument, StoredReminder,
};
use crate::time::{Clock, Entropy};
use crate::turn::{Staged, Touch, Turn};

/// What the engine stands on.
#[derive(Clone)]
pub struct Environment {
    /// Where turns become durable.
    pub store: Arc<dyn Store>,
    /// What carries requests to the outside.
    pub network: Arc<dyn Network>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Randomness.
    pub entropy: Arc<dyn Entropy>,
}

/// What came of a handler's run.
pub struct Handled {
    /// The turn, given back. None if it was lost, which counts as a failure.
    pub turn: Option<Turn>,
    /// The answer, or why there is none.
    pub outcome: Result<Reply, Failure>,
}

/// What runs turns: the components, in a host; anything, in a test.
pub trait Handler: Send + Sync + 'static {
    /// Run a turn. Must not block on other turns.
    fn handle(&self, stimulus: &Stimulus, turn: Turn) -> Handled;
    /// The interface and function that a component exports for reminders.
    fn reminder_function(&self) -> (Name, Name);
    /// The interface and function that a component exports for delivery reports.
    fn report_function(&self) -> (Name, Name);
}

/// The engine cannot take a request now; try again in a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the host has more work than it can take")]
pub struct Busy;

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

/// What turns, threads and the engine's users share.
pub(crate) struct Shared {
    pub environment: Environment,
    pub limits: Limits,
    pub documents: Documents,
    pub collections: Collections,
    pub reminders: Mutex<Reminders>,
    pub queue: Queue,
    pub delayed: Delayed,
    pub log: Log,
    next_id: AtomicU64,
    outbound: AtomicU64,
    counters: Counters,
    failed: OnceLock<StoreError>,
    handler: Arc<dyn Handler>,
}

impl Shared {
    pub fn next_id(&self) -> u64 {
        self.next_id.fetch_add(1, Ordering::Relaxed)
    }

    /// A scan over the executed state and a turn's own writes (id, version, body).
    pub fn scan(
        &self,
        collection: CollectionId,
        range: &ScanRange,
        limit: u32,
        own: Vec<(Name, u64, Option<Name>)>,
    ) -> Result<Vec<StoredDocument>, StoreError> {
        // What is not on disk is looked at first: what gets there meanwhile is then seen twice,
        // never missed.
        let mut newer = self
            .log
            .uncommitted_writes(|w| w.collection == collection && range.contains(&w.id));
        newer.extend(own.into_iter().map(|(id, version, body)| {
            let write = DocumentWrite {
                collection,
                id: id.clone(),
                version,
                body,
            };
            (id, write)
        }));
        // At most as many stored documents as were removed since are missing from a page.
        let removed = newer.values().filter(|w| w.body.is_none()).count();
        let stored_limit = limit.saturating_add(u32::try_from(removed).unwrap_or(u32::MAX));
        let stored = self
            .environment
            .store
            .scan(collection, range, stored_limit)?;
        let mut documents: std::collections::BTreeMap<Name, StoredDocument> =
            stored.into_iter().map(|d| (d.id.clone(), d)).collect();
        for (id, write) in newer {
            match write.body {
                Some(body) => {
                    let version = write.version;
                    documents.insert(id.clone(), StoredDocument { id, version, body });
                }
                None => {
                    documents.remove(&id);
                }
            }
        }
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        Ok(documents.into_values().take(limit).collect())
    }
}

/// See the module's documentation. Cloning gives another handle to the same engine.
#[derive(Clone)]
pub struct Engine {
    pub(crate) shared: Arc<Shared>,
}

impl Engine {
    /// Open the store and read back what must go on. Nothing runs yet.
    pub fn open(
        environment: Environment,
        handler: Arc<dyn Handler>,
        limits: Limits,
    ) -> Result<(Self, Recovery), StoreError> {
        let recovered = environment.store.recover()?;
        let mut reminders = Reminders::default();
        for reminder in recovered.reminders {
            reminders.set(Arc::new(reminder));
        }
        let shared = Arc::new(Shared {
            environment,
            documents: Documents::new(limits.cache_bytes_max),
            limits,
            collections: Collections::recovered(recovered.collections),
            reminders: Mutex::new(reminders),
            queue: Queue::default(),
            delayed: Delayed::default(),
            log: Log::recovered(recovered.lsn),
            next_id: AtomicU64::new(recovered.next_id.max(1)),
            outbound: AtomicU64::new(0),
            counters: Counters::default(),
            failed: OnceLock::new(),
            handler,
        });
        let recovery = Recovery {
            deliveries: recovered.deliveries,
            outbound: recovered.outbound,
        };
        Ok((Self { shared }, recovery))
    }

    /// Go on with what the store gave back: pending deliveries and unanswered requests. Overdue
    /// reminders fire with the next `fire_due`.
    pub fn resume(&self, recovery: Recovery) {
        for delivery in recovery.deliveries {
            self.enqueue_delivery(Arc::new(delivery));
        }
        for request in recovery.outbound {
            self.send_out(Arc::new(request));
        }
    }

    /// Read the store's keys into the filter of absent documents. Takes a while on a large store;
    /// meant for a thread of its own. Stops early when the engine closes.
    pub fn learn_keys(&self) -> Result<(), StoreError> {
        let shared = &self.shared;
        let mut stopped = false;
        shared.environment.store.visit_keys(&mut |collection, id| {
            shared.documents.absent.note(collection, id);
            stopped = shared.failed.get().is_some();
            if stopped {
                std::ops::ControlFlow::Break(())
            } else {
                std::ops::ControlFlow::Continue(())
            }
        })?;
        if !stopped {
            shared.documents.absent.complete();
        }
        Ok(())
    }

    /// Start a request's turn. The waiter is called once, after the commit that holds the turn.
    pub fn submit(
        &self,
        component: Name,
        function: Name,
        argument: Arc<dyn std::any::Any + Send + Sync>,
        trace: Trace,
        waiter: Waiter,
    ) -> Result<(), Busy> {
        let shared = &self.shared;
        if shared.queue.active() >= shared.limits.turns_waiting_max
            || shared.log.uncommitted() >= shared.limits.uncommitted_turns_max
        {
            shared.counters.refused.fetch_add(1, Ordering::Relaxed);
            return Err(Busy);
        }
        let stimulus = Stimulus::Request {
            kind: Kind::Request,
            component,
            function,
            argument,
            trace: self.begun(trace),
        };
        self.submit_stimulus(stimulus, waiter);
        Ok(())
    }

    /// Start the turn that makes a release current for a component. Never refused for load.
    pub fn submit_activation(
        &self,
        component: Name,
        argument: Arc<dyn std::any::Any + Send + Sync>,
        waiter: Waiter,
    ) {
        let stimulus = Stimulus::Request {
            kind: Kind::Activation,
            component,
            function: "release-activated".into(),
            argument,
            trace: self.begun(Trace::default()),
        };
        self.submit_stimulus(stimulus, waiter);
    }

    fn submit_stimulus(&self, stimulus: Stimulus, waiter: Waiter) {
        if self.shared.failed.get().is_some() {
            return waiter(Err(Failure::Shutdown));
        }
        let turn = TurnId(self.shared.next_id());
        self.shared
            .queue
            .push(Job::new(turn, stimulus, Some(waiter)));
    }

    /// A trace that came from outside, or a fresh one.
    fn begun(&self, trace: Trace) -> Trace {
        if trace.id != 0 {
            return trace;
        }
        let mut bytes = [0; 16];
        self.shared.environment.entropy.fill(&mut bytes);
        Trace {
            id: u128::from_be_bytes(bytes).max(1),
            ..trace
        }
    }

    /// Run one ready turn, the one at `place` of the queue. Answers whether there was one.
    pub fn run(&self, place: usize) -> bool {
        let Some(job) = self.shared.queue.take(place) else {
            return false;
        };
        self.run_job(job);
        true
    }

    /// How many turns are ready.
    pub fn ready(&self) -> usize {
        self.shared.queue.len()
    }

    pub(crate) fn run_job(&self, mut job: Box<Job>) {
        let shared = &self.shared;
        if let Some(delivery) = stale_reminder(shared, &job) {
            tracing::debug!(component = %delivery.component, "a reminder was replaced or cancelled");
            release_all(shared, &mut job);
            return self.job_done();
        }
        let Some(mut job) = take_footprint(job) else {
            // It queues for a document; whoever lets go of that puts it back.
            return self.job_done();
        };
        let started_us = shared.environment.clock.monotonic_us();
        let mut turn = Turn::new(shared.clone(), job.turn, job.stimulus.trace());
        adopt_footprint(&mut turn, &mut job);
        if let Stimulus::Delivery(delivery) = &job.stimulus {
            turn.staged.subjects.clone_from(&delivery.subjects);
        }
        let ran = catch_unwind(AssertUnwindSafe(|| {
            shared.handler.handle(&job.stimulus, turn)
        }));
        let handled = ran.unwrap_or_else(|panic| Handled {
            turn: None,
            outcome: Err(Failure::Handler {
                component: job.stimulus.component().clone(),
                reason: format!("the host panicked: {}", panic_text(&*panic)),
            }),
        });
        let took_us = shared
            .environment
            .clock
            .monotonic_us()
            .saturating_sub(started_us);
        let took_us = u32::try_from(took_us).unwrap_or(u32::MAX);
        match handled {
            Handled {
                turn: Some(turn), ..
            } if turn.blocked.is_some() => self.interrupted(turn, job),
            Handled {
                turn: Some(turn),
                outcome: Ok(reply),
            } => self.execute(turn, job, reply, took_us),
            Handled {
                turn,
                outcome: Err(failure),
            } => self.fail(turn, job, failure, took_us),
            Handled { turn: None, .. } => {
                let failure = Failure::Handler {
                    component: job.stimulus.component().clone(),
                    reason: "the turn was lost".into(),
                };
                self.fail(None, job, failure, took_us);
            }
        }
        self.job_done();
    }

    fn job_done(&self) {
        if self.shared.queue.done() {
            self.shared.log.idle();
        }
    }

    /// The handler is through: validate, give the turn its place in the log, make it visible.
    fn execute(&self, mut turn: Turn, mut job: Box<Job>, reply: Reply, took_us: u32) {
        let shared = &self.shared;
        if let Some(cell) = outdated_read(&turn) {
            turn.blocked = Some(cell);
            return self.interrupted(turn, job);
        }
        let staged = std::mem::take(&mut turn.staged);
        let record = self.record(&turn, &job.stimulus, &staged, took_us, Ended::Executed);
        let deliveries = staged.deliveries.clone();
        let mut executed = Executed {
            writes: writes(&turn),
            deliveries: staged.deliveries,
            reminders: staged.reminders,
            outbound: staged.outbound,
            receipts: staged.receipts,
            history: Some(record),
            ..Executed::default()
        };
        if let Stimulus::Delivery(delivery) = &job.stimulus {
            executed.handled = Some(delivery.clone());
            handled_reminder(shared, delivery, &mut executed.reminders);
        }
        self.apply_reminders(&executed.reminders);
        let answer = job.waiter.take().map(|waiter| (waiter, reply));
        let now_us = shared.environment.clock.monotonic_us();
        let lsn = shared.log.append(executed, answer, now_us);
        install(shared, &mut turn, lsn);
        drop(turn);
        shared.counters.executed.fetch_add(1, Ordering::Relaxed);
        for delivery in deliveries {
            self.enqueue_delivery(delivery);
        }
    }

    fn apply_reminders(&self, changes: &[ReminderChange]) {
        if changes.is_empty() {
            return;
        }
        let mut reminders = self.shared.reminders.lock();
        for change in changes {
            match change {
                ReminderChange::Set(reminder) => reminders.set(reminder.clone()),
                ReminderChange::Cancel { component, id } => {
                    reminders.cancel(component, id);
                }
            }
        }
    }

    /// Another turn was in the way: run again, holding what is known to be wanted.
    fn interrupted(&self, mut turn: Turn, mut job: Box<Job>) {
        let shared = &self.shared;
        shared.counters.conflicts.fetch_add(1, Ordering::Relaxed);
        job.conflicts += 1;
        let mut wanted: Vec<_> = turn
            .touched
            .values()
            .filter(|touch| touch.held)
            .map(|touch| touch.cell.clone())
            .chain(turn.blocked.take())
            .chain(std::mem::take(&mut job.footprint))
            .collect();
        drop(turn);
        wanted.sort_by(|a, b| a.key.cmp(&b.key));
        wanted.dedup_by(|a, b| a.key == b.key);
        if job.conflicts > shared.limits.conflicts_max {
            let failure = Failure::Contention(job.conflicts);
            job.conflicts = 0;
            return self.fail(None, job, failure, 0);
        }
        job.footprint = wanted;
        job.held = 0;
        shared.queue.push_first(job);
    }

    /// The handler failed: nothing of the turn remains. Tell who waits, or try again, or park.
    fn fail(&self, turn: Option<Turn>, mut job: Box<Job>, failure: Failure, took_us: u32) {
        let shared = &self.shared;
        shared.counters.failed.fetch_add(1, Ordering::Relaxed);
        let staged = turn.map(|mut turn| std::mem::take(&mut turn.staged));
        release_all(shared, &mut job);
        job.footprint.clear();
        job.attempts += 1;
        let component = job.stimulus.component().clone();
        let reason = failure.to_string();
        tracing::warn!(%component, turn = %job.turn, attempt = job.attempts, %reason, "a turn failed");
        let last = match &job.stimulus {
            Stimulus::Request { .. } => true,
            Stimulus::Delivery(_) => job.attempts >= shared.limits.attempts_max,
        };
        let ended = match &job.stimulus {
            Stimulus::Delivery(_) if last => Ended::Parked(reason.clone()),
            _ => Ended::Failed(reason.clone()),
        };
        let probe = Turn::new(shared.clone(), job.turn, job.stimulus.trace());
        let mut staged = staged.unwrap_or_default();
        if let Stimulus::Delivery(delivery) = &job.stimulus
            && staged.subjects.is_empty()
        {
            staged.subjects.clone_from(&delivery.subjects);
        }
        let record = self.record(&probe, &job.stimulus, &staged, took_us, ended);
        let mut executed = Executed {
            history: Some(record),
            ..Executed::default()
        };
        match (&job.stimulus, last) {
            (Stimulus::Delivery(delivery), true) => {
                self.park(delivery, job.attempts, reason, &mut executed);
            }
            (Stimulus::Delivery(_), false) => {
                let pause = pause_ms(&shared.limits, job.attempts);
                let due = shared.environment.clock.now() + pause;
                shared.delayed.push(due, job);
                let now_us = shared.environment.clock.monotonic_us();
                shared.log.append(executed, None, now_us);
                return;
            }
            (Stimulus::Request { .. }, _) => {}
        }
        let now_us = shared.environment.clock.monotonic_us();
        shared.log.append(executed, None, now_us);
        if let Some(waiter) = job.waiter.take() {
            waiter(Err(failure));
        }
    }

    fn park(
        &self,
        delivery: &Arc<Delivery>,
        attempts: u32,
        error: String,
        executed: &mut Executed,
    ) {
        let shared = &self.shared;
        shared.counters.dead_letters.fetch_add(1, Ordering::Relaxed);
        tracing::error!(
            component = %delivery.component, interface = %delivery.interface, id = delivery.id,
            %error, "a delivery became a dead letter; see `rialto dead-letters`"
        );
        executed.handled = Some(delivery.clone());
        handled_reminder(shared, delivery, &mut executed.reminders);
        self.apply_reminders(&executed.reminders);
        executed.dead_letters.push(DeadLetter {
            delivery: delivery.clone(),
            attempts,
            error,
            at: shared.environment.clock.now(),
        });
    }

    fn record(
        &self,
        turn: &Turn,
        stimulus: &Stimulus,
        staged: &Staged,
        took_us: u32,
        ended: Ended,
    ) -> Record {
        let mut steps = staged.steps.clone();
        for touch in turn.touched.values().filter(|touch| touch.write.is_some()) {
            let key = &touch.cell.key;
            if let Some((component, name)) = self.shared.collections.name(key.collection) {
                let document = format!("{component}/{name}/{}", key.id);
                steps.push(Step::Wrote { document });
            }
        }
        let (function, cause) = match stimulus {
            Stimulus::Request { function, .. } => (function.clone(), None),
            Stimulus::Delivery(d) => (d.function.clone(), d.by),
        };
        Record {
            turn: turn.id,
            cause,
            at: turn.now,
            took_us,
            release: staged.release,
            kind: stimulus.kind(),
            component: stimulus.component().clone(),
            function,
            trace: turn.trace.id,
            subjects: staged.subjects.clone(),
            steps,
            ended,
        }
    }

    fn enqueue_delivery(&self, delivery: Arc<Delivery>) {
        let turn = TurnId(self.shared.next_id());
        self.shared
            .queue
            .push(Job::new(turn, Stimulus::Delivery(delivery), None));
    }

    /// Start the turns of reminders and retries that are due.
    pub fn fire_due(&self) {
        let shared = &self.shared;
        let now = shared.environment.clock.now();
        let fired = shared.reminders.lock().fire(now);
        for reminder in fired {
            self.enqueue_delivery(Arc::new(reminder_delivery(shared, &reminder)));
        }
        for job in shared.delayed.take_due(now) {
            shared.queue.push(job);
        }
    }

    /// When `fire_due` has something to do next.
    pub fn next_due(&self) -> Option<crate::time::Timestamp> {
        let reminder = self.shared.reminders.lock().next_due();
        [reminder, self.shared.delayed.next_due()]
            .into_iter()
            .flatten()
            .min()
    }

    /// Write all executed turns that wait in one group, and let their outputs go. Answers how many
    /// turns there were. After an error the engine takes nothing more: what was executed and not
    /// written is lost with it, and nobody has been told otherwise.
    pub fn commit(&self) -> Result<usize, StoreError> {
        let shared = &self.shared;
        if let Some(error) = shared.failed.get() {
            return Err(error.clone());
        }
        let Some(batch) = shared.log.take() else {
            return Ok(0);
        };
        let started_us = shared.environment.clock.monotonic_us();
        let mut group = group(&batch);
        group.next_id = shared.next_id.load(Ordering::Relaxed);
        group.collections = shared.collections.unseen();
        if let Err(error) = shared.environment.store.write(&group) {
            tracing::error!(%error, "a group could not be written; the host stops");
            let _ = shared.failed.set(error.clone());
            for (waiter, _) in batch.answers {
                waiter(Err(Failure::Store(error.to_string())));
            }
            return Err(error);
        }
        shared.collections.stored(group.collections.len());
        shared.log.written(batch.lsn);
        self.count_commit(&group, started_us);
        for request in &group.outbound_added {
            self.send_out(request.clone());
        }
        for (waiter, reply) in batch.answers {
            waiter(Ok(reply));
        }
        shared.documents.trim(batch.lsn);
        Ok(group.turns)
    }

    fn count_commit(&self, group: &Group, started_us: u64) {
        let counters = &self.shared.counters;
        let took = self
            .shared
            .environment
            .clock
            .monotonic_us()
            .saturating_sub(started_us);
        let add = |counter: &AtomicU64, n: usize| {
            counter.fetch_add(n as u64, Ordering::Relaxed);
        };
        add(&counters.commits, 1);
        add(&counters.committed_turns, group.turns);
        add(&counters.documents_written, group.documents.len());
        add(&counters.deliveries_written, group.deliveries_added.len());
        counters.commit_us.fetch_add(took, Ordering::Relaxed);
    }

    fn send_out(&self, request: Arc<OutboundRequest>) {
        let engine = self.clone();
        self.shared.outbound.fetch_add(1, Ordering::Relaxed);
        let sent = request.clone();
        self.shared.environment.network.send(
            request,
            Box::new(move |report| engine.reported(&sent, report)),
        );
    }

    fn reported(&self, request: &OutboundRequest, report: Report) {
        let shared = &self.shared;
        shared.outbound.fetch_sub(1, Ordering::Relaxed);
        let (interface, function) = shared.handler.report_function();
        self.enqueue_delivery(Arc::new(Delivery {
            id: shared.next_id(),
            cause: Cause::Report { id: request.id },
            component: request.component.clone(),
            interface,
            function,
            payload: Payload::Live(Arc::new(report)),
            by: None,
            trace: Trace::parse(&request.traceparent).unwrap_or_default(),
            subjects: request.subjects.clone(),
        }));
    }

    /// Take no more jobs, and tell those who wait for one that has not run. Deliveries are on disk,
    /// or their cause is not.
    pub(crate) fn abandon(&self) {
        loop {
            let jobs = self.shared.queue.close();
            if jobs.is_empty() {
                return;
            }
            for mut job in jobs {
                // Whoever queued for its documents comes back with the next look.
                release_all(&self.shared, &mut job);
                if let Some(waiter) = job.waiter.take() {
                    waiter(Err(Failure::Shutdown));
                }
            }
        }
    }

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
                id: shared.next_id(),
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
    ) -> Result<Vec<StoredDocument>, crate::turn::Interrupt> {
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

/// What the store gave back and `Engine::resume` goes on with.
#[derive(Debug, Default)]
pub struct Recovery {
    deliveries: Vec<Delivery>,
    outbound: Vec<OutboundRequest>,
}

impl Recovery {
    /// How many deliveries and requests go on.
    pub fn counts(&self) -> (usize, usize) {
        (self.deliveries.len(), self.outbound.len())
    }
}

/// Take the documents that the job must hold, in key order. None if it now queues for one.
fn take_footprint(mut job: Box<Job>) -> Option<Box<Job>> {
    while job.held < job.footprint.len() {
        let cell = job.footprint[job.held].clone();
        let mut state = cell.state();
        match state.owner {
            Some(owner) if owner != job.turn => {
                state.waiters.push_back(job);
                return None;
            }
            _ => state.owner = Some(job.turn),
        }
        job.held += 1;
    }
    Some(job)
}

/// Put the documents that the job holds into its turn.
fn adopt_footprint(turn: &mut Turn, job: &mut Job) {
    for cell in job.footprint.drain(..) {
        let (version, seen) = {
            let state = cell.state();
            (state.version, state.body.clone())
        };
        let touch = Touch {
            cell: cell.clone(),
            version,
            seen,
            held: true,
            write: None,
        };
        turn.touched.insert(cell.key.clone(), touch);
    }
    job.held = 0;
}

/// Let go of what the job holds without a turn.
fn release_all(shared: &Shared, job: &mut Job) {
    for cell in job.footprint.drain(..).take(job.held) {
        if let Some(next) = cell.release(job.turn) {
            shared.queue.push_first(next);
        }
    }
    job.held = 0;
}

/// A document that was read and has been written by another turn, or is being.
fn outdated_read(turn: &Turn) -> Option<Arc<crate::documents::Cell>> {
    let mut reads = turn.touched.values().filter(|touch| !touch.held);
    let outdated = reads.find(|touch| {
        let state = touch.cell.state();
        state.version != touch.version || state.owner.is_some()
    });
    outdated.map(|touch| touch.cell.clone())
}

fn writes(turn: &Turn) -> Vec<DocumentWrite> {
    let written = turn.touched.iter().filter_map(|(key, touch)| {
        let body = touch.write.clone()?;
        Some(DocumentWrite {
            collection: key.collection,
            id: key.id.clone(),
            version: touch.version + 1,
            body,
        })
    });
    written.collect()
}

/// Make the turn's writes visible to later turns. The turn still holds its documents.
fn install(shared: &Shared, turn: &mut Turn, lsn: Lsn) {
    for (key, touch) in &mut turn.touched {
        let Some(body) = touch.write.take() else {
            continue;
        };
        shared.documents.absent.note(key.collection, &key.id);
        let mut state = touch.cell.state();
        assert!(
            state.owner == Some(turn.id) && state.version == touch.version,
            "a document was written by a turn that did not hold it"
        );
        let length = |body: &Option<Name>| body.as_ref().map_or(0, |b| b.len());
        shared
            .documents
            .replaced(length(&state.body), length(&body));
        state.version += 1;
        state.body = body;
        state.lsn = lsn;
    }
}

/// The delivery, if it is of a reminder that has been replaced or cancelled since it fired.
fn stale_reminder<'a>(shared: &Shared, job: &'a Job) -> Option<&'a Delivery> {
    let Stimulus::Delivery(delivery) = &job.stimulus else {
        return None;
    };
    let Cause::Reminder { id, generation } = &delivery.cause else {
        return None;
    };
    let reminders = shared.reminders.lock();
    (!reminders.is_current(&delivery.component, id, *generation)).then_some(delivery)
}

/// Note that a reminder's delivery has been handled, unless the reminder was replaced meanwhile.
fn handled_reminder(shared: &Shared, delivery: &Delivery, changes: &mut Vec<ReminderChange>) {
    let Cause::Reminder { id, generation } = &delivery.cause else {
        return;
    };
    let handled = shared
        .reminders
        .lock()
        .handled(&delivery.component, id, *generation);
    if handled {
        // First, so that a reminder of the same id that the handler set stays.
        let cancel = ReminderChange::Cancel {
            component: delivery.component.clone(),
            id: id.clone(),
        };
        changes.insert(0, cancel);
    }
}

fn reminder_delivery(shared: &Shared, reminder: &StoredReminder) -> Delivery {
    let (interface, function) = shared.handler.reminder_function();
    Delivery {
        id: shared.next_id(),
        cause: Cause::Reminder {
            id: reminder.id.clone(),
            generation: reminder.generation,
        },
        component: reminder.component.clone(),
        interface,
        function,
        payload: Payload::Live(Arc::new(reminder.clone())),
        by: None,
        trace: Trace::default(),
        subjects: reminder.subjects.clone(),
    }
}

/// The pause before the next attempt, in milliseconds.
fn pause_ms(limits: &Limits, attempts: u32) -> u64 {
    let doublings = attempts.saturating_sub(1).min(32);
    limits
        .retry_initial_ms
        .saturating_mul(1 << doublings)
        .min(limits.retry_max_ms)
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|s| (*s).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "without a message".into())
}

impl LivePayload for StoredReminder {
    fn encode(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }
    fn as_any(&self) -> &dyn std::any::Any {
        self
    }
}

impl LivePayload for Report {
    fn encode(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }
    fn as_any(&self) -> &dyn std::any::Any {
        self
    }
}

impl Report {
    /// For the history: how it ended, in a few words.
    pub fn summary(&self) -> String {
        let attempts = self.attempts;
        let plural = if attempts == 1 { "attempt" } else { "attempts" };
        match &self.outcome {
            Outcome::Delivered(response) => {
                format!("{} after {attempts} {plural}", response.status)
            }
            Outcome::Failed { reason, .. } => {
                format!("not delivered after {attempts} {plural}: {reason}")
            }
        }
    }
}
