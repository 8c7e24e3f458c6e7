//! Counts of a payment that do not depend on the machine. A change that moves one by more than two percent changes it
//! here too, and tells it in `docs/performance.md`.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use rialto_tests::World;
use rialto_tests::scenes::committed;

/// Payments that are counted.
const PAYMENTS: u64 = 20;
/// A payment: lookup, quote and transfer, with the reports of their six messages, and the metric that counts.
const COUNTS: [(&str, u64); 4] = [
    ("rialto_turns_executed_total", 43),
    ("rialto_documents_written_total", 20),
    ("rialto_allocations_total", 5_225),
    ("rialto_allocated_bytes_total", 1_029_000),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_payment_takes_no_more_of_anything_than_before() {
    let world = World::demo().await.unwrap();
    // The first payment of a day opens a settlement batch.
    committed(&world.pay("1", "USD").await).unwrap();
    let before = world.host.nothing_waits().await.unwrap();
    for _ in 0..PAYMENTS {
        committed(&world.pay("1", "USD").await).unwrap();
    }
    let after = world.host.nothing_waits().await.unwrap();
    let mut moved = Vec::new();
    for (name, each) in COUNTS {
        let taken = after.get(name).unwrap() - before.get(name).unwrap();
        let expected = each * PAYMENTS;
        if taken.abs_diff(expected) > expected * 2 / 100 {
            moved.push(format!(
                "{name}: {} instead of {each}",
                taken as f64 / PAYMENTS as f64
            ));
        }
    }
    assert!(moved.is_empty(), "a payment takes {}", moved.join("; "));
}
