//! `rialto release backtest`: what a candidate's rules would have decided about payments that were made.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::fs;
use std::time::Duration;

use rialto_simulator::fsp::Step;
use rialto_tests::scenes::{committed, refused};
use rialto_tests::waiting::until;
use rialto_tests::world::{PAYEE, PAYER};
use rialto_tests::{CliOutput, TestScheme, World};
use serde_json::{Value, json};

const LIMIT: &str = "maximum = \"10000\"";

/// Backtest a scheme's folder on the world's store.
fn backtest(world: &World, candidate: &TestScheme, more: &[&str]) -> CliOutput {
    let folder = candidate.path().to_str().unwrap();
    let mut command = vec!["release", "backtest", folder];
    command.extend(more);
    world.host.cli(&command).unwrap()
}

fn report(world: &World, candidate: &TestScheme, more: &[&str]) -> Value {
    let more: Vec<&str> = more.iter().copied().chain(["--json"]).collect();
    let said = backtest(world, candidate, &more).success().unwrap();
    serde_json::from_str(&said).unwrap()
}

/// The candidate with another highest amount in USD.
fn with_limit(world: &World, maximum: &str) -> TestScheme {
    let twin = world.scheme.twin().unwrap();
    twin.edit_with(|text| text.replace(LIMIT, &format!("maximum = \"{maximum}\"")))
        .unwrap();
    twin
}

#[tokio::test]
async fn candidate_says_what_it_would_have_decided_otherwise() {
    let world = World::demo().await.unwrap();
    for amount in ["5", "50", "60.5", "700"] {
        committed(&world.pay(amount, "USD").await).unwrap();
    }
    committed(&world.pay("5000", "RWF").await).unwrap();
    refused(&world.pay("10001", "USD").await, Step::Quote, "4200").unwrap();
    let books = world.settled_books().await.unwrap();

    // The release that judged: nothing differs. Five payments have a quote and a transfer, one a quote alone.
    let same = report(&world, &world.scheme, &[]);
    assert_eq!(
        (&same["requests"], &same["different"]),
        (&json!(11), &json!(0)),
        "{same:#}"
    );
    assert_eq!(same["verdicts"], 16, "{same:#}");
    assert_eq!(
        same["fuel"][0]["before"], same["fuel"][0]["after"],
        "{same:#}"
    );

    // Lower: payments of 60.5 and 700 would have been refused, by their quotes and by their transfers.
    let lower = with_limit(&world, "60");
    let found = report(&world, &lower, &[]);
    assert_eq!(found["different"], 4, "{found:#}");
    let changes = found["byChange"].as_array().unwrap();
    assert_eq!(changes.len(), 2, "{found:#}");
    for (change, step) in changes
        .iter()
        .zip(["quote-request-check", "transfer-prepare-check"])
    {
        assert_eq!(change["step"], step);
        assert_eq!(change["before"], json!({ "outcome": "allow" }));
        let refusal = json!({ "outcome": "refuse", "rule": "amount-limits", "code": "4200" });
        assert_eq!(change["after"], refusal);
        assert_eq!(
            (&change["requests"], &change["amounts"]),
            (&json!(2), &json!(["760.50"]))
        );
    }
    let corridor = &found["byCorridor"][0];
    assert_eq!(
        (&corridor["payer"], &corridor["payee"]),
        (&json!(PAYER), &json!(PAYEE))
    );
    assert_eq!(corridor["requests"], 4);
    let bands: Vec<&Value> = found["byBand"]
        .as_array()
        .unwrap()
        .iter()
        .map(|b| &b["digits"])
        .collect();
    assert_eq!(bands, [2, 3]);

    // Higher: the refused quote would have passed. Only it is of this participant, step and currency.
    let higher = with_limit(&world, "20000");
    let chosen = [
        "--step",
        "quote-request-check",
        "--participant",
        PAYER,
        "--currency",
        "USD",
    ];
    let found = report(&world, &higher, &chosen);
    assert_eq!(
        (&found["requests"], &found["different"]),
        (&json!(5), &json!(1)),
        "{found:#}"
    );
    assert_eq!(found["byChange"][0]["before"]["code"], "4200");
    assert_eq!(found["byChange"][0]["after"]["outcome"], "allow");
    let nobody = backtest(&world, &higher, &["--participant", "nobody"]);
    let nobody = nobody.success().unwrap();
    assert!(nobody.contains("no request was judged"), "{nobody}");
    assert!(!nobody.contains("as it was"), "{nobody}");

    // Nothing of all that has an effect.
    assert_eq!(world.books().unwrap(), books);
}

#[tokio::test]
async fn new_rules_failing_rules_and_files_are_told() {
    let world = World::demo().await.unwrap();
    for _ in 0..3 {
        committed(&world.pay("20", "USD").await).unwrap();
    }
    let candidate = world.scheme.twin().unwrap();
    candidate.add_rule("hostile-rule").unwrap();
    candidate
        .add_step(
            "transfer-prepare-check",
            "hostile-rule",
            "settings = { do = \"trap\" }\n",
        )
        .unwrap();
    candidate.lock().unwrap();
    let file = candidate.path().join("report.json");
    let out = ["--out", file.to_str().unwrap()];
    let said = backtest(&world, &candidate, &out);
    let table = said.clone().success().unwrap();
    for part in [
        "3 would be decided otherwise",
        "refused, as hostile-rule failed",
        "60.00 USD",
        "hostile-rule",
    ] {
        assert!(table.contains(part), "{part}\n{table}");
    }
    let written: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    assert_eq!(written["failures"][0]["requests"], 3, "{written:#}");
    let digest = rialto_tests::offers::digest(&file).unwrap();
    assert!(said.stderr.contains(&digest), "{said}");
    use std::os::unix::fs::PermissionsExt as _;
    let mode = fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o077, 0, "others may read the report: {mode:o}");
    // A report is not replaced.
    let again = backtest(&world, &candidate, &out);
    assert_ne!(again.code, 0);
    assert!(again.stderr.contains("exists"), "{again}");

    // Settings that do not fit are named, as `check` does.
    let none = world.scheme.twin().unwrap();
    none.edit("otherwise = \"refuse\"", "otherwise = \"perhaps\"")
        .unwrap();
    let unfit = backtest(&world, &none, &[]);
    assert_eq!(unfit.code, 2, "{unfit}");
    assert!(unfit.stderr.contains("otherwise"), "{unfit}");
}

#[tokio::test]
async fn archived_receipts_are_judged_too() {
    let scheme = TestScheme::demo().unwrap();
    scheme
        .replace(
            "rialto.toml",
            "path = \"state\"",
            "path = \"state\"\nkeep = { receipts = \"1 s\" }",
        )
        .unwrap();
    let world = World::of(scheme, &rialto_tests::WorldOptions::default())
        .await
        .unwrap();
    committed(&world.pay("20", "USD").await).unwrap();
    until(
        "receipts are archived",
        Duration::from_secs(60),
        async || {
            let said = world.host.cli(&["archive", "list"])?;
            Ok(if said.stdout.contains("receipts") {
                Ok(())
            } else {
                Err(said.to_string())
            })
        },
    )
    .await
    .unwrap();
    let found = report(&world, &with_limit(&world, "10"), &[]);
    assert_eq!(
        (&found["requests"], &found["different"]),
        (&json!(2), &json!(2)),
        "{found:#}"
    );
}
