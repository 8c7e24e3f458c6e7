//! The engine with real threads: contention for documents, a slow disk, a slow turn.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]
#![allow(
    clippy::disallowed_methods,
    reason = "these tests are about real threads and real time"
)]

use std::sync::atomic::Ordering;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::world::{Ask, BANK, MemoryStore, Pay, World, doing, limits, spin};
use rialto_engine::Limits;
use rialto_engine::Timestamp;
use rialto_engine::threads::Threads;

const DEADLINE: Duration = Duration::from_secs(60);

fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
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

/// Two hot accounts, eight workers: every turn wants what another one holds, in either order.
#[test]
fn turns_on_the_same_documents_all_get_through() {
    for lock_wait_us in [0, Limits::default().lock_wait_us] {
        let limits = Limits {
            lock_wait_us,
            ..limits()
        };
        let world = World::on(Arc::default(), Arc::default(), limits).in_real_time();
        let threads = Threads::start(&world.engine, 8).unwrap();
        open(&world, 2);
        payments(&world, 2, 1_000);
        threads.stop();
    }
}

#[test]
fn all_turns_get_through_on_a_slow_disk() {
    let world = World::new().in_real_time();
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
    let world = World::new().in_real_time();
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
fn a_slow_turn_lets_another_one_run() {
    let world = World::new().in_real_time();
    let threads = Threads::start_with_spares(&world.engine, 2, 1).unwrap();
    open(&world, 4);
    let slow = world.ask(Ask::Slow(Duration::from_secs(2)));
    payments(&world, 4, 100);
    assert!(slow.lock().is_none(), "the others have waited for it");
    wait_until("the slow turn", || slow.lock().is_some());
    threads.stop();
}

/// What waits on disk is read back by a thread of its own, however long the disk takes.
#[test]
fn a_slow_read_back_does_not_hide_slow_turns() {
    let limits = Limits {
        deliveries_waiting_in_memory_max: 0,
        retry_initial_ms: 50,
        ..crate::world::limits()
    };
    let world = World::on(Arc::default(), Arc::default(), limits).in_real_time();
    let threads = Threads::start_with_spares(&world.engine, 2, 1).unwrap();
    open(&world, 2);
    let (reads, reading) = mpsc::channel();
    let (read, may_be_read) = mpsc::channel::<()>();
    *world.store.amid_read.lock() = Some(Box::new(move || {
        let _ = reads.send(());
        let _ = may_be_read.recv();
    }));
    world.bank.failures.store(4, Ordering::Relaxed);
    let paid = world.ask(Ask::Pay(Pay {
        id: "p".to_owned(),
        from: "a0".to_owned(),
        to: "a1".to_owned(),
        amount: 1,
    }));
    reading.recv_timeout(DEADLINE).unwrap();

    let (runs, running) = mpsc::channel();
    let (end, may_end) = mpsc::channel::<()>();
    let may_end = Mutex::new(may_end);
    let slow = world.ask(doing(move |_| {
        let _ = runs.send(());
        let _ = may_end.lock().recv();
        Ok(true)
    }));
    running.recv_timeout(DEADLINE).unwrap();
    let other = world.ask(Ask::Open {
        account: "other".to_owned(),
        balance: 1,
    });
    wait_until("another turn", || other.lock().is_some());
    assert!(slow.lock().is_none(), "it has not ended");
    drop((read, end));
    let both = [slow, paid];
    wait_until("both", || both.iter().all(|a| a.lock().is_some()));
    threads.stop();
}

#[test]
fn turns_queued_for_one_document_do_not_block_workers() {
    let world = World::new().in_real_time();
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
        ..crate::world::limits()
    };
    let world = World::on(Arc::new(MemoryStore::default()), Arc::default(), limits).in_real_time();
    let threads = Threads::start(&world.engine, 4).unwrap();
    open(&world, 200);
    payments(&world, 200, 1_000);
    // What the last group wrote is kept until it is on disk; each later group forgets some of it.
    let mut later = 0;
    wait_until("forgetting", || {
        later += 1;
        let opened = world.ask(Ask::Open {
            account: format!("later{later}"),
            balance: 0,
        });
        wait_until("opening", || opened.lock().is_some());
        world.engine.load().document_bytes < 20_000
    });
    threads.stop();
}

#[test]
fn a_stopped_engine_has_written_what_it_executed() {
    let world = World::new().in_real_time();
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

#[test]
fn an_endless_chain_blocks_neither_others_nor_the_stop() {
    let limits = Limits {
        hops_max: u32::MAX,
        ..crate::world::limits()
    };
    let world = World::on(Arc::default(), Arc::default(), limits).in_real_time();
    let threads = Threads::start(&world.engine, 2).unwrap();
    open(&world, 4);
    let spinning: Vec<_> = (0..4).map(|_| world.ask(doing(spin))).collect();
    wait_until("spinning", || spinning.iter().all(|s| s.lock().is_some()));
    payments(&world, 4, 50);
    // In a thread of its own, so that a stop that never comes fails here.
    let stopping = std::thread::spawn(move || threads.stop());
    wait_until("the stop", || stopping.is_finished());
    stopping.join().unwrap();
    assert!(
        !world.store.disk.lock().deliveries.is_empty(),
        "what goes on without end goes on after a restart"
    );
}

/// Nothing but the reminders themselves orders these turns.
#[test]
fn concurrent_reminders_are_equal_in_memory_and_on_disk() {
    const REMINDERS: usize = 4_000;
    let world = World::new().in_real_time();
    let threads = Threads::start(&world.engine, 8).unwrap();
    let mut answers = Vec::new();
    for n in 0..REMINDERS {
        let id = format!("r{n}");
        let set = id.clone();
        answers.push(world.ask(doing(move |turn| {
            let due = Timestamp(u64::MAX - 1);
            turn.set_reminder(&BANK.into(), &set, due, String::new())?;
            Ok(true)
        })));
        answers.push(world.ask(Ask::Cancel(id)));
        if n % 256 == 0 {
            wait_until("turns", || answers.iter().all(|a| a.lock().is_some()));
        }
    }
    wait_until("turns", || answers.iter().all(|a| a.lock().is_some()));
    threads.stop();
    let waiting = world.engine.load().reminders;
    assert_eq!(waiting, world.store.disk.lock().reminders.len());
    let kept = (0..REMINDERS).filter(|n| *answers[2 * n + 1].lock() == Some(Ok(false)));
    assert_eq!(
        waiting,
        kept.count(),
        "a cancelled one is gone, others wait"
    );
}
