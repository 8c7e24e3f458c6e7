//! Turns that call a service outside the host: they hold nothing while they wait, run again with the answer, and
//! call once.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::world::{Answer, Ask, BANK, BankDocuments as _, World, doing, limits, note};
use parking_lot::Mutex;
use rialto_engine::outside::{Answered, BeginCall, OutsideAnswer};
use rialto_engine::threads::Threads;
use rialto_engine::{
    Engine, Entropy, Environment, Failure, Interrupt, Limits, Requester, Trace, Turn,
};

/// A service that answers when the test says so.
#[derive(Clone, Default)]
pub struct Service(Arc<Mutex<Vec<(String, Answered)>>>, Arc<AtomicU64>);

/// An answer that counts how often its turn was executed.
struct Text {
    text: String,
    executed: Arc<AtomicU64>,
}

impl OutsideAnswer for Text {
    fn bytes(&self) -> usize {
        self.text.len()
    }

    fn executed(&self) {
        self.executed.fetch_add(1, Ordering::Relaxed);
    }
}

impl Service {
    /// As a part of a turn: ask the service.
    fn ask(&self, turn: &mut Turn, question: &str) -> Result<String, Interrupt> {
        self.asks(turn, question, Turn::outside)
    }

    /// The same, when all that the turn can have read is on disk.
    pub fn ask_after_commit(&self, turn: &mut Turn, question: &str) -> Result<String, Interrupt> {
        self.asks(turn, question, Turn::outside_after_commit)
    }

    fn asks(
        &self,
        turn: &mut Turn,
        question: &str,
        how: impl FnOnce(&mut Turn, [u8; 32], BeginCall) -> Result<Arc<dyn OutsideAnswer>, Interrupt>,
    ) -> Result<String, Interrupt> {
        let calls = self.0.clone();
        let asked = question.to_owned();
        let begin: BeginCall = Box::new(move |answered| calls.lock().push((asked, answered)));
        let mut hash = [0; 32];
        let length = question.len().min(32);
        hash[..length].copy_from_slice(&question.as_bytes()[..length]);
        let answer = how(turn, hash, begin)?;
        let answer: &dyn Any = &*answer;
        Ok(answer.downcast_ref::<Text>().unwrap().text.clone())
    }

    /// The questions without an answer.
    pub fn asked(&self) -> Vec<String> {
        let calls = self.0.lock();
        calls.iter().map(|(question, _)| question.clone()).collect()
    }

    /// How many of its answers belong to turns that were executed.
    fn executed(&self) -> u64 {
        self.1.load(Ordering::Relaxed)
    }

    fn take(&self) -> Answered {
        self.0.lock().remove(0).1
    }

    pub fn answer(&self, answer: &str) {
        let text = answer.to_owned();
        let executed = self.1.clone();
        self.take().with(Arc::new(Text { text, executed }));
    }
}

/// A turn that adds an answer to a document that it has locked before it asked.
fn add_answer(service: &Service) -> Ask {
    let service = service.clone();
    doing(move |turn| {
        let before = turn.get_for_update("notes", "a")?;
        let before: String = before.map_or(String::new(), |b| serde_json::from_str(&b).unwrap());
        let answer = service.ask(turn, "what")?;
        turn.put("notes", "a", &format!("\"{before}{answer}\""))?;
        Ok(true)
    })
}

fn write(text: &'static str) -> Ask {
    doing(move |turn| {
        turn.put("notes", "a", text)?;
        Ok(true)
    })
}

pub fn outcome(answer: &Answer) -> Option<Result<bool, Failure>> {
    answer.lock().clone()
}

#[test]
fn a_waiting_turn_holds_no_lock_and_sees_what_came_meanwhile() {
    let (world, service) = (World::new(), Service::default());
    let asked = world.ask(add_answer(&service));
    world.run_until_idle();
    assert_eq!(outcome(&asked), None);
    assert_eq!(world.engine.load().turns_outside, 1);
    let other = world.ask(write("\"meanwhile, \""));
    world.run_until_idle();
    assert_eq!(
        outcome(&other),
        Some(Ok(true)),
        "another turn writes meanwhile"
    );
    service.answer("this");
    assert_eq!(outcome(&asked), None, "not before the commit");
    world.run_until_idle();
    assert_eq!(outcome(&asked), Some(Ok(true)));
    assert_eq!(world.all("notes")["a"], "\"meanwhile, this\"");
    assert_eq!(service.asked(), [""; 0], "it was asked once");
    assert_eq!(world.engine.load().turns_outside, 0);
    assert_eq!(
        world
            .engine
            .counters()
            .outside_calls
            .load(Ordering::Relaxed),
        1
    );
}

/// Other bytes each time.
struct Counting(AtomicU64);

impl Entropy for Counting {
    fn fill(&self, bytes: &mut [u8]) {
        for byte in bytes {
            *byte = self.0.fetch_add(1, Ordering::Relaxed).to_le_bytes()[0];
        }
    }
}

#[test]
fn all_runs_of_a_turn_have_the_same_instant_and_random_bytes() {
    let base = World::new();
    let environment = Environment {
        store: base.store.clone(),
        network: base.wire.clone(),
        clock: base.clock.clone(),
        entropy: Arc::new(Counting(AtomicU64::new(1))),
        spans: None,
        personal_data: None,
        receipt_log: None,
        publications: None,
    };
    let (engine, recovery) = Engine::open(environment, base.bank.clone(), limits()).unwrap();
    engine.resume(recovery);
    let world = World { engine, ..base };
    let (service, seen) = (Service::default(), Arc::new(Mutex::new(Vec::new())));
    let (asks, sees) = (service.clone(), seen.clone());
    let asked = world.ask(doing(move |turn| {
        let (mut before, mut after) = ([0; 3], [0; 5]);
        turn.random(&mut before);
        let first = asks.ask(turn, &format!("{before:?} {}", turn.now()))?;
        turn.random(&mut after);
        let second = asks.ask(turn, &format!("{after:?} {}", turn.now()))?;
        let mut last = [0; 2];
        turn.random(&mut last);
        sees.lock()
            .push((turn.now(), before, after, last, first, second));
        Ok(true)
    }));
    world.run_until_idle();
    let first = service.asked();
    world.pass(5_000);
    service.answer("one");
    world.run_until_idle();
    world.pass(5_000);
    let second = service.asked();
    service.answer("two");
    world.run_until_idle();
    assert_eq!(outcome(&asked), Some(Ok(true)));
    let seen = seen.lock();
    let [(now, before, after, last, one, two)] = &seen[..] else {
        panic!("{seen:?}");
    };
    assert_eq!(first, [format!("{before:?} {now}")]);
    assert_eq!(second, [format!("{after:?} {now}")]);
    assert_eq!((one.as_str(), two.as_str()), ("one", "two"));
    let mut drawn: Vec<u8> = [&before[..], &after[..], &last[..]].concat();
    drawn.sort_unstable();
    drawn.dedup();
    assert_eq!(drawn.len(), 10, "no byte is drawn twice");
}

#[test]
fn a_turn_that_asks_something_else_after_a_change_gets_no_old_answer() {
    let (world, service) = (World::new(), Service::default());
    world.ask(write("\"red\""));
    world.run_until_idle();
    let asks = service.clone();
    let asked = world.ask(doing(move |turn| {
        let question = turn.get("notes", "a")?.unwrap();
        let answer = asks.ask(turn, &question)?;
        turn.put("notes", "answer", &format!("\"{answer}\""))?;
        Ok(true)
    }));
    world.run_until_idle();
    world.ask(write("\"blue\""));
    world.run_until_idle();
    service.answer("of red");
    world.run_until_idle();
    assert_eq!(outcome(&asked), None);
    assert_eq!(service.asked(), ["\"blue\""]);
    service.answer("of blue");
    world.run_until_idle();
    assert_eq!(outcome(&asked), Some(Ok(true)));
    assert_eq!(world.all("notes")["answer"], "\"of blue\"");
    assert_eq!(service.executed(), 1, "the first answer was of no use");
}

#[test]
fn a_conflict_after_the_answer_makes_no_second_call() {
    let (world, service) = (World::new(), Service::default());
    let engine = world.engine.clone();
    let (asks, amid) = (service.clone(), Arc::new(Mutex::new(Some(engine))));
    let asked = world.ask(doing(move |turn| {
        let before = turn.get("notes", "a")?;
        let answer = asks.ask(turn, "what")?;
        // Another turn writes what this one has read, once.
        if let Some(engine) = amid.lock().take() {
            let nobody = Box::new(|_| ());
            let ask = Arc::new(write("\"new\""));
            engine
                .submit(BANK.into(), "ask".into(), ask, Trace::default(), nobody)
                .unwrap();
            assert!(engine.run(0));
        }
        let before = before.map_or(String::new(), |b| serde_json::from_str(&b).unwrap());
        turn.put("notes", "answer", &format!("\"{before}, {answer}\""))?;
        Ok(true)
    }));
    world.run_until_idle();
    service.answer("this");
    world.run_until_idle();
    assert_eq!(world.all("notes")["answer"], "\"new, this\"");
    assert_eq!(outcome(&asked), Some(Ok(true)));
    assert_eq!(world.engine.counters().conflicts.load(Ordering::Relaxed), 1);
    assert_eq!(service.asked(), [""; 0]);
    assert_eq!(
        world
            .engine
            .counters()
            .outside_calls
            .load(Ordering::Relaxed),
        1
    );
}

#[test]
fn a_call_without_an_answer_fails_the_request() {
    let (world, service) = (World::new(), Service::default());
    let asked = world.ask(add_answer(&service));
    world.run_until_idle();
    drop(service.take());
    world.run_until_idle();
    let failed = outcome(&asked).unwrap().unwrap_err();
    assert!(
        matches!(&failed, Failure::Away(why) if why.contains("no answer")),
        "{failed}"
    );
    assert_eq!(world.all("notes").len(), 0);
    assert_eq!(world.engine.load().turns_alive, 0);
}

#[test]
fn a_delivery_whose_call_fails_is_tried_again() {
    let (world, service) = (World::new(), Service::default());
    let asks = service.clone();
    world
        .bank
        .amid_note
        .lock()
        .replace(Box::new(move |turn| asks.ask(turn, "what").map(|_| ())));
    world.ask(doing(|turn| {
        note(turn, BANK, "s", "hello")?;
        Ok(true)
    }));
    world.run_until_idle();
    drop(service.take());
    world.run_until_idle();
    assert_eq!(*world.bank.noted.lock(), []);
    world.pass(1_000);
    world.run_until_idle();
    service.answer("this");
    world.run_until_idle();
    assert_eq!(
        *world.bank.noted.lock(),
        [(BANK.to_owned(), "hello".to_owned())]
    );
    assert_eq!(world.engine.dead_letters().unwrap().len(), 0);
}

#[test]
fn too_many_calls_or_random_bytes_fail_the_turn() {
    let (world, service) = (World::new(), Service::default());
    let asks = service.clone();
    let endless = world.ask(doing(move |turn| {
        for n in 0.. {
            asks.ask(turn, &n.to_string())?;
        }
        Ok(true)
    }));
    world.run_until_idle();
    while !service.asked().is_empty() {
        service.answer("yes");
        world.run_until_idle();
    }
    let failed = outcome(&endless).unwrap().unwrap_err();
    assert!(failed.to_string().contains("may make 16 calls"), "{failed}");
    let asks = service.clone();
    let greedy = world.ask(doing(move |turn| {
        for _ in 0..17 {
            turn.random(&mut [0; 4_096]);
        }
        asks.ask(turn, "what")?;
        Ok(true)
    }));
    world.run_until_idle();
    let failed = outcome(&greedy).unwrap().unwrap_err();
    assert!(failed.to_string().contains("random bytes"), "{failed}");
}

#[test]
fn a_turn_that_never_asks_the_same_fails() {
    let (world, service) = (World::new(), Service::default());
    let (asks, run) = (service.clone(), AtomicU64::new(0));
    let fickle = world.ask(doing(move |turn| {
        let run = run.fetch_add(1, Ordering::Relaxed);
        asks.ask(turn, &format!("in run {run}"))?;
        Ok(true)
    }));
    world.run_until_idle();
    while !service.asked().is_empty() {
        service.answer("yes");
        world.run_until_idle();
    }
    let failed = outcome(&fickle).unwrap().unwrap_err();
    assert!(
        failed.to_string().contains("something else in each run"),
        "{failed}"
    );
}

#[test]
fn a_client_that_has_gone_gets_nothing_done() {
    let (world, service) = (World::new(), Service::default());
    let (answer, asks) = (Answer::default(), service.clone());
    let told = answer.clone();
    let asker = Requester {
        within: Some(Duration::from_millis(100)),
        ..Requester::default()
    };
    let submitted = world.engine.submit_for(
        asker,
        BANK.into(),
        "ask".into(),
        Arc::new(add_answer(&asks)),
        Trace::default(),
        Box::new(move |outcome| {
            *told.lock() = Some(outcome.map(|reply| *reply.downcast::<bool>().unwrap()));
        }),
    );
    submitted.unwrap();
    world.run_until_idle();
    world.pass(200);
    service.answer("late");
    world.run_until_idle();
    assert_eq!(outcome(&answer), Some(Err(Failure::Expired)));
    assert_eq!(service.executed(), 0);
    assert_eq!(world.all("notes").len(), 0);
}

#[test]
fn a_turn_that_is_late_already_makes_no_call() {
    let (world, service) = (World::new(), Service::default());
    let (answer, asks, clock) = (Answer::default(), service.clone(), world.clock.clone());
    let told = answer.clone();
    let asker = Requester {
        within: Some(Duration::from_millis(100)),
        ..Requester::default()
    };
    let ask = doing(move |turn| {
        clock.0.fetch_add(200, Ordering::Relaxed);
        asks.ask(turn, "what")?;
        Ok(true)
    });
    let submitted = world.engine.submit_for(
        asker,
        BANK.into(),
        "ask".into(),
        Arc::new(ask),
        Trace::default(),
        Box::new(move |outcome| {
            *told.lock() = Some(outcome.map(|reply| *reply.downcast::<bool>().unwrap()));
        }),
    );
    submitted.unwrap();
    world.run_until_idle();
    assert_eq!(outcome(&answer), Some(Err(Failure::Expired)));
    assert_eq!(service.asked(), [""; 0]);
}

#[test]
fn reminders_do_not_wait_for_a_service() {
    let (world, service) = (World::new(), Service::default());
    world.ask(doing(|turn| {
        let due = turn.now() + 50;
        turn.set_reminder(&BANK.into(), "r", due, "came".into())?;
        Ok(true)
    }));
    world.run_until_idle();
    let asked = world.ask(add_answer(&service));
    world.run_until_idle();
    world.pass(100);
    world.run_until_idle();
    assert_eq!(world.bank.reminded.lock().len(), 1);
    assert_eq!(outcome(&asked), None);
}

#[test]
fn an_answer_after_the_end_tells_its_client_of_the_shutdown() {
    let world = World::on(Arc::default(), Arc::default(), Limits::default()).in_real_time();
    let service = Service::default();
    let threads = Threads::start(&world.engine, 1).unwrap();
    let asked = world.ask(add_answer(&service));
    while service.asked().is_empty() {
        std::thread::yield_now();
    }
    threads.stop();
    service.answer("late");
    assert_eq!(outcome(&asked), Some(Err(Failure::Shutdown)));
}

/// A turn that appends its answer to a document.
fn append(service: &Service, question: &'static str) -> Ask {
    let service = service.clone();
    doing(move |turn| {
        let answer = service.ask(turn, question)?;
        let before = turn.get_for_update("notes", "a")?;
        let before: String = before.map_or(String::new(), |b| serde_json::from_str(&b).unwrap());
        turn.put("notes", "a", &format!("\"{before}{answer}\""))?;
        Ok(true)
    })
}

#[test]
fn turns_run_in_the_order_of_their_answers() {
    let (world, service) = (World::new(), Service::default());
    for question in ["one", "two", "three", "four"] {
        world.ask(append(&service, question));
        world.run_until_idle();
    }
    for answer in ["1", "2", "3", "4"] {
        service.answer(answer);
    }
    // As a thread takes them.
    for _ in 0..4 {
        world.engine.run_next();
    }
    world.run_until_idle();
    assert_eq!(world.all("notes")["a"], "\"1234\"");
}

#[test]
fn answered_turns_and_other_work_keep_each_other_not_out() {
    let (world, service) = (World::new(), Service::default());
    let answered: Vec<_> = (0..40)
        .map(|n| {
            let asked = world.ask_as(&format!("c{n}"), append(&service, "what"));
            world.run_until_idle();
            asked.unwrap()
        })
        .collect();
    world.ask(doing(|turn| {
        for n in 0..21 {
            note(turn, BANK, &format!("s{n}"), &format!("n{n}"))?;
        }
        Ok(true)
    }));
    // The request, whose deliveries are ready then.
    world.engine.run_next();
    assert_eq!(world.bank.noted.lock().len(), 0);
    for _ in 0..40 {
        service.answer("x");
    }
    for _ in 0..20 {
        world.engine.run_next();
    }
    let ended = service.executed();
    let noted = world.bank.noted.lock().len();
    assert_eq!((ended, noted), (10, 10), "they take turns");
    world.run_until_idle();
    assert!(
        answered
            .iter()
            .all(|answer| outcome(answer) == Some(Ok(true)))
    );
    assert_eq!(world.bank.noted.lock().len(), 21);
}

#[test]
fn answers_beyond_the_budget_of_all_turns_refuse_their_turn() {
    let limits = Limits {
        answer_bytes_max: 10_000,
        ..limits()
    };
    let world = World::on(Arc::default(), Arc::default(), limits);
    let service = Service::default();
    // Each has an answer of 4,000 bytes, and all but `c` wait for another one.
    let long = "x".repeat(4_000);
    let asking = |name: &'static str| {
        let service = service.clone();
        doing(move |turn| {
            let first = service.ask(turn, name)?;
            if name != "c" {
                service.ask(turn, "more")?;
            }
            turn.put("notes", name, &format!("\"{}\"", first.len()))?;
            Ok(true)
        })
    };
    let asked: Vec<_> = ["a", "b", "c"]
        .into_iter()
        .map(|name| {
            let asked = world.ask(asking(name));
            world.run_until_idle();
            asked
        })
        .collect();
    for _ in 0..3 {
        service.answer(&long);
        world.run_until_idle();
    }
    let refused = |answer: &Answer| match outcome(answer) {
        Some(Err(Failure::Away(why))) => why.contains("of 10000 bytes"),
        _ => false,
    };
    assert!(refused(&asked[2]), "{:?}", outcome(&asked[2]));
    assert_eq!(service.asked(), ["more", "more"]);
    while !service.asked().is_empty() {
        service.answer("");
        world.run_until_idle();
    }
    assert_eq!(outcome(&asked[0]), Some(Ok(true)));
    assert_eq!(outcome(&asked[1]), Some(Ok(true)));
    assert_eq!(world.all("notes").len(), 2, "the third had no effect");
    // What has ended gives its room back.
    let again = world.ask(asking("c"));
    world.run_until_idle();
    service.answer(&long);
    world.run_until_idle();
    assert_eq!(outcome(&again), Some(Ok(true)));
}

#[test]
fn no_call_begins_while_the_budget_of_answers_is_used_up() {
    let limits = Limits {
        answer_bytes_max: 300,
        ..limits()
    };
    let world = World::on(Arc::default(), Arc::default(), limits);
    let service = Service::default();
    let asks = service.clone();
    let holds = world.ask(doing(move |turn| {
        asks.ask(turn, "first")?;
        asks.ask(turn, "second")?;
        Ok(true)
    }));
    world.run_until_idle();
    // With what an answer takes beside its text it fills the budget.
    service.answer(&"x".repeat(44));
    world.run_until_idle();
    let failed = outcome(&holds).unwrap().unwrap_err();
    assert!(matches!(failed, Failure::Away(_)), "{failed}");
    assert_eq!(service.asked(), [""; 0], "the second call does not begin");
}
