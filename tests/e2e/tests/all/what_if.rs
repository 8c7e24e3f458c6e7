//! `rialto what-if`: what the rules would say about a draft, without any effect.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::collections::BTreeMap;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::Method;
use rialto_simulator::fsp::{Quote, TransferOrder};
use rialto_tests::books::documents;
use rialto_tests::messages::quote;
use rialto_tests::scenes::committed;
use rialto_tests::{CliOutput, TestScheme, World, WorldOptions, binaries};
use serde_json::{Value, json};

const STEP: &str = "transfer-prepare-check";

fn ask(world: &World, step: &str, input: &Value, more: &[&str]) -> CliOutput {
    let file = world.scheme.path().join("draft.json");
    std::fs::write(&file, input.to_string()).unwrap();
    let mut command = vec!["what-if", step, "--input", file.to_str().unwrap()];
    command.extend(more);
    world.host.cli(&command).unwrap()
}

fn answer(world: &World, input: &Value) -> Value {
    let said = ask(world, STEP, input, &["--json"]).success().unwrap();
    serde_json::from_str(&said).unwrap()
}

/// What is found in a file of receipts of what-ifs, without a host and without a key.
fn verify(file: &Path, more: &[&str]) -> CliOutput {
    CliOutput::of(binaries::rialto().unwrap(), |of| {
        of.args(["receipts", "verify"]).arg(file).args(more);
    })
    .unwrap()
}

fn verified(file: &Path) -> Vec<Value> {
    let lines = verify(file, &["--json"]).success().unwrap();
    let lines = lines.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// The text of a disclosure.
fn decoded(disclosure: &Value) -> String {
    let bytes = URL_SAFE_NO_PAD.decode(disclosure.as_str().unwrap());
    String::from_utf8(bytes.unwrap()).unwrap()
}

fn receipts(world: &World, id: &str) -> Vec<Value> {
    let said = world.host.cli(&["receipts", id, "--json"]).unwrap();
    let said = said.success().unwrap();
    said.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[tokio::test]
async fn rules_judge_a_draft_and_nothing_happens() {
    let scheme = TestScheme::demo().unwrap();
    scheme.add_rule("hostile-rule").unwrap();
    scheme
        .add_step(
            STEP,
            "hostile-rule",
            "settings = { do = \"refuse\" }\non-failure = \"allow\"",
        )
        .unwrap();
    scheme
        .edit(
            "[rules.hostile-rule]\n",
            "[rules.hostile-rule]\nconfidential = true\n",
        )
        .unwrap();
    // The confidential rule would refuse everything, so it must not decide about the payments here.
    scheme
        .edit(
            "settings = { do = \"refuse\" }",
            "settings = { do = \"allow\" }",
        )
        .unwrap();
    scheme.lock().unwrap();
    let world = World::of(scheme, &WorldOptions::default()).await.unwrap();
    let paid = world.pay("50", "USD").await;
    committed(&paid).unwrap();
    let filed = receipts(&world, &paid.transfer_id);
    let mut input = filed[0]["receipt"]["input"].clone();

    let found = answer(&world, &input);
    assert_eq!(
        (&found["whatIf"], &found["allows"], &found["leftOut"]),
        (&json!(true), &json!(true), &json!(1)),
        "{found:#}"
    );
    let rules: Vec<&Value> = found["verdicts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["rule"])
        .collect();
    assert_eq!(
        rules,
        ["transfer-matches-quote", "amount-limits"],
        "{found:#}"
    );
    let limits = &found["verdicts"][1];
    assert_eq!(
        limits["settings"]["limits"][0]["maximum"], "10000",
        "{found:#}"
    );

    // Without its agreement and above the limit, both rules refuse: the first one is told.
    input["transfer"]["amount"]["minor-units"]["low"] = json!(100_000_000);
    let found = answer(&world, &input);
    assert_eq!(found["allows"], false, "{found:#}");
    assert_eq!(found["verdicts"].as_array().unwrap().len(), 1, "{found:#}");
    let told = ask(&world, STEP, &input, &[]).success().unwrap();
    assert!(
        told.ends_with("this is no decision\n") && told.contains("would refuse it"),
        "{told}"
    );
    assert!(told.contains("confidential, and not asked: 1"), "{told}");

    // The receipts are whole, say what they are, and their rules say the same again.
    let file = world.scheme.path().join("what-if.json");
    let out = ["--out", file.to_str().unwrap()];
    ask(&world, STEP, &input, &out).success().unwrap();
    let rule = world.scheme.component("transfer-matches-quote");
    let component = ["--component", rule.to_str().unwrap()];
    let said = verify(&file, &component).success().unwrap();
    let wanted = "WHAT-IF: IT IS ABOUT A DRAFT AND DECIDED NOTHING";
    assert!(
        said.contains(wanted) && said.contains("asked again: the same verdict"),
        "{said}"
    );
    let found = &verified(&file)[0]["fields"];
    assert_eq!(
        (&found["whatIf"], &found["decided"], &found["release"]),
        (&json!(true), &json!(false), &json!(1)),
        "{found:#}"
    );
    let text = std::fs::read_to_string(&file).unwrap();
    let mut changed: Value = serde_json::from_str(&text).unwrap();
    let marked = changed["whatIfs"][0]["disclosures"].as_array_mut().unwrap();
    marked.retain(|one| !decoded(one).contains("whatIf"));
    std::fs::write(&file, changed.to_string()).unwrap();
    let said = verify(&file, &[]);
    assert!(
        said.code == 1 && said.stdout.contains("is not marked as one"),
        "{said}"
    );

    // Nothing of that is kept.
    assert_eq!(receipts(&world, &paid.transfer_id).len(), filed.len());
    let said = ask(&world, "unknown-check", &input, &[]);
    assert!(
        said.said().contains("no rule is bound to `unknown-check`"),
        "{said}"
    );
    let said = ask(&world, STEP, &json!({ "now": "x" }), &[]);
    assert_ne!(said.code, 0, "{said}");
    world.settled_books().await.unwrap();
    let said = world.host.cli(&["receipts", "draft"]).unwrap();
    assert!(
        said.said().contains("there is no receipt about draft"),
        "{said}"
    );
}

/// What an FSP is told about a draft quote of its own, changed.
async fn drafted(world: &World, change: impl FnOnce(&mut Value)) -> (u16, Value) {
    let body = quote(&world.payer().new_id(), change).to_string();
    let asked = world.payer().raw(Method::POST, "/what-if/quotes");
    let asked = asked.header("content-type", "application/json").body(body);
    let answer = asked.send().await.unwrap();
    let told = serde_json::from_slice(&answer.body).unwrap_or_default();
    (answer.status.as_u16(), told)
}

#[tokio::test]
async fn fsp_asks_about_a_draft_and_is_told_limits_but_nothing_confidential() {
    let scheme = TestScheme::demo().unwrap();
    let on = "whatIf = { participants = true, perMinute = 4 }";
    scheme.set("fsp-interop-api", on).unwrap();
    scheme.add_rule("hostile-rule").unwrap();
    // It would refuse each draft, if it were asked.
    scheme
        .add_step(
            "quote-request-check",
            "hostile-rule",
            "settings = { do = \"refuse\" }\non-failure = \"allow\"",
        )
        .unwrap();
    scheme
        .edit(
            "[rules.hostile-rule]\n",
            "[rules.hostile-rule]\nconfidential = true\n",
        )
        .unwrap();
    scheme.lock().unwrap();
    let world = World::of(scheme, &WorldOptions::default()).await.unwrap();
    let before: BTreeMap<String, Value> =
        documents(&world.host, "accounts-and-balances", "accounts").unwrap();
    let mut id = String::new();
    let (status, told) = drafted(&world, |body| {
        body["quoteId"].as_str().unwrap().clone_into(&mut id);
    })
    .await;
    assert_eq!(status, 200, "{told:#}");
    assert_eq!(
        (&told["whatIf"], &told["allows"]),
        (&json!(true), &json!(true))
    );
    assert_eq!(told["verdicts"].as_array().unwrap().len(), 1, "{told:#}");
    let limits = &told["verdicts"][0];
    assert_eq!(limits["rule"], "amount-limits");
    assert_eq!(limits["settings"]["limits"][0]["maximum"], "10000");
    assert!(!told.to_string().contains("hostile"), "{told:#}");
    let (_, told) = drafted(&world, |body| body["amount"]["amount"] = json!("10001")).await;
    assert_eq!(told["allows"], false, "{told:#}");
    let violation = &told["verdicts"][0]["violations"][0];
    assert_eq!(violation["errorCode"], "4200", "{told:#}");
    // In another's name nothing is asked, and nothing counts.
    let (status, told) = drafted(&world, |body| {
        body["payer"]["partyIdInfo"]["fspId"] = json!("payeefsp");
    })
    .await;
    assert_eq!(status, 400, "{told:#}");
    assert_eq!(told["errorInformation"]["errorCode"], "3100");
    // Two of four are left, unless another minute has begun meanwhile.
    let mut statuses = Vec::new();
    for _ in 0..9 {
        statuses.push(drafted(&world, |_| ()).await.0);
    }
    assert!(statuses.contains(&429), "{statuses:?}");
    // Nothing has happened.
    let said = world.host.cli(&["receipts", &id]).unwrap();
    assert!(said.said().contains("there is no receipt about"), "{said}");
    let after: BTreeMap<String, Value> =
        documents(&world.host, "accounts-and-balances", "accounts").unwrap();
    assert_eq!(after, before);
    let quotes: BTreeMap<String, Value> = documents(&world.host, "quoting", "quotes").unwrap();
    assert!(quotes.is_empty(), "{quotes:?}");
}

/// What the payer FSP is told about a draft transfer.
async fn drafted_transfer(world: &World, order: &TransferOrder) -> Value {
    let asked = world.payer().raw(Method::POST, "/what-if/transfers");
    let asked = asked.header("content-type", "application/json");
    let answer = asked.body(order.body()).send().await.unwrap();
    let told: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    assert_eq!(answer.status.as_u16(), 200, "{told:#}");
    told
}

/// What the receipts of an answer say of a rule.
fn fields(world: &World, told: &Value, rule: &str) -> Value {
    let file = world.scheme.path().join("told.json");
    std::fs::write(&file, told["receipts"].to_string()).unwrap();
    let all = verified(&file).into_iter();
    let mut fields = all.map(|one| one["fields"].clone());
    fields.find(|one| one["rule"] == rule).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn draft_is_judged_as_its_transfer_would_be() {
    let scheme = TestScheme::demo().unwrap();
    let on = "whatIf = { participants = true, perMinute = 60 }";
    scheme.set("fsp-interop-api", on).unwrap();
    scheme.add_rule("velocity-limits").unwrap();
    let limit = r#"{ per = ["payer"], window = { rollingSeconds = 3600 }, currency = "USD", transfers = 2, amount = "1000" }"#;
    let settings = format!("settings = {{ limits = [{limit}] }}");
    scheme.add_step(STEP, "velocity-limits", &settings).unwrap();
    scheme.lock().unwrap();
    let world = World::of(scheme, &WorldOptions::default()).await.unwrap();
    let quoted = quoted(&world).await;
    let order = world.payer().transfer_order(&quoted);
    committed(&world.pay("1", "USD").await).unwrap();
    let counters =
        || -> BTreeMap<String, Value> { documents(&world.host, "transfers", "counters").unwrap() };
    let before = counters();

    // One of two transfers was counted, and no draft is.
    for _ in 0..3 {
        let told = drafted_transfer(&world, &order).await;
        assert_eq!(told["allows"], true, "{told:#}");
        let found = fields(&world, &told, "velocity-limits");
        assert_eq!(found["whatIf"], true, "{found:#}");
        for untold in ["input.counts", "inputDigest", "fuel", "fuelLimit"] {
            assert_eq!(found[untold], Value::Null, "{untold}: {found:#}");
        }
        assert_eq!(
            (
                &found["input.transfer"]["payer-fsp"],
                &told["receipts"]["settings"]
            ),
            (&json!("payerfsp"), &json!({})),
            "{told:#}"
        );
    }
    assert_eq!(counters(), before);

    // A stricter release refuses what is agreed from now on, and not what was agreed before.
    let stricter = world.scheme.twin().unwrap();
    stricter
        .edit_with(|text| text.replace(r#"maximum = "10000" }"#, r#"maximum = "20" }"#))
        .unwrap();
    let folder = stricter.path().to_str().unwrap();
    let applied = world.host.cli(&["release", "apply", folder]).unwrap();
    applied.success().unwrap();
    let told = drafted_transfer(&world, &order).await;
    assert_eq!(told["allows"], true, "{told:#}");
    let found = fields(&world, &told, "amount-limits");
    assert_eq!(
        (&found["release"], &found["agreed"]["judged"]),
        (&json!(1), &json!("agreed")),
        "{found:#}"
    );
    let mut other = order.clone();
    other.amount = "51".to_owned();
    let told = drafted_transfer(&world, &other).await;
    assert_eq!(told["allows"], false, "{told:#}");

    // The transfer is committed as its draft has said. Then the limit is reached, and a draft says it.
    let (result, _) = world.payer().transfer(&order).await.unwrap();
    assert_eq!(result.state, "COMMITTED");
    let told = drafted_transfer(&world, &order).await;
    let last = told["verdicts"].as_array().unwrap().last().unwrap();
    assert_eq!(
        (&told["allows"], &last["rule"]),
        (&json!(false), &json!("velocity-limits")),
        "{told:#}"
    );
    assert_eq!(last["violations"][0]["errorCode"], "4200", "{told:#}");
}

/// A quote of 50 USD that both FSPs have agreed on.
async fn quoted(world: &World) -> Quote {
    let (payer, request) = (world.payer(), world.request("50", "USD"));
    let (found, _) = payer.lookup(&request.to).await.unwrap();
    let order = payer.quote_order(&request, &found).unwrap();
    payer.quote(&order).await.unwrap().0
}

#[tokio::test]
async fn fsp_asks_nothing_unless_the_scheme_says_so() {
    let world = World::demo().await.unwrap();
    let (status, told) = drafted(&world, |_| ()).await;
    assert_eq!(status, 404, "{told:#}");
    assert_eq!(told["errorInformation"]["errorCode"], "3002");
}
