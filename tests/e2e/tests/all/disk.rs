//! With little free disk space nothing begins any more, and what has begun ends.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::time::Duration;

use http::{Method, StatusCode};
use rialto_simulator::client::Answer;
use rialto_simulator::fsp::{Found, Step};
use rialto_tests::scenes::{committed, refused};
use rialto_tests::waiting::until;
use rialto_tests::world::PAYEE;
use rialto_tests::{TestScheme, World, WorldOptions};
use serde_json::Value;

use crate::contracts::get;

/// Longer than any message takes.
const SOON: Duration = Duration::from_secs(30);
const USUAL: &str = "path = \"state\"";
/// More than any disk has.
const NOT_ENOUGH: &str = "path = \"state\"\nfree-min = \"1000000000 GiB\"";

fn is_refused(answer: &Answer) {
    assert_eq!(answer.status, StatusCode::SERVICE_UNAVAILABLE, "{answer:?}");
    assert!(answer.headers.contains_key("retry-after"), "{answer:?}");
    let body: Value = serde_json::from_slice(&answer.body).unwrap();
    let error = &body["errorInformation"];
    assert_eq!(error["errorCode"], "2003", "{body}");
    let words = error["errorDescription"].as_str().unwrap();
    assert!(words.contains("too little disk space"), "{body}");
}

fn ready(world: &World) -> String {
    get(world.host.url("operators").unwrap(), "/health/ready")
}

/// When the turn of a request ran, milliseconds since 1970.
fn ran(world: &World, id: &str, function: &str) -> Option<u64> {
    let said = world.host.cli(&["events", id, "--json"]).unwrap();
    let said = said.success().unwrap();
    let turns = said
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let mut turns = turns.filter(|turn| turn["function"] == function);
    turns.find_map(|turn| turn["at"].as_u64())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nearly_full_disk_refuses_new_payments_and_ends_old() {
    let options = WorldOptions {
        // The payee FSP tries until the host is there again.
        callback_attempts: 100,
        ..WorldOptions::default()
    };
    let mut world = World::of(TestScheme::demo().unwrap(), &options)
        .await
        .unwrap();
    assert!(ready(&world).starts_with("HTTP/1.1 200"));
    let slow = r#"{"transfer":{"delay":"100%:4s"}}"#;
    world.payee_behaves(slow).unwrap();
    let (payer, request) = (world.payer().clone(), world.request("5", "USD"));
    let paying = {
        let payer = payer.clone();
        tokio::spawn(async move { payer.pay(&request).await })
    };
    until("the payee FSP has the transfer", SOON, async || {
        let transfers = world.payee().received().transfers;
        Ok((transfers == 1).then_some(()).ok_or("not yet".to_owned()))
    })
    .await
    .unwrap();
    world.host.kill().unwrap();
    let killed = std::time::SystemTime::now();
    let killed = killed.duration_since(std::time::UNIX_EPOCH).unwrap();
    world
        .scheme
        .replace("rialto.toml", USUAL, NOT_ENOUGH)
        .unwrap();
    world.host.restart().unwrap();

    let text = ready(&world);
    assert!(text.starts_with("HTTP/1.1 503"), "{text}");
    assert!(text.contains("disk space is low"), "{text}");
    assert!(text.contains("`[store] free-min`"), "{text}");
    let live = get(world.host.url("operators").unwrap(), "/health/live");
    assert!(live.starts_with("HTTP/1.1 200"), "{live}");
    let outcome = paying.await.unwrap();
    committed(&outcome).unwrap();
    let id = &outcome.transfer_id;
    // It was fulfilled when nothing could begin.
    let fulfilled = ran(&world, id, &format!("PUT /transfers/{id}"));
    assert!(u128::from(fulfilled.unwrap()) >= killed.as_millis());
    let books = world.settled_books().await.unwrap();
    assert_eq!(books.problems().unwrap(), Vec::<String>::new());

    let party = world.party(PAYEE).clone();
    let found = Found::known(&party, PAYEE.parse().unwrap());
    let order = payer.quote_order(&world.request("5", "USD"), &found);
    let order = order.unwrap();
    let quote = payer.raw(Method::POST, "/quotes").to(PAYEE);
    is_refused(&quote.body(order.body()).send().await.unwrap());
    let path = format!("/parties/{}", party.path());
    is_refused(&payer.raw(Method::GET, &path).send().await.unwrap());
    let about = payer.raw(Method::GET, &format!("/transfers/{id}"));
    let about = about.send().await.unwrap();
    assert_eq!(
        about.status,
        StatusCode::ACCEPTED,
        "a question begins nothing"
    );
    refused(&world.pay("5", "USD").await, Step::Lookup, "2003").unwrap();
    let story = world.host.cli(&["events", &order.quote_id]).unwrap();
    assert_eq!(
        story.code, 1,
        "a refused request has left something: {story}"
    );

    world.host.kill().unwrap();
    world
        .scheme
        .replace("rialto.toml", NOT_ENOUGH, USUAL)
        .unwrap();
    world.host.restart().unwrap();
    assert!(ready(&world).starts_with("HTTP/1.1 200"));
    world.payee_behaves("{}").unwrap();
    committed(&world.pay("5", "USD").await).unwrap();
}
