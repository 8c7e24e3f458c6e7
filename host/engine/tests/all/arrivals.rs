//! Reminders come after deliveries that were logged before they fell due, so that a message in time is never called
//! late.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::sync::Arc;

use crate::world::{Answer, BANK, World, doing, limits, note};
use rialto_engine::{Clock as _, Decision, Earlier, Limits, Timestamp, Turn};

const SUBJECT: &str = "payment:1";
const DUE_MS: u64 = 50;

/// A world with a reminder about a subject, which falls due after so many milliseconds.
fn reminded_of(subject: &'static str) -> World {
    let world = World::new();
    remind(&world, "r", subject);
    world
}

fn remind(world: &World, id: &'static str, subject: &'static str) {
    let _ = world.ask(doing(move |turn| {
        turn.subject(subject)?;
        let due = turn.now() + DUE_MS;
        turn.set_reminder(&BANK.into(), id, due, id.to_owned())?;
        Ok(true)
    }));
    world.run_until_idle();
}

/// Something arrives for a component: its event is logged and nobody has handled it.
fn arrive(world: &World, component: &'static str, what: &'static str) -> Answer {
    let answer = world.ask(doing(move |turn| {
        note(turn, component, SUBJECT, what).map(|()| true)
    }));
    assert!(world.engine.run(0));
    world.engine.commit().unwrap();
    answer
}

/// The reminders that were handled, each with how much had been noted before.
fn reminded(world: &World) -> Vec<(String, usize)> {
    world.bank.reminded.lock().clone()
}

fn fire(world: &World) {
    world.engine.fire_due();
    world.run_until_idle();
}

#[test]
fn a_reminder_waits_for_deliveries_logged_before_it() {
    let world = reminded_of(SUBJECT);
    world.pass(DUE_MS - 1);
    let _ = arrive(&world, "ledger", "in time");
    world.pass(100);
    assert_eq!(world.engine.ready(), 1, "the event alone");
    assert_eq!(world.engine.load().reminders_blocked, 1);
    assert_eq!(world.engine.load().reminders_blocked_by_letters, 0);
    world.run_until_idle();
    assert_eq!(world.bank.noted.lock().len(), 1);
    fire(&world);
    assert_eq!(reminded(&world), [("r".to_owned(), 1)]);
    assert_eq!(world.engine.load().reminders_blocked, 0);
    world.finish();
    assert_eq!(world.all("reminded")["r"], "1", "it is handled once");
}

#[test]
fn later_or_unrelated_deliveries_do_not_block_a_reminder() {
    let world = reminded_of(SUBJECT);
    world
        .clock
        .0
        .fetch_add(DUE_MS, std::sync::atomic::Ordering::Relaxed);
    let _ = arrive(&world, "ledger", "too late");
    world.engine.fire_due();
    assert_eq!(world.engine.ready(), 2, "the event and the reminder");

    let world = reminded_of("payment:2");
    let _ = arrive(&world, "ledger", "about another");
    world.pass(100);
    assert_eq!(world.engine.ready(), 2);
}

#[test]
fn chained_events_are_as_old_as_the_first() {
    let world = reminded_of(SUBJECT);
    let _ = arrive(&world, "ledger", "then then done");
    world.pass(100);
    for _ in 0..3 {
        assert!(world.engine.run(0));
        world.engine.commit().unwrap();
        assert!(reminded(&world).is_empty());
        world.engine.fire_due();
    }
    world.run_until_idle();
    assert_eq!(reminded(&world), [("r".to_owned(), 3)]);
}

#[test]
fn a_turn_that_began_earlier_precedes_the_reminder() {
    let world = reminded_of(SUBJECT);
    let (engine, clock) = (world.engine.clone(), world.clock.clone());
    let _ = world.ask(doing(move |turn| {
        // It takes long, and its clock stands still.
        clock.0.fetch_add(100, std::sync::atomic::Ordering::Relaxed);
        engine.fire_due();
        assert_eq!(engine.ready(), 0, "nobody knows what this turn will leave");
        note(turn, "ledger", SUBJECT, "in time").map(|()| true)
    }));
    assert!(world.engine.run(0));
    world.engine.fire_due();
    assert_eq!(world.engine.ready(), 1, "the event alone");
    world.run_until_idle();
    fire(&world);
    assert_eq!(reminded(&world), [("r".to_owned(), 1)]);
}

#[test]
fn a_reminder_waits_for_a_delivery_that_is_tried_again() {
    let world = reminded_of(SUBJECT);
    world.bank.broken.lock().insert("ledger".to_owned());
    let _ = arrive(&world, "ledger", "in time");
    world.run_until_idle();
    assert_eq!(world.engine.load().turns_delayed, 1);
    for _ in 0..3 {
        world.pass(DUE_MS);
        world.run_until_idle();
    }
    assert!(world.engine.dead_letters().unwrap().is_empty());
    assert!(reminded(&world).is_empty());
    world.bank.broken.lock().clear();
    world.pass(1_000);
    world.run_until_idle();
    fire(&world);
    assert_eq!(reminded(&world), [("r".to_owned(), 1)]);
}

#[test]
fn a_reminder_waits_for_a_paused_components_delivery() {
    let world = World::on(
        Arc::default(),
        Arc::default(),
        Limits {
            pause_subjects: 1,
            pause_senders: 1,
            deliveries_waiting_in_memory_max: 0,
            ..limits()
        },
    );
    remind(&world, "r", SUBJECT);
    world.bank.broken.lock().insert("ledger".to_owned());
    let _ = arrive(&world, "ledger", "first");
    world.run_until_idle();
    assert_eq!(world.engine.load().components_paused, 1);
    let _ = arrive(&world, "ledger", "second");
    world.run_until_idle();
    for _ in 0..20 {
        world.pass(DUE_MS);
        world.run_until_idle();
    }
    assert!(reminded(&world).is_empty());
    assert_eq!(world.engine.load().reminders_blocked, 1);
    world.bank.broken.lock().clear();
    world.finish();
    assert_eq!(reminded(&world), [("r".to_owned(), 2)]);
}

/// A world in which a delivery about the subject has become a dead letter, and the reminder is due.
fn with_letter() -> (World, u64) {
    let world = reminded_of(SUBJECT);
    world.bank.broken.lock().insert("ledger".to_owned());
    let _ = arrive(&world, "ledger", "in time");
    world.finish();
    let id = world.engine.dead_letters().unwrap()[0].delivery.id;
    assert!(reminded(&world).is_empty(), "the dead letter holds it");
    let load = world.engine.load();
    assert_eq!(
        (load.reminders_blocked, load.reminders_blocked_by_letters),
        (1, 1)
    );
    world.bank.broken.lock().clear();
    (world, id)
}

fn decide(world: &World, id: u64, decision: Decision) {
    world
        .engine
        .decide_dead_letter(id, decision, Box::new(|outcome| assert!(outcome.is_ok())));
    world.finish();
}

#[test]
fn a_dead_letter_blocks_reminders_until_a_decision() {
    let (world, id) = with_letter();
    decide(&world, id, Decision::Retry);
    assert_eq!(reminded(&world), [("r".to_owned(), 1)]);

    let (world, id) = with_letter();
    decide(&world, id, Decision::Drop);
    assert_eq!(reminded(&world), [("r".to_owned(), 0)]);

    let (world, _) = with_letter();
    world.engine.decide_dead_letters(
        &rialto_engine::LetterFilter::default(),
        Decision::Retry,
        Box::new(|outcome| assert!(outcome.is_ok())),
    );
    world.finish();
    assert_eq!(reminded(&world), [("r".to_owned(), 1)]);
    assert_eq!(world.engine.load().reminders_blocked, 0);
}

#[test]
fn a_dead_letter_does_not_block_later_reminders() {
    let (world, _) = with_letter();
    remind(&world, "later", SUBJECT);
    world.finish();
    let later = reminded(&world);
    assert_eq!(later, [("later".to_owned(), 0)]);
    assert_eq!(world.engine.load().reminders_blocked, 1, "the one before");
}

#[test]
fn a_restart_keeps_reminders_behind_earlier_deliveries() {
    // A delivery that nobody has handled.
    let world = reminded_of(SUBJECT);
    let _ = arrive(&world, "ledger", "in time");
    world
        .clock
        .0
        .fetch_add(100, std::sync::atomic::Ordering::Relaxed);
    let world = world.crashed();
    world.engine.fire_due();
    assert_eq!(world.engine.ready(), 1, "the event alone");
    world.finish();
    assert_eq!(reminded(&world), [("r".to_owned(), 1)]);

    // A dead letter.
    let (world, id) = with_letter();
    let world = world.crashed();
    world.finish();
    assert!(reminded(&world).is_empty());
    assert_eq!(world.engine.load().reminders_blocked_by_letters, 1);
    decide(&world, id, Decision::Retry);
    assert_eq!(reminded(&world), [("r".to_owned(), 1)]);
}

#[test]
fn a_waiting_reminder_can_be_cancelled_or_replaced() {
    let (world, id) = with_letter();
    let cancelled = world.ask(doing(|turn| turn.cancel_reminder(&BANK.into(), "r")));
    world.run_until_idle();
    assert_eq!(cancelled.lock().take(), Some(Ok(true)), "it was waiting");
    assert_eq!(world.engine.load().reminders_blocked, 0);
    decide(&world, id, Decision::Drop);
    assert!(reminded(&world).is_empty());

    let (world, id) = with_letter();
    remind(&world, "r", SUBJECT);
    world.finish();
    assert_eq!(reminded(&world), [("r".to_owned(), 0)], "the new one");
    decide(&world, id, Decision::Drop);
    assert_eq!(reminded(&world).len(), 1);
}

#[test]
fn a_poison_candidate_that_waits_does_not_block_the_others() {
    let (world, id) = with_letter();
    remind(&world, "other", "payment:2");
    world
        .clock
        .0
        .fetch_add(100, std::sync::atomic::Ordering::Relaxed);
    // Both have a redelivery count above the limit.
    let suspicious = world.crashed_with(Limits {
        redeliveries_max: 0,
        ..limits()
    });
    suspicious.finish();
    assert_eq!(reminded(&suspicious), [("other".to_owned(), 0)]);
    decide(&suspicious, id, Decision::Drop);
    assert_eq!(reminded(&suspicious).len(), 2);
}

/// What a turn that begins now is told of what came before an instant.
fn told(world: &World, due: u64) -> Option<Earlier> {
    let said = Arc::new(std::sync::Mutex::new(None));
    let heard = said.clone();
    let _ = world.ask(doing(move |turn| {
        let earlier = turn.waits_for(SUBJECT, Timestamp(due));
        *heard.lock().unwrap() = Some(earlier);
        Ok(true)
    }));
    world.run_until_idle();
    said.lock().unwrap().take().unwrap()
}

#[test]
fn a_turn_can_ask_what_came_before_without_any_reminder() {
    let world = World::new();
    let now = world.clock.now().0;
    let due = now + DUE_MS;
    assert_eq!(told(&world, due), None);
    world.bank.broken.lock().insert("ledger".to_owned());
    let _ = arrive(&world, "ledger", "in time");
    world.run_until_idle();
    let told_of = |earlier: Option<Earlier>| match earlier {
        Some(Earlier::Delivery { id, component }) => (id, component, false),
        Some(Earlier::DeadLetter { id, component }) => (id, component, true),
        other => panic!("{other:?}"),
    };
    let (id, component, is_parked) = told_of(told(&world, due));
    assert_eq!((&*component, is_parked), ("ledger", false));
    assert_eq!(told(&world, now), None, "it came later than that");
    world.finish();
    let letter = world.engine.dead_letters().unwrap()[0].delivery.id;
    assert_eq!(letter, id);
    assert_eq!(told_of(told(&world, due)), (id, component, true));
    let world = world.crashed();
    world.finish();
    let (again, _, is_parked) = told_of(told(&world, due));
    assert_eq!((again, is_parked), (id, true));
    decide(&world, id, Decision::Drop);
    assert_eq!(told(&world, due), None);
}

#[test]
fn waits_for_reports_turns_that_began_before() {
    let world = World::new();
    let (engine, clock) = (world.engine.clone(), world.clock.clone());
    let said = Arc::new(std::sync::Mutex::new(Vec::new()));
    let heard = said.clone();
    let due = clock.now() + DUE_MS;
    let asks = move |turn: &mut Turn| {
        heard.lock().unwrap().push(turn.waits_for(SUBJECT, due));
        Ok(true)
    };
    let first = std::sync::Mutex::new(Some(asks.clone()));
    let _ = world.ask(doing(move |turn| {
        // It takes long, and another turn asks meanwhile.
        clock.0.fetch_add(100, std::sync::atomic::Ordering::Relaxed);
        if let Some(asks) = first.lock().unwrap().take() {
            asks(turn)?;
            assert!(engine.run(0));
        }
        Ok(true)
    }));
    let _ = world.ask(doing(asks));
    world.run_until_idle();
    let said = said.lock().unwrap().clone();
    assert_eq!(said, [None, Some(Earlier::Turn)], "its own is none");
}
