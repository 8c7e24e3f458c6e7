//! A small world around the engine, for tests: a store in memory that can fail at every boundary, a
//! network that answers when told to, a clock that moves when told to, and a bank as the handler.
//!
//! The bank's accounts are documents. A request `pay` moves money from one account into a hold, and
//! publishes `held`; its delivery moves the hold to the payee, sends a letter and sets a reminder; the
//! letter's report and the reminder leave a mark each. Every effect is counted in documents, so that a
//! lost or a doubled one shows.

#![allow(dead_code, reason = "each test file uses a part of the world")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "a test stops at what it did not expect, and measures real time"
)]

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use rialto_engine::engine::{Handled, Handler};
use rialto_engine::network::{
    DeliveryPolicy, Network, OutboundRequest, OutboundResponse, Outcome, Report, WhileAway,
};
use rialto_engine::stimulus::LivePayload;
use rialto_engine::store::{
    Collection, DeadLetter, Group, Recovered, ScanRange, Store, StoreError, StoredDocument,
    StoredReminder,
};
use rialto_engine::turn::Send as SendRequest;
use rialto_engine::{
    Clock, CollectionId, Delivery, Engine, Entropy, Environment, Failure, Interrupt, Limits, Lsn,
    Name, Payload, Reply, Spans, Stimulus, Timestamp, Trace, Turn,
};

/// What the store has on disk, and what is to go wrong.
#[derive(Default)]
pub struct Disk {
    pub lsn: u64,
    pub next_id: u64,
    pub fence: u64,
    pub collections: Vec<Collection>,
    pub documents: BTreeMap<(CollectionId, String), (u64, String)>,
    pub deliveries: BTreeMap<u64, Delivery>,
    pub reminders: BTreeMap<(String, String), StoredReminder>,
    pub outbound: BTreeMap<u64, OutboundRequest>,
    pub dead_letters: BTreeMap<u64, DeadLetter>,
    pub groups: u64,
    pub history: usize,
}

/// How the next write ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Nothing of the group is on disk.
    Before,
    /// All of it is, and nobody is told.
    After,
}

#[derive(Default)]
pub struct MemoryStore {
    pub disk: Arc<Mutex<Disk>>,
    pub fault: Mutex<Option<Fault>>,
    pub slow: Mutex<Option<std::time::Duration>>,
    /// Runs once, in the middle of the next write.
    #[allow(clippy::type_complexity, reason = "what a test wants to happen")]
    pub amid_write: Mutex<Option<Box<dyn FnOnce() + Send>>>,
    fence: AtomicU64,
}

impl MemoryStore {
    /// The same disk, opened by another process.
    pub fn reopened(self: &Arc<Self>) -> Arc<Self> {
        let disk = std::mem::take(&mut *self.disk.lock());
        Arc::new(Self {
            disk: Arc::new(Mutex::new(disk)),
            ..Self::default()
        })
    }

    /// A store on this disk, beside others.
    pub fn on(disk: &Arc<Mutex<Disk>>) -> Self {
        Self {
            disk: disk.clone(),
            ..Self::default()
        }
    }
}

impl Store for MemoryStore {
    fn recover(&self) -> Result<Recovered, StoreError> {
        let mut disk = self.disk.lock();
        disk.fence += 1;
        for delivery in disk.deliveries.values_mut() {
            delivery.starts += 1;
        }
        self.fence.store(disk.fence, Ordering::Relaxed);
        Ok(Recovered {
            lsn: Lsn(disk.lsn),
            next_id: disk.next_id,
            collections: disk.collections.clone(),
            deliveries: disk.deliveries.values().cloned().collect(),
            reminders: disk.reminders.values().cloned().collect(),
            outbound: disk.outbound.values().cloned().collect(),
        })
    }

    fn read(&self, c: CollectionId, id: &str) -> Result<Option<StoredDocument>, StoreError> {
        let disk = self.disk.lock();
        let found = disk.documents.get(&(c, id.to_owned()));
        Ok(found.map(|(version, body)| StoredDocument {
            id: id.into(),
            version: *version,
            body: body.as_str().into(),
        }))
    }

    fn scan(
        &self,
        c: CollectionId,
        range: &ScanRange,
        limit: u32,
    ) -> Result<Vec<StoredDocument>, StoreError> {
        let disk = self.disk.lock();
        let all = disk.documents.iter();
        let within = all.filter(|((of, id), _)| *of == c && range.contains(id));
        let found = within.map(|((_, id), (version, body))| StoredDocument {
            id: id.as_str().into(),
            version: *version,
            body: body.as_str().into(),
        });
        Ok(found.take(limit as usize).collect())
    }

    fn write(&self, group: &Group) -> Result<(), StoreError> {
        if let Some(pause) = *self.slow.lock() {
            std::thread::sleep(pause);
        }
        let amid = self.amid_write.lock().take();
        if let Some(amid) = amid {
            amid();
        }
        let fault = self.fault.lock().take();
        if fault == Some(Fault::Before) {
            return Err(StoreError::Failed("crashed before the write".into()));
        }
        let mut disk = self.disk.lock();
        if disk.fence != self.fence.load(Ordering::Relaxed) {
            return Err(StoreError::Fenced);
        }
        apply(&mut disk, group);
        match fault {
            Some(_) => Err(StoreError::Failed("crashed after the write".into())),
            None => Ok(()),
        }
    }

    fn outbound(&self, ids: &[u64]) -> Result<Vec<OutboundRequest>, StoreError> {
        let disk = self.disk.lock();
        Ok(ids
            .iter()
            .filter_map(|id| disk.outbound.get(id).cloned())
            .collect())
    }

    fn dead_letters(&self) -> Result<Vec<DeadLetter>, StoreError> {
        Ok(self.disk.lock().dead_letters.values().cloned().collect())
    }
}

fn apply(disk: &mut Disk, group: &Group) {
    assert!(group.lsn.0 > disk.lsn, "groups are written in log order");
    disk.lsn = group.lsn.0;
    disk.next_id = group.next_id;
    disk.groups += 1;
    disk.history += group.history.len();
    disk.collections.extend(group.collections.iter().cloned());
    for write in &group.documents {
        let key = (write.collection, write.id.to_string());
        let before = disk.documents.get(&key).map_or(0, |(version, _)| *version);
        assert!(write.version > before, "versions only grow");
        match &write.body {
            Some(body) => {
                disk.documents
                    .insert(key, (write.version, body.to_string()));
            }
            None => {
                disk.documents.remove(&key);
            }
        }
    }
    for delivery in &group.deliveries_added {
        // As a real store would keep it: encoded.
        let stored = Delivery {
            payload: Payload::Stored(delivery.payload.encode().into()),
            ..(**delivery).clone()
        };
        disk.deliveries.insert(delivery.id, stored);
    }
    for id in &group.deliveries_removed {
        disk.deliveries.remove(id);
    }
    for reminder in &group.reminders_set {
        let key = (reminder.component.to_string(), reminder.id.to_string());
        disk.reminders.insert(key, reminder.clone());
    }
    for (component, id) in &group.reminders_removed {
        disk.reminders
            .remove(&(component.to_string(), id.to_string()));
    }
    for request in &group.outbound_added {
        disk.outbound.insert(request.id, (**request).clone());
    }
    for id in &group.outbound_removed {
        assert!(
            disk.outbound.remove(id).is_some(),
            "a report is handled once"
        );
    }
    for letter in &group.dead_letters_added {
        disk.dead_letters.insert(letter.delivery.id, letter.clone());
    }
    for id in &group.dead_letters_removed {
        disk.dead_letters.remove(id);
    }
}

/// Requests that have left and are not answered.
#[derive(Default)]
pub struct Wire {
    #[allow(clippy::type_complexity, reason = "what the trait gives")]
    pub pending: Mutex<Vec<(Arc<OutboundRequest>, Box<dyn FnOnce(Report) + Send>)>>,
    /// Every request that ever left, by its id.
    pub sent: Mutex<Vec<u64>>,
}

impl Network for Wire {
    fn send(&self, request: Arc<OutboundRequest>, done: Box<dyn FnOnce(Report) + Send>) {
        self.sent.lock().push(request.id);
        self.pending.lock().push((request, done));
    }
}

impl Wire {
    /// Answer the request at this place. Answers whether there was one.
    pub fn answer(&self, place: usize) -> bool {
        self.answer_in(place, None)
    }

    /// The same; the request was on its way in a span of its own.
    pub fn answer_in(&self, place: usize, span: Option<u64>) -> bool {
        let taken = {
            let mut pending = self.pending.lock();
            (place < pending.len()).then(|| pending.remove(place))
        };
        let Some((request, done)) = taken else {
            return false;
        };
        done(Report {
            id: request.id,
            correlation: request.correlation.clone(),
            attempts: 1,
            outcome: Outcome::Delivered(OutboundResponse {
                status: 200,
                headers: vec![],
                body: String::new(),
            }),
            span,
        });
        true
    }
}

#[derive(Default)]
pub struct TestClock(pub AtomicU64);

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        Timestamp(1_000_000 + self.0.load(Ordering::Relaxed))
    }
    fn monotonic_us(&self) -> u64 {
        // Durations are real: nothing that is decided depends on them but how long a group forms.
        static ORIGIN: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
        let origin = ORIGIN.get_or_init(std::time::Instant::now);
        u64::try_from(origin.elapsed().as_micros()).unwrap()
    }
}

pub struct Fixed;

impl Entropy for Fixed {
    fn fill(&self, bytes: &mut [u8]) {
        bytes.fill(7);
    }
}

/// A payment from one account to another.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct Pay {
    pub id: String,
    pub from: String,
    pub to: String,
    pub amount: i64,
}

impl LivePayload for Pay {
    fn encode(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap()
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// What the bank is asked.
pub enum Ask {
    Open {
        account: String,
        balance: i64,
    },
    Pay(Pay),
    /// Fails in the middle, with everything staged.
    Break,
    /// Panics in the middle, with everything staged.
    Panic,
    Cancel(String),
    /// Holds a document of its own for a while.
    Slow(std::time::Duration),
    /// Whatever a test wants of a turn.
    Do(Doing),
}

/// What a test does in a turn.
pub type Doing = Box<dyn Fn(&mut Turn) -> Result<bool, Interrupt> + Send + Sync>;

/// As a request: whatever a test wants of a turn.
pub fn doing(what: impl Fn(&mut Turn) -> Result<bool, Interrupt> + Send + Sync + 'static) -> Ask {
    Ask::Do(Box::new(what))
}

/// Publish an event whose handler publishes it again, without end.
pub fn spin(turn: &mut Turn) -> Result<bool, Interrupt> {
    let payload = Payload::Stored(b"{}".to_vec().into());
    turn.deliver(&BANK.into(), &"events".into(), &"spin".into(), payload)?;
    Ok(true)
}

/// See the module's documentation.
#[derive(Default)]
pub struct Bank {
    /// The delivery of `held` fails so often before it goes well.
    pub failures: AtomicU64,
    /// Runs once, in the middle of the next reminder's turn.
    #[allow(clippy::type_complexity, reason = "what a test wants to happen")]
    pub amid_reminder: Mutex<Option<Box<dyn FnOnce() + Send>>>,
}

pub const BANK: &str = "bank";

fn number(body: Option<Name>) -> i64 {
    body.map_or(0, |b| b.parse().expect("a number"))
}

fn add(turn: &mut Turn, collection: &str, id: &str, amount: i64) -> Result<i64, Interrupt> {
    let now = number(turn.read_for_update(BANK, collection, id)?) + amount;
    turn.write(BANK, collection, id, &now.to_string())?;
    Ok(now)
}

impl Bank {
    fn ask(&self, ask: &Ask, turn: &mut Turn) -> Result<Reply, Interrupt> {
        match ask {
            Ask::Open { account, balance } => {
                add(turn, "accounts", account, *balance)?;
                Ok(Box::new(true))
            }
            Ask::Pay(pay) => {
                // A repeat of the same payment does nothing but tell how it stands.
                if !turn.insert_if_absent(BANK, "payments", &pay.id, "\"held\"")? {
                    let state = turn.read(BANK, "payments", &pay.id)?;
                    return Ok(Box::new(state.as_deref() != Some("\"refused\"")));
                }
                let left = number(turn.read(BANK, "accounts", &pay.from)?) - pay.amount;
                if left < 0 {
                    turn.write(BANK, "payments", &pay.id, "\"refused\"")?;
                    return Ok(Box::new(false));
                }
                add(turn, "accounts", &pay.from, -pay.amount)?;
                add(turn, "holds", &pay.id, pay.amount)?;
                turn.deliver(
                    &BANK.into(),
                    &"events".into(),
                    &"held".into(),
                    Payload::Live(Arc::new(pay.clone())),
                )?;
                Ok(Box::new(true))
            }
            Ask::Break | Ask::Panic => {
                add(turn, "accounts", "a0", 1_000_000)?;
                turn.deliver(
                    &BANK.into(),
                    &"events".into(),
                    &"held".into(),
                    Payload::Stored(b"broken".to_vec().into()),
                )?;
                assert!(!matches!(ask, Ask::Panic), "asked to panic");
                Err(Interrupt::Misuse("asked to break".into()))
            }
            Ask::Cancel(id) => Ok(Box::new(turn.cancel_reminder(&BANK.into(), id)?)),
            Ask::Slow(pause) => {
                add(turn, "slow", "slow", 1)?;
                std::thread::sleep(*pause);
                Ok(Box::new(true))
            }
            Ask::Do(what) => Ok(Box::new(what(turn)?)),
        }
    }

    fn deliver(&self, delivery: &Delivery, turn: &mut Turn) -> Result<Reply, Interrupt> {
        match &*delivery.function {
            "held" => {
                let pay = payment(&delivery.payload)?;
                let amount = number(turn.read_for_update(BANK, "holds", &pay.id)?);
                turn.delete(BANK, "holds", &pay.id)?;
                add(turn, "accounts", &pay.to, amount)?;
                add(turn, "executions", &pay.id, 1)?;
                turn.write(BANK, "payments", &pay.id, "\"paid\"")?;
                let due = turn.now() + 50;
                turn.set_reminder(&BANK.into(), &pay.id, due, pay.id.clone())?;
                turn.send(&BANK.into(), letter(&pay.id))?;
                let failing = self.failures.load(Ordering::Relaxed);
                if failing > 0 {
                    self.failures.store(failing - 1, Ordering::Relaxed);
                    return Err(Interrupt::Misuse("not yet".into()));
                }
            }
            "reported" => {
                let report: Report = match &delivery.payload {
                    Payload::Live(live) => {
                        let report = live.as_any().downcast_ref::<Report>();
                        report.expect("a report").clone()
                    }
                    Payload::Stored(bytes) => serde_json::from_slice(bytes).unwrap(),
                };
                add(turn, "reports", &report.correlation, 1)?;
            }
            "due" => {
                let reminder: StoredReminder = match &delivery.payload {
                    Payload::Live(live) => {
                        let reminder = live.as_any().downcast_ref::<StoredReminder>();
                        reminder.expect("a reminder").clone()
                    }
                    Payload::Stored(bytes) => serde_json::from_slice(bytes).unwrap(),
                };
                let amid = self.amid_reminder.lock().take();
                if let Some(amid) = amid {
                    amid();
                }
                add(turn, "reminded", &reminder.payload, 1)?;
            }
            "spin" => {
                spin(turn)?;
            }
            other => panic!("{other} is nothing that the bank knows"),
        }
        Ok(Box::new(()))
    }
}

fn payment(payload: &Payload) -> Result<Pay, Interrupt> {
    match payload {
        Payload::Live(live) => Ok(live.as_any().downcast_ref::<Pay>().unwrap().clone()),
        Payload::Stored(bytes) => {
            serde_json::from_slice(bytes).map_err(|e| Interrupt::Misuse(e.to_string()))
        }
    }
}

/// A letter about a payment; those about payments named `dead…` have a destination of their own.
fn letter(id: &str) -> SendRequest {
    let destination = if id.starts_with("dead") {
        "dead"
    } else {
        "payee"
    };
    SendRequest {
        method: "PUT".into(),
        url: format!("http://{destination}/payments"),
        headers: vec![],
        body: None,
        policy: DeliveryPolicy {
            attempts_max: 1,
            attempt_timeout_ms: 1,
            deadline: Timestamp(u64::MAX),
            backoff_initial_ms: 1,
            backoff_max_ms: 1,
            while_away: WhileAway::Wait,
        },
        correlation: id.to_owned(),
    }
}

impl Handler for Bank {
    fn handle(&self, stimulus: &Stimulus, mut turn: Turn) -> Handled {
        let outcome = match stimulus {
            Stimulus::Request { argument, .. } => {
                self.ask(argument.downcast_ref::<Ask>().unwrap(), &mut turn)
            }
            Stimulus::Delivery(delivery) => self.deliver(delivery, &mut turn),
        };
        Handled {
            turn: Some(turn),
            outcome: outcome.map_err(|interrupt| Failure::Handler {
                component: BANK.into(),
                reason: interrupt.to_string(),
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
        lock_looks_max: 4,
        // Tests crash more often than hosts.
        starts_max: 1_000,
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
    pub fn ask(&self, ask: Ask) -> Arc<Mutex<Option<Result<bool, Failure>>>> {
        let answer: Arc<Mutex<Option<Result<bool, Failure>>>> = Arc::default();
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

    /// Whether the engine refuses a request now.
    pub fn is_busy(&self) -> bool {
        let nothing = Box::new(|_: Result<Reply, Failure>| ());
        let ask = Arc::new(doing(|_| Ok(true)));
        self.engine
            .submit(BANK.into(), "ask".into(), ask, Trace::default(), nothing)
            .is_err()
    }

    /// Run and commit until nothing is left to do but wait for the outside or the clock.
    pub fn settle(&self) {
        while self.engine.run(0) || self.engine.commit().is_ok_and(|turns| turns > 0) {}
    }

    /// As `settle`, with all letters answered and all waits over.
    pub fn finish(&self) {
        for _ in 0..200 {
            self.settle();
            while self.wire.answer(0) {}
            self.clock.0.fetch_add(60, Ordering::Relaxed);
            self.engine.fire_due();
        }
        self.settle();
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
        let said = turn.write(BANK, &self.0, &self.1, &self.2).unwrap_err();
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
