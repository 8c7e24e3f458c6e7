//! A turn is atomic, durable before its answer, retried, and parked.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::world::{Ask, BANK, BankDocuments as _, Fault, Pay, World, doing};
use parking_lot::Mutex;
use rialto_engine::{Decision, DecisionOutcome, Failure};

fn pay(id: &str, amount: i64) -> Ask {
    Ask::Pay(Pay {
        id: id.into(),
        from: "a0".into(),
        to: "a1".into(),
        amount,
    })
}

fn open(world: &World) {
    let _ = world.ask(Ask::Open {
        account: "a0".into(),
        balance: 100,
    });
    world.run_until_idle();
}

type Told = Arc<Mutex<Option<Result<DecisionOutcome, Failure>>>>;

/// Decide about a dead letter. What is told comes with the commit.
fn decide(world: &World, id: u64, decision: Decision) -> Told {
    let told = Told::default();
    let tell = told.clone();
    let waiter = move |outcome: Result<rialto_engine::Reply, Failure>| {
        let outcome = outcome.map(|reply| *reply.downcast().unwrap());
        assert!(tell.lock().replace(outcome).is_none(), "told once");
    };
    world
        .engine
        .decide_dead_letter(id, decision, Box::new(waiter));
    told
}

fn decided(world: &World, id: u64, decision: Decision) -> Result<DecisionOutcome, Failure> {
    let told = decide(world, id, decision);
    let _ = world.engine.commit();
    told.lock().take().unwrap()
}

/// A payment whose delivery has been given up, and the letter's id.
fn with_dead_letter(world: &World) -> u64 {
    open(world);
    world.bank.failures.store(5, Ordering::Relaxed);
    let _ = world.ask(pay("p1", 10));
    world.finish();
    world.engine.dead_letters().unwrap()[0].delivery.id
}

#[test]
fn an_answer_comes_only_after_the_commit() {
    let world = World::new();
    let answer = world.ask(Ask::Open {
        account: "a0".into(),
        balance: 5,
    });
    assert!(world.engine.run(0));
    assert!(answer.lock().is_none(), "executed is not committed");
    assert_eq!(world.sum("accounts"), 5, "later turns see it already");
    assert_eq!(world.engine.commit(), Ok(1));
    assert_eq!(answer.lock().take(), Some(Ok(true)));
}

#[test]
fn a_request_leaves_only_after_the_commit() {
    let world = World::new();
    open(&world);
    let _ = world.ask(pay("p1", 10));
    while world.engine.run(0) {}
    assert!(world.wire.sent.lock().is_empty());
    world.engine.commit().unwrap();
    assert_eq!(world.wire.sent.lock().len(), 1);
}

#[test]
fn a_delivery_handled_before_its_commit_is_not_written() {
    let world = World::new();
    open(&world);
    let _ = world.ask(pay("p1", 10));
    while world.engine.run(0) {}
    world.engine.commit().unwrap();
    let counters = world.engine.counters();
    assert_eq!(counters.deliveries_written.load(Ordering::Relaxed), 0);
    let _ = world.ask(pay("p2", 10));
    world.engine.run(0);
    world.engine.commit().unwrap();
    assert_eq!(counters.deliveries_written.load(Ordering::Relaxed), 1);
    world.run_until_idle();
    assert!(world.store.disk.lock().deliveries.is_empty());
}

#[test]
fn a_turn_that_fails_in_the_middle_leaves_nothing() {
    for ask in [Ask::Break, Ask::Panic] {
        let world = World::new();
        open(&world);
        let answer = world.ask(ask);
        world.run_until_idle();
        assert!(matches!(
            answer.lock().take(),
            Some(Err(Failure::Handler { .. }))
        ));
        assert_eq!(world.sum("accounts"), 100);
        assert!(world.all("payments").is_empty());
        let _ = world.ask(pay("p1", 10));
        world.run_until_idle();
        assert_eq!(world.sum("accounts"), 100, "others go on");
        assert_eq!(world.all("payments")["p1"], "\"paid\"");
    }
}

#[test]
fn a_delivery_that_fails_is_tried_again_and_happens_once() {
    let world = World::new();
    open(&world);
    world.bank.failures.store(3, Ordering::Relaxed);
    let _ = world.ask(pay("p1", 10));
    world.finish();
    assert_eq!(world.all("executions")["p1"], "1");
    assert_eq!(world.all("reports")["p1"], "1");
    assert_eq!(world.all("reminded")["p1"], "1");
    assert_eq!(world.engine.dead_letters().unwrap().len(), 0);
}

#[test]
fn a_failing_delivery_is_parked_and_can_be_retried() {
    let world = World::new();
    open(&world);
    world.bank.failures.store(5, Ordering::Relaxed);
    let _ = world.ask(pay("p1", 10));
    world.finish();
    let letters = world.engine.dead_letters().unwrap();
    assert_eq!(letters.len(), 1);
    assert!(letters[0].error.contains("not yet"), "{}", letters[0].error);
    assert_eq!(world.all("holds")["p1"], "10", "visibly waiting");
    assert!(world.store.disk.lock().deliveries.is_empty());

    let id = letters[0].delivery.id;
    assert_eq!(
        decided(&world, id, Decision::Retry),
        Ok(DecisionOutcome::Done)
    );
    world.finish();
    assert_eq!(world.all("executions")["p1"], "1");
    assert_eq!(world.sum("accounts"), 100);
    assert_eq!(
        decided(&world, id, Decision::Retry),
        Ok(DecisionOutcome::Unknown)
    );
    assert!(world.store.disk.lock().deliveries.is_empty());
}

#[test]
fn a_dropped_dead_letter_is_gone() {
    let world = World::new();
    open(&world);
    world.bank.failures.store(5, Ordering::Relaxed);
    let _ = world.ask(pay("p1", 10));
    world.finish();
    let id = world.engine.dead_letters().unwrap()[0].delivery.id;
    assert_eq!(
        decided(&world, id, Decision::Drop),
        Ok(DecisionOutcome::Done)
    );
    world.finish();
    assert!(world.engine.dead_letters().unwrap().is_empty());
    assert!(world.all("executions").is_empty());
}

#[test]
fn a_dead_letter_survives_a_restart() {
    let world = World::new();
    open(&world);
    world.bank.failures.store(5, Ordering::Relaxed);
    let _ = world.ask(pay("p1", 10));
    world.finish();
    let world = world.crashed();
    world.finish();
    let id = world.engine.dead_letters().unwrap()[0].delivery.id;
    assert_eq!(
        decided(&world, id, Decision::Retry),
        Ok(DecisionOutcome::Done)
    );
    world.finish();
    assert_eq!(world.all("executions")["p1"], "1");
}

#[test]
fn after_a_failed_write_nothing_more_is_accepted() {
    let world = World::new();
    open(&world);
    *world.store.fault.lock() = Some(Fault::Before);
    let answer = world.ask(pay("p1", 10));
    while world.engine.run(0) {}
    assert!(world.engine.commit().is_err());
    assert!(matches!(answer.lock().take(), Some(Err(Failure::Store(_)))));
    assert!(world.wire.sent.lock().is_empty());
    let late = world.ask(pay("p2", 10));
    assert_eq!(late.lock().take(), Some(Err(Failure::Shutdown)));
    let world = world.crashed();
    world.finish();
    assert_eq!(world.sum("accounts"), 100);
    assert!(world.all("payments").is_empty());
}

#[test]
fn a_cancelled_reminder_does_not_fire() {
    let world = World::new();
    open(&world);
    let _ = world.ask(pay("p1", 10));
    world.run_until_idle();
    let waited = world.ask(Ask::Cancel("p1".into()));
    world.finish();
    assert_eq!(waited.lock().take(), Some(Ok(true)));
    assert!(world.all("reminded").is_empty());
    assert!(world.store.disk.lock().reminders.is_empty());

    let _ = world.ask(pay("p2", 10));
    world.finish();
    let waited = world.ask(Ask::Cancel("p2".into()));
    world.finish();
    assert_eq!(waited.lock().take(), Some(Ok(false)));
    assert_eq!(world.all("reminded")["p2"], "1");
}

#[test]
fn an_overdue_reminder_fires_at_the_start() {
    let world = World::new();
    open(&world);
    let _ = world.ask(pay("p1", 10));
    world.run_until_idle();
    let clock = world.clock.clone();
    let world = world.crashed();
    clock.0.fetch_add(10_000, Ordering::Relaxed);
    world.engine.fire_due();
    world.run_until_idle();
    assert_eq!(world.all("reminded")["p1"], "1");
}

#[test]
fn a_second_process_on_the_same_store_stops_the_first() {
    let world = World::new();
    open(&world);
    world.store.disk.lock().fence += 1;
    let answer = world.ask(pay("p1", 10));
    while world.engine.run(0) {}
    assert!(world.engine.commit().is_err());
    assert!(matches!(answer.lock().take(), Some(Err(Failure::Store(_)))));
}

#[test]
fn an_unanswered_request_is_sent_again_after_a_restart() {
    let world = World::new();
    open(&world);
    let _ = world.ask(pay("p1", 10));
    world.run_until_idle();
    let sent = world.wire.sent.lock().clone();
    let world = world.crashed();
    assert_eq!(*world.wire.sent.lock(), sent, "the same request, by its id");
    world.finish();
    assert_eq!(world.all("reports")["p1"], "1");
}

#[test]
fn what_is_refused_as_misuse_names_what_was_wrong() {
    let world = World::new();
    let cases = [
        ("Accounts", "a", "1", "is no collection"),
        ("", "a", "1", "is no collection"),
        ("accounts", "", "1", "is no id"),
        ("accounts", "a\nb", "1", "is no id"),
        ("accounts", "a", "{", "must be JSON"),
    ];
    for (collection, id, body, expected) in cases {
        let said = world.misuse(collection, id, body);
        assert!(said.contains(expected), "{said}");
    }
}

#[test]
fn of_two_concurrent_decisions_only_one_happens() {
    let both = [
        (Decision::Retry, Decision::Retry),
        (Decision::Retry, Decision::Drop),
        (Decision::Drop, Decision::Retry),
    ];
    for (first, second) in both {
        let world = World::new();
        let id = with_dead_letter(&world);
        let told = decide(&world, id, first);
        assert!(told.lock().is_none(), "decided is not committed");
        let late = decide(&world, id, second);
        assert_eq!(late.lock().take(), Some(Ok(DecisionOutcome::UnderWay)));
        world.finish();
        assert_eq!(told.lock().take(), Some(Ok(DecisionOutcome::Done)));
        let executions = world.all("executions");
        match first {
            Decision::Retry => assert_eq!(executions["p1"], "1"),
            Decision::Drop => assert!(executions.is_empty()),
        }
        assert_eq!(decided(&world, id, second), Ok(DecisionOutcome::Unknown));
    }
}

#[test]
fn an_unwritten_decision_is_not_called_done() {
    let world = World::new();
    let id = with_dead_letter(&world);
    *world.store.fault.lock() = Some(Fault::Before);
    let told = decided(&world, id, Decision::Drop);
    assert!(matches!(told, Err(Failure::Store(_))), "{told:?}");
    assert_eq!(decided(&world, id, Decision::Drop), Err(Failure::Shutdown));
    let world = world.crashed();
    assert_eq!(world.engine.dead_letters().unwrap().len(), 1);
    assert_eq!(
        decided(&world, id, Decision::Drop),
        Ok(DecisionOutcome::Done)
    );
}

#[test]
fn turns_behind_a_failed_write_are_answered_too() {
    let world = World::new();
    open(&world);
    let first = world.ask(pay("p1", 10));
    world.engine.run(0);
    let behind: Arc<Mutex<Option<_>>> = Arc::default();
    let (engine, bank, answer) = (world.engine.clone(), BANK, behind.clone());
    // Executed while the group before it is being written.
    *world.store.amid_write.lock() = Some(Box::new(move || {
        let told = answer.clone();
        let submitted = engine.submit(
            bank.into(),
            "ask".into(),
            Arc::new(doing(|turn| {
                turn.put("behind", "it", "1")?;
                Ok(true)
            })),
            rialto_engine::Trace::default(),
            Box::new(move |outcome| *told.lock() = Some(outcome.map(|_| ()))),
        );
        submitted.unwrap();
        while engine.ready() > 0 {
            engine.run(engine.ready() - 1);
        }
    }));
    *world.store.fault.lock() = Some(Fault::Before);
    assert!(world.engine.commit().is_err());
    assert!(matches!(first.lock().take(), Some(Err(Failure::Store(_)))));
    assert_eq!(behind.lock().take(), Some(Err(Failure::Shutdown)));
    assert_eq!(world.engine.load().turns_uncommitted, 1, "the group itself");
}

#[test]
fn a_running_turn_is_answered_when_a_write_fails() {
    let world = World::new();
    open(&world);
    let first = world.ask(pay("p1", 10));
    world.engine.run(0);
    let engine = world.engine.clone();
    *world.store.fault.lock() = Some(Fault::Before);
    let running = world.ask(doing(move |turn| {
        turn.put("late", "it", "1")?;
        assert!(engine.commit().is_err());
        Ok(true)
    }));
    world.engine.run(world.engine.ready() - 1);
    assert!(matches!(first.lock().take(), Some(Err(Failure::Store(_)))));
    assert_eq!(running.lock().take(), Some(Err(Failure::Shutdown)));
    assert!(world.all("late").is_empty());
}

#[test]
fn a_reminder_cancelled_while_its_turn_runs_leaves_nothing() {
    let world = World::new();
    open(&world);
    let _ = world.ask(pay("p1", 10));
    world.run_until_idle();
    world.clock.0.fetch_add(60, Ordering::Relaxed);
    world.engine.fire_due();
    let engine = world.engine.clone();
    let cancelled = world.ask(Ask::Cancel("p1".into()));
    // The cancelling turn is executed in the middle of the reminder's.
    *world.bank.amid_reminder.lock() = Some(Box::new(move || assert!(engine.run(0))));
    assert_eq!(world.engine.ready(), 2);
    assert!(world.engine.run(0));
    world.run_until_idle();
    assert_eq!(cancelled.lock().take(), Some(Ok(true)));
    assert!(world.all("reminded").is_empty(), "it was cancelled first");
    assert!(world.store.disk.lock().reminders.is_empty());
    world.finish();
    assert!(world.all("reminded").is_empty());
}

#[test]
fn a_turn_with_outdated_reminders_runs_again() {
    let world = World::new();
    open(&world);
    let _ = world.ask(pay("p1", 10));
    world.run_until_idle();
    world.clock.0.fetch_add(60, Ordering::Relaxed);
    let engine = world.engine.clone();
    let late = world.ask(doing(move |turn| {
        let waited = turn.cancel_reminder(&BANK.into(), "p1")?;
        // The reminder's turn is executed in the middle of this one, the first time.
        engine.fire_due();
        engine.run(0);
        Ok(waited)
    }));
    world.run_until_idle();
    assert_eq!(late.lock().take(), Some(Ok(false)));
    assert_eq!(world.all("reminded")["p1"], "1");
}
