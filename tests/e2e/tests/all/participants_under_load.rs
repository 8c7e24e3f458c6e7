//! Operators while payments flow: a disabled participant trades no more, even if other contexts learn of it
//! later; and lists of ten thousand.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::collections::BTreeSet;

use rialto_simulator::fsp::{Quote, QuoteOrder, TransferOrder};
use rialto_simulator::{Fsp, PaymentRequest};
use rialto_tests::world::{PAYEE, PAYER};
use rialto_tests::{Office, TestScheme, World, WorldOptions};
use serde_json::{Value, json};
use tokio::task::JoinSet;

const PEOPLE: [(&str, &str); 2] = [
    ("anna", "\"reader\", \"maker\""),
    ("ben", "\"reader\", \"checker\""),
];
/// The number of rounds.
const ROUNDS: usize = 100;
/// The number of transfers under way at the disabling, and of those that begin after it.
const AT_ONCE: usize = 4;
/// Requests that wait.
const WAITING: usize = 10_000;
/// Requests that are made at a time.
const MAKERS: usize = 32;
/// The most that a page may have.
const PAGE: usize = 1_000;

async fn world() -> (World, Office) {
    let scheme = TestScheme::demo().unwrap();
    scheme.add_operators(&PEOPLE).unwrap();
    let eight = "[engine]\nworkers = 8\n\n[store]";
    scheme.replace("rialto.toml", "[store]", eight).unwrap();
    let world = World::of(scheme, &WorldOptions::default()).await.unwrap();
    let office = Office::of(&world.scheme, &world.host, &["anna", "ben"]).unwrap();
    (world, office)
}

/// Anna asks, Ben approves.
async fn change(office: &Office, path: &str, body: &Value) {
    let asked = office.post("anna", path, body).await.unwrap();
    assert_eq!(asked.status, 201, "{path}: {asked:?}");
    let path = format!("{path}/{}/approval", asked.body["id"].as_str().unwrap());
    let decision = json!({ "decision": "APPROVE" });
    let approved = office.post("ben", &path, &decision).await.unwrap();
    assert_eq!(approved.status, 200, "{path}: {approved:?}");
}

/// Transfers that are agreed on and not begun.
async fn agreed(world: &World, count: usize) -> Vec<TransferOrder> {
    let payer = world.payer();
    let request = world.request("0.01", "USD");
    let mut orders = Vec::new();
    for _ in 0..count {
        let quote = quoted(payer, &request).await;
        orders.push(payer.transfer_order(&quote));
    }
    orders
}

async fn quoted(payer: &Fsp, request: &PaymentRequest) -> Quote {
    let (found, _) = payer.lookup(&request.to).await.unwrap();
    let order: QuoteOrder = payer.quote_order(request, &found).unwrap();
    payer.quote(&order).await.unwrap().0
}

/// Whether each of these is committed in the end.
async fn transferred(payer: &Fsp, orders: Vec<TransferOrder>) -> Vec<bool> {
    let mut running = JoinSet::new();
    for order in orders {
        let payer = payer.clone();
        running.spawn(async move {
            let result = payer.transfer(&order).await;
            result.is_ok_and(|(result, _)| result.state == "COMMITTED")
        });
    }
    running.join_all().await
}

#[tokio::test(flavor = "multi_thread")]
async fn disabled_participant_trades_no_more_at_once() {
    let (world, office) = world().await;
    let account = |id: &str| format!("/participants/{id}/accounts/USD/status-updates");
    let state = |id: &str| format!("/participants/{id}/state-updates");
    let status = |to: &str| json!({ "status": to, "reason": "r" });
    let may = |to: &str| json!({ "state": to, "reason": "r" });
    let ways = [
        (state(PAYER), may("DISABLED"), may("APPROVED")),
        (state(PAYEE), may("DISABLED"), may("APPROVED")),
        (account(PAYER), status("DISABLED"), status("ENABLED")),
        (account(PAYEE), status("DISABLED"), status("ENABLED")),
    ];
    for round in 0..ROUNDS {
        let (path, out, back) = &ways[round % ways.len()];
        let mut orders = agreed(&world, 2 * AT_ONCE).await;
        let late = orders.split_off(AT_ONCE);
        // Until now it may: without the change the others would be committed too.
        let first = orders.split_off(AT_ONCE - 1);
        assert_eq!(transferred(world.payer(), first).await, [true]);
        let payer = world.payer().clone();
        let early = tokio::spawn(async move { transferred(&payer, orders).await });
        change(&office, path, out).await;
        // After the answer to the approval, no transfer may begin.
        let late = transferred(world.payer(), late).await;
        assert!(
            !late.contains(&true),
            "round {round}: {path} let one through"
        );
        early.await.unwrap();
        change(&office, path, back).await;
    }
    let books = world.settled_books().await.unwrap();
    assert_eq!(books.problems().unwrap(), Vec::<String>::new());
    // It was no accident of everything being refused.
    let order = agreed(&world, 1).await;
    assert_eq!(transferred(world.payer(), order).await, [true]);
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_requests_that_wait_are_listed_page_by_page() {
    let (world, office) = world().await;
    let office = std::sync::Arc::new(office);
    let mut making = JoinSet::new();
    for maker in 0..MAKERS {
        let office = office.clone();
        making.spawn(async move {
            for n in (maker..WAITING).step_by(MAKERS) {
                let participant = if n % 2 == 0 { PAYER } else { PAYEE };
                let amount = json!({ "currency": "USD", "amount": "1" });
                let body = json!({
                    "type": "DEPOSIT", "accountId": "USD", "amount": amount,
                    "externalReference": format!("BANK-{n}"), "reason": "r",
                });
                let path = format!("/participants/{participant}/funds");
                let said = office.post("anna", &path, &body).await.unwrap();
                assert_eq!(said.status, 201, "{said:?}");
            }
        });
    }
    making.join_all().await;
    let all = listed(&office, "").await;
    assert_eq!(all.len(), WAITING);
    let of_payer = listed(&office, &format!("&participant={PAYER}")).await;
    assert_eq!(of_payer.len(), WAITING / 2);
    let of_nobody = listed(&office, "&maker=carl").await;
    assert_eq!(of_nobody.len(), 0);
    drop(world);
}

/// The ids of all that waits and passes this filter, page by page.
async fn listed(office: &Office, filter: &str) -> BTreeSet<String> {
    let (mut all, mut last) = (BTreeSet::new(), 0);
    let mut cursor = String::new();
    loop {
        let path = format!("/funds/pending?limit={PAGE}{filter}{cursor}");
        let page = office.get("ben", &path).await.unwrap();
        for request in page["items"].as_array().unwrap() {
            let made_at = request["madeAt"].as_u64().unwrap();
            assert!(made_at >= last, "oldest first");
            last = made_at;
            assert!(
                all.insert(request["id"].as_str().unwrap().to_owned()),
                "twice"
            );
        }
        match page["nextCursor"].as_str() {
            Some(next) => cursor = format!("&cursor={}", next.replace('/', "%2F")),
            None => return all,
        }
    }
}
