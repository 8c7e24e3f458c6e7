//! Attacks of a dishonest FSP: each is refused with its code, without effect on others.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::time::Duration;

use http::Method;
use rialto_simulator::client::Answer;
use rialto_simulator::fsp::RawRequest;
use rialto_simulator::{Fsp, PartyId};
use rialto_tests::scenes::committed;
use rialto_tests::world::{PAYEE, PAYER};
use rialto_tests::{TestScheme, World, WorldOptions};
use serde_json::{Value, json};

/// Longer than any message takes.
const SOON: Duration = Duration::from_secs(15);
/// The dishonest one.
const THIEF: &str = "thieffsp";

async fn world() -> World {
    let mut scheme = TestScheme::demo().unwrap();
    scheme.add_participant(THIEF, "100").unwrap();
    World::of(scheme, &WorldOptions::default()).await.unwrap()
}

/// The balances of the three in US dollars, in minor units.
fn liquidity(world: &World) -> [i128; 3] {
    let books = world.books().unwrap();
    [PAYER, PAYEE, THIEF].map(|id| books.balance(&format!("{id}:USD:LIQUIDITY")).unwrap())
}

/// Nothing failed, the books add up, and the honest can still pay each other.
async fn close(world: World) {
    committed(&world.pay("1", "USD").await).unwrap();
    let books = world.settled_books().await.unwrap();
    assert_eq!(books.problems().unwrap(), Vec::<String>::new());
    world.host.nothing_failed().await.unwrap();
}

fn code(body: &[u8]) -> String {
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    let code = body["errorInformation"]["errorCode"].as_str();
    code.unwrap_or_default().to_owned()
}

async fn sent(what: &str, request: RawRequest<'_>) -> Answer {
    let answer = request.send().await;
    answer.unwrap_or_else(|error| panic!("{what}: no answer: {error}"))
}

/// The request is refused at once with this code.
async fn refused_at_once(what: &str, request: RawRequest<'_>, expected: &str) {
    let answer = sent(what, request).await;
    let found = (answer.status.as_u16(), code(&answer.body));
    assert_eq!(found, (400, expected.to_owned()), "{what}: {answer:?}");
}

/// The request is accepted, and its sender gets an error callback with this code.
async fn refused_later(what: &str, fsp: &Fsp, request: RawRequest<'_>, path: &str, expected: &str) {
    let answer = sent(what, request).await;
    assert!(answer.status.is_success(), "{what}: {answer:?}");
    let path = format!("{path}/error");
    let told = fsp.expect_callback(Method::PUT, &path, SOON).await;
    let told = told.unwrap_or_else(|error| panic!("{what}: {error}"));
    let found = &told.json()["errorInformation"]["errorCode"];
    assert_eq!(found, expected, "{what}: {}", told.json());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_party_is_not_taken_over_by_currency_or_spelling() {
    let world = world().await;
    let thief = world.fsp(THIEF);
    let party = world.party(PAYEE).clone();
    let digits = party.path().strip_prefix("MSISDN/").unwrap().to_owned();
    for (spelt, currency) in [
        (digits.clone(), Some("USD")),
        (digits.clone(), None),
        (format!("+{digits}"), None),
        (format!("+{digits}"), Some("USD")),
    ] {
        let what = format!("{spelt} {currency:?}");
        let path = format!("/participants/MSISDN/{spelt}");
        let mut body = json!({ "fspId": THIEF });
        if let Some(currency) = currency {
            body["currency"] = currency.into();
        }
        let request = thief.raw(Method::POST, &path).body(body.to_string());
        refused_later(&what, thief, request, &path, "3003").await;
    }
    let (found, _) = world.payer().lookup(&party).await.unwrap();
    assert_eq!(found.fsp.as_str(), PAYEE);
    let plus: PartyId = format!("MSISDN/+{digits}").parse().unwrap();
    for party in [&party, &plus] {
        let (told, _) = world.payer().query_participant(party).await.unwrap();
        let told: Value = serde_json::from_slice(&told.body).unwrap();
        assert_eq!(told["fspId"], PAYEE, "{}", party.path());
    }
    close(world).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn identifiers_that_are_no_identifiers_are_refused_at_once() {
    let world = world().await;
    let thief = world.fsp(THIEF);
    for path in [
        "/participants/ALIAS/%C2%85",
        "/participants/ALIAS/a%2Fb",
        "/participants/ALIAS/a%3Fb",
        "/participants/ALIAS/a%5Cb",
        "/participants/ALIAS/%2e%2e",
        "/participants/ALIAS/a%20",
        "/participants/MSISDN/%20123",
        "/parties/ALIAS/%2E",
        "/parties/BUSINESS/acme/%2e%2e",
        "/parties/BUSINESS/acme/x%2F..%2Fy",
    ] {
        refused_at_once(path, thief.raw(Method::GET, path), "3101").await;
    }
    let order = json!({
        "transferId": thief.new_id(), "payerFsp": THIEF, "payeeFsp": PAYEE,
        "amount": { "currency": "USD", "amount": "1" }, "ilpPacket": "AQ",
        "condition": "A".repeat(43), "expiration": "2099-01-01T00:00:00.000Z",
    });
    for (what, member, value) in [
        ("a control character", "payeeFsp", "\u{85}".to_owned()),
        (
            "a condition in another alphabet",
            "condition",
            format!("{}+", "A".repeat(42)),
        ),
    ] {
        let mut order = order.clone();
        order[member] = value.into();
        let request = thief
            .raw(Method::POST, "/transfers")
            .body(order.to_string());
        refused_at_once(what, request, "3101").await;
    }
    close(world).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_quote_pays_once_and_not_in_a_thousand_years() {
    let world = world().await;
    let payer = world.payer();
    let before = liquidity(&world);
    let (found, _) = payer.lookup(world.party(PAYEE)).await.unwrap();
    let request = world.request("10", "USD");

    let mut order = payer.quote_order(&request, &found).unwrap();
    order.expiration = "9999-12-31T23:59:59.999Z".to_owned();
    let failure = payer.quote(&order).await.unwrap_err();
    assert_eq!(failure.error_code.as_deref(), Some("3100"), "{failure:?}");

    let order = payer.quote_order(&request, &found).unwrap();
    let (quote, _) = payer.quote(&order).await.unwrap();
    let mut endless = payer.transfer_order(&quote);
    endless.expiration = "9999-12-31T23:59:59.999Z".to_owned();
    let failure = payer.transfer(&endless).await.unwrap_err();
    assert_eq!(failure.error_code.as_deref(), Some("3100"), "{failure:?}");

    let (result, _) = payer.transfer(&payer.transfer_order(&quote)).await.unwrap();
    assert_eq!(result.state, "COMMITTED");
    let failure = payer.transfer(&payer.transfer_order(&quote)).await;
    let failure = failure.unwrap_err();
    assert_eq!(failure.error_code.as_deref(), Some("3100"), "{failure:?}");
    assert_eq!(
        liquidity(&world),
        [before[0] - 1000, before[1] + 1000, before[2]]
    );
    assert_eq!(world.payee().received().transfers, 1);
    close(world).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_payee_cannot_answer_past_the_payer() {
    let world = world().await;
    let (payer, payee) = (world.payer(), world.payee());
    let before = liquidity(&world);
    world
        .payee_behaves(r#"{"transfer":{"silent":"100%"}}"#)
        .unwrap();
    let (found, _) = payer.lookup(world.party(PAYEE)).await.unwrap();
    let order = payer
        .quote_order(&world.request("10", "USD"), &found)
        .unwrap();
    let (quote, _) = payer.quote(&order).await.unwrap();
    let order = payer.transfer_order(&quote);
    let path = format!("/transfers/{}", order.transfer_id);
    let paying = tokio::spawn({
        let (payer, order) = (payer.clone(), order.clone());
        async move { payer.transfer(&order).await }
    });
    payee
        .expect_callback(Method::POST, "/transfers", SOON)
        .await
        .unwrap();

    let fulfilment = json!({ "transferState": "COMMITTED", "fulfilment": "A".repeat(43) });
    for (what, completed) in [
        ("long ago", "2001-01-01T00:00:00.000Z"),
        ("to come", "2099-01-01T00:00:00.000Z"),
    ] {
        let mut fulfilment = fulfilment.clone();
        fulfilment["completedTimestamp"] = completed.into();
        let request = payee.raw(Method::PUT, &path).to(PAYER);
        refused_at_once(what, request.body(fulfilment.to_string()), "3100").await;
    }
    let mut large = json!({
        "transferAmount": { "currency": "USD", "amount": "10" }, "ilpPacket": "AQ",
        "condition": "A".repeat(43), "expiration": "2099-01-01T00:00:00.000Z",
    });
    large["private"] = "x".repeat(300_000).into();
    let large_path = format!("/quotes/{}", payee.new_id());
    let request = payee.raw(Method::PUT, &large_path).to(PAYER);
    refused_at_once("large terms", request.body(large.to_string()), "3104").await;

    // Nothing of this has ended the transfer.
    assert_eq!(world.books().unwrap().state(&order.transfer_id), "PREPARED");
    // A false commitment ends the transfer, for any destination: no money moves, both FSPs are told, and the
    // thief gets nothing.
    let heard = world.fsp(THIEF).recorder().messages().len();
    let astray = payee.raw(Method::PUT, &path).to(THIEF);
    let astray = astray.body(fulfilment.to_string());
    refused_later("a fulfilment gone astray", payee, astray, &path, "3100").await;
    let failure = paying.await.unwrap().unwrap_err();
    assert_eq!(failure.error_code.as_deref(), Some("3100"), "{failure:?}");
    assert_eq!(world.fsp(THIEF).recorder().messages().len(), heard);
    world.settled_books().await.unwrap();
    assert_eq!(liquidity(&world), before);
    world.payee_behaves("{}").unwrap();
    close(world).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_kept_for_who_takes_no_part() {
    let world = world().await;
    let (thief, nobody) = (world.fsp(THIEF), "nobody");
    let id = thief.new_id();
    let transfer = json!({
        "transferId": id, "payerFsp": nobody, "payeeFsp": PAYEE,
        "amount": { "currency": "USD", "amount": "1" }, "ilpPacket": "AQ",
        "condition": "A".repeat(43), "expiration": "2099-01-01T00:00:00.000Z",
    });
    let party = |identifier: &str| json!({ "partyIdInfo": { "partyIdType": "MSISDN", "partyIdentifier": identifier } });
    let quote = json!({
        "quoteId": id, "transactionId": id, "payer": party("1"), "payee": party("2"),
        "amountType": "SEND", "amount": { "currency": "USD", "amount": "1" },
        "transactionType": {
            "scenario": "TRANSFER", "initiator": "PAYER", "initiatorType": "CONSUMER",
        },
    });
    for (path, body) in [("/transfers", transfer), ("/quotes", quote)] {
        let request = thief.raw(Method::POST, path).to(PAYEE);
        let request = request.header("fspiop-source", nobody);
        let answer = sent(path, request.body(body.to_string())).await;
        assert_eq!(answer.status, 400, "{answer:?}");
    }
    committed(&world.pay("1", "USD").await).unwrap();
    world.host.nothing_failed().await.unwrap();
    for (component, collection) in [("transfers", "transfers"), ("quoting", "quotes")] {
        let listed = world.host.cli(&["documents", component, collection]);
        let listed = listed.unwrap().success().unwrap();
        assert_eq!(listed.lines().count(), 1, "{listed}");
        assert!(!listed.contains(&id), "{listed}");
    }
    close(world).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn receipts_of_quote_and_transfer_with_one_id_differ() {
    let world = world().await;
    let payer = world.payer();
    let (found, _) = payer.lookup(world.party(PAYEE)).await.unwrap();
    let order = payer
        .quote_order(&world.request("10", "USD"), &found)
        .unwrap();
    let (quote, _) = payer.quote(&order).await.unwrap();
    let mut order = payer.transfer_order(&quote);
    order.transfer_id.clone_from(&quote.quote_id);
    let (result, _) = payer.transfer(&order).await.unwrap();
    assert_eq!(result.state, "COMMITTED");

    let steps = |id: &str| -> Vec<String> {
        let listed = world.host.cli(&["receipts", id, "--again", "--json"]);
        let listed = listed.unwrap().success().unwrap();
        let step = |line: &str| {
            let receipt: Value = serde_json::from_str(line).unwrap();
            receipt["receipt"]["step"].as_str().unwrap().to_owned()
        };
        listed.lines().map(step).collect()
    };
    let id = &quote.quote_id;
    let of_quote = ["quote-request-check"];
    let of_transfer = ["transfer-prepare-check", "transfer-prepare-check"];
    assert_eq!(steps(&format!("quote:{id}")), of_quote);
    assert_eq!(steps(&format!("transfer:{id}")), of_transfer);
    assert_eq!(steps(id), [&of_quote[..], &of_transfer].concat());
    close(world).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_release_whose_settings_no_transfer_could_fit_is_refused() {
    let world = World::demo().await.unwrap();
    let proposal = world.scheme.twin().unwrap();
    for (context, settings) in [
        ("transfers", "longestLifetimeMs = 0"),
        ("transfers", "lifetime = 1"),
        ("quoting", "shortestLifetimeMs = 10\nlongestLifetimeMs = 9"),
        ("fsp-interop-api", "requestDeadlineMs = 0"),
        ("fsp-interop-api", "deliveryDeadlineMs = \"soon\""),
        ("account-lookup", "partyQueryTimeoutMs = 0"),
        ("notifications-and-alerts", "attemptsMax = 0"),
    ] {
        let proposal = proposal.twin().unwrap();
        proposal.set(context, settings).unwrap();
        proposal.lock().unwrap();
        let folder = proposal.path().to_str().unwrap();
        for verb in ["plan", "apply"] {
            let output = world.host.cli(&["release", verb, folder]).unwrap();
            assert_ne!(output.code, 0, "{settings}: {output}");
            let place = format!("{context}: settings");
            assert!(output.stderr.contains(&place), "{settings}: {output}");
        }
    }
    let releases = world.host.cli(&["release", "list", "--json"]).unwrap();
    let releases: Value = serde_json::from_str(&releases.success().unwrap()).unwrap();
    assert_eq!(releases.as_array().unwrap().len(), 1, "nothing was stored");
    close(world).await;
}
