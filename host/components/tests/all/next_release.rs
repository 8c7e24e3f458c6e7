//! A release that comes into force at an instant: each turn runs on the release that is in force at its own.

#![allow(
    clippy::unwrap_used,
    reason = "a failed unwrap in a test is a failed test"
)]

use std::sync::Arc;

use rialto_components::next_release::Next;
use rialto_engine::{Clock as _, Failure, Timestamp};

use crate::world::{ManualClock, World, asker, release};

/// Whether a turn runs on this release.
fn runs_on(world: &World, number: u64) -> bool {
    let answer = world.order_judged_by(Some(number), "count it");
    answer.unwrap().is_some()
}

#[test]
fn turns_run_on_the_release_of_their_instant() {
    let clock = Arc::new(ManualClock::default());
    let mut spec = release(vec![asker()], Vec::new());
    spec.number = 1;
    let world = World::at(&spec, 16, &clock);
    let runtime = world.runtime();
    let from = Timestamp(clock.now().0 + 10);
    let expect = |release, before| {
        runtime.expect(Some(Next {
            from,
            release,
            before,
        }));
    };
    expect(None, None);
    assert!(runs_on(&world, 1));
    clock.pass(10);
    // Nothing is judged by the wrong rules.
    let refused = world.order("count it");
    assert!(matches!(refused, Err(Failure::NotReady(_))), "{refused:?}");

    spec.number = 2;
    let second = Arc::new(runtime.prepare(&spec).unwrap());
    expect(Some(second), runtime.current());
    assert!(runs_on(&world, 2));

    // Another one, although the second is still expected.
    spec.number = 3;
    world.make_current(&spec);
    for _ in 0..3 {
        assert!(runs_on(&world, 3));
    }
}
