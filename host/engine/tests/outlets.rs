//! Requests to the outside are bounded, for each destination and in all, and none is lost by that.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

mod world;

use std::sync::Arc;

use rialto_engine::{Busy, Limits, Trace};
use world::{Ask, BANK, Pay, World, limits};

/// Two requests in memory for a destination, three for all.
fn narrow() -> Limits {
    Limits {
        requests_waiting_max: 3,
        requests_waiting_per_destination_max: 2,
        ..limits()
    }
}

fn opened(limits: Limits) -> World {
    let world = World::on(Arc::default(), Arc::default(), limits);
    let _ = world.ask(Ask::Open {
        account: "a0".into(),
        balance: 1_000,
    });
    world.settle();
    world
}

/// Payments, each of which sends a letter.
fn pay(world: &World, ids: &[&str]) {
    for id in ids {
        let _ = world.ask(Ask::Pay(Pay {
            id: (*id).to_owned(),
            from: "a0".into(),
            to: "a1".into(),
            amount: 1,
        }));
    }
    world.settle();
}

/// What the letters that are on their way are about.
fn under_way(world: &World) -> Vec<String> {
    let pending = world.wire.pending.lock();
    pending.iter().map(|(r, _)| r.correlation.clone()).collect()
}

fn is_busy(world: &World) -> bool {
    let ask = Ask::Cancel("nothing".into());
    let submitted = world.engine.submit(
        BANK.into(),
        "ask".into(),
        Arc::new(ask),
        Trace::default(),
        Box::new(|_| ()),
    );
    world.settle();
    submitted == Err(Busy)
}

const FIVE: [&str; 5] = ["dead1", "dead2", "dead3", "dead4", "dead5"];

#[test]
fn what_is_beyond_a_destinations_bound_waits_on_disk_and_goes_out_in_order() {
    let world = opened(Limits {
        requests_waiting_max: 100,
        ..narrow()
    });
    pay(&world, &FIVE);
    assert_eq!(under_way(&world), ["dead1", "dead2"]);
    let load = world.engine.load();
    assert_eq!((load.outbound, load.outbound_on_disk), (2, 3));
    pay(&world, &["p1"]);
    assert_eq!(under_way(&world), ["dead1", "dead2", "p1"], "others go on");
    for now in [
        ["dead2", "p1", "dead3"],
        ["p1", "dead3", "dead4"],
        ["dead3", "dead4", ""],
        ["dead4", "dead5", ""],
    ] {
        assert!(world.wire.answer(0));
        world.settle();
        let expected: Vec<&str> = now.into_iter().filter(|id| !id.is_empty()).collect();
        assert_eq!(under_way(&world), expected);
    }
    world.finish();
    let reports = world.all("reports");
    assert_eq!(reports.len(), 6);
    assert!(reports.values().all(|times| times == "1"), "{reports:?}");
    let load = world.engine.load();
    assert_eq!((load.outbound, load.outbound_on_disk), (0, 0));
    assert!(world.store.disk.lock().outbound.is_empty());
}

#[test]
fn with_as_many_in_memory_as_there_may_be_new_requests_are_refused() {
    let world = opened(narrow());
    pay(&world, &FIVE);
    assert!(
        !is_busy(&world),
        "one destination does not use up the bound of all"
    );
    pay(&world, &["p1"]);
    assert_eq!(world.engine.load().outbound, 3);
    assert!(is_busy(&world));
    assert!(world.wire.answer(2), "p1 has ended");
    assert!(!is_busy(&world));
    world.finish();
    assert_eq!(world.all("reports").len(), 6, "nothing was dropped");
}

#[test]
fn after_a_crash_too_the_bound_holds_and_nothing_is_lost() {
    let world = opened(narrow());
    pay(&world, &FIVE);
    let store = world.store.reopened();
    let clock = world.clock.clone();
    drop(world);
    let world = World::on(store, clock, narrow());
    assert_eq!(under_way(&world), ["dead1", "dead2"]);
    assert_eq!(world.engine.load().outbound_on_disk, 3);
    world.finish();
    assert_eq!(world.all("reports").len(), 5);
    assert!(world.store.disk.lock().outbound.is_empty());
}
