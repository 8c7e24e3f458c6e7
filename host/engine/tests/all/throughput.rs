//! Measures the engine's turns per second on a store in memory, to compare builds.
//! Run by hand: `cargo test -p rialto-engine --test all --release -- throughput --ignored --nocapture`.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]
#![allow(clippy::disallowed_methods, reason = "it measures real time")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use crate::world::{BANK, BankDocuments as _, World, doing};
use rialto_engine::threads::Threads;
use rialto_engine::{Failure, Reply, Trace};

const TURNS: u64 = 200_000;
const ROUNDS: usize = 5;
/// Documents that all turns read and none writes.
const READ_BY_ALL: [&str; 4] = ["scheme", "payer", "payee", "limits"];

fn round(workers: usize, documents: u64) -> f64 {
    let world = World::new();
    world.clock.1.real.store(true, Ordering::Relaxed);
    for id in READ_BY_ALL {
        let _ = world.ask(doing(move |turn| {
            turn.put("facts", id, "{}")?;
            Ok(true)
        }));
    }
    world.run_until_idle();
    let threads = Threads::start(&world.engine, workers).unwrap();
    let done = Arc::new(AtomicU64::new(0));
    let started = Instant::now();
    for n in 0..TURNS {
        let id = (n % documents).to_string();
        let ask = Arc::new(doing(move |turn| {
            for fact in READ_BY_ALL {
                turn.get("facts", fact)?;
            }
            turn.get_for_update("own", &id)?;
            turn.put("own", &id, "{}")?;
            Ok(true)
        }));
        loop {
            let done = done.clone();
            let waiter = move |outcome: Result<Reply, Failure>| {
                assert!(outcome.is_ok());
                done.fetch_add(1, Ordering::Relaxed);
            };
            let submitted = world.engine.submit(
                BANK.into(),
                "ask".into(),
                ask.clone(),
                Trace::default(),
                Box::new(waiter),
            );
            if submitted.is_ok() {
                break;
            }
            std::thread::yield_now();
        }
    }
    while done.load(Ordering::Relaxed) < TURNS {
        std::thread::yield_now();
    }
    let took = started.elapsed().as_secs_f64();
    threads.stop();
    TURNS as f64 / took
}

#[test]
#[ignore = "it measures, and asserts nothing"]
fn turns_a_second() {
    for (workers, documents) in [(1, 10_000), (4, 10_000), (8, 10_000), (4, 2)] {
        let mut rounds: Vec<f64> = (0..ROUNDS).map(|_| round(workers, documents)).collect();
        rounds.sort_by(f64::total_cmp);
        println!(
            "{workers} workers, {documents} documents: {:.0} turns/s (from {:.0} to {:.0})",
            rounds[ROUNDS / 2],
            rounds[0],
            rounds[ROUNDS - 1]
        );
    }
}
