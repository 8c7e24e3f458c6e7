//! The environment of the engine's tests: a store in memory that can fail at every boundary, a network and a clock that
//! the test controls, and a bank as the handler.
//!
//! The bank's accounts are documents. A request `pay` moves money from one account into a hold, and
//! publishes `held`; its delivery moves the hold to the payee, sends a letter and sets a reminder; the
//! letter's report and the reminder each write a mark. Documents count every effect, so that lost and repeated effects
//! are found.

#![allow(
    dead_code,
    unused_imports,
    reason = "each test file uses a part of the world"
)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "a test stops at what it did not expect, and measures real time"
)]

mod bank;
mod environment;
mod store;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use parking_lot::Mutex;
use rialto_engine::engine::{Handled, Handler};
use rialto_engine::store::ScanRange;
use rialto_engine::{
    Answering, Engine, Environment, Failure, Limits, Name, Priority, Reply, Requester, Spans,
    Stimulus, Trace, Turn,
};

pub use bank::{Ask, BANK, Bank, BankDocuments, Doing, Pay, doing, note, spin};
pub use environment::{Fixed, TestClock, Wire};
pub use store::{Disk, Fault, MemoryStore};

/// What somebody was told, once it was.
pub type Answer = Arc<Mutex<Option<Result<bool, Failure>>>>;

/// An engine with everything around it.
pub struct World {
    pub store: Arc<MemoryStore>,
    pub wire: Arc<Wire>,
    pub clock: Arc<TestClock>,
    pub bank: Arc<Bank>,
    pub engine: Engine,
}

pub fn limits() -> Limits {
    Limits {
        retry_initial_ms: 10,
        retry_max_ms: 100,
        attempts_max: 5,
        probe_initial_ms: 20,
        probe_max_ms: 100,
        // Most worlds have one thread.
        lock_wait_us: 0,
        // Tests crash more often than hosts.
        redeliveries_max: 1_000,
        ..Limits::default()
    }
}

impl World {
    pub fn new() -> Self {
        Self::on(Arc::default(), Arc::default(), limits())
    }

    pub fn on(store: Arc<MemoryStore>, clock: Arc<TestClock>, limits: Limits) -> Self {
        Self::with(store, clock, limits, None)
    }

    /// With a tracing system.
    pub fn traced(spans: Arc<dyn Spans>) -> Self {
        Self::with(Arc::default(), Arc::default(), limits(), Some(spans))
    }

    fn with(
        store: Arc<MemoryStore>,
        clock: Arc<TestClock>,
        limits: Limits,
        spans: Option<Arc<dyn Spans>>,
    ) -> Self {
        let wire = Arc::new(Wire::default());
        let bank = Arc::new(Bank::default());
        let environment = Environment {
            store: store.clone(),
            network: wire.clone(),
            clock: clock.clone(),
            entropy: Arc::new(Fixed),
            spans,
            personal_data: None,
            receipt_log: None,
            publications: None,
        };
        let (engine, recovery) = Engine::open(environment, bank.clone(), limits).unwrap();
        engine.resume(recovery);
        Self {
            store,
            wire,
            clock,
            bank,
            engine,
        }
    }

    /// For real threads: the time of the machine passes.
    pub fn in_real_time(self) -> Self {
        self.clock.1.real.store(true, Ordering::Relaxed);
        self
    }

    /// As after a crash: what was in memory is gone, what was on disk is there.
    pub fn crashed(self) -> Self {
        let store = self.store.reopened();
        let clock = self.clock.clone();
        drop(self);
        Self::on(store, clock, limits())
    }

    /// The same, with a tracing system.
    pub fn crashed_traced(self, spans: Arc<dyn Spans>) -> Self {
        let store = self.store.reopened();
        let clock = self.clock.clone();
        drop(self);
        Self::with(store, clock, limits(), Some(spans))
    }

    /// Ask the bank. The answer comes with the commit.
    pub fn ask(&self, ask: Ask) -> Answer {
        let answer = Answer::default();
        let told = answer.clone();
        let submitted = self.engine.submit(
            BANK.into(),
            "ask".into(),
            Arc::new(ask),
            Trace::default(),
            Box::new(move |outcome| {
                let outcome = outcome.map(|reply| *reply.downcast::<bool>().unwrap());
                let before = told.lock().replace(outcome);
                assert!(before.is_none(), "an answer comes once");
            }),
        );
        assert!(submitted.is_ok());
        answer
    }

    /// Ask as a client. The answer comes with the commit; none if there is no room.
    pub fn ask_as(&self, client: &str, ask: Ask) -> Option<Answer> {
        self.ask_with(client, Priority::default(), ask)
    }

    /// As [`Self::ask_as`], with a priority.
    pub fn ask_with(&self, client: &str, priority: Priority, ask: Ask) -> Option<Answer> {
        let answer = Answer::default();
        let told = answer.clone();
        let asker = Requester {
            name: client.into(),
            priority,
            ..Requester::default()
        };
        let submitted = self.engine.submit_for(
            asker,
            BANK.into(),
            "ask".into(),
            Arc::new(ask),
            Trace::default(),
            Box::new(move |outcome| {
                let outcome = outcome.map(|reply| *reply.downcast::<bool>().unwrap());
                let before = told.lock().replace(outcome);
                assert!(before.is_none(), "an answer comes once");
            }),
        );
        submitted.is_ok().then_some(answer)
    }

    /// As [`World::ask`], with what is to be dropped when the answer has left.
    pub fn ask_answered(&self, ask: Ask) -> (Answer, Answering) {
        let answer = Answer::default();
        let told = answer.clone();
        let submitted = self.engine.submit_answered(
            Requester::default(),
            BANK.into(),
            "ask".into(),
            Arc::new(ask),
            Trace::default(),
            Box::new(move |outcome| {
                let outcome = outcome.map(|reply| *reply.downcast::<bool>().unwrap());
                let before = told.lock().replace(outcome);
                assert!(before.is_none(), "an answer comes once");
            }),
        );
        (answer, submitted.unwrap())
    }

    /// Let time go on, and start what is due.
    pub fn pass(&self, milliseconds: u64) {
        self.clock.0.fetch_add(milliseconds, Ordering::Relaxed);
        self.engine.fire_due();
    }

    /// As after a crash, with these limits.
    pub fn crashed_with(self, limits: Limits) -> Self {
        let (store, clock) = (self.store.reopened(), self.clock.clone());
        drop(self);
        Self::on(store, clock, limits)
    }

    /// Whether the engine refuses a request now.
    pub fn is_busy(&self) -> bool {
        let nothing = Box::new(|_: Result<Reply, Failure>| ());
        let ask = Arc::new(doing(|_| Ok(true)));
        self.engine
            .submit(BANK.into(), "ask".into(), ask, Trace::default(), nothing)
            .is_err()
    }

    /// Run and commit until nothing is left to do but wait for the outside or the clock.
    pub fn run_until_idle(&self) {
        while self.engine.run(0) || self.engine.commit().is_ok_and(|turns| turns > 0) {}
    }

    /// Run one turn and commit it.
    pub fn run_and_commit_one(&self) {
        self.engine.run_next();
        self.engine.commit().unwrap();
    }

    /// As `run_until_idle`, with all letters answered and all waits over.
    pub fn finish(&self) {
        for _ in 0..200 {
            self.run_until_idle();
            while self.wire.answer(0) {}
            self.clock.0.fetch_add(60, Ordering::Relaxed);
            self.engine.fire_due();
        }
        self.run_until_idle();
    }

    /// A collection as executed.
    pub fn all(&self, collection: &str) -> BTreeMap<String, String> {
        let found = self
            .engine
            .inspect(BANK, collection, &ScanRange::all(), 1_000);
        let documents = found.unwrap().into_iter();
        documents
            .map(|d| (d.id.to_string(), d.body.to_string()))
            .collect()
    }

    pub fn sum(&self, collection: &str) -> i64 {
        let all = self.all(collection);
        all.values().map(|v| v.parse::<i64>().unwrap()).sum()
    }
}

/// A handler that writes one document and gives back what the engine says to it.
struct Writer(String, String, String);

impl Handler for Writer {
    fn handle(&self, _: &Stimulus, mut turn: Turn) -> Handled {
        let said = turn.put(&self.0, &self.1, &self.2).unwrap_err();
        Handled {
            turn: Some(turn),
            outcome: Err(Failure::Handler {
                component: BANK.into(),
                reason: said.to_string(),
            }),
        }
    }
    fn reminder_function(&self) -> (Name, Name) {
        ("reminders".into(), "due".into())
    }
    fn report_function(&self) -> (Name, Name) {
        ("reports".into(), "reported".into())
    }
}

impl World {
    /// What the engine says to a write that breaks its rules.
    pub fn misuse(&self, collection: &str, id: &str, body: &str) -> String {
        let environment = Environment {
            store: Arc::new(MemoryStore::default()),
            network: Arc::new(Wire::default()),
            clock: self.clock.clone(),
            entropy: Arc::new(Fixed),
            spans: None,
            personal_data: None,
            receipt_log: None,
            publications: None,
        };
        let writer = Writer(collection.into(), id.into(), body.into());
        let (engine, _) = Engine::open(environment, Arc::new(writer), limits()).unwrap();
        let said: Arc<Mutex<String>> = Arc::default();
        let told = said.clone();
        let waiter = move |outcome: Result<Reply, Failure>| {
            *told.lock() = outcome.err().map(|f| f.to_string()).unwrap_or_default();
        };
        let submitted = engine.submit(
            BANK.into(),
            "write".into(),
            Arc::new(()),
            Trace::default(),
            Box::new(waiter),
        );
        submitted.unwrap();
        engine.run(0);
        std::mem::take(&mut *said.lock())
    }
}
