//! Canaries: candidates that decide about some requests in the place of a rule, until they go too far.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::time::Duration;

use rialto_simulator::fsp::Step;
use rialto_tests::scenes::{committed, refused};
use rialto_tests::waiting::until;
use rialto_tests::{CliOutput, Office, TestScheme, World, WorldOptions, witness};
use serde_json::{Value, json};

/// Longer than the host takes to compare.
const SOON: Duration = Duration::from_secs(30);
/// Where a table of the last binding of quotes goes, and of that of transfers.
const BEHIND_QUOTES: &str = "[[steps.transfer-prepare-check]]\nrule = \"transfer-matches-quote\"";
const BEHIND_TRANSFERS: &str = "# Participants that exist from the beginning.";

/// The demonstration with a canary in the place of its limits, for quotes and for transfers.
pub fn scheme(canary: &str, more: &str) -> TestScheme {
    let scheme = TestScheme::demo().unwrap();
    if canary == "limits-next" {
        let rule = "[rules.limits-next]\ncomponent = \"components/amount-limits.wasm\"\n\
                    grants = { host = [\"configuration\", \"logging\"] }\n\n[rules.amount-limits]";
        scheme.edit("[rules.amount-limits]", rule).unwrap();
    } else {
        scheme.add_rule(canary).unwrap();
    }
    add(&scheme, canary, more);
    scheme.lock().unwrap();
    scheme
}

fn add(scheme: &TestScheme, canary: &str, more: &str) {
    for (step, behind) in [
        ("quote-request-check", BEHIND_QUOTES),
        ("transfer-prepare-check", BEHIND_TRANSFERS),
    ] {
        let table = format!("[steps.{step}.canary]\nrule = \"{canary}\"\n{more}\n\n{behind}");
        scheme.edit(behind, &table).unwrap();
    }
}

async fn world(scheme: TestScheme) -> World {
    World::of(scheme, &WorldOptions::default()).await.unwrap()
}

/// The reports for quotes and for transfers.
fn reports(world: &World) -> [Value; 2] {
    let said = world.host.cli(&["canary", "report", "--json"]).unwrap();
    let said = said.success().unwrap();
    let reports = said.lines().map(|line| serde_json::from_str(line).unwrap());
    let mut reports: Vec<Value> = reports.collect();
    reports.sort_by_key(|one| one["step"].as_str().unwrap().to_owned());
    reports.try_into().unwrap()
}

fn receipts(world: &World, id: &str) -> Vec<Value> {
    let said = world
        .host
        .cli(&["receipts", id, "--again", "--json"])
        .unwrap();
    let said = said.success().unwrap();
    let lines = said.lines().map(|line| serde_json::from_str(line).unwrap());
    lines.collect()
}

fn lower(maximum: &str) -> String {
    format!(
        "settings = {{ otherwise = \"refuse\", limits = [{{ currency = \"USD\", scenario = \"*\", maximum = \"{maximum}\" }}] }}"
    )
}

#[tokio::test]
async fn quote_and_transfer_of_a_payment_have_the_same_judge() {
    // The canary allows less, and half of the payments in USD are its.
    let terms = format!(
        "{}\nto = {{ hash = \"50 %\", currencies = [\"USD\"] }}",
        lower("60")
    );
    let world = world(scheme("limits-next", &terms)).await;
    let mut by_canary = 0;
    for _ in 0..24 {
        let outcome = world.pay("50", "USD").await;
        committed(&outcome).unwrap();
        let of_limits = |id: &str| -> Vec<bool> {
            let receipts = receipts(&world, id);
            assert!(
                receipts.iter().all(|one| one["again"]["same"] == true),
                "{receipts:#?}"
            );
            let limits = receipts.iter().filter(|one| {
                let rule = one["receipt"]["rule"].as_str().unwrap();
                ["limits-next", "amount-limits"].contains(&rule)
            });
            limits
                .map(|one| one["receipt"]["canary"]["rule"] == "amount-limits")
                .collect()
        };
        let (quote, transfer) = (
            of_limits(&outcome.quote_id),
            of_limits(&outcome.transfer_id),
        );
        assert_eq!((quote.len(), transfer.len()), (1, 1));
        assert_eq!(quote, transfer, "{outcome:?}");
        by_canary += usize::from(quote[0]);
    }
    assert!((1..24).contains(&by_canary), "{by_canary} of 24");
    // It decides: some payments of 70 are refused, and the others are not.
    let mut allowed = 0;
    for _ in 0..24 {
        let outcome = world.pay("70", "USD").await;
        if committed(&outcome).is_ok() {
            allowed += 1;
        } else {
            refused(&outcome, Step::Quote, "4200").unwrap();
        }
    }
    assert!((1..24).contains(&allowed), "{allowed} of 24");
    // Nothing of this holds for other currencies.
    for _ in 0..8 {
        committed(&world.pay("5000", "RWF").await).unwrap();
    }
    let [quotes, transfers] = reports(&world);
    assert_eq!(quotes["share"], 500_000);
    assert_eq!(quotes["failed"], 0);
    assert_eq!(transfers["heldBack"], Value::Null, "{transfers:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn canary_that_fails_is_held_back_at_once_and_no_request_is_refused() {
    let terms =
        "settings = { do = \"trap\" }\nto = { hash = \"100 %\" }\nhold-back = { failures = 3 }";
    let mut world = world(scheme("hostile-rule", terms)).await;
    for _ in 0..4 {
        committed(&world.pay("50", "USD").await).unwrap();
    }
    let [quotes, transfers] = reports(&world);
    assert_eq!(quotes["failed"], 3, "{quotes:#}");
    assert_eq!(quotes["heldBack"], transfers["heldBack"]);
    let why = quotes["heldBack"]["why"].as_str().unwrap();
    assert!(why.starts_with("it failed 3 times, at last so: "), "{why}");
    let audited = || {
        world
            .host
            .cli(&["audit", "--about", "canary"])
            .unwrap()
            .success()
            .unwrap()
    };
    until("it is in the audit log", SOON, async || {
        let audit = audited();
        Ok(if audit.contains("canary-hold-back") {
            Ok(())
        } else {
            Err(audit)
        })
    })
    .await
    .unwrap();
    // It stays so over a restart, and in other releases.
    tokio::task::block_in_place(|| world.host.restart()).unwrap();
    committed(&world.pay("50", "USD").await).unwrap();
    let [quotes, _] = reports(&world);
    assert_eq!(
        (&quotes["decided"], &quotes["failed"]),
        (&json!(0), &json!(0)),
        "{quotes:#}"
    );
    assert!(quotes["heldBack"]["at"].is_u64(), "{quotes:#}");
    let twin = world.scheme.twin().unwrap();
    twin.edit_with(|text| text.replace("maximum = \"10000\"", "maximum = \"9000\""))
        .unwrap();
    let folder = twin.path().to_str().unwrap();
    let said: CliOutput = world.host.cli(&["release", "apply", folder]).unwrap();
    assert!(
        said.said().contains("was held back as a canary at"),
        "{said}"
    );
    committed(&world.pay("50", "USD").await).unwrap();
    world.settled_books().await.unwrap();
}

/// The notices to operators that a canary is held back.
async fn notices(office: &Office) -> anyhow::Result<Vec<Value>> {
    let all = office.get("anna", "/notices?audience=operators").await?;
    let all = all["items"].as_array().unwrap().iter();
    let of_canaries = all.filter(|notice| notice["kind"] == "canary");
    Ok(of_canaries.cloned().collect())
}

#[tokio::test(flavor = "multi_thread")]
async fn operators_and_contexts_are_told_once_that_a_canary_is_held_back() {
    let terms =
        "settings = { do = \"trap\" }\nto = { hash = \"100 %\" }\nhold-back = { failures = 2 }";
    let scheme = scheme("hostile-rule", terms);
    scheme.add_operators(&[("anna", "\"reader\"")]).unwrap();
    witness::add(&scheme).unwrap();
    let began = witness::now().unwrap();
    let mut world = world(scheme).await;
    let office = Office::of(&world.scheme, &world.host, &["anna"]).unwrap();
    committed(&world.pay("50", "USD").await).unwrap();
    let told = until("the notice", SOON, async || {
        let all = notices(&office).await?;
        Ok(match all.as_slice() {
            [one] => Ok(one.clone()),
            other => Err(format!("{other:?}")),
        })
    })
    .await
    .unwrap();
    assert_eq!(told["state"], "HELD_BACK", "{told:#}");
    let rule = &told["rule"];
    assert_eq!(
        (&rule["name"], &rule["inPlaceOf"]),
        (&json!("hostile-rule"), &json!("amount-limits"))
    );
    assert_eq!(
        rule["steps"],
        json!(["quote-request-check", "transfer-prepare-check"])
    );
    assert_eq!(
        rule["measure"],
        json!({ "name": "failures", "value": 2, "limit": 2 })
    );
    assert!(told["at"].as_u64().unwrap() >= began, "{told:#}");
    let events = async |office: &Office| -> anyhow::Result<Vec<Value>> {
        let all = witness::since(office, began).await?.into_iter();
        let of_rules = all.filter(|one| one.event == "rule-state-changed");
        Ok(of_rules.map(|one| one.content).collect())
    };
    let event = until("the event", SOON, async || {
        let all = events(&office).await?;
        Ok(match all.as_slice() {
            [one] => Ok(one.clone()),
            other => Err(format!("{other:?}")),
        })
    })
    .await
    .unwrap();
    assert_eq!(
        (&event["kind"], &event["in_place_of"]),
        (&json!("canary"), &json!("amount-limits")),
        "{event:#}"
    );
    // A start tells it again, and nobody hears it twice. What a suspension tells after it comes in the same order.
    tokio::task::block_in_place(|| world.host.restart()).unwrap();
    let office = Office::of(&world.scheme, &world.host, &["anna"]).unwrap();
    let suspended = office
        .post(
            rialto_tests::office::OFFICE,
            "/rules/amount-limits/suspend",
            &json!({ "note": "a fence" }),
        )
        .await
        .unwrap();
    assert_eq!(suspended.status, 200, "{:?}", suspended.body);
    until("the event of the suspension", SOON, async || {
        let all = events(&office).await?;
        let kinds: Vec<&str> = all.iter().filter_map(|one| one["kind"].as_str()).collect();
        Ok(if kinds == ["canary", "suspension"] {
            Ok(())
        } else {
            Err(format!("{kinds:?}"))
        })
    })
    .await
    .unwrap();
    assert_eq!(notices(&office).await.unwrap().len(), 1);
}

#[tokio::test]
async fn canary_that_takes_too_long_is_held_back_too() {
    let terms =
        "settings = { do = \"loop\" }\nto = { hash = \"100 %\" }\nhold-back = { failures = 2 }";
    let scheme = scheme("hostile-rule", terms);
    // The clock stops it before its fuel is used up.
    let limits = "limits = { deadline = \"2 ms\", fuel = 100000000 }";
    scheme
        .edit("limits = { deadline = \"1 s\" }", limits)
        .unwrap();
    let world = world(scheme).await;
    for _ in 0..3 {
        committed(&world.pay("50", "USD").await).unwrap();
    }
    let [quotes, _] = reports(&world);
    let why = quotes["heldBack"]["why"].as_str().unwrap();
    assert!(why.starts_with("it failed 2 times"), "{why}");
    world.settled_books().await.unwrap();
}

#[tokio::test]
async fn canary_whose_verdicts_drift_is_held_back() {
    let terms = format!(
        "{}\nto = {{ hash = \"100 %\", participants = [\"payerfsp\"] }}\nhold-back = {{ verdict-drift = \"10 %\", after = 4 }}",
        lower("60")
    );
    let world = world(scheme("limits-next", &terms)).await;
    // Two verdicts each, the same as the rule's.
    for _ in 0..3 {
        committed(&world.pay("50", "USD").await).unwrap();
    }
    let compared = async |number: u64| {
        until("the rule has judged too", SOON, async || {
            let [quotes, transfers] = reports(&world);
            Ok(if quotes["compared"] == number {
                Ok((quotes, transfers))
            } else {
                Err(format!("{quotes:#}"))
            })
        })
        .await
        .unwrap()
    };
    let (quotes, _) = compared(6).await;
    assert_eq!(
        (&quotes["different"], &quotes["heldBack"]),
        (&json!(0), &Value::Null)
    );
    // One of seven is too much.
    refused(&world.pay("70", "USD").await, Step::Quote, "4200").unwrap();
    let (quotes, transfers) = compared(7).await;
    let why = quotes["heldBack"]["why"].as_str().unwrap();
    assert_eq!(
        why,
        "1 of 7 verdicts differ from those of the rule in force"
    );
    assert_eq!(quotes["heldBack"], transfers["heldBack"]);
    committed(&world.pay("70", "USD").await).unwrap();
    let told = world
        .host
        .cli(&["canary", "report"])
        .unwrap()
        .success()
        .unwrap();
    assert!(told.contains("held back"), "{told}");
}

#[tokio::test]
async fn canaries_that_cannot_be_are_refused() {
    let scheme = TestScheme::demo().unwrap();
    let with = |table: &str| {
        let twin = scheme.twin().unwrap();
        let table = format!("{table}\n\n{BEHIND_TRANSFERS}");
        twin.edit(BEHIND_TRANSFERS, &table).unwrap();
        let said = twin.rialto(&["check"]).unwrap();
        assert_ne!(said.code, 0, "{table}");
        said.said()
    };
    let step = "steps.transfer-prepare-check";
    let canary = format!("[{step}.canary]\nrule = \"amount-limits\"\nto = {{ hash = \"5 %\" }}");
    let shadow = format!("[{step}.shadow]\nrule = \"amount-limits\"");
    for (table, words) in [
        (format!("{canary}\n\n{shadow}"), "has a shadow and a canary"),
        (format!("{canary}\n\n{canary}"), "canary"),
        (
            canary.replace("amount-limits", "unknown"),
            "unknown rule `unknown`",
        ),
        (canary.replace("5 %", "0 %"), "above 0"),
        (canary.clone(), "is the rule itself"),
        (
            format!("{canary}\nsettings = {{ maximum = 1 }}"),
            "canary of the rule amount-limits",
        ),
    ] {
        let said = with(&table);
        assert!(said.contains(words), "{table}: {said}");
    }
}
