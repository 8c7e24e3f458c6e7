//! Counts of a payment that do not depend on the machine. A change that moves one by more than its share changes it
//! here too, and tells it in `docs/performance.md`.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::time::Duration;

use rialto_simulator::PaymentOutcome;
use rialto_tests::World;
use rialto_tests::metrics::idle_after;
use rialto_tests::scenes::committed;
use serde_json::Value;

/// Collections of which each payment writes a document. The store makes a dictionary of the first 256 of each, which takes
/// megabytes once: before the payments that are counted.
const DICTIONARIES: u64 = 8;
/// Four payments at once, so many times, make them at most. These also make the instances that a busy machine needs beside
/// each other.
const ROUNDS_MAX: u32 = 250;
/// Payments that are counted: so many that another instance, which takes up to a megabyte once, moves nothing.
const PAYMENTS: u64 = 120;
/// From the begin of one payment to that of the next: longer than a slow machine takes. The store's tables are written by
/// time, so a payment's share of that depends on how long all of them take.
const PACE: Duration = Duration::from_millis(100);
/// A payment: lookup, quote and transfer, with the reports of their six messages; the metric that counts, and the share by
/// which it may differ.
const COUNTS: [(&str, f64, f64); 4] = [
    ("rialto_turns_executed_total", 43.0, 0.02),
    ("rialto_documents_written_total", 20.4, 0.02),
    ("rialto_allocations_total", 2_982.0, 0.02),
    ("rialto_allocated_bytes_total", 718_000.0, 0.03),
];
/// Instructions of the rules of a payment: one verdict about its quote, two about its transfer.
const FUEL: u64 = 124_700;

/// The fuel of all verdicts about a payment.
fn fuel(world: &World, payment: &PaymentOutcome) -> u64 {
    let mut all = Vec::new();
    for id in [&payment.quote_id, &payment.transfer_id] {
        let command = ["receipts", id, "--json"];
        let text = world.host.cli(&command).unwrap().success().unwrap();
        let receipts = text
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap());
        all.extend(receipts.map(|filed| filed["receipt"]["fuel"].as_u64().unwrap()));
    }
    assert_eq!(all.len(), 3, "three verdicts");
    all.iter().sum()
}

/// The dictionaries that the store has made.
fn dictionaries(world: &World) -> u64 {
    let query = "SELECT count(*) AS made FROM dictionaries";
    let told = world.host.cli(&["sql", query, "--json"]).unwrap();
    let row: Value = serde_json::from_str(&told.success().unwrap()).unwrap();
    row["made"].as_u64().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_payment_takes_no_more_of_anything_than_before() {
    let mut world = World::demo().await.unwrap();
    // The first payment of a day opens a settlement batch. The first flush of a new store takes 12 MB for Bloom filters,
    // now or later; a restart has done it.
    committed(&world.pay("1", "USD").await).unwrap();
    world.host.kill().unwrap();
    world.host.restart().unwrap();
    let mut rounds = 0;
    while dictionaries(&world) < DICTIONARIES {
        let pay = || world.pay("1", "USD");
        let (one, two, three, four) = tokio::join!(pay(), pay(), pay(), pay());
        for payment in [one, two, three, four] {
            committed(&payment).unwrap();
        }
        rounds += 1;
        assert!(rounds < ROUNDS_MAX, "{} dictionaries", dictionaries(&world));
    }
    let before = world.host.nothing_waits().await.unwrap();
    let mut last = PaymentOutcome::default();
    let mut pace = tokio::time::interval(PACE);
    for _ in 0..PAYMENTS {
        pace.tick().await;
        last = world.pay("1", "USD").await;
        committed(&last).unwrap();
    }
    let (after, looks) = idle_after(&world.host).await.unwrap();
    // What one look takes, of which a slow machine needs more.
    let (later, two) = idle_after(&world.host).await.unwrap();
    world.host.nothing_waits().await.unwrap();
    let mut moved = Vec::new();
    for (name, each, share) in COUNTS {
        let taken = after.get(name).unwrap() - before.get(name).unwrap();
        let by_look = (later.get(name).unwrap() - after.get(name).unwrap()) / two;
        let taken = (taken - by_look * looks) as f64 / PAYMENTS as f64;
        println!("{name}: {taken:.1} a payment");
        if (taken - each).abs() > each * share {
            moved.push(format!("{name}: {taken} instead of {each}"));
        }
    }
    let taken = fuel(&world, &last);
    if taken.abs_diff(FUEL) > FUEL * 2 / 100 {
        moved.push(format!("rules: {taken} instructions instead of {FUEL}"));
    }
    assert!(moved.is_empty(), "a payment takes {}", moved.join("; "));
}
