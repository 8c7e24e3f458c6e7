//! A tracing system gets one span for each committed run, under its parent.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::world::{Ask, Pay, World};
use parking_lot::Mutex;
use rialto_engine::history::{Ended, Kind};
use rialto_engine::{Spans, Trace, TurnId, TurnSpan};

/// The span of a letter on its way.
const LETTER: u64 = 77;

/// Notes what it is told.
#[derive(Default)]
struct Told {
    records: bool,
    spans: Mutex<Vec<TurnSpan>>,
}

impl Spans for Told {
    fn records(&self, _trace: u128) -> bool {
        self.records
    }
    fn id(&self, turn: TurnId) -> u64 {
        turn.0 + 1_000
    }
    fn ended(&self, span: &TurnSpan) {
        self.spans.lock().push(span.clone());
    }
}

fn world(records: bool) -> (Arc<Told>, World) {
    let told = Arc::new(Told {
        records,
        ..Told::default()
    });
    let world = World::traced(told.clone());
    let _ = world.ask(Ask::Open {
        account: "a0".into(),
        balance: 100,
    });
    world.run_until_idle();
    told.spans.lock().clear();
    (told, world)
}

fn pay(world: &World) {
    let _ = world.ask(Ask::Pay(Pay {
        id: "p1".into(),
        from: "a0".into(),
        to: "a1".into(),
        amount: 10,
    }));
}

#[test]
fn a_request_and_all_that_it_causes_are_one_trace() {
    let (told, world) = world(true);
    pay(&world);
    while world.engine.run(0) {}
    assert!(told.spans.lock().is_empty(), "executed is not committed");
    world.run_until_idle();
    let sent = Trace::parse(&world.wire.pending.lock()[0].0.traceparent).unwrap();
    world.wire.answer_in(0, Some(LETTER));
    world.run_until_idle();
    world.clock.0.fetch_add(60, Ordering::Relaxed);
    world.engine.fire_due();
    world.run_until_idle();

    let spans = told.spans.lock();
    let kinds: Vec<_> = spans.iter().map(|span| span.record.kind).collect();
    assert_eq!(
        kinds,
        [Kind::Request, Kind::Event, Kind::Report, Kind::Reminder]
    );
    let trace = spans[0].cause.id;
    assert_ne!(trace, 0);
    assert!(spans.iter().all(|span| span.cause.id == trace));
    assert!(spans.iter().all(|span| span.record.trace == trace));
    let id = |n: usize| told.id(spans[n].record.turn);
    let parents: Vec<_> = spans.iter().map(|span| span.cause.parent).collect();
    assert_eq!(parents, [0, id(0), LETTER, id(1)]);
    assert_eq!((sent.id, sent.parent, sent.sampled), (trace, id(1), true));
}

#[test]
fn a_reminder_knows_its_trace_after_a_restart() {
    let (told, world) = world(true);
    pay(&world);
    world.run_until_idle();
    let setter = told.spans.lock()[1].clone();
    let world = world.crashed_traced(told.clone());
    told.spans.lock().clear();
    world.clock.0.fetch_add(60, Ordering::Relaxed);
    world.engine.fire_due();
    world.run_until_idle();
    let spans = told.spans.lock();
    let due = spans.iter().find(|s| s.record.kind == Kind::Reminder);
    let cause = due.unwrap().cause;
    assert_eq!(cause.id, setter.cause.id);
    assert_eq!(cause.parent, told.id(setter.record.turn));
}

#[test]
fn each_attempt_is_a_span_and_says_how_it_ended() {
    let (told, world) = world(true);
    world.bank.failures.store(1, Ordering::Relaxed);
    pay(&world);
    world.finish();
    let spans = told.spans.lock();
    let held = spans.iter().filter(|s| s.record.kind == Kind::Event);
    let ended: Vec<_> = held.map(|s| s.record.ended.clone()).collect();
    assert!(matches!(ended[0], Ended::Failed(_)), "{ended:?}");
    assert_eq!(ended[1..], [Ended::Executed]);
}

#[test]
fn a_trace_that_is_not_recorded_leaves_no_span() {
    let (told, world) = world(false);
    pay(&world);
    world.run_until_idle();
    assert!(told.spans.lock().is_empty());
    let sent = Trace::parse(&world.wire.pending.lock()[0].0.traceparent).unwrap();
    assert!(!sent.sampled);
    world.finish();
    assert!(told.spans.lock().is_empty());
}
