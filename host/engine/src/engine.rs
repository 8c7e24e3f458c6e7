//! The engine: takes stimuli, runs their turns through the handler, executes, commits, recovers.
//!
//! The engine itself has no threads. [`crate::threads`] drives it with real ones; a test drives it
//! step by step with `run`, `commit` and `fire_due`, in any order that it likes. This file holds what
//! goes in; `run` runs it, `outputs` lets go what came of it.

use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::Mutex;

use crate::collections::Collections;
use crate::commit::Log;
use crate::documents::Documents;
use crate::footprint::release_all;
use crate::history::Kind;
use crate::ids::{Name, TurnId};
use crate::limits::Limits;
use crate::network::{Network, OutboundRequest};
use crate::operate::Counters;
use crate::outlets::Outlets;
use crate::queue::{Delayed, Job, Queue};
use crate::reminders::Reminders;
use crate::spans::Spans;
use crate::stimulus::{Cause, Delivery, Failure, Payload, Reply, Stimulus, Trace, Waiter};
use crate::store::{Store, StoreError, StoredReminder};
use crate::suspects::Suspects;
use crate::time::{Clock, Entropy, Timestamp};
use crate::turn::Turn;

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
    /// What is told about turns that are on disk, if anything is.
    pub spans: Option<Arc<dyn Spans>>,
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
    pub next_id: AtomicU64,
    pub outlets: Outlets,
    pub counters: Counters,
    /// Dead letters that are being settled, by the delivery's id.
    pub settling: Mutex<HashSet<u64>>,
    pub suspects: Mutex<Suspects>,
    pub failed: OnceLock<StoreError>,
    pub handler: Arc<dyn Handler>,
}

impl Shared {
    /// An id that was never used.
    pub fn fresh_id(&self) -> u64 {
        self.next_id.fetch_add(1, Ordering::Relaxed)
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
            outlets: Outlets::default(),
            counters: Counters::default(),
            settling: Mutex::default(),
            suspects: Mutex::default(),
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
        self.resume_deliveries(recovery.deliveries);
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
        self.submit_within(component, function, argument, trace, None, waiter)
    }

    /// As [`Engine::submit`], for somebody who waits no longer than this. A turn that has not begun by then
    /// does not; one that runs by then is ended if its handler sees it ([`Turn::left_us`]). What is executed
    /// stays, whoever waits.
    pub fn submit_within(
        &self,
        component: Name,
        function: Name,
        argument: Arc<dyn std::any::Any + Send + Sync>,
        trace: Trace,
        within: Option<Duration>,
        waiter: Waiter,
    ) -> Result<(), Busy> {
        let shared = &self.shared;
        if shared.queue.alive() >= shared.limits.turns_waiting_max
            || shared.log.uncommitted() >= shared.limits.uncommitted_turns_max
            || shared.outlets.in_memory() >= shared.limits.requests_waiting_max
        {
            shared.counters.refused.fetch_add(1, Ordering::Relaxed);
            return Err(Busy);
        }
        let stimulus = Stimulus::Request {
            kind: Kind::Request,
            component,
            function,
            argument,
            trace: self.shared.begun(trace),
        };
        let within = within.map(|within| u64::try_from(within.as_micros()).unwrap_or(u64::MAX));
        let now_us = shared.environment.clock.monotonic_us();
        let expires_us = within.map(|within| now_us.saturating_add(within));
        self.submit_stimulus(stimulus, expires_us, waiter);
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
            trace: self.shared.begun(Trace::default()),
        };
        self.submit_stimulus(stimulus, None, waiter);
    }

    fn submit_stimulus(&self, stimulus: Stimulus, expires_us: Option<u64>, waiter: Waiter) {
        if self.shared.failed.get().is_some() {
            return waiter(Err(Failure::Shutdown));
        }
        let turn = TurnId(self.shared.fresh_id());
        let queue = &self.shared.queue;
        let mut job = queue.job(turn, stimulus, Some(waiter));
        job.expires_us = expires_us;
        let refused = queue.push_if_open(job);
        if let Err(mut job) = refused
            && let Some(waiter) = job.waiter.take()
        {
            waiter(Err(Failure::Shutdown));
        }
    }

    /// Run one ready turn, the one at `place` of the queue. Answers whether there was one.
    pub fn run(&self, place: usize) -> bool {
        let Some(job) = self.shared.queue.take(place) else {
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
    pub fn next_due(&self) -> Option<Timestamp> {
        let reminder = self.shared.reminders.lock().next_due();
        [reminder, self.shared.delayed.next_due()]
            .into_iter()
            .flatten()
            .min()
    }

    /// Take no more jobs, and tell those who wait for one that has not run. Deliveries are on disk,
    /// or their cause is not.
    pub(crate) fn abandon(&self) {
        loop {
            let jobs = self.shared.queue.close();
            if jobs.is_empty() {
                return;
            }
            for job in jobs {
                // Whoever queued for its documents comes back with the next look.
                self.turn_away(job);
            }
        }
    }

    /// Do not run a job, and tell who waits for it.
    pub(crate) fn turn_away(&self, mut job: Box<Job>) {
        release_all(&self.shared, &mut job);
        if let Some(waiter) = job.waiter.take() {
            waiter(Err(Failure::Shutdown));
        }
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

fn reminder_delivery(shared: &Shared, reminder: &StoredReminder) -> Delivery {
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
        payload: Payload::Live(Arc::new(reminder.clone())),
        by: None,
        trace: shared.begun(reminder.trace),
        subjects: reminder.subjects.clone(),
        hops: 0,
        starts: 0,
    }
}
