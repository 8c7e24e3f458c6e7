//! What operators do in the console, and what has become of it by the API.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use rialto_simulator::fsp::Step;
use rialto_tests::scenes::{committed, refused};
use rialto_tests::waiting::until;
use rialto_tests::world::PAYER;
use serde_json::{Value, json};

use super::{SOON, Scene};

/// What a reader must see nowhere.
const ACTS: [&str; 21] = [
    "Suspend",
    "New participant",
    "Ask to disable",
    "Another endpoint",
    "Open an account",
    "Another cap",
    "Set aside as cover",
    "Order a certificate",
    "New application",
    "Run now",
    "Close",
    "Approve",
    "Reject",
    "Settle",
    "Make current again",
    "Try all again",
    "Show what would change",
    "Change",
    "Withdraw",
    "Drop all",
    "Drop",
];

#[tokio::test(flavor = "multi_thread")]
async fn operator_suspends_a_rule_in_the_console_and_ends_it() {
    let scene = Scene::begin().await;
    let much = "10001";
    refused(&scene.world.pay(much, "USD").await, Step::Quote, "4200").unwrap();
    let desk = scene.signed_in("anna").await;
    desk.open("rules").await;
    desk.press("[data-rule='amount-limits']", "Suspend").await;
    desk.0
        .write("dialog input[name=reason]", "it refuses salaries")
        .await;
    desk.press("dialog", "Suspend").await;
    desk.shows("amount-limits is suspended.").await;
    desk.shows("waits for confirmation").await;

    let all = scene.office.get("rita", "/suspensions").await.unwrap();
    assert_eq!(
        (&all[0]["rule"], &all[0]["person"], &all[0]["note"]),
        (
            &json!("amount-limits"),
            &json!("anna"),
            &json!("it refuses salaries")
        )
    );
    committed(&scene.world.pay(much, "USD").await).unwrap();

    desk.press("td", "End").await;
    desk.press("dialog", "End").await;
    desk.shows("amount-limits is in force again.").await;
    refused(&scene.world.pay(much, "USD").await, Step::Quote, "4200").unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn one_asks_in_the_console_and_another_one_approves() {
    let scene = Scene::begin().await;
    let (maker, checker) = (scene.signed_in("anna").await, scene.signed_in("ben").await);
    maker.open(&format!("participants/{PAYER}")).await;
    maker.press("article[aria-label=USD]", "Another cap").await;
    maker.0.write("dialog input[name=amount]", "7000").await;
    maker
        .0
        .write("dialog input[name=reason]", "less volume")
        .await;
    maker.press("dialog", "Another cap").await;
    maker.shows("The request waits for another operator.").await;
    maker.open("requests").await;
    maker.shows("You have asked for this").await;
    assert!(maker.buttons().await.is_empty());

    checker.open("requests").await;
    checker.shows("7,000.00 USD").await;
    checker.shows("500,000.00 USD").await;
    checker.press("article", "Approve").await;
    checker.press("dialog", "Approve").await;
    checker.shows("It is approved.").await;
    checker.shows("No request waits for a decision.").await;
    let look = async || {
        let path = format!("/participants/{PAYER}");
        let participant = scene.office.get("rita", &path).await?;
        let cap = participant["accounts"][0]["limit"]["value"]["amount"].clone();
        Ok(if cap == "7000" {
            Ok(())
        } else {
            Err(cap.to_string())
        })
    };
    until("the new cap", SOON, look).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn reader_sees_no_button_and_is_refused_by_hand() {
    let scene = Scene::begin().await;
    let limit = json!({ "limit": null, "reason": "no cap" });
    let path = format!("/participants/{PAYER}/accounts/USD/limit-updates");
    let asked = scene.office.post("anna", &path, &limit).await.unwrap();
    assert_eq!(asked.status, 201, "{asked:?}");
    let desk = scene.signed_in("rita").await;
    for (page, words) in [
        ("rules", "amount-limits"),
        (
            "requests",
            "Deciding needs the role checker, which you do not have.",
        ),
        ("participants", "Asking for changes needs the role maker"),
        (
            "participants/payerfsp",
            "Asking for changes needs the role maker, which you do not have.",
        ),
        ("ledger", "Running the check needs the role admin"),
        ("releases", "first release"),
        ("releases/1", "New turns run on this release."),
        ("settlement", "Settling and closing needs the role maker"),
        ("releases/new", "You may not do this"),
        ("deliveries", "Dead letters"),
    ] {
        desk.open(page).await;
        desk.shows(words).await;
        let buttons = desk.buttons().await;
        let forbidden = buttons.iter().find(|b| ACTS.contains(&b.as_str()));
        assert_eq!(forbidden, None, "{page}: {buttons:?}");
    }
    // By hand, with the reader's own session.
    for (path, body) in [
        ("/rules/amount-limits/suspend", r#"{"note":"x"}"#),
        ("/books/check", ""),
        (path.as_str(), r#"{"limit":null,"reason":"x"}"#),
        ("/settlements", r#"{"batches":["x"],"reason":"x"}"#),
    ] {
        assert_eq!(desk.post(path, body).await, json!(403), "{path}");
    }
    let none = scene.office.get("rita", "/suspensions").await.unwrap();
    assert_eq!(none, Value::Array(Vec::new()));
}
