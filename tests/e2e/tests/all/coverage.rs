//! `rialto coverage`: which rules have decided, by which branches and codes, and which never.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::fs;

use rialto_simulator::fsp::Step;
use rialto_tests::scenes::{committed, refused};
use rialto_tests::{CliOutput, TestScheme, World, WorldOptions, binaries};
use serde_json::{Value, json};

/// RFC 8032, 7.1, TEST 1.
const KEY: &str = "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g\n-----END PRIVATE KEY-----\n";

fn coverage(world: &World, more: &[&str]) -> CliOutput {
    let folder = world.scheme.path().to_str().unwrap();
    let program = binaries::rialto().unwrap();
    CliOutput::of(program, |of| {
        of.args(["coverage", folder]).args(more);
    })
    .unwrap()
}

/// The entry of a rule at a step.
fn of<'a>(report: &'a Value, rule: &str, step: &str) -> &'a Value {
    let mut rules = report["rules"].as_array().unwrap().iter();
    let found = rules.find(|one| one["rule"] == rule && one["step"] == step);
    found.unwrap_or_else(|| panic!("{rule} at {step}: {report:#}"))
}

#[tokio::test]
async fn verdicts_are_counted_by_rule_code_and_branch() {
    let scheme = TestScheme::demo().unwrap();
    scheme.add_rule("fee-ceiling").unwrap();
    scheme
        .edit_with(|text| {
            let at = text.find("[rules.fee-ceiling]").unwrap();
            let (before, rule) = text.split_at(at);
            let grants = "[\"configuration\", \"logging\"]";
            let more = "[\"configuration\", \"logging\", \"trace\"]";
            format!("{before}{}", rule.replacen(grants, more, 1))
        })
        .unwrap();
    let settings = "settings = { otherwise = \"allow\", ceilings = [{ currency = \"USD\", share = \"0.5\" }] }";
    scheme
        .add_step("quote-response-check", "fee-ceiling", settings)
        .unwrap();
    scheme.lock().unwrap();
    let world = World::of(scheme, &WorldOptions::default()).await.unwrap();
    let never: Value =
        serde_json::from_str(&coverage(&world, &["--json"]).success().unwrap()).unwrap();
    let ceiling = of(&never, "fee-ceiling", "quote-response-check");
    assert_eq!(ceiling["asked"], json!({ "count": 0 }), "{ceiling:#}");
    assert!(
        ceiling["summary"].as_str().unwrap().contains("fee"),
        "{ceiling:#}"
    );

    for amount in ["5", "50", "60"] {
        committed(&world.pay(amount, "USD").await).unwrap();
    }
    refused(&world.pay("10001", "USD").await, Step::Quote, "4200").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let (file, key) = (
        folder.path().join("report.json"),
        folder.path().join("key.pem"),
    );
    fs::write(&key, KEY).unwrap();
    let out = [
        "--out",
        file.to_str().unwrap(),
        "--key",
        key.to_str().unwrap(),
    ];
    let told = coverage(&world, &out).success().unwrap();
    let text = fs::read_to_string(&file).unwrap();
    let report: Value = serde_json::from_str(&text).unwrap();
    let limits = of(&report, "amount-limits", "quote-request-check");
    assert_eq!(
        (
            &limits["asked"]["count"],
            &limits["allowed"]["count"],
            &limits["refused"]["4200"]["count"]
        ),
        (&json!(4), &json!(3), &json!(1)),
        "{limits:#}"
    );
    assert!(limits["refused"]["4200"]["last"].as_u64() >= limits["asked"]["first"].as_u64());
    // What it declares and never did is there too.
    let matches = of(&report, "transfer-matches-quote", "transfer-prepare-check");
    let codes = matches["refused"].as_object().unwrap();
    assert!(
        codes.values().any(|times| times["count"] == 0),
        "{matches:#}"
    );
    let ceiling = of(&report, "fee-ceiling", "quote-response-check");
    let branches = ceiling["branches"].as_object().unwrap();
    let taken: u64 = branches
        .values()
        .map(|times| times["count"].as_u64().unwrap())
        .sum();
    assert_eq!(
        (taken, &ceiling["asked"]["count"]),
        (3, &json!(3)),
        "{ceiling:#}"
    );
    assert_eq!(
        branches["above-ceiling"],
        json!({ "count": 0 }),
        "{ceiling:#}"
    );
    assert!(
        told.contains("branch above-ceiling") && told.contains("never"),
        "{told}"
    );

    // The page and the signature are beside it; a file is not overwritten.
    let page = fs::read_to_string(folder.path().join("report.json.html")).unwrap();
    assert!(page.contains("<h2>fee-ceiling "), "{page}");
    let signed = fs::read_to_string(folder.path().join("report.json.sig")).unwrap();
    let signed: Value = serde_json::from_str(&signed).unwrap();
    assert!(page.contains(signed["report"].as_str().unwrap()), "{page}");
    assert_eq!(signed["algorithm"], "Ed25519");
    let again = coverage(&world, &out);
    assert!(again.said().contains("exists: name a new file"), "{again}");
    // Receipts say which branch a verdict took, and the same again.
    let receipts = world
        .host
        .cli(&[
            "receipts",
            &world.pay("5", "USD").await.quote_id,
            "--again",
            "--json",
        ])
        .unwrap();
    let receipts = receipts.success().unwrap();
    assert!(receipts.contains("\"branches\":["), "{receipts}");
    assert!(!receipts.contains("\"same\":false"), "{receipts}");
}
