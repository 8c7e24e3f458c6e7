//! A panic outside handlers ends the engine at once with its reason, and no acknowledged turn is lost.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]
#![allow(
    clippy::disallowed_methods,
    reason = "these tests are about real threads"
)]

use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt as _;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use crate::world::{Ask, BANK, Bank, Fixed, MemoryStore, Pay, TestClock, Wire, World, limits};
use parking_lot::Mutex;
use rand::rngs::SmallRng;
use rand::{RngExt as _, SeedableRng as _};
use rialto_engine::engine::{Handled, Handler};
use rialto_engine::network::{Network, OutboundRequest, Report};
use rialto_engine::store::{
    DeadLetter, Group, Recovered, ScanRange, Store, StoreError, StoredDocument,
};
use rialto_engine::threads::Threads;
use rialto_engine::{
    Clock, CollectionId, Delivery, Engine, Environment, Failure, Name, Reply, Spans, Stimulus,
    Timestamp, Trace, Turn, TurnId, TurnSpan, fatal,
};

const ACCOUNTS: i64 = 4;
const OPENING: i64 = 1_000;
const RUNS: u64 = 100;
/// Longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(60);

/// Where a panic may come from that is in no handler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum PanicPoint {
    /// The store, before it writes.
    BeforeWrite,
    /// The store, when it has written.
    AfterWrite,
    /// The network takes a request.
    Send,
    /// A request's report comes back.
    Report,
    /// The tracing system is told of a turn.
    Span,
    /// Whoever waits is told.
    Waiter,
    /// A reminder fires.
    Reminder,
    /// A worker, before or after it runs a handler.
    Worker,
}

const PANIC_POINTS: [PanicPoint; 8] = [
    PanicPoint::BeforeWrite,
    PanicPoint::AfterWrite,
    PanicPoint::Send,
    PanicPoint::Report,
    PanicPoint::Span,
    PanicPoint::Waiter,
    PanicPoint::Reminder,
    PanicPoint::Worker,
];

/// Panics once, the nth time that somebody comes to its point.
struct Mine {
    point: PanicPoint,
    left: AtomicU64,
}

impl Mine {
    fn step(&self, point: PanicPoint) {
        if point == self.point && self.left.fetch_sub(1, Ordering::AcqRel) == 1 {
            panic!("the mine at {point:?}");
        }
    }
}

/// The world's parts, with a mine between them.
struct Mined<T> {
    inner: Arc<T>,
    mine: Arc<Mine>,
}

impl Store for Mined<MemoryStore> {
    fn recover(&self) -> Result<Recovered, StoreError> {
        self.inner.recover()
    }
    fn read(&self, c: CollectionId, id: &str) -> Result<Option<StoredDocument>, StoreError> {
        self.inner.read(c, id)
    }
    fn scan(
        &self,
        c: CollectionId,
        range: &ScanRange,
        limit: u32,
    ) -> Result<Vec<StoredDocument>, StoreError> {
        self.inner.scan(c, range, limit)
    }
    fn write(&self, group: &Group) -> Result<(), StoreError> {
        self.mine.step(PanicPoint::BeforeWrite);
        let written = self.inner.write(group);
        self.mine.step(PanicPoint::AfterWrite);
        written
    }
    fn outbound(&self, ids: &[u64]) -> Result<Vec<OutboundRequest>, StoreError> {
        self.inner.outbound(ids)
    }
    fn count_overdue(&self, now: Timestamp) -> Result<Vec<(Name, Name, u32)>, StoreError> {
        self.inner.count_overdue(now)
    }
    fn note_poison_candidate(&self, candidate: Option<&str>) -> Result<(), StoreError> {
        self.inner.note_poison_candidate(candidate)
    }
    fn poison_candidate(&self) -> Result<Option<String>, StoreError> {
        self.inner.poison_candidate()
    }
    fn deliveries(&self, ids: &[u64]) -> Result<Vec<Delivery>, StoreError> {
        self.inner.deliveries(ids)
    }
    fn dead_letters(&self) -> Result<Vec<DeadLetter>, StoreError> {
        self.inner.dead_letters()
    }
}

impl Network for Mined<Wire> {
    fn send(&self, request: Arc<OutboundRequest>, done: Box<dyn FnOnce(Report) + Send>) {
        self.mine.step(PanicPoint::Send);
        self.inner.send(request, done);
    }
}

impl Clock for Mined<TestClock> {
    fn now(&self) -> Timestamp {
        self.inner.now()
    }
    fn monotonic_us(&self) -> u64 {
        // Workers look before and after a handler runs, and the bank never does.
        let thread = std::thread::current();
        if thread.name().is_some_and(|name| name.starts_with("turn-")) {
            self.mine.step(PanicPoint::Worker);
        }
        self.inner.monotonic_us()
    }
}

impl Spans for Mined<()> {
    fn records(&self, _: u128) -> bool {
        true
    }
    fn id(&self, turn: TurnId) -> u64 {
        turn.0
    }
    fn ended(&self, _: &TurnSpan) {
        self.mine.step(PanicPoint::Span);
    }
}

impl Handler for Mined<Bank> {
    fn handle(&self, stimulus: &Stimulus, turn: Turn) -> Handled {
        self.inner.handle(stimulus, turn)
    }
    fn reminder_function(&self) -> (Name, Name) {
        self.mine.step(PanicPoint::Reminder);
        self.inner.reminder_function()
    }
    fn report_function(&self) -> (Name, Name) {
        self.mine.step(PanicPoint::Report);
        self.inner.report_function()
    }
}

type Told = Arc<Mutex<BTreeMap<String, Result<bool, Failure>>>>;

/// A bank with a mine, and what was acknowledged.
struct Run {
    store: Arc<MemoryStore>,
    wire: Arc<Wire>,
    clock: Arc<TestClock>,
    mine: Arc<Mine>,
    engine: Engine,
    told: Told,
}

impl Run {
    fn new(point: PanicPoint, steps: u64) -> Self {
        let mine = Arc::new(Mine {
            point,
            left: AtomicU64::new(steps),
        });
        let store = Arc::new(MemoryStore::default());
        let wire = Arc::new(Wire::default());
        let clock = Arc::new(TestClock::default());
        clock.1.real.store(true, Ordering::Relaxed);
        fn mined<T>(mine: &Arc<Mine>, inner: &Arc<T>) -> Arc<Mined<T>> {
            let (inner, mine) = (inner.clone(), mine.clone());
            Arc::new(Mined { inner, mine })
        }
        let environment = Environment {
            store: mined(&mine, &store),
            network: mined(&mine, &wire),
            clock: mined(&mine, &clock),
            entropy: Arc::new(Fixed),
            spans: Some(mined(&mine, &Arc::new(()))),
            personal_data: None,
            receipt_log: None,
            publications: None,
        };
        let bank = mined(&mine, &Arc::new(Bank::default()));
        let (engine, _) = Engine::open(environment, bank, limits()).unwrap();
        Self {
            store,
            wire,
            clock,
            mine,
            engine,
            told: Told::default(),
        }
    }

    fn ask(&self, id: &str, ask: Ask) {
        let (told, id, mine) = (self.told.clone(), id.to_owned(), self.mine.clone());
        let waiter = move |outcome: Result<Reply, Failure>| {
            let outcome = outcome.map(|reply| *reply.downcast::<bool>().unwrap());
            let before = told.lock().insert(id, outcome);
            assert!(before.is_none(), "an answer comes once");
            if std::thread::current().name() == Some("commit") {
                mine.step(PanicPoint::Waiter);
            }
        };
        // With too much to do it is refused: that is no matter here.
        let _ = self.engine.submit(
            BANK.into(),
            "ask".into(),
            Arc::new(ask),
            Trace::default(),
            Box::new(waiter),
        );
    }

    fn pay(&self, n: i64) {
        let pay = Pay {
            id: format!("p{n}"),
            from: format!("a{}", n % ACCOUNTS),
            to: format!("a{}", (n + 1) % ACCOUNTS),
            amount: 1,
        };
        self.ask(&pay.id.clone(), Ask::Pay(pay));
    }
}

/// Run until the mine goes off. Returns the reason that was given.
fn until_it_ends(run: &Run) -> String {
    let (sender, ended) = mpsc::channel();
    let sender = Mutex::new(sender);
    run.engine.on_fatal(Box::new(move |reason| {
        let _ = sender.lock().send(reason.to_owned());
    }));
    let threads = Threads::start(&run.engine, 3).unwrap();
    for n in 0..ACCOUNTS {
        let opening = Ask::Open {
            account: format!("a{n}"),
            balance: OPENING,
        };
        run.ask(&format!("open {n}"), opening);
    }
    let mut next = 0;
    let reason = loop {
        if let Ok(reason) = ended.recv_timeout(Duration::from_micros(200)) {
            break reason;
        }
        assert!(
            next < 20_000,
            "the mine at {:?} is never met",
            run.mine.point
        );
        run.pay(next);
        next += 1;
        while run.wire.answer(0) {}
        run.clock.0.fetch_add(1, Ordering::Relaxed);
    };
    let failure = run.engine.failure().map(ToString::to_string);
    assert_eq!(failure.as_deref(), Some(&*reason), "the engine says so");
    threads.stop();
    reason
}

#[test]
fn a_panic_outside_handlers_ends_the_engine_losing_nothing() {
    let mut acknowledged = BTreeMap::new();
    for seed in 0..RUNS {
        let mut rng = SmallRng::seed_from_u64(seed);
        let point = PANIC_POINTS[usize::try_from(seed).unwrap() % PANIC_POINTS.len()];
        let run = Run::new(point, rng.random_range(1..40));
        let reason = until_it_ends(&run);
        assert!(
            reason.contains(&format!("the mine at {point:?}")),
            "{point:?}: {reason}"
        );
        let world = World::on(run.store.reopened(), run.clock.clone(), limits());
        let payments = world.all("payments");
        let opened = world.all("accounts");
        let told = run.told.lock();
        for (id, outcome) in told.iter().filter(|(_, outcome)| outcome.is_ok()) {
            let is_there = match id.strip_prefix("open ") {
                Some(n) => opened.contains_key(&format!("a{n}")),
                None => payments.contains_key(id),
            };
            assert!(is_there, "{id} was told {outcome:?} and is lost: {reason}");
            *acknowledged.entry(point).or_insert(0) += 1;
        }
        world.finish();
        assert_eq!(world.sum("holds"), 0, "{reason}");
        let balances = world.all("accounts").len() as i64 * OPENING;
        assert_eq!(world.sum("accounts"), balances, "{reason}");
        let executions = world.all("executions");
        for (id, state) in &world.all("payments") {
            let times = executions.get(id).map_or("0", String::as_str);
            let expected = if state == "\"paid\"" { "1" } else { "0" };
            assert_eq!(times, expected, "{id} is {state}: {reason}");
        }
    }
    println!("{RUNS} panics; acknowledged before them: {acknowledged:?}");
}

/// The name of the test that a child process runs.
const CHILD: &str = "panics::child_that_panics_while_others_are_told";

#[test]
fn a_panicking_process_ends_at_once_with_the_reason() {
    let tests = std::env::current_exe().unwrap();
    let mut child = Command::new(tests);
    child.args(["--exact", CHILD, "--ignored", "--nocapture"]);
    let ended = child.output().unwrap();
    let said = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.signal(), Some(6), "it aborts: {said}");
    assert!(said.contains("the mine at Waiter"), "{said}");
}

/// Ends its process: only for the test before it.
#[test]
#[ignore = "it ends its process"]
fn child_that_panics_while_others_are_told() {
    fatal::end_process_on_panic();
    let run = Run::new(PanicPoint::Waiter, 3);
    let _threads = Threads::start(&run.engine, 2).unwrap();
    for n in 0..ACCOUNTS {
        let opening = Ask::Open {
            account: format!("a{n}"),
            balance: OPENING,
        };
        run.ask(&format!("open {n}"), opening);
    }
    std::thread::sleep(PATIENCE);
}

#[test]
fn a_handler_that_panics_ends_its_turn_and_nothing_else() {
    let run = Run::new(PanicPoint::Waiter, u64::MAX);
    run.engine
        .on_fatal(Box::new(|reason| panic!("the engine ended: {reason}")));
    let threads = Threads::start(&run.engine, 2).unwrap();
    run.ask("panic", Ask::Panic);
    for n in 0..ACCOUNTS {
        let opening = Ask::Open {
            account: format!("a{n}"),
            balance: OPENING,
        };
        run.ask(&format!("open {n}"), opening);
    }
    while run.told.lock().len() < 5 {
        std::thread::yield_now();
    }
    threads.stop();
    assert!(run.engine.failure().is_none());
    let told = run.told.lock();
    assert!(matches!(told["panic"], Err(Failure::Handler { .. })));
    assert!(told.values().filter(|outcome| outcome.is_ok()).count() == 4);
}

/// The name of the test that a child process runs, and where it is told whether to contain the panic.
const ELSEWHERE: &str = "panics::child_that_panics_elsewhere";
const CONTAINED: &str = "RIALTO_TEST_CONTAINED";

#[test]
fn a_panic_ends_the_process_unless_it_is_contained() {
    let tests = std::env::current_exe().unwrap();
    let child = |contained: &str| {
        let mut child = Command::new(&tests);
        child.args(["--exact", ELSEWHERE, "--ignored", "--nocapture"]);
        child.env(CONTAINED, contained).output().unwrap()
    };
    let ended = child("no");
    let said = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.signal(), Some(6), "it aborts: {said}");
    assert!(said.contains("thread 'elsewhere'"), "{said}");
    let ended = child("critical");
    assert_eq!(
        ended.status.signal(),
        Some(6),
        "what is critical is not contained"
    );
    let ended = child("yes");
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success(), "{said}");
    assert!(said.contains("nobody depends on this"), "{said}");
}

/// May end its process: only for the test before it.
#[test]
#[ignore = "it ends its process"]
fn child_that_panics_elsewhere() {
    fatal::end_process_on_panic();
    let how = std::env::var(CONTAINED).expect("the test before this one starts it");
    let panics = move || -> () {
        let _critical = (how == "critical").then(fatal::Critical::begin);
        assert_eq!(how, "", "nobody depends on this");
    };
    struct PanicsAgain;
    impl Drop for PanicsAgain {
        fn drop(&mut self) {
            assert!(std::thread::panicking(), "nobody depends on this either");
        }
    }
    let contained = std::env::var(CONTAINED).unwrap() != "no";
    let thread = std::thread::Builder::new().name("elsewhere".into());
    let ran = thread.spawn(move || {
        if !contained {
            return panics();
        }
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        let task = std::pin::pin!(fatal::CatchPanic::new(async move { panics() }));
        let ended = task.poll(&mut context);
        assert!(matches!(ended, std::task::Poll::Ready(Err(_))), "{ended:?}");
        // What is left of work may panic as well, polled to its end or never polled.
        let again = PanicsAgain;
        let mut task = fatal::CatchPanic::new(async {
            let _again = &again;
            std::future::pending::<()>().await;
        });
        let _ = std::pin::Pin::new(&mut task).poll(&mut context);
        drop(task);
        std::mem::forget(again);
        let again = PanicsAgain;
        drop(fatal::CatchPanic::new(async move {
            let _again = again;
        }));
    });
    ran.unwrap().join().unwrap();
}
