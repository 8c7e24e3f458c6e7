//! Deviations of stock clients that a scheme may admit: ULIDs and newer UUIDs as ids, a charset in media types,
//! a slash at a path's end, version 2.0 of the resources. By default they are refused. If admitted, other FSPs see
//! the definition's form, and 2.0 as it was sent.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::time::Duration;

use http::Method;
use rialto_simulator::fsp::RawRequest;
use rialto_tests::messages;
use rialto_tests::world::{PAYEE, PAYER};
use rialto_tests::{TestScheme, World, WorldOptions};
use serde_json::Value;

/// Longer than any message takes.
const SOON: Duration = Duration::from_secs(30);
const SETTINGS: &str = "idFormats = [\"uuid-any\", \"ulid\"]\ncharsetParameter = \"accept\"\ntrailingSlash = \"accept\"";
const ULIDS: [&str; 3] = [
    "01JDAZZ5V8QKZ3M7W9N4T2R6XA",
    "01JDAZZ5V8QKZ3M7W9N4T2R6XB",
    "01JDAZZ5V8QKZ3M7W9N4T2R6XC",
];
/// A UUID of version 7.
const UUID_7: &str = "01935bff-9768-7a5c-8b9d-0123456789ab";

fn media(resource: &str) -> String {
    format!("application/vnd.interoperability.{resource}+json;version=1.1")
}

/// Messages that the API definition has otherwise, one way each.
fn deviations(world: &World) -> Vec<(&'static str, RawRequest<'_>)> {
    let payer = world.payer();
    let id = payer.new_id();
    let query = |path: &str| payer.raw(Method::GET, path);
    let with_charset = format!("{}; charset=utf-8", media("transfers"));
    vec![
        ("a ULID", query(&format!("/transfers/{}", ULIDS[0]))),
        (
            "a UUID of version 7",
            query(&format!("/transfers/{UUID_7}")),
        ),
        ("a slash at the end", query(&format!("/transfers/{id}/"))),
        (
            "a charset of the content",
            query(&format!("/transfers/{id}")).header("content-type", &with_charset),
        ),
        (
            "a charset that is accepted",
            query(&format!("/transfers/{id}")).header("accept", &with_charset),
        ),
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn by_default_what_the_definition_has_otherwise_is_refused() {
    let world = World::demo().await.unwrap();
    for (what, request) in deviations(&world) {
        let answer = request.send().await.unwrap();
        let expected = if what == "a slash at the end" {
            404
        } else {
            400
        };
        assert_eq!(answer.status, expected, "{what}: {answer:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn settings_admit_stock_clients_without_effect_on_others() {
    let scheme = TestScheme::demo().unwrap();
    scheme.set("fsp-interop-api", SETTINGS).unwrap();
    let world = World::of(scheme, &WorldOptions::default()).await.unwrap();
    for (what, request) in deviations(&world) {
        let answer = request.send().await.unwrap();
        assert_eq!(answer.status, 202, "{what}: {answer:?}");
    }
    let payer = world.payer();

    // A whole payment whose ids are ULIDs.
    let (found, _) = payer.lookup(world.party(PAYEE)).await.unwrap();
    let mut order = payer
        .quote_order(&world.request("10", "USD"), &found)
        .unwrap();
    order.quote_id = ULIDS[0].to_owned();
    order.transaction_id = ULIDS[1].to_owned();
    let (quote, _) = payer.quote(&order).await.unwrap();
    let mut order = payer.transfer_order(&quote);
    order.transfer_id = ULIDS[2].to_owned();
    let (result, _) = payer.transfer(&order).await.unwrap();
    assert_eq!(result.state, "COMMITTED");
    let books = world.settled_books().await.unwrap();
    assert_eq!(books.problems().unwrap(), [""; 0]);
    assert_eq!(books.state(ULIDS[2]), "COMMITTED");

    // Forwarded messages have the definition's path and media type.
    let id = payer.new_id();
    let with_charset = format!("{};charset=UTF-8", media("quotes"));
    let request = payer.raw(Method::POST, "/quotes/").to(PAYEE);
    let request = request
        .header("content-type", &with_charset)
        .header("accept", &with_charset)
        .body(messages::quote(&id, |_| ()).to_string());
    let answer = request.send().await.unwrap();
    assert_eq!(answer.status, 202, "{answer:?}");
    let payee = world.payee();
    let asked = payee.expect_callback(Method::POST, "/quotes", SOON).await;
    let mut asked = asked.unwrap();
    while asked.json()["quoteId"] != id.as_str() {
        let next = payee.expect_callback(Method::POST, "/quotes", SOON).await;
        asked = next.unwrap();
    }
    assert_eq!(asked.path, "/quotes");
    assert_eq!(asked.header("content-type"), media("quotes"));
    assert_eq!(asked.header("accept"), media("quotes"));
    assert_eq!(asked.header("fspiop-source"), PAYER);
    world.no_complaints().unwrap();
    world.host.nothing_failed().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn admitted_version_2_is_forwarded_unchanged() {
    let scheme = TestScheme::demo().unwrap();
    let accepts = "resourceVersion2 = \"accept\"";
    scheme.set("fsp-interop-api", accepts).unwrap();
    let world = World::of(scheme, &WorldOptions::default()).await.unwrap();
    let payer = world.payer();
    let two = |resource: &str| media(resource).replace("1.1", "2.0");
    // The hub's own answers are in it too.
    let path = format!("/transfers/{}", payer.new_id());
    let query = payer
        .raw(Method::GET, &path)
        .header("content-type", &two("transfers"))
        .header("accept", &two("transfers"));
    assert_eq!(query.send().await.unwrap().status, 202);
    let error = format!("{path}/error");
    let told = payer.expect_callback(Method::PUT, &error, SOON).await;
    let told = told.unwrap();
    assert_eq!(told.header("content-type"), two("transfers"));
    // A version that is not served is refused, with those that are.
    let third = two("transfers").replace("2.0", "3.0");
    let refused = payer.raw(Method::GET, &path).header("accept", &third);
    let refused = refused.send().await.unwrap();
    assert_eq!(refused.status, 406);
    let body: Value = serde_json::from_slice(&refused.body).unwrap();
    let listed = &body["errorInformation"]["extensionList"]["extension"];
    let newest = serde_json::json!({"key": "2", "value": "0"});
    assert!(listed.as_array().unwrap().contains(&newest), "{body}");
    // What it adds goes on, as the whole message does.
    let id = payer.new_id();
    let sent = messages::quote(&id, |body| body["converter"] = "PAYER".into());
    let request = payer.raw(Method::POST, "/quotes").to(PAYEE);
    let request = request
        .header("content-type", &two("quotes"))
        .header("accept", &two("quotes"))
        .body(sent.to_string());
    let answer = request.send().await.unwrap();
    assert_eq!(answer.status, 202, "{answer:?}");
    let payee = world.payee();
    let asked = payee.expect_callback(Method::POST, "/quotes", SOON).await;
    let asked = asked.unwrap();
    assert_eq!(asked.header("content-type"), two("quotes"));
    assert_eq!(asked.header("accept"), two("quotes"));
    assert_eq!(asked.json()["converter"], "PAYER");
    world.host.nothing_failed().await.unwrap();
}
