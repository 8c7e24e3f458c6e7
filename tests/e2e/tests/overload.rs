//! A host that has as much to deliver as it may: new requests are refused so that a client knows when
//! to come back, nothing of them remains, and what was accepted is delivered all the same.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::collections::BTreeMap;
use std::time::Duration;

use http::{Method, StatusCode};
use rialto_simulator::Fsp;
use rialto_simulator::client::Answer;
use rialto_simulator::fsp::{Found, QuoteOrder};
use rialto_tests::books::documents;
use rialto_tests::waiting::until;
use rialto_tests::world::PAYEE;
use rialto_tests::{TestScheme, World, WorldOptions};
use serde_json::Value;

/// Longer than any message takes.
const SOON: Duration = Duration::from_secs(60);
/// Requests that may wait for delivery.
const WAITING_MAX: usize = 3;

async fn send(fsp: &Fsp, order: &QuoteOrder) -> Answer {
    let request = fsp.raw(Method::POST, "/quotes").to(PAYEE);
    request.body(order.body()).send().await.unwrap()
}

/// Send a request for a quote until the host takes it.
async fn accepted(fsp: &Fsp, order: &QuoteOrder) {
    until("a request is accepted", SOON, async || {
        let answer = send(fsp, order).await;
        Ok(if answer.status == StatusCode::ACCEPTED {
            Ok(())
        } else {
            Err(format!("{answer:?}"))
        })
    })
    .await
    .unwrap();
}

/// The refusal tells a client what to do, in the API's own words.
fn overloaded(answer: &Answer, resource: &str) {
    assert_eq!(answer.status, StatusCode::SERVICE_UNAVAILABLE, "{answer:?}");
    let header = |name: &str| answer.headers.get(name).unwrap().to_str().unwrap();
    let seconds: u32 = header("retry-after").parse().unwrap();
    assert!((1..=60).contains(&seconds), "{answer:?}");
    let media_type = format!("application/vnd.interoperability.{resource}+json;version=1.");
    assert!(
        header("content-type").starts_with(&media_type),
        "{answer:?}"
    );
    let body: Value = serde_json::from_slice(&answer.body).unwrap();
    let error = &body["errorInformation"];
    assert_eq!(error["errorCode"], "2003", "{body}");
    let description = error["errorDescription"].as_str().unwrap();
    assert!(description.contains("try again"), "{body}");
}

/// Everything that a host keeps about payments.
fn kept(world: &World) -> Vec<BTreeMap<String, Value>> {
    [
        ("accounts-and-balances", "accounts"),
        ("account-lookup", "associations"),
        ("account-lookup", "waiting-queries"),
        ("quoting", "quotes"),
        ("transfers", "transfers"),
    ]
    .map(|(component, collection)| documents(&world.host, component, collection).unwrap())
    .into()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_too_much_to_deliver_requests_are_refused_and_what_was_accepted_goes_out() {
    let scheme = TestScheme::demo().unwrap();
    let bounds = format!(
        "[outbound]\nrequests-waiting-max = {WAITING_MAX}\n\
         requests-waiting-per-destination-max = {WAITING_MAX}\n\n[ceilings]"
    );
    scheme
        .replace("rialto.toml", "[ceilings]", &bounds)
        .unwrap();
    // A request that is under way stays so until the payee FSP goes.
    let long = "attemptTimeoutMs = 600000";
    scheme.set("notifications-and-alerts", long).unwrap();
    let long = "requestDeadlineMs = 600000";
    scheme.set("fsp-interop-api", long).unwrap();
    let options = WorldOptions {
        expires_in: Duration::from_secs(600),
        ..WorldOptions::default()
    };
    let mut world = World::of(scheme, &options).await.unwrap();
    world
        .payee_behaves(r#"{"quote":{"answer":{"stall":"600s"}}}"#)
        .unwrap();
    let payer = world.payer().clone();
    let party = world.party(PAYEE).clone();
    let found = Found::known(&party, PAYEE.parse().unwrap());
    let order = || {
        payer
            .quote_order(&world.request("5", "USD"), &found)
            .unwrap()
    };
    let orders: Vec<QuoteOrder> = (0..WAITING_MAX).map(|_| order()).collect();
    let refused = order();
    for order in &orders {
        accepted(&payer, order).await;
    }
    let of_payee = |orders: &[QuoteOrder]| world.payee().received().quotes == orders.len() as u64;
    until("the payee FSP has all of them", SOON, async || {
        Ok(of_payee(&orders).then_some(()).ok_or("not yet".to_owned()))
    })
    .await
    .unwrap();

    let before = kept(&world);
    let path = format!("/parties/{}", party.path());
    for _ in 0..3 {
        overloaded(&send(&payer, &refused).await, "quotes");
        let lookup = payer.raw(Method::GET, &path).send().await.unwrap();
        overloaded(&lookup, "parties");
        let transfer = format!("/transfers/{}", payer.new_id());
        let query = payer.raw(Method::GET, &transfer).send().await.unwrap();
        overloaded(&query, "transfers");
    }
    assert_eq!(kept(&world), before, "a refused request has left something");
    let story = world.host.cli(&["events", &refused.quote_id]).unwrap();
    assert!(!story.stdout.contains("quote-request-received"), "{story}");

    world.payee().stop().await;
    world.start_again(PAYEE).await.unwrap();
    accepted(&payer, &refused).await;
    for order in orders.iter().chain([&refused]) {
        let path = format!("/quotes/{}", order.quote_id);
        let told = payer.expect_callback(Method::PUT, &path, SOON).await;
        let told = told.unwrap().json();
        assert_eq!(told["transferAmount"]["amount"], "5", "{told}");
    }
    payer.lookup(&party).await.unwrap();
    let letters = world.host.cli(&["dead-letters"]).unwrap();
    assert_eq!(letters.success().unwrap(), "", "deliveries were given up");
}
