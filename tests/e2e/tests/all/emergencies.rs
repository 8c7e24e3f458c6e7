//! Rules that are suspended in an emergency, and rules that begin and end at an instant.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rialto_simulator::fsp::Step;
use rialto_tests::scenes::{committed, refused};
use rialto_tests::waiting::until;
use rialto_tests::{CliOutput, Office, TestScheme, World, WorldOptions};
use serde_json::Value;

/// Longer than a host takes.
const SOON: Duration = Duration::from_secs(60);
const PEOPLE: &str = "[operators.grace]\nroles = [\"reader\", \"admin\", \"checker\"]\n\n[operators.hal]\nroles = [\"reader\", \"admin\", \"checker\"]\n\n";

async fn world(releases: &str) -> World {
    let scheme = TestScheme::demo().unwrap();
    let with = format!("{PEOPLE}{releases}[store]");
    scheme.replace("rialto.toml", "[store]", &with).unwrap();
    World::of(scheme, &WorldOptions::default()).await.unwrap()
}

fn by(world: &World, operator: &str, command: &[&str]) -> CliOutput {
    let all: Vec<&str> = command.iter().copied().chain(["--as", operator]).collect();
    world.host.cli(&all).unwrap()
}

fn suspend(world: &World, operator: &str) -> CliOutput {
    by(
        world,
        operator,
        &[
            "rule",
            "suspend",
            "amount-limits",
            "--note",
            "it refuses salaries",
        ],
    )
}

fn suspensions(world: &World) -> Vec<Value> {
    let said = by(world, "hal", &["rule", "suspensions", "--json"])
        .success()
        .unwrap();
    serde_json::from_str(&said).unwrap()
}

fn is_refused(said: &CliOutput, words: &str) {
    assert_ne!(said.code, 0, "{}", said.said());
    assert!(said.said().contains(words), "{words:?}: {}", said.said());
}

#[tokio::test(flavor = "multi_thread")]
async fn one_person_suspends_a_rule_and_another_confirms_it() {
    let mut world = world("").await;
    let much = "10001";
    refused(&world.pay(much, "USD").await, Step::Quote, "4200").unwrap();
    is_refused(
        &by(
            &world,
            "grace",
            &["rule", "suspend", "unknown", "--note", "x"],
        ),
        "has no rule `unknown`",
    );
    // A context is no rule.
    is_refused(
        &by(
            &world,
            "grace",
            &["rule", "suspend", "transfers", "--note", "x"],
        ),
        "has no rule",
    );
    let said = suspend(&world, "grace").success().unwrap();
    assert!(said.contains("SUSPENDED amount-limits"), "{said}");
    assert!(said.contains("by grace"), "{said}");
    is_refused(&suspend(&world, "hal"), "is suspended already");
    let paid = world.pay(much, "USD").await;
    committed(&paid).unwrap();
    let history = by(&world, "hal", &["events", &paid.transfer_id])
        .success()
        .unwrap();
    assert!(history.contains("suspended"), "{history}");
    let receipts = by(&world, "hal", &["receipts", &paid.transfer_id])
        .success()
        .unwrap();
    assert!(
        receipts.contains("transfer-matches-quote") && !receipts.contains("amount-limits"),
        "{receipts}"
    );

    is_refused(
        &by(&world, "grace", &["rule", "confirm", "1"]),
        "somebody else must confirm it",
    );
    let said = by(&world, "hal", &["rule", "confirm", "1"])
        .success()
        .unwrap();
    assert!(
        said.contains("CONFIRMED") && said.contains("confirmed by hal"),
        "{said}"
    );
    // It outlives the host, and other releases.
    tokio::task::block_in_place(|| world.host.restart()).unwrap();
    committed(&world.pay(much, "USD").await).unwrap();
    let said = by(&world, "grace", &["rule", "resume", "1"])
        .success()
        .unwrap();
    assert!(said.contains("ended by grace"), "{said}");
    refused(&world.pay(much, "USD").await, Step::Quote, "4200").unwrap();
    // Who ends an own suspension that nobody has confirmed suspends nothing for a day.
    suspend(&world, "hal").success().unwrap();
    by(&world, "hal", &["rule", "resume", "2"])
        .success()
        .unwrap();
    is_refused(&suspend(&world, "hal"), "who suspends nothing until");
    is_refused(
        &by(&world, "hal", &["rule", "resume", "1"]),
        "no suspension 1 is in force",
    );
    let audit = by(&world, "hal", &["audit"]).success().unwrap();
    for action in ["rule-suspend", "suspension-confirm", "suspension-end"] {
        assert!(audit.contains(action), "{action}: {audit}");
    }
}

/// The entries of the audit log that say of a suspension that it has lapsed.
fn lapsed_of(world: &World, suspension: &str) -> Vec<Value> {
    let said = by(world, "hal", &["audit", "--about", suspension, "--json"]);
    let said = said.success().unwrap();
    let entries = said
        .lines()
        .map(|line| -> Value { serde_json::from_str(line).unwrap() });
    let lapses = entries.filter(|one| one["action"] == "suspension-lapse");
    lapses.collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn suspension_that_nobody_confirms_is_over_by_itself() {
    let mut world = world("[releases]\nsuspension = \"1 s\"\n\n").await;
    suspend(&world, "grace").success().unwrap();
    until("the suspension is over", SOON, async || {
        let all = suspensions(&world);
        Ok(if all[0]["state"] == "LAPSED" {
            Ok(())
        } else {
            Err(format!("{all:?}"))
        })
    })
    .await
    .unwrap();
    refused(&world.pay("10001", "USD").await, Step::Quote, "4200").unwrap();
    is_refused(
        &by(&world, "hal", &["rule", "confirm", "1"]),
        "no suspension 1 is in force",
    );
    let office = Office::of(&world.scheme, &world.host, &["hal"]).unwrap();
    until("operators are told", SOON, async || {
        let all = office.get("hal", "/notices?audience=operators").await?;
        let all = all["items"].as_array().unwrap();
        let states: Vec<&str> = all
            .iter()
            .filter(|one| one["kind"] == "suspension")
            .filter_map(|one| one["state"].as_str())
            .collect();
        Ok(if states == ["SUSPENDED", "LAPSED"] {
            Ok(())
        } else {
            Err(format!("{all:?}"))
        })
    })
    .await
    .unwrap();
    // The audit log has it once, by the host, also after another start.
    let entries = lapsed_of(&world, "suspension 1");
    assert_eq!(entries.len(), 1, "{entries:?}");
    assert_eq!(
        (&entries[0]["person"], &entries[0]["outcome"]),
        (&Value::from("host"), &Value::from("done")),
        "{entries:?}"
    );
    let reason = entries[0]["reason"].as_str().unwrap();
    assert!(reason.contains("amount-limits"), "{reason}");
    tokio::task::block_in_place(|| world.host.restart()).unwrap();
    // The second suspension lapses after what the start has told of the first one.
    suspend(&world, "hal").success().unwrap();
    until("the second one is in the audit log", SOON, async || {
        let said = by(&world, "hal", &["audit", "--about", "suspension 2"]);
        let said = said.success()?;
        Ok(if said.contains("suspension-lapse") {
            Ok(())
        } else {
            Err(said)
        })
    })
    .await
    .unwrap();
    assert_eq!(lapsed_of(&world, "suspension 1").len(), 1);
    // Otherwise grace alone could do without the rule, again and again.
    is_refused(&suspend(&world, "grace"), "who suspends nothing until");
    is_refused(&suspend(&world, "hal"), "who suspends nothing until");
}

/// An instant so many seconds from now, as scheme.toml has it.
fn from_now(seconds: i64) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let seconds = i64::try_from(now.as_secs()).unwrap() + seconds;
    jiff::Timestamp::from_second(seconds).unwrap().to_string()
}

/// The scheme's folder, in which another limit for quotes takes over at an instant.
fn taking_over(world: &World, at: &str) -> TestScheme {
    let twin = world.scheme.twin().unwrap();
    let old = "[[steps.quote-request-check]]\nrule = \"amount-limits\"\n";
    twin.edit(old, &format!("{old}effective-until = \"{at}\"\n"))
        .unwrap();
    let behind = "[[steps.transfer-prepare-check]]\nrule = \"transfer-matches-quote\"";
    let new = format!(
        "{old}effective-from = \"{at}\"\nsettings = {{ otherwise = \"refuse\", limits = [{{ currency = \"USD\", scenario = \"*\", maximum = \"60\" }}] }}\n\n{behind}"
    );
    twin.edit(behind, &new).unwrap();
    twin
}

#[tokio::test]
async fn rule_takes_over_at_its_instant() {
    let world = world("").await;
    let written = from_now(15);
    let twin = taking_over(&world, &written);
    let folder = twin.path().to_str().unwrap();
    let planned = by(&world, "hal", &["release", "plan", folder])
        .success()
        .unwrap();
    assert!(planned.contains("the calendar ahead:"), "{planned}");
    assert!(
        planned.contains("rule amount-limits begins at quote-request-check"),
        "{planned}"
    );
    by(&world, "hal", &["release", "apply", folder])
        .success()
        .unwrap();
    let first = world.pay("70", "USD").await;
    let mut last = first.transfer_id.clone();
    committed(&first).unwrap();
    until("the other limit is in force", SOON, async || {
        let outcome = world.pay("70", "USD").await;
        if let Err(error) = refused(&outcome, Step::Quote, "4200") {
            last.clone_from(&outcome.transfer_id);
            return Ok(Err(error.to_string()));
        }
        Ok(Ok(()))
    })
    .await
    .unwrap();
    let shown = by(&world, "hal", &["release", "show", "--as-of", &written])
        .success()
        .unwrap();
    assert!(shown.starts_with("release 2 is current"), "{shown}");
    assert!(!shown.contains("ahead "), "{shown}");
    let before = by(
        &world,
        "hal",
        &["release", "show", "2", "--as-of", "2020-01-01T00:00:00Z"],
    )
    .success()
    .unwrap();
    assert!(
        before.contains("ahead ") && before.contains("begins at quote-request-check"),
        "{before}"
    );
    let receipts = by(&world, "hal", &["receipts", &last, "--json"])
        .success()
        .unwrap();
    assert!(receipts.contains("\"allow\""), "{receipts}");
}

/// The rule at quotes, with its settings and changes of them behind it.
fn with_changes(world: &World, changes: &str) -> TestScheme {
    let twin = world.scheme.twin().unwrap();
    let old = "[[steps.quote-request-check]]\nrule = \"amount-limits\"\n";
    let new = format!("{old}changes = [{changes}]\n");
    twin.edit(old, &new).unwrap();
    twin
}

#[tokio::test]
async fn setting_changes_at_its_instant() {
    let world = world("").await;
    let written = from_now(15);
    let change = format!(
        r#"{{ setting = "/limits/0/maximum", value = "60", effective-from = "{written}" }}"#
    );
    let twin = with_changes(&world, &change);
    let folder = twin.path().to_str().unwrap();
    let planned = by(&world, "hal", &["release", "plan", folder])
        .success()
        .unwrap();
    let words = "rule amount-limits at quote-request-check: /limits/0/maximum becomes \"60\"";
    assert!(planned.contains(words), "{planned}");
    by(&world, "hal", &["release", "apply", folder])
        .success()
        .unwrap();
    let first = world.pay("70", "USD").await;
    committed(&first).unwrap();
    until("the other limit is in force", SOON, async || {
        let outcome = world.pay("70", "USD").await;
        let refused = refused(&outcome, Step::Quote, "4200");
        Ok(refused.map_err(|error| error.to_string()))
    })
    .await
    .unwrap();
    committed(&world.pay("50", "USD").await).unwrap();
    // Each receipt was judged by the settings of its time, and says so when it is asked again.
    let again = ["receipts", &first.transfer_id, "--again"];
    let told = by(&world, "hal", &again).success().unwrap();
    assert!(
        told.contains("the same") && !told.contains("DIFFERENT"),
        "{told}"
    );
    let shown = by(&world, "hal", &["release", "show", "--as-of", &written])
        .success()
        .unwrap();
    assert!(
        shown.contains("quote-request-check: amount-limits\n") && !shown.contains("ahead "),
        "{shown}"
    );
}

#[tokio::test]
async fn changes_of_settings_that_cannot_be_are_refused() {
    let world = world("").await;
    for (changes, words) in [
        (
            r#"{ setting = "/limits/0/maximum", value = "60", effective-from = "2020-01-01T00:00:00Z" }"#,
            "the change of /limits/0/maximum has effective-from = \"2020-01-01T00:00:00Z\", which has passed",
        ),
        (
            r#"{ setting = "/limits/0/maximum", value = "60", effective-from = "2999-01-01T00:00:00Z" }, { setting = "/limits/0/maximum", value = "50", effective-from = "2999-02-01T00:00:00Z" }"#,
            "`/limits/0/maximum` would have two values at a time",
        ),
        (
            r#"{ setting = "/limits/0/maximum", value = "60", effective-from = "2999-01-01T00:00:00Z", effective-until = "2998-01-01T00:00:00Z" }"#,
            "before it begins at 2999",
        ),
        (
            r#"{ setting = "/limits/7/maximum", value = "60", effective-from = "2999-01-01T00:00:00Z" }"#,
            "`/limits/7/maximum` leads nowhere",
        ),
        // The rule refuses it long before it would be in force.
        (
            r#"{ setting = "/limits/0/maximum", value = "much", effective-from = "2999-01-01T00:00:00Z" }"#,
            "much",
        ),
    ] {
        let twin = with_changes(&world, changes);
        let folder = twin.path().to_str().unwrap();
        for verb in ["plan", "apply"] {
            is_refused(&by(&world, "hal", &["release", verb, folder]), words);
        }
    }
    committed(&world.pay("70", "USD").await).unwrap();
}

#[tokio::test]
async fn dates_that_cannot_be_are_refused() {
    let world = world("").await;
    let refused = |change: &dyn Fn(&TestScheme), words: &str| {
        let twin = world.scheme.twin().unwrap();
        change(&twin);
        let folder = twin.path().to_str().unwrap().to_owned();
        for verb in ["plan", "apply"] {
            is_refused(&by(&world, "hal", &["release", verb, &folder]), words);
        }
    };
    let quote = "[[steps.quote-request-check]]\nrule = \"amount-limits\"\n";
    let with = |more: &str| {
        let new = format!("{quote}{more}\n");
        move |twin: &TestScheme| twin.edit(quote, &new).unwrap()
    };
    refused(
        &with("effective-until = \"2999-01-01T00:00:00Z\""),
        "from 2999-01-01 00:00:00.000Z on no rule would guard the step",
    );
    refused(
        &with("effective-from = \"2999-01-01T00:00:00Z\""),
        "on no rule would guard the step",
    );
    refused(
        &with("effective-from = \"2020-01-01T00:00:00Z\""),
        "which has passed",
    );
    refused(
        &with(
            "effective-from = \"2999-01-01T00:00:00Z\"\neffective-until = \"2998-01-01T00:00:00Z\"",
        ),
        "before it begins at 2999",
    );
    refused(
        &with("effective-from = \"tomorrow\""),
        "Write a date and a time in UTC",
    );
    refused(
        &|twin: &TestScheme| {
            let at = from_now(3_600);
            let overlap = taking_over(&world, &at);
            let text = std::fs::read_to_string(overlap.path().join("scheme.toml")).unwrap();
            let text = text.replace(&format!("effective-until = \"{at}\"\n"), "");
            std::fs::write(twin.path().join("scheme.toml"), text).unwrap();
        },
        "would be asked twice at a time",
    );
    committed(&world.pay("70", "USD").await).unwrap();
}
