//! Operators look for transfers, and have none ended that may still be committed.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::time::Duration;

use rialto_tests::office::Office;
use rialto_tests::world::{PAYEE, PAYER};
use rialto_tests::{TestScheme, World, WorldOptions};
use serde_json::{Value, json};

use crate::transfers::prepared;

const READER: &str = "\"reader\", \"maker\"";
const CHECKER: &str = "\"reader\", \"checker\"";

fn ids(page: &Value) -> Vec<&str> {
    let items = page["items"].as_array().unwrap().iter();
    items
        .map(|item| item["transferId"].as_str().unwrap())
        .collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn transfers_are_found_and_none_is_ended_that_may_be_committed() {
    let scheme = TestScheme::demo().unwrap();
    scheme
        .add_operators(&[("anna", READER), ("ben", CHECKER)])
        .unwrap();
    let options = WorldOptions {
        expires_in: Duration::from_secs(120),
        ..WorldOptions::default()
    };
    let world = World::of(scheme, &options).await.unwrap();
    world
        .payee_behaves(r#"{"transfer":{"silent":"100%"}}"#)
        .unwrap();
    let office = Office::of(&world.scheme, &world.host, &["anna", "ben"]).unwrap();
    let (first, second) = (prepared(&world, "5").await, prepared(&world, "7").await);

    let search = async |query: &str| {
        let page = office.get("anna", &format!("/transfers?{query}")).await;
        page.unwrap()
    };
    let all = search(&format!("participant={PAYER}&state=PREPARED")).await;
    assert_eq!(ids(&all), [first.id(), second.id()], "in the order of time");
    let large = search("currency=USD&amountAtLeast=6").await;
    assert_eq!(ids(&large), [second.id()]);
    assert!(ids(&search("participant=nobody").await).is_empty());
    let page = search("limit=1").await;
    assert_eq!(ids(&page), [first.id()]);
    let cursor = page["nextCursor"].as_str().unwrap().replace('/', "%2F");
    let page = search(&format!("limit=1&cursor={cursor}")).await;
    assert_eq!(ids(&page), [second.id()]);

    let path = first.path();
    let one = office.get("ben", &path).await.unwrap();
    assert_eq!(one["payeeFsp"], PAYEE);
    assert_eq!(one["amount"], json!({ "currency": "USD", "amount": "5" }));
    assert_eq!(one["story"][0]["state"], "RECEIVED");

    let reason = json!({ "reason": "impatience" });
    let refused = office.post("anna", &format!("{path}/end"), &reason).await;
    let refused = refused.unwrap();
    assert_eq!(refused.status, 409, "{refused:?}");
    assert_eq!(refused.body["type"], "urn:rialto:problem:transfer-state");
    let refused = office.post("ben", &format!("{path}/end"), &reason).await;
    assert_eq!(refused.unwrap().status, 403);
    let swept = office.post("anna", "/transfer-sweeps", &Value::Null).await;
    let swept = swept.unwrap();
    assert_eq!((swept.status, &swept.body["items"]), (200, &json!([])));
    assert_eq!(world.books().unwrap().state(first.id()), "PREPARED");
}
