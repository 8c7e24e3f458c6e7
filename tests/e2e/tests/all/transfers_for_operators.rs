//! Operators look for transfers, and have none ended that may still be committed.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::time::Duration;

use rialto_tests::office::Office;
use rialto_tests::waiting::until;
use rialto_tests::world::{PAYEE, PAYER};
use rialto_tests::{TestScheme, World, WorldOptions};
use serde_json::{Value, json};

use crate::dead_letters::{HEALTHY, SICK, apply, parked};
use crate::transfers::{prepared, puts, told_committed};

const READER: &str = "\"reader\", \"maker\"";
const CHECKER: &str = "\"reader\", \"checker\"";

fn ids(page: &Value) -> Vec<&str> {
    let items = page["items"].as_array().unwrap().iter();
    items
        .map(|item| item["transferId"].as_str().unwrap())
        .collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn transfers_are_found_and_committable_ones_not_ended() {
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
    // Transfers older than a second are listed by time.
    let query = format!("participant={PAYER}&state=PREPARED");
    until("both are listed", Duration::from_secs(20), async || {
        let all = search(&query).await;
        let both = [first.id(), second.id()];
        Ok((ids(&all) == both).then_some(()).ok_or(format!("{all}")))
    })
    .await
    .unwrap();
    let large = search("currency=USD&amountAtLeast=6").await;
    assert_eq!(ids(&large), [second.id()]);
    assert!(ids(&search("participant=nobody").await).is_empty());
    let page = search("limit=1").await;
    assert_eq!(ids(&page), [first.id()]);
    let cursor = page["nextCursor"]
        .as_str()
        .unwrap()
        .replace('/', "%2F")
        .replace(':', "%3A");
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn end_waits_for_a_parked_commitment() {
    let scheme = TestScheme::demo().unwrap();
    let engine = "[engine]\nturn-attempts-max = 3\nretry-initial = \"10 ms\"\n\n[store]";
    scheme.replace("rialto.toml", "[store]", engine).unwrap();
    scheme
        .add_operators(&[("anna", READER), ("ben", CHECKER)])
        .unwrap();
    scheme.lock().unwrap();
    let options = WorldOptions {
        // Long enough for a release and a commitment.
        expires_in: Duration::from_secs(30),
        ..WorldOptions::default()
    };
    let world = World::of(scheme, &options).await.unwrap();
    world
        .payee_behaves(r#"{"transfer":{"silent":"100%"}}"#)
        .unwrap();
    let office = Office::of(&world.scheme, &world.host, &["anna", "ben"]).unwrap();
    let transfer = prepared(&world, "5").await;
    // The ledger cannot move what the payee FSP commits in time.
    apply(&world, SICK);
    let path = transfer.path();
    puts(world.payee(), &path, PAYER, &transfer.commitment()).await;
    let (letter, _) = parked(&world).await;
    let id: u64 = letter.parse().unwrap();
    let waits_for = json!({ "what": "dead-letter", "id": id, "context": "transfers" });

    // Until the expiry that is the reason; from then on it is the commitment, for as long as it lies there.
    let reason = json!({ "reason": "its timeout does not come" });
    let asked = until("it has expired", Duration::from_secs(90), async || {
        let asked = office.post("anna", &format!("{path}/end"), &reason).await?;
        Ok(if asked.body["waitsFor"].is_null() {
            Err(format!("{asked:?}"))
        } else {
            Ok(asked)
        })
    });
    let asked = asked.await.unwrap();
    assert_eq!(asked.status, 409, "{asked:?}");
    assert_eq!(asked.body["type"], "urn:rialto:problem:transfer-state");
    assert_eq!(asked.body["waitsFor"], waits_for);
    let swept = office.post("anna", "/transfer-sweeps", &Value::Null).await;
    let found = json!([{ "transferId": transfer.id(), "reminded": false, "waitsFor": waits_for }]);
    assert_eq!(swept.unwrap().body["items"], found);
    assert_eq!(world.books().unwrap().state(transfer.id()), "PREPARED");

    apply(&world, HEALTHY);
    let retry = ["dead-letters", "retry", &letter];
    world.host.cli(&retry).unwrap().success().unwrap();
    told_committed(world.payer(), &transfer).await;
    let asked = office.post("anna", &format!("{path}/end"), &reason).await;
    assert_eq!(asked.unwrap().status, 409);
    let books = world.settled_books().await.unwrap();
    assert_eq!(books.problems().unwrap(), Vec::<String>::new());
    assert_eq!(books.state(transfer.id()), "COMMITTED");
}
