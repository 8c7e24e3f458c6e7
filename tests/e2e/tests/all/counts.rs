//! Counts of a payment that do not depend on the machine. A change that moves one by more than two percent changes it
//! here too, and tells it in `docs/performance.md`.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use rialto_tests::World;
use rialto_tests::scenes::committed;

/// Payments that are counted.
const PAYMENTS: u64 = 20;
/// Turns of a payment: lookup, quote and transfer, with the reports of their six messages.
const TURNS: u64 = 43;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_payment_takes_no_more_turns_than_before() {
    let world = World::demo().await.unwrap();
    // The first payment of a day opens a settlement batch.
    committed(&world.pay("1", "USD").await).unwrap();
    let turns = async || {
        let metrics = world.host.nothing_waits().await.unwrap();
        metrics.get("rialto_turns_executed_total").unwrap()
    };
    let before = turns().await;
    for _ in 0..PAYMENTS {
        committed(&world.pay("1", "USD").await).unwrap();
    }
    let taken = turns().await - before;
    let expected = TURNS * PAYMENTS;
    let tolerance = expected * 2 / 100;
    assert!(
        taken.abs_diff(expected) <= tolerance,
        "{PAYMENTS} payments took {taken} turns, and {expected} are counted here"
    );
}
