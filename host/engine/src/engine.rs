//! The engine: it takes stimuli, runs their turns through the handler, commits them, and recovers.
//!
//! The engine has no threads. [`crate::threads`] drives it with real ones. A test drives it step by step
//! with `run`, `commit` and `fire_due`, in any order. This file has the inputs: requests, reminders that are
//! due, and recovery. `run` runs turns; `outputs` commits them and releases their outputs.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use crate::answers::{Answering, Answers, Unanswered};
use crate::clients::Priority;
use crate::collections::Collections;
use crate::commit::Log;
use crate::documents::Documents;
use crate::fatal::{self, Critical, OnFatal};
use crate::history::Kind;
use crate::ids::{Name, TurnId};
use crate::limits::Limits;
use crate::lock_set::release_all;
use crate::network::{Network, OutboundRequest};
use crate::observing::CommitObserver;
use crate::operate::Counters;
use crate::origin::Origin;
use crate::outbound_queues::OutboundQueues;
use crate::pending::Pending;
use crate::personal_data::PersonalData;
use crate::poison::PoisonCandidates;
use crate::publications::Publications;
use crate::queue::{Bounds, Job, Offer, Offered, Queue};
use crate::receipts::{ReceiptLog, ReceiptObserver};
use crate::reminders::Reminders;
use crate::spans::Spans;
use crate::stimulus::{Cause, Delivery, Failure, Payload, Reply, Stimulus, Trace, Waiter};
use crate::store::{Store, StoreError, StoredReminder};
use crate::sync::{AtomicU64, Mutex};
use crate::time::{Clock, Entropy, Timestamp};
use crate::turn::Turn;
use crate::waiting::WaitingDeliveries;

/// All ids are below this, because a store may keep them as signed numbers.
const IDS_END: u64 = i64::MAX as u64;

/// A request: the component, the name of the function for the history, and the handler's own argument.
type Asked = (Name, Name, Arc<dyn std::any::Any + Send + Sync>);

/// What the engine is given: its store, network, clock and randomness.
#[derive(Clone)]
pub struct Environment {
    /// Where turns become durable.
    pub store: Arc<dyn Store>,
    /// What carries outbound requests.
    pub network: Arc<dyn Network>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Randomness.
    pub entropy: Arc<dyn Entropy>,
    /// The tracing system that gets the spans of committed turns, if there is one.
    pub spans: Option<Arc<dyn Spans>>,
    /// The keys with which records that name people are encrypted, if they are.
    pub personal_data: Option<Arc<dyn PersonalData>>,
    /// What writes entries of the audit log about receipts, if they are to be there.
    pub receipt_log: Option<Arc<dyn ReceiptLog>>,
    /// What says which events the store keeps for the outside, if it keeps any.
    pub publications: Option<Arc<dyn Publications>>,
}

/// The result of a handler's run.
pub struct Handled {
    /// The turn, returned to the engine. None if it was lost, which counts as a failure.
    pub turn: Option<Turn>,
    /// The answer, or why there is none.
    pub outcome: Result<Reply, Failure>,
}

/// Runs turns. In a host these are the components.
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

/// The state that turns, threads and the engine's users share.
pub(crate) struct Shared {
    pub environment: Environment,
    pub limits: Limits,
    pub documents: Documents,
    pub collections: Collections,
    pub reminders: Mutex<Reminders>,
    /// Pending deliveries, which reminders wait for.
    pub pending: Pending,
    pub queue: Queue,
    /// Deliveries that wait for a retry or for a paused subscriber.
    pub waiting: WaitingDeliveries,
    pub log: Log,
    pub next_id: AtomicU64,
    /// The first id of this start; lower ids are from before.
    pub first_id: u64,
    pub outbound_queues: OutboundQueues,
    /// Outbound requests that wait for answers to be written.
    pub answers: Answers,
    /// Bytes of answers of calls outside the host that turns have while they wait.
    pub answer_bytes: Arc<AtomicUsize>,
    pub counters: Counters,
    /// Dead letters about which a decision is being written, by the delivery's id.
    pub deciding: Mutex<HashSet<u64>>,
    pub poison_candidates: Mutex<PoisonCandidates>,
    pub failed: OnceLock<StoreError>,
    /// Who looks at receipts when they are on disk.
    pub observer: OnceLock<Arc<dyn ReceiptObserver>>,
    pub commit_observer: OnceLock<Arc<dyn CommitObserver>>,
    /// Called when a thread has panicked. Without it the process ends.
    pub on_fatal: OnceLock<OnFatal>,
    pub handler: Arc<dyn Handler>,
}

impl Shared {
    /// A new id.
    pub fn fresh_id(&self) -> u64 {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        assert!(
            (self.first_id..IDS_END).contains(&id),
            "the next id is {id}, and ids are from {} to {IDS_END}",
            self.first_id
        );
        id
    }

    /// Run code that must not panic. If it panics, the engine and the process end.
    pub fn guarded(&self, what: &str, body: impl FnOnce()) {
        let on_fatal = |reason: &str| {
            let _ = self.failed.set(StoreError::Failed(reason.to_owned()));
            match self.on_fatal.get() {
                Some(on_fatal) => on_fatal(reason),
                None => fatal::abort(reason),
            }
        };
        fatal::guarded(what, on_fatal, body);
    }
}

/// A handle to an engine. A clone is another handle to the same engine.
#[derive(Clone)]
pub struct Engine {
    pub(crate) shared: Arc<Shared>,
}

/// A weak handle, for closures that the engine itself keeps: a strong one would keep the engine alive.
pub(crate) struct WeakEngine(Weak<Shared>);

impl WeakEngine {
    /// The engine, unless it has ended.
    pub fn get(&self) -> Option<Engine> {
        let shared = self.0.upgrade()?;
        Some(Engine { shared })
    }
}

impl Engine {
    pub(crate) fn weak(&self) -> WeakEngine {
        WeakEngine(Arc::downgrade(&self.shared))
    }

    /// Open the store and read back what must continue. No turn runs yet.
    pub fn open(
        environment: Environment,
        handler: Arc<dyn Handler>,
        limits: Limits,
    ) -> Result<(Self, Recovery), StoreError> {
        let store = &environment.store;
        let recovered = store.recover()?;
        let overdue = store.count_overdue(environment.clock.now())?;
        let poison_candidate = store.poison_candidate()?;
        let mut reminders = Reminders::default();
        for reminder in recovered.reminders {
            reminders.set(Arc::new(reminder));
        }
        let pending = Pending::default();
        for delivery in &recovered.deliveries {
            pending.add(delivery);
        }
        for letter in store.dead_letters()? {
            pending.add_parked(&letter.delivery, recovered.next_id.max(1));
        }
        let begun_max = (limits.turns_waiting_max / 2).max(1);
        let first_id = recovered.next_id.max(1);
        let undelivered = recovered.deliveries.iter().map(|delivery| delivery.id);
        let unanswered = recovered.outbound.iter().map(|request| request.id);
        let highest = undelivered.chain(unanswered).max().unwrap_or_default();
        assert!(
            highest < first_id,
            "the store gives back something with the id {highest}, and the next id is {first_id}"
        );
        let shared = Arc::new(Shared {
            environment,
            documents: Documents::new(limits.cache_bytes_max),
            queue: Queue::new(begun_max, &limits.client_weights),
            outbound_queues: OutboundQueues::new(&limits),
            answers: Answers::new(limits.requests_waiting_max),
            answer_bytes: Arc::default(),
            limits,
            collections: Collections::recovered(recovered.collections),
            reminders: Mutex::new(reminders),
            pending,
            waiting: WaitingDeliveries::default(),
            log: Log::recovered(recovered.lsn),
            next_id: AtomicU64::new(first_id),
            first_id,
            counters: Counters::default(),
            deciding: Mutex::default(),
            poison_candidates: Mutex::default(),
            failed: OnceLock::new(),
            observer: OnceLock::new(),
            commit_observer: OnceLock::new(),
            on_fatal: OnceLock::new(),
            handler,
        });
        let recovery = Recovery {
            deliveries: recovered.deliveries,
            outbound: recovered.outbound,
            overdue,
            poison_candidate,
        };
        Ok((Self { shared }, recovery))
    }

    /// Call this when a thread of the engine has panicked, instead of ending the process. For tests, and for
    /// processes that are more than a host.
    pub fn on_fatal(&self, on_fatal: OnFatal) {
        let _ = self.shared.on_fatal.set(on_fatal);
    }

    /// Continue with what the store returned: pending deliveries and outbound requests without a report.
    /// Reminders that are due fire with the next `fire_due`.
    pub fn resume(&self, recovery: Recovery) {
        let mut deliveries = recovery.deliveries;
        let redeliveries_max = self.shared.limits.redeliveries_max;
        let candidates = recovery.overdue.into_iter();
        let candidates = candidates.filter(|(_, _, redeliveries)| *redeliveries > redeliveries_max);
        deliveries.extend(candidates.filter_map(|(component, id, redeliveries)| {
            let reminder = self.shared.reminders.lock().take(&component, &id)?;
            if self.block_reminder(&reminder) {
                return None;
            }
            let delivery = reminder_delivery(&self.shared, &reminder);
            Some(Delivery {
                redeliveries,
                ..delivery
            })
        }));
        self.resume_deliveries(deliveries, recovery.poison_candidate);
        for request in recovery.outbound {
            self.send_out(Arc::new(request));
        }
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
        let asker = Requester::default();
        self.submit_for(asker, component, function, argument, trace, waiter)
    }

    /// As [`Engine::submit`], for one of many clients. Each client has a share of the requests that may wait,
    /// and clients are served round robin.
    ///
    /// If the client waits for a limited time ([`Requester::within`]): a turn that has not begun by then does not
    /// begin, and a handler that runs by then can stop ([`Turn::left_us`]). An executed turn stays executed.
    /// The waiter gets [`Failure::Refused`] if a request of a client with a shorter queue, or one of a higher
    /// priority, displaced this one.
    pub fn submit_for(
        &self,
        asker: Requester,
        component: Name,
        function: Name,
        argument: Arc<dyn std::any::Any + Send + Sync>,
        trace: Trace,
        waiter: Waiter,
    ) -> Result<(), Busy> {
        self.offer(asker, None, (component, function, argument), trace, waiter)
    }

    /// As [`Engine::submit_for`]. The caller drops the returned value when the answer was written. Until then
    /// the outbound requests that this request causes wait, at most for
    /// [`crate::limits::ANSWER_LEAVES_MS_MAX`].
    pub fn submit_answered(
        &self,
        asker: Requester,
        component: Name,
        function: Name,
        argument: Arc<dyn std::any::Any + Send + Sync>,
        trace: Trace,
        waiter: Waiter,
    ) -> Result<Answering, Busy> {
        let request = Arc::new(Unanswered::default());
        let answering = Answering::new(self.weak(), request.clone());
        let asked = (component, function, argument);
        self.offer(asker, Some(request), asked, trace, waiter)?;
        Ok(answering)
    }

    fn offer(
        &self,
        asker: Requester,
        answer: Option<Arc<Unanswered>>,
        (component, function, argument): Asked,
        trace: Trace,
        waiter: Waiter,
    ) -> Result<(), Busy> {
        let _critical = Critical::begin();
        let shared = &self.shared;
        let refused = || {
            shared.counters.refused.fetch_add(1, Ordering::Relaxed);
        };
        if shared.failed.get().is_some() {
            waiter(Err(Failure::Shutdown));
            return Ok(());
        }
        if shared.log.uncommitted() >= shared.limits.uncommitted_turns_max {
            refused();
            return Err(Busy);
        }
        let stimulus = Stimulus::Request {
            kind: Kind::Request,
            component,
            function,
            argument,
            trace: self.shared.begun(trace),
        };
        let within = asker.within;
        let within = within.map(|within| u64::try_from(within.as_micros()).unwrap_or(u64::MAX));
        let now_us = shared.environment.clock.monotonic_us();
        let expires_us = within.map(|within| now_us.saturating_add(within));
        let bounds = Bounds {
            all_max: shared.limits.turns_waiting_max,
            each_max: shared.limits.turns_waiting_per_client_max,
        };
        let turn = TurnId(shared.fresh_id());
        let queue = &shared.queue;
        let origin = Origin {
            answer,
            ..Origin::of(asker.name)
        };
        let offer = Offer {
            origin,
            priority: asker.priority,
            turn,
            stimulus,
            expires_us,
            waiter,
        };
        match queue.offer(offer, bounds) {
            Offered::Taken => {}
            Offered::Displaced(mut job) => {
                refused();
                if let Some(waiter) = job.waiter.take() {
                    waiter(Err(Failure::Refused));
                }
            }
            Offered::Full => {
                refused();
                return Err(Busy);
            }
            Offered::Closed(waiter) => waiter(Err(Failure::Shutdown)),
        }
        Ok(())
    }

    /// Start the turn in which a component activates a release. It is never refused for load.
    pub fn submit_activation(
        &self,
        component: Name,
        argument: Arc<dyn std::any::Any + Send + Sync>,
        waiter: Waiter,
    ) {
        let _critical = Critical::begin();
        let stimulus = Stimulus::Request {
            kind: Kind::Activation,
            component,
            function: "release-activated".into(),
            argument,
            trace: self.shared.begun(Trace::default()),
        };
        if self.shared.failed.get().is_some() {
            return waiter(Err(Failure::Shutdown));
        }
        let turn = TurnId(self.shared.fresh_id());
        let queue = &self.shared.queue;
        let job = queue.job(turn, stimulus, Some(waiter));
        let refused = queue.push_if_open(job);
        if let Err(mut job) = refused
            && let Some(waiter) = job.waiter.take()
        {
            waiter(Err(Failure::Shutdown));
        }
    }

    /// Run one ready turn, the `nth` in the order in which they became ready. Returns whether there
    /// was one.
    pub fn run(&self, nth: usize) -> bool {
        self.run_taken(self.shared.queue.take(nth))
    }

    /// Run the ready turn that a worker would. Returns whether there was one.
    pub fn run_next(&self) -> bool {
        self.run_taken(self.shared.queue.pop())
    }

    fn run_taken(&self, taken: Option<Box<Job>>) -> bool {
        let Some(job) = taken else {
            return false;
        };
        if let Some(next) = self.run_job(job) {
            self.shared.queue.push(next);
        }
        self.job_done();
        true
    }

    /// How many turns are ready.
    pub fn ready(&self) -> usize {
        self.shared.queue.len()
    }

    pub(crate) fn enqueue_delivery(&self, delivery: Arc<Delivery>) {
        self.shared.queue.push(self.delivery_job(delivery));
    }

    pub(crate) fn delivery_job(&self, delivery: Arc<Delivery>) -> Box<Job> {
        let turn = TurnId(self.shared.fresh_id());
        let stimulus = Stimulus::Delivery(delivery);
        self.shared.queue.job(turn, stimulus, None)
    }

    /// Start the turns of reminders and of waiting deliveries that are due, as far as the queue has room.
    pub fn fire_due(&self) {
        let shared = &self.shared;
        let clock = &*shared.environment.clock;
        let until = shared.pending.logged_until(clock);
        let room = shared.queue.room();
        let fired = shared.reminders.lock().fire(until, room);
        for reminder in fired {
            if !self.block_reminder(&reminder) {
                self.enqueue_delivery(Arc::new(reminder_delivery(shared, &reminder)));
            }
        }
        for request in shared.answers.overdue(clock.monotonic_us()) {
            self.send_out(request);
        }
        self.release_waiting();
        if shared.outbound_queues.read_again_us().is_some() {
            self.send_more();
        }
    }

    /// When `fire_due` next has something to do.
    pub fn next_due(&self) -> Option<Timestamp> {
        let shared = &self.shared;
        let clock = &shared.environment.clock;
        let now_us = clock.monotonic_us();
        let waiting = [
            shared.waiting.next_due_us(),
            shared.outbound_queues.read_again_us(),
            shared.answers.next_due_us(),
        ];
        let waiting = waiting.into_iter().flatten().min();
        let waiting =
            waiting.map(|due_us| clock.now() + due_us.saturating_sub(now_us).div_ceil(1_000));
        let reminder = shared.reminders.lock().next_due();
        [reminder, waiting].into_iter().flatten().min()
    }

    /// Make jobs of deliveries that have waited long enough. Read back those that are not in memory.
    fn release_waiting(&self) {
        let shared = &self.shared;
        let now_us = shared.environment.clock.monotonic_us();
        let in_memory_max = shared.limits.deliveries_waiting_in_memory_max;
        shared.waiting.trim(in_memory_max, shared.log.committed());
        let mut released = shared.waiting.release(now_us, shared.queue.room());
        let on_disk = released.iter().filter(|r| r.waiting.delivery.is_none());
        let ids: Vec<u64> = on_disk.map(|released| released.id).collect();
        let mut read = HashMap::new();
        if !ids.is_empty() {
            match shared.environment.store.deliveries(&ids) {
                Ok(deliveries) => read.extend(deliveries.into_iter().map(|d| (d.id, d))),
                Err(error) => {
                    tracing::error!(%error, deliveries = ids.len(), "deliveries that wait on disk could not be read from the store; the host tries again in a moment");
                    return shared.waiting.put_back(released, now_us, &shared.limits);
                }
            }
        }
        for released in &mut released {
            let waiting = &mut released.waiting;
            let delivery = waiting.delivery.take().or_else(|| {
                let origin = waiting.origin.clone();
                let read = read.remove(&released.id)?;
                Some(Arc::new(Delivery { origin, ..read }))
            });
            let delivery = delivery.unwrap_or_else(|| {
                panic!(
                    "the delivery {} waits on disk and is not there",
                    released.id
                )
            });
            let stimulus = Stimulus::Delivery(delivery);
            let mut job = shared.queue.job(waiting.turn, stimulus, None);
            job.attempts = waiting.attempts;
            job.failing_since_us = waiting.failing_since_us;
            job.released = released.period();
            shared.queue.push(job);
        }
        assert!(
            read.is_empty(),
            "the store gives back {} deliveries that it was not asked for",
            read.len()
        );
    }

    /// Accept no more jobs, and fail the requests that have not run. No delivery is lost: it is on disk, or
    /// its cause is not on disk either.
    pub(crate) fn abandon(&self) {
        loop {
            let jobs = self.shared.queue.close();
            if jobs.is_empty() {
                return;
            }
            for job in jobs {
                // A job that queued for its documents is in the queue again at the next look.
                self.turn_away(job);
            }
        }
    }

    /// Drop a job without running it, and tell its waiter.
    pub(crate) fn turn_away(&self, mut job: Box<Job>) {
        release_all(&self.shared, &mut job);
        if let Some(waiter) = job.waiter.take() {
            waiter(Err(Failure::Shutdown));
        }
    }
}

/// The client that asks for a turn.
#[derive(Clone, Debug, Default)]
pub struct Requester {
    /// The client's proven name, or else its address. Clients with the same name have one share together.
    pub name: Name,
    /// How long the client waits; none for no limit.
    pub within: Option<Duration>,
    /// Whether the request goes before others of the same client.
    pub priority: Priority,
}

/// What the store returned, for `Engine::resume` to continue with.
#[derive(Debug, Default)]
pub struct Recovery {
    deliveries: Vec<Delivery>,
    outbound: Vec<OutboundRequest>,
    /// Reminders that are due: component, id, and redelivery count.
    overdue: Vec<(Name, Name, u32)>,
    /// The name of the poison candidate that ran when the host ended.
    poison_candidate: Option<String>,
}

impl Recovery {
    /// How many deliveries and outbound requests continue.
    pub fn counts(&self) -> (usize, usize) {
        (self.deliveries.len(), self.outbound.len())
    }
}

fn reminder_delivery(shared: &Shared, reminder: &Arc<StoredReminder>) -> Delivery {
    let (interface, function) = shared.handler.reminder_function();
    Delivery {
        id: shared.fresh_id(),
        cause: Cause::Reminder {
            id: reminder.id.clone(),
            generation: reminder.generation,
        },
        component: reminder.component.clone(),
        interface,
        function,
        payload: Payload::Live(reminder.clone()),
        by: None,
        trace: shared.begun(reminder.trace),
        subjects: reminder.subjects.clone(),
        hops: 0,
        redeliveries: 0,
        origin: Origin::default(),
    }
}
