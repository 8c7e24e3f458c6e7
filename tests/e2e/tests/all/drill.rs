//! `rialto drill`: what failures of rules would come to, on a copy of the running release; what each kind of failure means
//! in payments; and rules in quarantine.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::time::Duration;

use rialto_simulator::fsp::Step;
use rialto_tests::metrics::Metrics;
use rialto_tests::scenes::{committed, refused};
use rialto_tests::waiting::until;
use rialto_tests::{CliOutput, TestScheme, World, WorldOptions};
use serde_json::{Value, json};

/// Longer than the host takes to write an entry.
const SOON: Duration = Duration::from_secs(30);
const STEP: &str = "transfer-prepare-check";
/// A rule of the host's tests that does what its settings say.
const RULE: &str = "hostile-rule";
/// All kinds of failure.
const KINDS: [&str; 6] = ["trap", "fuel", "memory", "verdict", "slow", "missing"];

/// A scheme whose transfers are judged by a rule that misbehaves, after the others.
fn scheme(behaviour: &str, more: &str) -> TestScheme {
    let scheme = TestScheme::demo().unwrap();
    scheme.add_rule(RULE).unwrap();
    let more = format!("settings = {{ do = \"{behaviour}\" }}\n{more}");
    scheme.add_step(STEP, RULE, &more).unwrap();
    scheme.lock().unwrap();
    scheme
}

fn drill(world: &World, step: &str, more: &[&str]) -> CliOutput {
    let mut command = vec!["drill", step];
    command.extend(more);
    world.host.cli(&command).unwrap()
}

fn drilled(world: &World, more: &[&str]) -> Value {
    let more: Vec<&str> = more.iter().copied().chain(["--json"]).collect();
    let said = drill(world, STEP, &more).success().unwrap();
    serde_json::from_str(&said).unwrap()
}

/// The answer for each kind of failure of one rule.
fn answers(found: &Value, rule: &str) -> Vec<(String, String)> {
    let rules = found["rules"].as_array().unwrap();
    let of = rules.iter().find(|one| one["rule"] == rule).unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let failures = of["failures"].as_array().unwrap().iter();
    failures
        .map(|one| (text(&one["failure"]), text(&one["answer"])))
        .collect()
}

fn receipts(world: &World, id: &str, more: &[&str]) -> Vec<Value> {
    let mut command = vec!["receipts", id, "--json"];
    command.extend(more);
    let said = world.host.cli(&command).unwrap().success().unwrap();
    said.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_kind_of_failure_is_drilled_and_nothing_happens() {
    let more = "on-failure = { trap = \"allow-and-flag\", fuel = \"allow\", otherwise = \"refuse\" }\n\
                quarantine = { failures = 2, pause = \"1 min\", longest = \"1 h\" }";
    let world = World::of(scheme("allow", more), &WorldOptions::default())
        .await
        .unwrap();
    let paid = world.pay("50", "USD").await;
    committed(&paid).unwrap();
    let filed = receipts(&world, &paid.transfer_id, &[]).len();

    let found = drilled(&world, &[]);
    assert_eq!(found["drill"], true, "{found:#}");
    assert_eq!(found["asksOthers"], false, "{found:#}");
    let kinds = |answers: [&str; 6]| -> Vec<(String, String)> {
        let both = KINDS.iter().zip(answers);
        both.map(|(k, a)| ((*k).to_owned(), a.to_owned())).collect()
    };
    // The rules of the example say nothing of failures: each verdict refuses.
    let refuses = kinds([
        "refuse",
        "refuse",
        "refuse",
        "refuse",
        "turn-fails",
        "turn-fails",
    ]);
    for rule in ["transfer-matches-quote", "amount-limits"] {
        assert_eq!(answers(&found, rule), refuses, "{found:#}");
    }
    let table = kinds([
        "allow-and-flag",
        "allow",
        "refuse",
        "refuse",
        "turn-fails",
        "turn-fails",
    ]);
    assert_eq!(answers(&found, RULE), table, "{found:#}");
    let limits = &found["rules"][1]["failures"];
    assert_eq!(
        limits[0]["violations"],
        json!([{ "code": "2001", "message": "the scheme rule amount-limits could not be evaluated" }]),
        "{found:#}"
    );
    assert!(
        limits[1]["reason"]
            .as_str()
            .unwrap()
            .contains("used up its fuel"),
        "{found:#}"
    );
    assert_eq!(found["rules"][2]["quarantine"]["failures"], 2, "{found:#}");
    assert_eq!(found["rules"][0]["quarantine"], Value::Null, "{found:#}");

    // About an input that the limits refuse, they decide, whatever the last rule does.
    let with_input = drilled(&world, &["--receipt", &paid.transfer_id, "--rule", RULE]);
    assert_eq!(with_input["asksOthers"], true, "{with_input:#}");
    assert_eq!(answers(&with_input, RULE), table, "{with_input:#}");
    let mut input = receipts(&world, &paid.transfer_id, &[])[0]["receipt"]["input"].clone();
    input["transfer"]["amount"]["minor-units"]["low"] = json!(100_000_000);
    let file = world.scheme.path().join("input.json");
    std::fs::write(&file, input.to_string()).unwrap();
    let file = file.to_str().unwrap();
    let refused = drilled(
        &world,
        &["--input", file, "--rule", RULE, "--failure", "trap"],
    );
    let failure = &refused["rules"][0]["failures"][0];
    assert_eq!(failure["answer"], "refuse", "{refused:#}");
    assert_eq!(
        failure["decidedBy"], "transfer-matches-quote",
        "{refused:#}"
    );

    let told = drill(&world, STEP, &[]).success().unwrap();
    for part in [
        "allowed, and flagged for the operator",
        "refused: 2001 the scheme rule amount-limits could not be evaluated",
        "no verdict: a request is answered with an error",
        "quarantine after 2 failures in a row, for 1 min and at most 1 h",
        "this is no decision",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
    let unknown = drill(&world, "unknown-check", &[]);
    assert!(
        unknown
            .said()
            .contains("no rule is bound to `unknown-check`"),
        "{unknown}"
    );
    let unknown = drill(&world, STEP, &["--rule", "no-rule"]);
    assert!(
        unknown
            .said()
            .contains("the rule `no-rule` is not asked at"),
        "{unknown}"
    );
    assert_ne!(drill(&world, STEP, &["--failure", "fire"]).code, 0);

    // Nothing of that is kept, no rule is in quarantine, and payments go on.
    assert_eq!(receipts(&world, &paid.transfer_id, &[]).len(), filed);
    let said = world.host.cli(&["receipts", "drill"]).unwrap();
    assert!(
        said.said().contains("there is no receipt about drill"),
        "{said}"
    );
    assert_eq!(quarantines(&world), json!([]));
    committed(&world.pay("50", "USD").await).unwrap();
    world.settled_books().await.unwrap();
    world.no_complaints().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_kind_of_failure_means_its_own_word_in_payments() {
    let more =
        "on-failure = { trap = \"allow-and-flag\", fuel = \"refuse\", otherwise = \"refuse\" }";
    let trapping = World::of(scheme("trap", more), &WorldOptions::default())
        .await
        .unwrap();
    let paid = trapping.pay("5", "USD").await;
    committed(&paid).unwrap();
    let filed = receipts(&trapping, &paid.transfer_id, &["--again"]);
    let failed = filed.iter().find(|one| one["receipt"]["rule"] == RULE);
    let failed = failed.unwrap();
    assert_eq!(failed["receipt"]["verdict"]["kind"], "trap", "{failed:#}");
    assert_eq!(failed["receipt"]["flagged"], true, "{failed:#}");
    assert_eq!(failed["again"]["same"], true, "{failed:#}");
    // The same table refuses what uses up its fuel.
    let twin = trapping.scheme.twin().unwrap();
    twin.edit("do = \"trap\"", "do = \"loop\"").unwrap();
    let folder = twin.path().to_str().unwrap();
    let applied = trapping.host.cli(&["release", "apply", folder]).unwrap();
    applied.success().unwrap();
    refused(&trapping.pay("5", "USD").await, Step::Transfer, "2001").unwrap();
    trapping.settled_books().await.unwrap();
    trapping.no_complaints().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn last_good_release_decides_when_the_rule_fails() {
    let more = "on-failure = { trap = \"last-good\", otherwise = \"refuse\" }";
    let mut world = World::of(scheme("trap", more), &WorldOptions::default())
        .await
        .unwrap();
    // The first release has none before it.
    refused(&world.pay("5", "USD").await, Step::Transfer, "2001").unwrap();
    let twin = world.scheme.twin().unwrap();
    let folder = twin.path().to_str().unwrap().to_owned();
    let apply = |world: &World| {
        let applied = world.host.cli(&["release", "apply", &folder]).unwrap();
        applied.success().unwrap();
    };
    twin.edit("do = \"trap\"", "do = \"allow\"").unwrap();
    apply(&world);
    committed(&world.pay("5", "USD").await).unwrap();
    twin.edit("do = \"allow\"", "do = \"trap\"").unwrap();
    apply(&world);
    for restarts in [false, true] {
        if restarts {
            tokio::task::block_in_place(|| world.host.restart()).unwrap();
        }
        let paid = world.pay("5", "USD").await;
        committed(&paid).unwrap();
        let filed = receipts(&world, &paid.transfer_id, &["--again"]);
        let of_rule = filed.iter().filter(|one| one["receipt"]["rule"] == RULE);
        let [failed, decided] = &of_rule.collect::<Vec<_>>()[..] else {
            panic!("{filed:#?}")
        };
        assert_eq!(failed["receipt"]["verdict"]["means"], "last-good");
        assert_eq!(failed["receipt"]["release"], 3, "{failed:#}");
        assert_eq!(decided["receipt"]["verdict"]["outcome"], "allow");
        assert_eq!(decided["receipt"]["release"], 2, "{decided:#}");
        assert_eq!(decided["receipt"]["lastGoodFor"], 3, "{decided:#}");
        for one in [failed, decided] {
            assert_eq!(one["again"]["same"], true, "{one:#}");
        }
        let found = drilled(&world, &["--rule", RULE, "--failure", "trap"]);
        let failure = &found["rules"][0]["failures"][0];
        assert_eq!(failure["answer"], "last-good", "{found:#}");
        assert_eq!(failure["lastGood"], 2, "{found:#}");
        let of_paid = ["--rule", RULE, "--failure", "trap", "--receipt"];
        let of_paid = of_paid.iter().copied().chain([&*paid.transfer_id]);
        let found = drilled(&world, &of_paid.collect::<Vec<_>>());
        assert_eq!(found["rules"][0]["failures"][0]["answer"], "allow");
    }
    world.settled_books().await.unwrap();
}

fn quarantines(world: &World) -> Value {
    let said = world.host.cli(&["rule", "quarantines", "--json"]).unwrap();
    serde_json::from_str(&said.success().unwrap()).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rule_in_quarantine_is_not_asked_and_payments_go_on() {
    let more = "on-failure = { trap = \"allow-and-flag\", otherwise = \"refuse\" }\n\
                quarantine = { failures = 2, pause = \"1 h\", longest = \"2 h\" }";
    let mut world = World::of(scheme("trap", more), &WorldOptions::default())
        .await
        .unwrap();
    let mut last = String::new();
    for _ in 0..4 {
        let paid = world.pay("5", "USD").await;
        committed(&paid).unwrap();
        last = paid.transfer_id;
    }
    let found = quarantines(&world);
    let one = &found[0];
    assert_eq!((&one["rule"], &one["step"]), (&json!(RULE), &json!(STEP)));
    assert_eq!(
        (&one["failures"], &one["failure"]),
        (&json!(2), &json!("trap"))
    );
    assert_eq!(one["decided"], 2, "{found:#}");
    let told = world.host.cli(&["rule", "quarantines"]).unwrap();
    let told = told.success().unwrap();
    assert!(told.contains("after 2 failures in a row (trap)"), "{told}");

    // The receipt says so, and is not asked again.
    let filed = receipts(&world, &last, &["--again"]);
    let held = filed.iter().find(|one| one["receipt"]["rule"] == RULE);
    let held = held.unwrap();
    assert_eq!(held["receipt"]["quarantined"], true, "{held:#}");
    assert_eq!(held["receipt"]["verdict"]["means"], "allow-and-flag");
    assert_eq!(held["again"], Value::Null, "{held:#}");
    let shown = world.host.cli(&["receipts", &last]).unwrap();
    let shown = shown.success().unwrap();
    assert!(shown.contains("the rule was not asked"), "{shown}");
    let history = world.host.cli(&["events", &last]).unwrap();
    let history = history.success().unwrap();
    assert!(
        history.contains("quarantine, failed: allow and flag"),
        "{history}"
    );
    until("it is in the audit log", SOON, async || {
        let audit = world.host.cli(&["audit", "--about", RULE]).unwrap();
        let audit = audit.success().unwrap();
        Ok(if audit.contains("quarantine-begin") {
            Ok(())
        } else {
            Err(audit)
        })
    })
    .await
    .unwrap();
    let metrics = Metrics::of(&world.host).await.unwrap();
    for (name, value) in [
        ("rialto_rule_quarantines_total", 1),
        ("rialto_rule_quarantine_verdicts_total", 2),
        ("rialto_rules_in_quarantine", 1),
    ] {
        assert_eq!(metrics.get(name).unwrap(), value, "{name}");
    }

    // Somebody who has repaired what was wrong has the rule asked at once.
    let end = |more: &[&str]| {
        let mut command = vec!["rule", "end-quarantine", "--note", "repaired"];
        command.extend(more);
        world.host.cli(&command).unwrap()
    };
    let said = end(&["unknown-rule"]);
    assert!(said.said().contains("has no rule `unknown-rule`"), "{said}");
    let said = end(&[RULE, "--step", "quote-request-check"]);
    assert_ne!(said.code, 0, "{said}");
    let said = end(&[RULE, "--step", STEP]).success().unwrap();
    assert!(said.contains("is asked again"), "{said}");
    assert_eq!(quarantines(&world), json!([]));
    let said = end(&[RULE]);
    assert!(said.said().contains("is not in quarantine"), "{said}");
    let paid = world.pay("5", "USD").await;
    committed(&paid).unwrap();
    let filed = receipts(&world, &paid.transfer_id, &[]);
    let asked = filed.iter().find(|one| one["receipt"]["rule"] == RULE);
    assert_eq!(asked.unwrap()["receipt"]["quarantined"], Value::Null);
    let audit = world.host.cli(&["audit", "--about", RULE]).unwrap();
    let audit = audit.success().unwrap();
    assert!(
        audit.contains("quarantine-lift") && audit.contains("repaired"),
        "{audit}"
    );
    committed(&world.pay("5", "USD").await).unwrap();
    assert_eq!(quarantines(&world)[0]["failures"], 2, "it begins anew");

    // A restart begins anew: the rule is asked.
    tokio::task::block_in_place(|| world.host.restart()).unwrap();
    assert_eq!(quarantines(&world), json!([]));
    let paid = world.pay("5", "USD").await;
    committed(&paid).unwrap();
    let filed = receipts(&world, &paid.transfer_id, &[]);
    let asked = filed.iter().find(|one| one["receipt"]["rule"] == RULE);
    assert_eq!(asked.unwrap()["receipt"]["quarantined"], Value::Null);
    world.settled_books().await.unwrap();
}
