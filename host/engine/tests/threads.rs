//! The engine with real threads: the same documents wanted by many at once, a slow disk, a slow turn.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]
#![allow(
    clippy::disallowed_methods,
    reason = "these tests are about real threads and real time"
)]

mod world;

use std::sync::Arc;
use std::time::{Duration, Instant};

use rialto_engine::Limits;
use rialto_engine::threads::Threads;
use world::{Ask, MemoryStore, Pay, World};

const DEADLINE: Duration = Duration::from_secs(60);

fn wait_until(what: &str, condition: impl Fn() -> bool) {
    let started = Instant::now();
    while !condition() {
        assert!(started.elapsed() < DEADLINE, "{what} did not happen");
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn open(world: &World, accounts: usize) {
    let answers: Vec<_> = (0..accounts)
        .map(|n| {
            world.ask(Ask::Open {
                account: format!("a{n}"),
                balance: 1_000_000,
            })
        })
        .collect();
    wait_until("opening", || answers.iter().all(|a| a.lock().is_some()));
}

fn payments(world: &World, accounts: usize, count: usize) {
    let answers: Vec<_> = (0..count)
        .map(|n| {
            world.ask(Ask::Pay(Pay {
                id: format!("p{n}"),
                from: format!("a{}", n % accounts),
                to: format!("a{}", (n * 7 + 1) % accounts),
                amount: 1,
            }))
        })
        .collect();
    wait_until("answers", || answers.iter().all(|a| a.lock().is_some()));
    wait_until("letters", || {
        while world.wire.answer(0) {}
        world.all("reports").len() == count
    });
    assert!(answers.iter().all(|a| matches!(*a.lock(), Some(Ok(true)))));
    assert_eq!(world.all("executions").len(), count.min(1_000));
    assert!(world.all("executions").values().all(|times| times == "1"));
    assert_eq!(world.sum("accounts"), 1_000_000 * accounts as i64);
}

/// Two hot accounts, eight workers: every turn wants what another one holds.
#[test]
fn turns_that_want_the_same_documents_are_ordered_and_all_get_through() {
    let world = World::new();
    let threads = Threads::start(&world.engine, 8).unwrap();
    open(&world, 2);
    payments(&world, 2, 1_000);
    threads.stop();
}

#[test]
fn turns_on_many_documents_all_get_through_on_a_slow_disk() {
    let world = World::new();
    *world.store.slow.lock() = Some(Duration::from_millis(5));
    let threads = Threads::start(&world.engine, 4).unwrap();
    open(&world, 64);
    payments(&world, 64, 1_000);
    let groups = world.store.disk.lock().groups;
    assert!(groups < 1_000, "turns share groups: {groups}");
    threads.stop();
}

#[test]
fn a_slow_turn_holds_up_no_other() {
    let world = World::new();
    let threads = Threads::start(&world.engine, 3).unwrap();
    open(&world, 4);
    let slow = world.ask(Ask::Slow(Duration::from_secs(2)));
    let started = Instant::now();
    payments(&world, 4, 100);
    assert!(
        slow.lock().is_none(),
        "the others took {:?}",
        started.elapsed()
    );
    wait_until("the slow turn", || slow.lock().is_some());
    threads.stop();
}

#[test]
fn many_more_turns_than_workers_that_wait_for_one_document_do_not_block_the_workers() {
    let world = World::new();
    let threads = Threads::start(&world.engine, 3).unwrap();
    open(&world, 2);
    let slow: Vec<_> = (0..6)
        .map(|_| world.ask(Ask::Slow(Duration::from_millis(300))))
        .collect();
    payments(&world, 2, 50);
    assert!(slow.iter().any(|s| s.lock().is_none()));
    wait_until("the slow turns", || slow.iter().all(|s| s.lock().is_some()));
    assert_eq!(world.all("slow")["slow"], "6");
    threads.stop();
}

#[test]
fn a_small_cache_forgets_documents_and_finds_them_again() {
    let limits = Limits {
        cache_bytes_max: 10_000,
        ..world::limits()
    };
    let world = World::on(Arc::new(MemoryStore::default()), Arc::default(), limits);
    let threads = Threads::start(&world.engine, 4).unwrap();
    open(&world, 200);
    payments(&world, 200, 1_000);
    let bytes = world.engine.load().document_bytes;
    assert!(bytes < 200_000, "{bytes} bytes are kept");
    threads.stop();
}

#[test]
fn a_stopped_engine_has_written_what_it_executed() {
    let world = World::new();
    let threads = Threads::start(&world.engine, 4).unwrap();
    open(&world, 4);
    let answers: Vec<_> = (0..200)
        .map(|n| {
            world.ask(Ask::Pay(Pay {
                id: format!("p{n}"),
                from: format!("a{}", n % 4),
                to: "a0".into(),
                amount: 1,
            }))
        })
        .collect();
    threads.stop();
    let taken = answers
        .iter()
        .filter(|a| matches!(*a.lock(), Some(Ok(true))))
        .count();
    assert!(
        answers.iter().all(|a| a.lock().is_some()),
        "nobody waits for ever"
    );
    let world = world.crashed();
    assert!(world.all("payments").len() >= taken);
    world.finish();
    assert_eq!(world.sum("accounts") + world.sum("holds"), 4_000_000);
}
