//! Failing rules in payments: `on-failure` with real contexts and a misbehaving rule, and a receipt that can be
//! asked again.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use rialto_simulator::fsp::Step;
use rialto_tests::scenes::{committed, refused};
use rialto_tests::{TestScheme, World, WorldOptions};
use serde_json::Value;

/// A rule of the host's tests that does what its settings say.
const RULE: &str = "hostile-rule";

/// A scheme whose transfers (and only they) are judged by a rule that fails.
fn scheme(behaviour: &str, more: &str) -> TestScheme {
    let scheme = TestScheme::demo().unwrap();
    with_rule(&scheme, "transfer-prepare-check", behaviour, more);
    scheme
}

fn with_rule(scheme: &TestScheme, step: &str, behaviour: &str, more: &str) {
    scheme.add_rule(RULE).unwrap();
    let more = format!("settings = {{ do = \"{behaviour}\" }}\n{more}");
    scheme.add_step(step, RULE, &more).unwrap();
    scheme.lock().unwrap();
}

/// Put this meaning of a failure into force in the running host.
fn apply(world: &World, from: &str, to: &str) {
    let twin = world.scheme.twin().unwrap();
    twin.edit(from, to).unwrap();
    let folder = twin.path().to_str().unwrap();
    let applied = world.host.cli(&["release", "apply", folder]).unwrap();
    applied.success().unwrap();
}

/// The receipts of the misbehaving rule, asked again.
fn receipts(world: &World, id: &str) -> Vec<Value> {
    let said = world.host.cli(&["receipts", id, "--again", "--json"]);
    let said = said.unwrap().success().unwrap();
    said.lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .filter(|filed| filed["receipt"]["rule"] == RULE)
        .collect()
}

/// The one receipt says how the rule failed, what that meant, and the same again.
fn failed(world: &World, id: &str, reason: &str, means: &str, flagged: bool) {
    let found = receipts(world, id);
    assert_eq!(found.len(), 1, "{found:#?}");
    let (receipt, again) = (&found[0]["receipt"], &found[0]["again"]);
    let verdict = &receipt["verdict"];
    assert_eq!(verdict["outcome"], "failed", "{receipt}");
    assert_eq!(verdict["means"], means, "{receipt}");
    assert!(
        verdict["reason"].as_str().unwrap().contains(reason),
        "{receipt}"
    );
    assert_eq!(receipt["flagged"], flagged, "{receipt}");
    assert_eq!(again["same"], true, "{again}, after {receipt}");
}

fn liquidity(world: &World) -> i128 {
    let books = world.books().unwrap();
    books.balance("payerfsp:USD:LIQUIDITY").unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn failing_rule_refuses_allows_or_flags_as_set() {
    let scheme = scheme("trap", "on-failure = \"refuse\"");
    let world = World::of(scheme, &WorldOptions::default()).await.unwrap();
    let before = liquidity(&world);
    let outcome = world.pay("5", "USD").await;
    refused(&outcome, Step::Transfer, "2001").unwrap();
    failed(&world, &outcome.transfer_id, "trapped", "refuse", false);
    assert_eq!(world.payee().received().transfers, 0, "refused before it");
    assert_eq!(liquidity(&world), before);

    apply(&world, "on-failure = \"refuse\"", "on-failure = \"allow\"");
    let outcome = world.pay("5", "USD").await;
    committed(&outcome).unwrap();
    failed(&world, &outcome.transfer_id, "trapped", "allow", false);

    apply(
        &world,
        "on-failure = \"refuse\"",
        "on-failure = \"allow-and-flag\"",
    );
    let outcome = world.pay("5", "USD").await;
    committed(&outcome).unwrap();
    failed(
        &world,
        &outcome.transfer_id,
        "trapped",
        "allow-and-flag",
        true,
    );
    // A person sees it, too.
    let shown = world.host.cli(&["receipts", &outcome.transfer_id]).unwrap();
    let shown = shown.success().unwrap();
    assert!(shown.contains("flag"), "{shown}");

    let books = world.settled_books().await.unwrap();
    assert_eq!(books.problems().unwrap(), Vec::<String>::new());
    assert_eq!(liquidity(&world), before - 1000);
    world.no_complaints().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn endless_rule_runs_out_of_fuel_and_refuses() {
    let scheme = TestScheme::demo().unwrap();
    let more = "on-failure = \"refuse\"\nfailure-code = \"5100\"";
    with_rule(&scheme, "quote-request-check", "loop", more);
    let world = World::of(scheme, &WorldOptions::default()).await.unwrap();
    let outcome = world.pay("5", "USD").await;
    refused(&outcome, Step::Quote, "5100").unwrap();
    failed(&world, &outcome.quote_id, "fuel", "refuse", false);
    assert_eq!(world.payee().received().quotes, 0, "refused before it");
    world.no_complaints().unwrap();
}

/// A refusal is no failure: `on-failure` has nothing to say about it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rule_that_refuses_refuses_whatever_its_failure_would_mean() {
    let scheme = scheme("refuse", "on-failure = \"allow\"");
    let world = World::of(scheme, &WorldOptions::default()).await.unwrap();
    let before = liquidity(&world);
    let outcome = world.pay("5", "USD").await;
    refused(&outcome, Step::Transfer, "3100").unwrap();
    let found = receipts(&world, &outcome.transfer_id);
    assert_eq!(found.len(), 1, "{found:#?}");
    assert_eq!(found[0]["receipt"]["verdict"]["outcome"], "refuse");
    assert_eq!(found[0]["again"]["same"], true, "{found:#?}");
    assert_eq!(liquidity(&world), before);
    world.no_complaints().unwrap();
}
