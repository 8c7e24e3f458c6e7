//! Answers are written before the outbound requests that their requests cause.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use crate::world::{Ask, Pay, World, limits};
use rialto_engine::limits::ANSWER_LEAVES_MS_MAX;
use rialto_engine::{Busy, Limits, Requester, Trace};

fn pay(id: &str) -> Ask {
    Ask::Pay(Pay {
        id: id.into(),
        from: "a0".into(),
        to: "a1".into(),
        amount: 1,
    })
}

fn opened(limits: Limits) -> World {
    let world = World::on(std::sync::Arc::default(), std::sync::Arc::default(), limits);
    let _ = world.ask(Ask::Open {
        account: "a0".into(),
        balance: 100,
    });
    world.run_until_idle();
    world
}

fn sent(world: &World) -> usize {
    world.wire.sent.lock().len()
}

#[test]
fn outbound_requests_are_sent_after_the_answer() {
    let world = opened(limits());
    // The letter is sent by the event that the payment's turn publishes.
    let (answer, answering) = world.ask_answered(pay("p1"));
    world.run_until_idle();
    assert_eq!(answer.lock().take(), Some(Ok(true)), "answered");
    assert_eq!(sent(&world), 0, "and nobody has taken the answer yet");
    assert_eq!(world.engine.load().outbound_behind_answers, 1);
    world.pass(ANSWER_LEAVES_MS_MAX - 1);
    assert_eq!(sent(&world), 0);
    drop(answering);
    assert_eq!(sent(&world), 1);
    assert_eq!(world.engine.load().outbound_behind_answers, 0);
    world.finish();
    assert_eq!(world.all("reports")["p1"], "1");
    assert_eq!(sent(&world), 1, "it is sent once");
}

#[test]
fn a_slow_client_delays_only_its_own_requests() {
    let world = opened(limits());
    let (_, slow) = world.ask_answered(pay("slow"));
    world.run_until_idle();
    let (_, quick) = world.ask_answered(pay("quick"));
    world.run_until_idle();
    let _ = world.ask(pay("untold"));
    world.run_until_idle();
    assert_eq!(sent(&world), 1, "whose answer's leaving is not told");
    drop(quick);
    assert_eq!(sent(&world), 2, "whose answer has left");
    let due = world.engine.next_due().unwrap();
    assert!(due.0 > 0);
    world.pass(ANSWER_LEAVES_MS_MAX - 1);
    assert_eq!(sent(&world), 2);
    world.pass(1);
    assert_eq!(sent(&world), 3, "its second is over");
    drop(slow);
    assert_eq!(sent(&world), 3);
}

#[test]
fn an_answer_that_has_left_or_will_never_holds_nothing() {
    let world = opened(limits());
    // Its client has gone before the turn began.
    let (_, answering) = world.ask_answered(pay("p1"));
    drop(answering);
    world.run_until_idle();
    assert_eq!(sent(&world), 1);
    // What comes of the request after its answer has left is sent at once.
    let (_, answering) = world.ask_answered(pay("p2"));
    world.engine.run(0);
    world.engine.commit().unwrap();
    drop(answering);
    world.run_until_idle();
    assert_eq!(sent(&world), 2);
}

#[test]
fn requests_that_waited_for_an_answer_survive_a_restart() {
    let world = opened(limits());
    let (_, answering) = world.ask_answered(pay("p1"));
    world.run_until_idle();
    assert_eq!(sent(&world), 0);
    let world = world.crashed();
    assert_eq!(sent(&world), 1);
    drop(answering);
    assert_eq!(sent(&world), 1);
}

#[test]
fn beyond_a_bound_nothing_waits_for_answers() {
    let world = opened(Limits {
        requests_waiting_max: 8,
        ..limits()
    });
    let asked: Vec<_> = (0..10)
        .map(|n| world.ask_answered(pay(&format!("p{n}"))).1)
        .collect();
    world.run_until_idle();
    let load = world.engine.load();
    assert_eq!(load.outbound_behind_answers, 8);
    assert_eq!(load.outbound + load.outbound_on_disk, 10);
    drop(asked);
    world.finish();
    assert_eq!(sent(&world), 10);
}

#[test]
fn a_request_that_is_refused_for_load_holds_nothing() {
    let world = opened(Limits {
        turns_waiting_max: 1,
        ..limits()
    });
    let _first = world.ask(pay("p1"));
    let refused = world.engine.submit_answered(
        Requester::default(),
        "bank".into(),
        "ask".into(),
        std::sync::Arc::new(pay("p2")),
        Trace::default(),
        Box::new(|_| panic!("who is refused at once is not told again")),
    );
    assert!(matches!(refused, Err(Busy)));
}
