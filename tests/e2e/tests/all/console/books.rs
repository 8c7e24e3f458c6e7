//! The ledger in the console: the trial balance, entries with the balance after each, and the check of every invariant.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use rialto_tests::scenes::committed;
use rialto_tests::waiting::until;
use rialto_tests::world::PAYER;
use serde_json::{Value, json};

use super::{SOON, Scene};

impl Scene {
    /// The last check, once it has ended.
    async fn last_check(&self) -> Value {
        let look = async || {
            let checks = self.office.get("rita", "/books/check").await?;
            let has_ended = checks["running"].is_null() && !checks["last"].is_null();
            Ok(if has_ended {
                Ok(checks["last"].clone())
            } else {
                Err(checks.to_string())
            })
        };
        until("the check has ended", SOON, look).await.unwrap()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_check_runs_at_a_time() {
    let mut scene = Scene::begin().await;
    committed(&scene.world.pay("12.5", "USD").await).unwrap();
    let none = scene.office.get("rita", "/books/check").await.unwrap();
    assert_eq!(none, json!({}));
    let begun = scene.office.post("anna", "/books/check", &Value::Null);
    assert_eq!(begun.await.unwrap().status, 202);
    // Another one is begun when the first has ended, and refused before that.
    let again = scene.office.post("ben", "/books/check", &Value::Null);
    let again = again.await.unwrap();
    let is_refused = (again.status, again.problem()) == (409, "check-runs");
    assert!(is_refused || again.status == 202, "{again:?}");
    let last = scene.last_check().await;
    let by = if is_refused { "anna" } else { "ben" };
    assert_eq!(last["by"], by);
    let checks = last["report"]["checks"].as_array().unwrap();
    assert_eq!(checks.len(), 14, "{last}");
    assert!(checks.iter().all(|one| one["breaches"] == 0), "{last}");
    assert!(last["documents"].as_u64().unwrap() > 20, "{last}");

    scene.world.host.restart().unwrap();
    scene.office =
        rialto_tests::office::Office::of(&scene.world.scheme, &scene.world.host, &["rita"])
            .unwrap();
    assert_eq!(scene.last_check().await, last);
}

#[tokio::test(flavor = "multi_thread")]
async fn entries_have_the_balance_after_each_page_by_page() {
    let scene = Scene::begin().await;
    for amount in ["12.5", "3", "0.01", "7", "100"] {
        committed(&scene.world.pay(amount, "USD").await).unwrap();
    }
    let account = format!("{PAYER}:USD:LIQUIDITY");
    let path = format!("/books/accounts/{account}/entries");
    let mut found = Vec::new();
    let mut before = String::new();
    loop {
        let page = format!("{path}?limit=2{before}");
        let page = scene.office.get("rita", &page).await.unwrap();
        found.extend(page["entries"].as_array().unwrap().clone());
        let Some(next) = page["next"].as_u64() else {
            break;
        };
        before = format!("&before={next}");
    }
    let balances: Vec<&str> = found
        .iter()
        .map(|entry| entry["balanceAfter"].as_str().unwrap())
        .collect();
    assert_eq!(
        balances,
        [
            "999877.49",
            "999977.49",
            "999984.49",
            "999984.50",
            "999987.50",
            "1000000.00"
        ]
    );
    for (path, status) in [
        ("/books/accounts/nobody/entries".to_owned(), 404),
        ("/books/accounts/%00/entries".to_owned(), 404),
        (format!("{path}?limit=no"), 400),
        (format!("{path}?before=-1"), 400),
        (format!("{path}?limit=0"), 200),
        (format!("{path}?before=18446744073709551615"), 200),
    ] {
        let said = scene.office.send("rita", "GET", &path, &[], &Value::Null);
        assert_eq!(said.await.unwrap().status, status, "{path}");
    }
    let accounts = "/documents/accounts-and-balances/accounts?limit=1000";
    let all = scene.office.get("rita", accounts).await.unwrap();
    let all = all.as_array().unwrap();
    let third = all[2]["id"].as_str().unwrap();
    let rest = format!("{accounts}&after={third}");
    let rest = scene.office.get("rita", &rest).await.unwrap();
    assert_eq!(rest.as_array().unwrap()[..], all[3..]);
    let nothing = format!("{accounts}&prefix=a&after=zzz");
    let nothing = scene.office.get("rita", &nothing).await.unwrap();
    assert_eq!(nothing, json!([]));
    let balance = scene.office.get("rita", "/books/balance").await.unwrap();
    let books = balance["books"].as_array().unwrap();
    assert!(
        books.len() >= 2 && books.iter().all(|one| one["balanced"] == true),
        "{balance}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn operator_reads_and_checks_the_ledger_in_the_console() {
    let scene = Scene::begin().await;
    for _ in 0..3 {
        committed(&scene.world.pay("12.5", "USD").await).unwrap();
    }
    let desk = scene.signed_in("anna").await;
    desk.open("ledger").await;
    desk.shows("Nobody has checked them on this host yet.")
        .await;
    desk.press("main", "Run now").await;
    desk.press("dialog", "Run now").await;
    desk.shows("Every invariant holds").await;
    let checked = "document.querySelector('main').innerText.includes('anna')";
    assert_eq!(desk.0.value(checked).await, true);
    desk.open(&format!("ledger/{PAYER}%3AUSD%3ALIQUIDITY"))
        .await;
    desk.shows("999,962.50 USD").await;
    desk.shows("1,000,000.00").await;
    assert_eq!(desk.0.complaints().await, [""; 0]);
}
