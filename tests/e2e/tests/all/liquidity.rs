//! Warnings of a participant's liquidity: when they are given, how often, and where operators see them.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::time::Duration;

use rialto_simulator::fsp::Step;
use rialto_simulator::{PaymentOutcome, PaymentRequest};
use rialto_tests::scenes::{committed, refused};
use rialto_tests::waiting::until;
use rialto_tests::world::PAYER;
use rialto_tests::{TestScheme, World, WorldOptions};
use serde_json::Value;

/// Longer than anything here takes.
const SOON: Duration = Duration::from_secs(30);
/// A payer with 100 US dollars that is warned of below 40.
const ACCOUNT: &str =
    "currency = \"USD\"\nopening-liquidity = \"100\"\nliquidity-threshold = \"40\"";

async fn world() -> World {
    let scheme = TestScheme::demo().unwrap();
    scheme
        .edit_with(|text| {
            let demo = "currency = \"USD\"\nopening-liquidity = \"1000000.00\"\nnet-debit-cap = \"500000.00\"\nliquidity-threshold = \"10000.00\"";
            assert!(text.contains(demo), "the payer's account");
            text.replacen(demo, ACCOUNT, 1)
        })
        .unwrap();
    World::of(scheme, &WorldOptions::default()).await.unwrap()
}

/// The messages of all alerts, once there are this many.
async fn alerts(world: &World, count: usize) -> Vec<String> {
    let command = ["documents", "notifications-and-alerts", "alerts", "--json"];
    until("the alerts", SOON, async || {
        let shown = world.host.cli(&command)?.stdout;
        let all: Vec<String> = shown
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap())
            .map(|alert| alert["body"]["message"].as_str().unwrap().to_owned())
            .collect();
        Ok(if all.len() == count {
            Ok(all)
        } else {
            Err(format!("{all:?}"))
        })
    })
    .await
    .unwrap()
}

async fn warnings_are_forgotten(world: &World) {
    until("the warnings are forgotten", SOON, async || {
        let given = [
            "documents",
            "participant-lifecycle-management",
            "liquidity-warnings",
        ];
        let given = world.host.cli(&given)?.stdout;
        Ok(if given.is_empty() { Ok(()) } else { Err(given) })
    })
    .await
    .unwrap();
}

async fn pay_back(world: &World, amount: &str) -> PaymentOutcome {
    let party = world.party(PAYER).clone();
    world
        .payee()
        .pay(&PaymentRequest::new(party, amount, "USD"))
        .await
}

#[tokio::test(flavor = "multi_thread")]
async fn operators_are_warned_once_until_the_liquidity_has_recovered() {
    let world = world().await;
    committed(&world.pay("60", "USD").await).unwrap();
    // Exactly at its threshold is not below it.
    let below = world.pay("0.01", "USD").await;
    committed(&below).unwrap();
    let first = format!("{PAYER} has 39.99 USD left, less than its threshold of 40");
    assert_eq!(alerts(&world, 1).await, std::slice::from_ref(&first));
    let story = world.host.cli(&["events", &below.transfer_id]).unwrap();
    let story = story.success().unwrap();
    for line in [
        "calls participant-lifecycle-management/liquidity-threshold-exceeded (",
        "publishes participant-liquidity-threshold-exceeded to notifications-and-alerts",
    ] {
        assert!(story.contains(line), "{line}: {story}");
    }
    // Further down, and not covered at all: that is another warning, and given once too.
    committed(&world.pay("1", "USD").await).unwrap();
    for _ in 0..2 {
        refused(&world.pay("39", "USD").await, Step::Transfer, "4001").unwrap();
    }
    let second =
        format!("{PAYER} could not cover a transfer: 38.99 USD are left, within its limits");
    assert_eq!(alerts(&world, 2).await, [first.clone(), second.clone()]);
    // Not yet at the threshold, then above it: from then on a warning is due again.
    committed(&pay_back(&world, "1").await).unwrap();
    committed(&world.pay("1", "USD").await).unwrap();
    committed(&pay_back(&world, "2").await).unwrap();
    warnings_are_forgotten(&world).await;
    committed(&world.pay("1", "USD").await).unwrap();
    let third = format!("{PAYER} has 39.99 USD left, less than its threshold of 40");
    assert_eq!(alerts(&world, 3).await, [first, second, third]);
    assert!(world.host.log().contains("less than its threshold"));
}

#[tokio::test(flavor = "multi_thread")]
async fn warning_rearms_when_a_declined_transfer_returns_funds() {
    let world = world().await;
    world
        .payee_behaves(r#"{"transfer":{"refuse":"100%:5104"}}"#)
        .unwrap();
    let warning = format!("{PAYER} has 39 USD left, less than its threshold of 40");
    for times in 1..=2 {
        refused(&world.pay("61", "USD").await, Step::Transfer, "5104").unwrap();
        assert_eq!(alerts(&world, times).await, vec![warning.clone(); times]);
        warnings_are_forgotten(&world).await;
    }
}
