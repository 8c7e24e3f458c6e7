//! Outbound requests in memory are bounded, for each destination and in all, and none is lost.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::world::{Ask, BANK, Pay, World, limits};
use rialto_engine::{Busy, Limits, Trace};

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
    world.run_until_idle();
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
    world.run_until_idle();
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
    world.run_until_idle();
    submitted == Err(Busy)
}

const FIVE: [&str; 5] = ["dead1", "dead2", "dead3", "dead4", "dead5"];

#[test]
fn requests_beyond_the_bound_wait_on_disk_in_order() {
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
        world.run_until_idle();
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
fn full_memory_refuses_nobody_and_requests_wait_on_disk() {
    let world = opened(Limits {
        requests_waiting_max: 20,
        requests_waiting_per_destination_max: 20,
        ..limits()
    });
    let dead: Vec<String> = (0..100).map(|n| format!("dead{}-{n}", n % 10)).collect();
    pay(&world, &dead.iter().map(String::as_str).collect::<Vec<_>>());
    let load = world.engine.load();
    assert_eq!(load.outbound + load.outbound_on_disk, 100);
    // A little beyond the bound, so that each destination has some.
    assert!((20..=40).contains(&load.outbound), "{}", load.outbound);
    assert!(!is_busy(&world));
    pay(&world, &["p1"]);
    assert!(under_way(&world).contains(&"p1".to_owned()));
    world.finish();
    assert_eq!(world.all("reports").len(), 101, "nothing was dropped");
}

#[test]
fn a_dead_destination_leaves_as_much_memory_as_it_takes() {
    let world = opened(Limits {
        requests_waiting_max: 120,
        requests_waiting_per_destination_max: 120,
        ..limits()
    });
    let in_memory_with = |prefix: &str, requests: usize| {
        let ids: Vec<String> = (0..requests).map(|n| format!("{prefix}{n}")).collect();
        pay(&world, &ids.iter().map(String::as_str).collect::<Vec<_>>());
        world.engine.load().outbound
    };
    assert_eq!(in_memory_with("dead1-", 130), 60, "a half");
    assert_eq!(in_memory_with("dead2-", 130), 90, "a half of the rest");
    // A destination that works gets more than the few that each may always have.
    assert_eq!(in_memory_with("p", 15), 105);
    let live = under_way(&world)
        .iter()
        .filter(|id| id.starts_with('p'))
        .count();
    assert_eq!(live, 15);
    world.finish();
    assert_eq!(world.all("reports").len(), 275);
}

/// Five destinations that answer nothing, with thousands of requests each, beside one that answers.
#[test]
fn five_dead_destinations_leave_the_others_as_they_were() {
    const EACH: usize = 3_000;
    let world = opened(Limits {
        requests_waiting_max: 1_000,
        requests_waiting_per_destination_max: 250,
        ..limits()
    });
    let _ = world.ask(Ask::Open {
        account: "a0".into(),
        balance: 1_000_000,
    });
    let (mut live, mut late) = (0, 0);
    for n in 0..EACH {
        for dead in 1..=5 {
            let _ = world.ask(Ask::Pay(Pay {
                id: format!("dead{dead}-{n}"),
                from: "a0".into(),
                to: "a1".into(),
                amount: 1,
            }));
        }
        if n % 3 == 0 {
            let id = format!("p{n}");
            let _ = world.ask(Ask::Pay(Pay {
                id: id.clone(),
                from: "a0".into(),
                to: "a1".into(),
                amount: 1,
            }));
            live += 1;
            world.run_until_idle();
            let at = under_way(&world).iter().position(|about| *about == id);
            late += usize::from(at.is_none());
            assert!(at.is_none_or(|at| world.wire.answer(at)));
        }
        world.run_until_idle();
    }
    let load = world.engine.load();
    println!(
        "five dead destinations\n\
         | requests to them | in memory | on disk | lost | to the other | of those late | refused |\n\
         |---|---|---|---|---|---|---|\n\
         | {} | {} | {} | 0 | {live} | {late} | {} |",
        5 * EACH,
        load.outbound,
        load.outbound_on_disk,
        world.engine.counters().refused.load(Ordering::Relaxed),
    );
    assert_eq!(late, 0);
    assert_eq!(load.outbound + load.outbound_on_disk, 5 * EACH);
    assert!(load.outbound <= 1_000, "{}", load.outbound);
    assert_eq!(world.engine.counters().refused.load(Ordering::Relaxed), 0);
    // They are there again.
    let sent = || world.wire.sent.lock().len();
    while world.wire.answer(0) {
        world.run_until_idle();
    }
    assert_eq!(sent(), 5 * EACH + live, "each once");
    let load = world.engine.load();
    assert_eq!((load.outbound, load.outbound_on_disk), (0, 0));
    assert!(world.store.disk.lock().outbound.is_empty());
}

#[test]
fn an_unreadable_store_only_delays_requests() {
    let world = opened(Limits {
        requests_waiting_max: 100,
        ..narrow()
    });
    pay(&world, &FIVE);
    world.store.unreadable.store(2, Ordering::Relaxed);
    assert!(world.wire.answer(0));
    world.run_until_idle();
    assert_eq!(under_way(&world), ["dead2"]);
    let load = world.engine.load();
    assert_eq!(
        (load.outbound, load.outbound_on_disk),
        (1, 3),
        "counted as they are"
    );
    let due = world.engine.next_due().is_some();
    assert!(due, "it is asked again");
    world.pass(1_000);
    assert_eq!(under_way(&world), ["dead2"], "it fails once more");
    world.pass(1_000);
    assert_eq!(under_way(&world), ["dead2", "dead3"]);
    world.finish();
    assert_eq!(world.all("reports").len(), 5);
}

#[test]
fn the_bound_holds_after_a_crash() {
    let narrow = || Limits {
        requests_waiting_max: 100,
        ..narrow()
    };
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
