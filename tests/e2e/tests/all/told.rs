//! A refusal of a rule is told by the messages that `rialto check` names, to these FSPs, with the rule's code, and by no
//! others.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::collections::BTreeSet;

use rialto_simulator::{Direction, Fsp};
use rialto_tests::metrics::idle;
use rialto_tests::{TestScheme, World, WorldOptions};
use serde_json::Value;

const STEPS: [&str; 4] = [
    "quote-request-check",
    "quote-response-check",
    "transfer-fulfil-check",
    "transfer-prepare-check",
];

/// What `check` says of the rule that refuses: its code, and the messages.
fn said(scheme: &TestScheme, step: &str) -> (String, BTreeSet<String>) {
    let checked = scheme.rialto(&["check", "--json"]).unwrap().success();
    let checked: Value = serde_json::from_str(&checked.unwrap()).unwrap();
    let mut refusals = checked["refusals"].as_array().unwrap().iter();
    let found = refusals.find(|one| {
        one["step"] == step && one["rule"] == "hostile-rule" && one["isFailure"] == false
    });
    let found = found.unwrap();
    assert_ne!(found["description"], "", "{found:#}");
    // An FSP that waits for a PATCH gets it in the place of a PUT.
    let told = found["told"].as_array().unwrap().iter();
    let told = told.map(|one| {
        one.as_str()
            .unwrap()
            .split(", or ")
            .next()
            .unwrap()
            .to_owned()
    });
    (found["code"].as_str().unwrap().to_owned(), told.collect())
}

/// The errors that an FSP has got, each with its code.
fn got(fsp: &Fsp, who: &str) -> Vec<(String, String)> {
    let messages = fsp.recorder().messages();
    let errors = messages
        .iter()
        .filter(|message| message.direction == Direction::In && message.path.ends_with("/error"));
    errors
        .map(|error| {
            let resource = error.path.split('/').find(|part| !part.is_empty()).unwrap();
            let body: Value = serde_json::from_slice(&error.body).unwrap();
            let code = body["errorInformation"]["errorCode"].as_str().unwrap();
            let message = format!("{} /{resource}/{{ID}}/error to the {who} FSP", error.method);
            (message, code.to_owned())
        })
        .collect()
}

#[tokio::test]
async fn each_refusal_is_told_by_the_messages_that_check_names() {
    for step in STEPS {
        let scheme = TestScheme::demo().unwrap();
        scheme.add_rule("hostile-rule").unwrap();
        let settings = "settings = { do = \"refuse\" }";
        scheme.add_step(step, "hostile-rule", settings).unwrap();
        scheme.lock().unwrap();
        let (code, told) = said(&scheme, step);
        let world = World::of(scheme, &WorldOptions::default()).await.unwrap();
        let outcome = world.pay("5", "USD").await;
        assert!(!outcome.is_committed(), "{step}: {outcome:?}");
        idle(&world.host).await.unwrap();
        let mut errors = got(world.payer(), "payer");
        errors.extend(got(world.payee(), "payee"));
        for (message, found) in &errors {
            assert_eq!(*found, code, "{step}: {message}");
        }
        let count = errors.len();
        let messages: BTreeSet<String> = errors.into_iter().map(|(message, _)| message).collect();
        assert_eq!((messages.len(), messages), (count, told), "{step}");
    }
}
