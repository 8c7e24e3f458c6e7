//! A host with a full memory of outbound messages: further ones wait on disk, no request is refused for it, and
//! all are delivered when the destination is back.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::time::Duration;

use http::{Method, StatusCode};
use rialto_simulator::Fsp;
use rialto_simulator::fsp::{Found, QuoteOrder};
use rialto_tests::metrics::Metrics;
use rialto_tests::waiting::until;
use rialto_tests::world::PAYEE;
use rialto_tests::{TestScheme, World, WorldOptions};

/// Longer than any message takes.
const SOON: Duration = Duration::from_secs(60);
/// Requests that may wait for delivery.
const WAITING_MAX: usize = 3;

/// Send a request for a quote, which the host takes.
async fn accepted(fsp: &Fsp, order: &QuoteOrder) {
    let request = fsp.raw(Method::POST, "/quotes").to(PAYEE);
    let answer = request.body(order.body()).send().await.unwrap();
    assert_eq!(answer.status, StatusCode::ACCEPTED, "{answer:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn outbound_backlog_refuses_no_request_and_is_delivered() {
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
    let more: Vec<QuoteOrder> = (0..5).map(|_| order()).collect();
    for order in &orders {
        accepted(&payer, order).await;
    }
    let of_payee = |orders: &[QuoteOrder]| world.payee().received().quotes == orders.len() as u64;
    until("the payee FSP has all of them", SOON, async || {
        Ok(of_payee(&orders).then_some(()).ok_or("not yet".to_owned()))
    })
    .await
    .unwrap();

    for order in &more {
        accepted(&payer, order).await;
    }
    until("what is beyond waits on disk", SOON, async || {
        let metrics = Metrics::of(&world.host).await?;
        let waits = metrics.get("rialto_requests_outbound_on_disk")?;
        Ok(if waits == more.len() as u64 {
            Ok(())
        } else {
            Err(format!("{metrics:?}"))
        })
    })
    .await
    .unwrap();

    world.payee().stop().await;
    world.start_again(PAYEE).await.unwrap();
    for order in orders.iter().chain(&more) {
        let path = format!("/quotes/{}", order.quote_id);
        let told = payer.expect_callback(Method::PUT, &path, SOON).await;
        let told = told.unwrap().json();
        assert_eq!(told["transferAmount"]["amount"], "5", "{told}");
    }
    payer.lookup(&party).await.unwrap();
    world.host.nothing_failed().await.unwrap();
}
