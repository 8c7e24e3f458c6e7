//! Candidates in the shadow of rules: they judge what was committed, and change nothing.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::time::Duration;

use rialto_tests::scenes::committed;
use rialto_tests::waiting::until;
use rialto_tests::{TestScheme, World, WorldOptions};
use serde_json::{Value, json};

/// Longer than a candidate takes.
const SOON: Duration = Duration::from_secs(30);
/// Where the tables of a shadow go: behind the last binding.
const BEHIND: &str = "# Participants that exist from the beginning.";
const STEP: &str = "transfer-prepare-check";

/// The demonstration with a candidate in the shadow of its limits for transfers.
fn scheme(candidate: &str, shadow: &str) -> TestScheme {
    let scheme = TestScheme::demo().unwrap();
    if candidate == "limits-next" {
        let rule = "[rules.limits-next]\ncomponent = \"components/amount-limits.wasm\"\n\
                    grants = { host = [\"configuration\", \"logging\"] }\n\n[rules.amount-limits]";
        scheme.edit("[rules.amount-limits]", rule).unwrap();
    } else {
        scheme.add_rule(candidate).unwrap();
    }
    let table = format!("[steps.{STEP}.shadow]\nrule = \"{candidate}\"\n{shadow}\n\n{BEHIND}");
    scheme.edit(BEHIND, &table).unwrap();
    scheme.lock().unwrap();
    scheme
}

async fn world(scheme: TestScheme) -> World {
    World::of(scheme, &WorldOptions::default()).await.unwrap()
}

fn reports(world: &World) -> Vec<Value> {
    let said = world.host.cli(&["shadow", "report", "--json"]).unwrap();
    let said = said.success().unwrap();
    said.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// The only report, when so many requests are judged or left out for their share.
async fn report(world: &World, requests: u64) -> Value {
    until("the candidate has judged", SOON, async || {
        let found = reports(world).remove(0);
        let number = |value: &Value| value.as_u64().unwrap();
        let done = number(&found["report"]["requests"]) + number(&found["skipped"]["share"]);
        Ok(if done == requests {
            Ok(found)
        } else {
            Err(found.to_string())
        })
    })
    .await
    .unwrap()
}

#[tokio::test]
async fn candidate_judges_what_was_committed_and_changes_nothing() {
    let lower = "settings = { otherwise = \"refuse\", limits = [{ currency = \"USD\", scenario = \"*\", maximum = \"50\" }] }";
    let world = world(scheme("limits-next", lower)).await;
    let mut last = None;
    for amount in ["5", "20", "50", "50.01", "300"] {
        let outcome = world.pay(amount, "USD").await;
        committed(&outcome).unwrap();
        last = Some(outcome.transfer_id);
    }
    let found = report(&world, 5).await;
    assert_eq!(
        (&found["rule"], &found["candidate"]),
        (&json!("amount-limits"), &json!("limits-next"))
    );
    let of = &found["report"];
    assert_eq!(of["different"], 2, "{found:#}");
    let change = &of["byChange"][0];
    assert_eq!(change["step"], STEP);
    assert_eq!(change["before"], json!({ "outcome": "allow" }));
    assert_eq!(change["after"]["code"], "4200");
    assert_eq!(change["amounts"], json!(["350.01"]));
    assert_eq!(
        (&found["kept"], &found["skipped"]["budget"]),
        (&json!(2), &json!(0))
    );

    // The receipt of the candidate's verdict says that it decided nothing, and gives the same again.
    let id = last.unwrap();
    let said = world
        .host
        .cli(&["receipts", &id, "--again", "--json"])
        .unwrap();
    let said = said.success().unwrap();
    let receipts: Vec<Value> = said
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let shadows: Vec<&Value> = receipts
        .iter()
        .filter(|one| one["receipt"]["rule"] == "limits-next")
        .collect();
    let [shadow] = shadows[..] else {
        panic!("{receipts:#?}");
    };
    assert_eq!(shadow["again"]["same"], true, "{shadow:#}");
    let in_force = &shadow["receipt"]["shadow"];
    assert_eq!(in_force["rule"], "amount-limits");
    assert_eq!(in_force["verdict"]["outcome"], "allow");
    assert!(
        receipts.iter().any(|one| one["id"] == in_force["receipt"]),
        "{receipts:#?}"
    );
    let told = world
        .host
        .cli(&["receipts", &id])
        .unwrap()
        .success()
        .unwrap();
    assert!(
        told.contains("it decided nothing; amount-limits did"),
        "{told}"
    );

    // A backtest has only what was decided.
    let folder = world.scheme.path().to_str().unwrap();
    let said = world
        .host
        .cli(&["release", "backtest", folder, "--step", STEP, "--json"])
        .unwrap();
    let said: Value = serde_json::from_str(&said.success().unwrap()).unwrap();
    assert_eq!(
        (&said["requests"], &said["different"]),
        (&json!(5), &json!(0)),
        "{said:#}"
    );

    // The table for people, and a release without the candidate.
    let told = world
        .host
        .cli(&["shadow", "report"])
        .unwrap()
        .success()
        .unwrap();
    for words in [
        "limits-next",
        "in the shadow of amount-limits",
        "350.01 USD",
        "2 would be decided otherwise",
    ] {
        assert!(told.contains(words), "{words}: {told}");
    }
    let without = TestScheme::demo().unwrap();
    let without = world
        .host
        .cli(&["release", "apply", without.path().to_str().unwrap()])
        .unwrap();
    without.success().unwrap();
    assert!(reports(&world).is_empty());
}

#[tokio::test]
async fn failing_candidate_harms_no_payment() {
    for (behaviour, reason) in [("trap", "trapped"), ("loop", "fuel")] {
        let settings = format!("settings = {{ do = \"{behaviour}\" }}");
        let world = world(scheme("hostile-rule", &settings)).await;
        committed(&world.pay("5", "USD").await).unwrap();
        let found = report(&world, 1).await;
        let failure = &found["report"]["failures"][0];
        assert!(
            failure["reason"].as_str().unwrap().contains(reason),
            "{found:#}"
        );
        assert_eq!(found["report"]["different"], 1, "{found:#}");
        world.settled_books().await.unwrap();
    }
}

#[tokio::test]
async fn requests_outside_the_share_are_not_judged() {
    let world = world(scheme("limits-next", "share = \"0.0001 %\"\ncpu = \"1 %\"")).await;
    for _ in 0..3 {
        committed(&world.pay("5", "USD").await).unwrap();
    }
    let found = report(&world, 3).await;
    assert_eq!(
        (&found["skipped"]["share"], &found["report"]["requests"]),
        (&json!(3), &json!(0))
    );
    assert_eq!(
        (&found["share"], &found["cpu"]),
        (&json!(1), &json!(10_000))
    );
}

#[test]
fn candidate_that_cannot_be_one_is_refused_with_its_place() {
    let cases = [
        ("rule = \"nobody\"", "nobody"),
        (
            "rule = \"amount-limits\"\nsettings = { otherwise = \"perhaps\" }",
            "otherwise",
        ),
        (
            "rule = \"amount-limits\"\nshare = \"0 %\"",
            "a percentage above 0",
        ),
        (
            "rule = \"amount-limits\"\ncpu = \"101 %\"",
            "a percentage above 0",
        ),
    ];
    for (shadow, words) in cases {
        let scheme = TestScheme::demo().unwrap();
        let table = format!("[steps.{STEP}.shadow]\n{shadow}\n\n{BEHIND}");
        scheme.edit(BEHIND, &table).unwrap();
        let said = scheme.rialto(&["check"]).unwrap();
        assert_eq!(said.code, 2, "{shadow}: {said}");
        assert!(said.said().contains(words), "{shadow}: {said}");
    }
}
