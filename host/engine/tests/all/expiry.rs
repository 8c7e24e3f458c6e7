//! Turns of clients with a timeout: a turn does not begin after it, an executed turn stays, and turns without a timeout
//! are not affected.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::sync::Arc;
use std::time::Duration;

use crate::world::{Ask, BANK, BankDocuments as _, World, doing};
use parking_lot::Mutex;
use rialto_engine::{Failure, Requester, Trace};

type Answer = Arc<Mutex<Option<Result<bool, Failure>>>>;

fn within(world: &World, ask: Ask, within: Option<Duration>) -> Answer {
    let answer = Answer::default();
    let told = answer.clone();
    let asker = Requester {
        within,
        ..Requester::default()
    };
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
    answer
}

fn mark(id: &'static str) -> Ask {
    doing(move |turn| {
        turn.put("marks", id, "1")?;
        Ok(true)
    })
}

#[test]
fn an_expired_turn_does_not_begin_and_is_recorded() {
    let world = World::new();
    let late = within(&world, mark("late"), Some(Duration::ZERO));
    let early = within(&world, mark("early"), Some(Duration::from_secs(3600)));
    let patient = within(&world, mark("patient"), None);
    world.run_until_idle();
    assert_eq!(late.lock().take(), Some(Err(Failure::Expired)));
    assert_eq!(early.lock().take(), Some(Ok(true)));
    assert_eq!(patient.lock().take(), Some(Ok(true)));
    let marks: Vec<String> = world.all("marks").into_keys().collect();
    assert_eq!(marks, ["early", "patient"]);
}

#[test]
fn a_turn_is_told_how_long_somebody_waits_for_it() {
    let world = World::new();
    let left = Arc::new(Mutex::new(Vec::new()));
    for given in [None, Some(Duration::from_secs(3600))] {
        let left = left.clone();
        let ask = doing(move |turn| {
            left.lock().push(turn.left_us());
            Ok(true)
        });
        let _ = within(&world, ask, given);
    }
    world.run_until_idle();
    let left = left.lock().clone();
    assert_eq!(left[0], None);
    let hour_us = 3_600_000_000;
    assert!(
        left[1].is_some_and(|us| us > hour_us / 2 && us <= hour_us),
        "{left:?}"
    );
}

#[test]
fn a_turn_beyond_its_clients_time_is_executed() {
    let world = World::new().in_real_time();
    let slow = doing(|turn| {
        turn.put("marks", "slow", "1")?;
        while turn.left_us() != Some(0) {
            std::thread::yield_now();
        }
        Ok(true)
    });
    let answer = within(&world, slow, Some(Duration::from_millis(200)));
    world.run_until_idle();
    assert_eq!(answer.lock().take(), Some(Ok(true)));
    assert_eq!(world.all("marks").len(), 1);
}
