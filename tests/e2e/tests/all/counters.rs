//! Counters: rules that limit what was transferred before, and refuse duplicates. Receipts have the counts, and a backtest
//! says what it cannot follow.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::time::Duration;

use rialto_simulator::fsp::Step;
use rialto_tests::scenes::{committed, refused};
use rialto_tests::{TestScheme, World, WorldOptions};
use serde_json::{Value, json};

const STEP: &str = "transfer-prepare-check";
const ROLLING: &str = "rollingSeconds = 3600";

/// The demonstration with both rules: a payer's transfers of an hour, and duplicates within an hour.
fn scheme(transfers: u32, amount: &str) -> TestScheme {
    let scheme = TestScheme::demo().unwrap();
    for rule in ["velocity-limits", "duplicate-payments"] {
        scheme.add_rule(rule).unwrap();
    }
    let limit = format!(
        "{{ per = [\"payer\"], window = {{ {ROLLING} }}, currency = \"USD\", transfers = {transfers}, amount = \"{amount}\" }}"
    );
    let settings = format!("settings = {{ limits = [{limit}] }}");
    scheme.add_step(STEP, "velocity-limits", &settings).unwrap();
    let settings = "settings = { windowSeconds = 3600 }";
    scheme
        .add_step(STEP, "duplicate-payments", settings)
        .unwrap();
    scheme.lock().unwrap();
    scheme
}

/// The receipts about a transfer, each with what its rule says now.
fn receipts(world: &World, id: &str) -> Vec<Value> {
    let said = world.host.cli(&["receipts", id, "--again", "--json"]);
    let said = said.unwrap().success().unwrap();
    let receipts = said.lines().map(|line| serde_json::from_str(line).unwrap());
    receipts.collect()
}

fn backtest(world: &World, candidate: &TestScheme) -> Value {
    let folder = candidate.path().to_str().unwrap();
    let command = ["release", "backtest", folder, "--json"];
    let said = world.host.cli(&command).unwrap().success().unwrap();
    serde_json::from_str(&said).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn transfers_beyond_limits_and_duplicates_are_refused() {
    let world = World::of(scheme(3, "100"), &WorldOptions::default())
        .await
        .unwrap();
    committed(&world.pay("10", "USD").await).unwrap();
    // The same again, under another id.
    refused(&world.pay("10", "USD").await, Step::Transfer, "3100").unwrap();
    committed(&world.pay("20", "USD").await).unwrap();
    refused(&world.pay("70.01", "USD").await, Step::Transfer, "4200").unwrap();
    let third = world.pay("70", "USD").await;
    committed(&third).unwrap();
    refused(&world.pay("1", "USD").await, Step::Transfer, "4200").unwrap();
    // The other currency has counts of its own, and no limit.
    committed(&world.pay("1000", "RWF").await).unwrap();

    // Each receipt has the counts, also that of a rule that does not know counters. All verdicts are given again.
    let receipts = receipts(&world, &third.transfer_id);
    let of_prepare: Vec<&Value> = receipts
        .iter()
        .filter(|one| one["receipt"]["step"] == STEP)
        .collect();
    assert_eq!(of_prepare.len(), 4, "{receipts:#?}");
    for one in of_prepare {
        assert_eq!(one["again"]["same"], true, "{one:#}");
        let counts = &one["receipt"]["input"]["counts"];
        let limited = json!({ "by": ["payer"], "window": { "rolling": 3600 } });
        assert_eq!(counts[0]["counter"], limited, "{one:#}");
        let sum = &counts[0]["sum"];
        assert_eq!(sum["transfers"], 2, "{one:#}");
        assert_eq!(sum["amount"]["minor-units"]["low"], 3_000, "{one:#}");
        assert_eq!(counts[1]["sum"]["transfers"], 0, "{one:#}");
    }
    world.no_complaints().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn transfer_without_success_gives_its_room_back() {
    let options = WorldOptions {
        expires_in: Duration::from_secs(8),
        query_on_timeout: false,
        ..WorldOptions::default()
    };
    let world = World::of(scheme(1, "100"), &options).await.unwrap();
    world
        .payee_behaves(r#"{"transfer":{"refuse":"100%:5104"}}"#)
        .unwrap();
    refused(&world.pay("10", "USD").await, Step::Transfer, "5104").unwrap();
    world
        .payee_behaves(r#"{"transfer":{"silent":"100%"}}"#)
        .unwrap();
    refused(&world.pay("10", "USD").await, Step::Transfer, "3303").unwrap();
    world.payee_behaves("{}").unwrap();
    committed(&world.pay("10", "USD").await).unwrap();
    refused(&world.pay("20", "USD").await, Step::Transfer, "4200").unwrap();
}

/// What a release of a folder would change.
fn plan(world: &World, candidate: &TestScheme) -> Value {
    let folder = candidate.path().to_str().unwrap();
    let command = ["release", "plan", folder, "--json"];
    let said = world.host.cli(&command).unwrap().success().unwrap();
    serde_json::from_str(&said).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn plan_says_which_counters_start_at_zero() {
    let world = World::of(scheme(2, "100"), &WorldOptions::default())
        .await
        .unwrap();
    // Another limit of the same counters goes on counting.
    let lower = world.scheme.twin().unwrap();
    lower.edit("transfers = 2", "transfers = 1").unwrap();
    let found = plan(&world, &lower);
    assert_eq!(found["freshCounters"], Value::Null, "{found:#}");

    // Another window is another counter.
    let longer = world.scheme.twin().unwrap();
    longer.edit(ROLLING, "rollingSeconds = 7200").unwrap();
    let wanted = "rule velocity-limits at transfer-prepare-check: the counter by payer in rolling 7200 starts at zero";
    let found = plan(&world, &longer);
    assert_eq!(found["freshCounters"], json!([wanted]), "{found:#}");
    let folder = longer.path().to_str().unwrap();
    let said = world.host.cli(&["release", "plan", folder]).unwrap();
    let said = said.success().unwrap();
    assert!(
        said.contains("counters that know nothing of before:") && said.contains(wanted),
        "{said}"
    );
    let said = world.host.cli(&["release", "apply", folder, "--json"]);
    let applied: Value = serde_json::from_str(&said.unwrap().success().unwrap()).unwrap();
    assert_eq!(applied["freshCounters"], json!([wanted]), "{applied:#}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn backtest_says_which_counters_it_cannot_follow() {
    let world = World::of(scheme(2, "100"), &WorldOptions::default())
        .await
        .unwrap();
    for amount in ["1", "2"] {
        committed(&world.pay(amount, "USD").await).unwrap();
    }
    refused(&world.pay("3", "USD").await, Step::Transfer, "4200").unwrap();

    // The same counters with another limit: the counts of the receipts decide.
    let lower = world.scheme.twin().unwrap();
    lower.edit("transfers = 2", "transfers = 1").unwrap();
    let found = backtest(&world, &lower);
    assert_eq!(
        (&found["different"], &found["uncounted"]),
        (&json!(1), &Value::Null),
        "{found:#}"
    );

    // Another window is another counter, which nobody has kept.
    let longer = world.scheme.twin().unwrap();
    longer.edit(ROLLING, "rollingSeconds = 7200").unwrap();
    let found = backtest(&world, &longer);
    assert_eq!(found["different"], 0, "{found:#}");
    assert_eq!(found["failures"], json!([]), "{found:#}");
    let uncounted = &found["uncounted"][0];
    assert_eq!(
        (&uncounted["step"], &uncounted["requests"]),
        (&json!(STEP), &json!(3)),
        "{found:#}"
    );
    let reason = uncounted["reason"].as_str().unwrap();
    assert!(
        reason.contains("velocity-limits") && reason.contains("7200"),
        "{reason}"
    );
    let folder = longer.path().to_str().unwrap();
    let table = world.host.cli(&["release", "backtest", folder]).unwrap();
    let table = table.success().unwrap();
    assert!(
        table.contains("3 requests of transfer-prepare-check cannot be followed"),
        "{table}"
    );
    // The quotes were judged, for the new window does not concern them.
    assert_eq!(found["requests"], 3, "{found:#}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn first_release_with_counters_begins_at_zero() {
    let world = World::demo().await.unwrap();
    committed(&world.pay("10", "USD").await).unwrap();
    let with_rules = scheme(1, "100");
    let limited = world.scheme.twin().unwrap();
    for rule in ["velocity-limits", "duplicate-payments"] {
        limited.add_rule(rule).unwrap();
    }
    let text = std::fs::read_to_string(with_rules.path().join("scheme.toml")).unwrap();
    let steps = text.find("[[steps.transfer-prepare-check]]\nrule = \"velocity-limits\"");
    let end = text.find("[[participants]]").unwrap();
    let steps = &text[steps.unwrap()..end];
    limited
        .edit_with(|text| text.replacen("[[participants]]", &format!("{steps}[[participants]]"), 1))
        .unwrap();
    limited.lock().unwrap();
    let folder = limited.path().to_str().unwrap();
    let applied = world.host.cli(&["release", "apply", folder]).unwrap();
    applied.success().unwrap();
    // What was paid before does not count.
    committed(&world.pay("10", "USD").await).unwrap();
    refused(&world.pay("20", "USD").await, Step::Transfer, "4200").unwrap();
    // A receipt of before cannot be followed by a rule that needs counters.
    let found = backtest(&world, &limited);
    assert_eq!(found["uncounted"][0]["requests"], 1, "{found:#}");
}

#[test]
fn check_shows_the_counters_of_each_rule() {
    let scheme = scheme(3, "100");
    let said = scheme.rialto(&["check"]).unwrap().success().unwrap();
    let shown = "counts     payer in rolling 3600";
    assert!(said.contains(shown), "{said}");
    assert!(
        said.contains("payer-fsp, payee-fsp, payer, payee, amount in rolling 3600"),
        "{said}"
    );
    let said = scheme.rialto(&["check", "--json"]).unwrap().success();
    let said: Value = serde_json::from_str(&said.unwrap()).unwrap();
    assert_eq!(
        said["counters"][0],
        json!({
            "step": STEP, "rule": "velocity-limits",
            "counters": [{ "by": ["payer"], "window": { "rolling": 3600 } }],
        }),
        "{said:#}"
    );
    // More counters than a rule may have.
    let many: Vec<String> = (1..=17)
        .map(|n| {
            format!("{{ per = [\"payer\"], window = {{ rollingSeconds = {n} }}, transfers = 1 }}")
        })
        .collect();
    scheme
        .edit_with(|text| {
            let begin = text.find("limits = [{ per = [\"payer\"]").unwrap();
            let end = begin + text[begin..].find("] }\n").unwrap();
            format!(
                "{}limits = [{}{}",
                &text[..begin],
                many.join(", "),
                &text[end..]
            )
        })
        .unwrap();
    let said = scheme.rialto(&["check"]).unwrap();
    assert_eq!(said.code, 2, "{said}");
    assert!(said.stderr.contains("need 17 counters"), "{said}");
}
