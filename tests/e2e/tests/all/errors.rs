//! Error callbacks: receiver, path, headers and body, and no other messages; and transfers to an absent FSP.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::collections::BTreeMap;
use std::time::Duration;

use http::Method;
use rialto_simulator::fsp::RawRequest;
use rialto_simulator::{Direction, Fsp, Recorded};
use rialto_tests::barred::bar;
use rialto_tests::waiting::until;
use rialto_tests::world::{PAYEE, PAYER};
use rialto_tests::{TestScheme, World, WorldOptions};
use serde_json::{Value, json};

/// Longer than any message takes.
const SOON: Duration = Duration::from_secs(30);
/// A participant that the scheme knows and that may not take part.
const BARRED: &str = "barredfsp";
/// No participant at all.
const NOBODY: &str = "nobody";
/// The trace of a request, which its answer goes on with.
const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";

/// A bad request, and the expected error to its sender.
struct Case<'a> {
    what: &'a str,
    request: RawRequest<'a>,
    /// The path of the resource.
    path: String,
    code: &'a str,
    /// How the description begins: FSPIOP's words for the code.
    says: &'a str,
}

fn quote(id: &str, payee: &str) -> String {
    let party = |identifier: &str, fsp: &str| {
        json!({ "partyIdInfo": {
            "partyIdType": "MSISDN", "partyIdentifier": identifier, "fspId": fsp,
        } })
    };
    let body = json!({
        "quoteId": id,
        "transactionId": id,
        "payee": party("123", payee),
        "payer": party("456", PAYER),
        "amountType": "SEND",
        "amount": { "currency": "USD", "amount": "5" },
        "transactionType": {
            "scenario": "TRANSFER", "initiator": "PAYER", "initiatorType": "CONSUMER",
        },
    });
    body.to_string()
}

/// A transfer without a quote: participants are checked before agreements.
fn transfer(world: &World, id: &str, payer: &str, payee: &str) -> String {
    let found = rialto_simulator::fsp::Found::known(world.party(PAYEE), PAYEE.parse().unwrap());
    let order = world
        .payer()
        .quote_order(&world.request("5", "USD"), &found)
        .unwrap();
    let body = json!({
        "transferId": id,
        "payerFsp": payer,
        "payeeFsp": payee,
        "amount": { "currency": "USD", "amount": "5" },
        "ilpPacket": "AQAAAAAAAADIEHByaXZhdGUucGF5ZWVmc3A",
        "condition": "A".repeat(43),
        "expiration": order.expiration,
    });
    body.to_string()
}

/// How many messages each FSP has got.
fn inbound(world: &World, fsps: &[&str]) -> BTreeMap<String, usize> {
    let count = |fsp: &Fsp| {
        let messages = fsp.recorder().messages();
        let inbound = messages.iter().filter(|m| m.direction == Direction::In);
        inbound.count()
    };
    fsps.iter()
        .map(|id| ((*id).to_owned(), count(world.fsp(id))))
        .collect()
}

/// Sends it, and expects the error to its sender, and nothing to others.
async fn told(world: &World, sender: &str, case: Case<'_>) {
    let Case {
        what,
        request,
        path,
        code,
        says,
    } = case;
    let others: Vec<&str> = [PAYER, PAYEE, BARRED]
        .into_iter()
        .filter(|fsp| *fsp != sender)
        .collect();
    let before = inbound(world, &others);
    let traceparent = format!("00-{TRACE}-b7ad6b7169203331-01");
    let request = request
        .header("traceparent", &traceparent)
        .header("fspiop-signature", "{\"signature\":\"x\"}");
    let answer = request.send().await.unwrap();
    assert_eq!(answer.status, 202, "{what}: {answer:?}");
    let path = format!("{path}/error");
    let found = world.fsp(sender).expect_callback(Method::PUT, &path, SOON);
    let found = found.await.unwrap_or_else(|e| panic!("{what}: {e}"));
    judge(&found, what, sender);
    let body = found.json();
    let description = body["errorInformation"]["errorDescription"].as_str();
    let description = description.unwrap_or_default();
    assert!(description.starts_with(says), "{what}: {body}");
    assert!(description.chars().count() <= 128, "{what}: {body}");
    let expected = json!({
        "errorInformation": { "errorCode": code, "errorDescription": description },
    });
    assert_eq!(body, expected, "{what}");
    assert_eq!(inbound(world, &others), before, "{what}: others were told");
}

/// The headers of a message that the hub makes: the API's, the trace, and no word of the sender's.
fn judge(found: &Recorded, what: &str, to: &str) {
    let resource = found.path.split('/').nth(1).unwrap();
    let media_type = format!("application/vnd.interoperability.{resource}+json;version=1.1");
    let expected = [
        ("fspiop-source", "Hub"),
        ("fspiop-destination", to),
        ("content-type", &media_type),
        ("fspiop-signature", ""),
        ("accept", ""),
    ];
    for (name, value) in expected {
        assert_eq!(found.header(name), value, "{what}: {name}");
    }
    assert!(found.header("date").ends_with(" GMT"), "{what}");
    assert!(found.header("traceparent").contains(TRACE), "{what}");
}

/// A scheme with a participant that may not take part, as if an operator had disabled it.
async fn world() -> World {
    let mut scheme = TestScheme::demo().unwrap();
    scheme.add_participant(BARRED, "10").unwrap();
    let mut world = World::of(scheme, &WorldOptions::default()).await.unwrap();
    world.host.kill().unwrap();
    bar(&world.scheme, BARRED).await.unwrap();
    world.host.restart().unwrap();
    world
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn query_for_the_unknown_is_answered_by_the_hub_alone() {
    let world = world().await;
    let payer = world.payer();
    let case = |what, request, path, code, says| Case {
        what,
        request,
        path,
        code,
        says,
    };
    let party = "/participants/MSISDN/999".to_owned();
    let theirs = format!("/participants/{}", world.party(PAYEE).path());
    let lookup = "/parties/MSISDN/999".to_owned();
    let own = json!({ "fspId": PAYER }).to_string();
    let (quote_id, transfer_id) = (payer.new_id(), payer.new_id());
    let cases = [
        case(
            "an unknown party's FSP",
            payer.raw(Method::GET, &party),
            party.clone(),
            "3204",
            "Party not found",
        ),
        case(
            "an unknown party",
            payer.raw(Method::GET, &lookup),
            lookup.clone(),
            "3204",
            "Party not found",
        ),
        case(
            "a party at an unknown FSP",
            payer.raw(Method::GET, &lookup).to(NOBODY),
            lookup.clone(),
            "3201",
            "Destination FSP Error",
        ),
        case(
            "a party at an FSP that may not take part",
            payer.raw(Method::GET, &lookup).to(BARRED),
            lookup,
            "3201",
            "Destination FSP Error",
        ),
        case(
            "the end of an association that there is not",
            payer.raw(Method::DELETE, &party),
            party,
            "3204",
            "Party not found",
        ),
        case(
            "a party of another FSP",
            payer.raw(Method::POST, &theirs).body(own),
            theirs,
            "3003",
            "Add Party information error",
        ),
        case(
            "a quote of an unknown FSP",
            payer
                .raw(Method::POST, "/quotes")
                .to(NOBODY)
                .body(quote(&quote_id, NOBODY)),
            format!("/quotes/{quote_id}"),
            "3201",
            "Destination FSP Error",
        ),
        case(
            "a transfer to an unknown FSP",
            payer
                .raw(Method::POST, "/transfers")
                .to(NOBODY)
                .body(transfer(&world, &transfer_id, PAYER, NOBODY)),
            format!("/transfers/{transfer_id}"),
            "3203",
            "Payee FSP ID not found",
        ),
        case(
            "an unknown quote",
            payer.raw(Method::GET, &format!("/quotes/{transfer_id}")),
            format!("/quotes/{transfer_id}"),
            "3205",
            "Quote ID not found",
        ),
        case(
            "an unknown transfer",
            payer.raw(Method::GET, &format!("/transfers/{quote_id}")),
            format!("/transfers/{quote_id}"),
            "3208",
            "Transfer ID not found",
        ),
    ];
    for case in cases {
        told(&world, PAYER, case).await;
    }
    to_the_barred(&world).await;
    of_the_barred(&world).await;
    of_nobody(&world).await;
    world.no_complaints().unwrap();
    let books = world.settled_books().await.unwrap();
    assert_eq!(books.problems().unwrap(), [""; 0]);
}

/// Requests to a disabled participant.
async fn to_the_barred(world: &World) {
    let payer = world.payer();
    let id = payer.new_id();
    let says = "Destination FSP Error";
    let quote = payer.raw(Method::POST, "/quotes").body(quote(&id, BARRED));
    let transfer = payer
        .raw(Method::POST, "/transfers")
        .body(transfer(world, &id, PAYER, BARRED));
    for (what, request, resource) in [
        ("a quote of the barred", quote, "quotes"),
        ("a transfer to the barred", transfer, "transfers"),
    ] {
        let case = Case {
            what,
            request: request.to(BARRED),
            path: format!("/{resource}/{id}"),
            code: "3201",
            says,
        };
        told(world, PAYER, case).await;
    }
}

/// Requests of a disabled participant. It has an address, so it gets the errors.
async fn of_the_barred(world: &World) {
    let barred = world.fsp(BARRED);
    let id = barred.new_id();
    let party = "/participants/MSISDN/999".to_owned();
    let lookup = format!("/parties/{}", world.party(PAYEE).path());
    let own = json!({ "fspId": BARRED }).to_string();
    let not_found = "Generic ID not found";
    let quote = quote(&id, PAYEE).replace(PAYER, BARRED);
    let cases = [
        (
            barred.raw(Method::GET, &party),
            party.clone(),
            "3200",
            not_found,
        ),
        (
            barred.raw(Method::POST, &party).body(own),
            party.clone(),
            "3200",
            not_found,
        ),
        (barred.raw(Method::DELETE, &party), party, "3200", not_found),
        (barred.raw(Method::GET, &lookup), lookup, "3200", not_found),
        (
            barred.raw(Method::POST, "/quotes").to(PAYEE).body(quote),
            format!("/quotes/{id}"),
            "3202",
            "Payer FSP ID not found",
        ),
        (
            barred
                .raw(Method::POST, "/transfers")
                .to(PAYEE)
                .body(transfer(world, &id, BARRED, PAYEE)),
            format!("/transfers/{id}"),
            "4400",
            "Generic Payer blocked error",
        ),
    ];
    for (request, path, code, says) in cases {
        let what = format!("{path} of the barred");
        let case = Case {
            what: &what,
            request,
            path,
            code,
            says,
        };
        told(world, BARRED, case).await;
    }
}

/// A sender that is not a participant has no address: it is refused at once, and no FSP is told.
async fn of_nobody(world: &World) {
    let payer = world.payer();
    let all = [PAYER, PAYEE, BARRED];
    let before = inbound(world, &all);
    let id = payer.new_id();
    let request = payer.raw(Method::POST, "/transfers").to(PAYEE);
    let request = request.header("fspiop-source", NOBODY);
    let request = request.body(transfer(world, &id, NOBODY, PAYEE));
    let answer = request.send().await.unwrap();
    assert_eq!(answer.status, 400, "{answer:?}");
    let body: Value = serde_json::from_slice(&answer.body).unwrap();
    let error = &body["errorInformation"];
    assert_eq!(error["errorCode"], "3200", "{body}");
    let words = error["errorDescription"].as_str().unwrap();
    let which = format!("header FSPIOP-Source: {NOBODY} is not a participant");
    assert!(words.ends_with(&which), "{words}");
    let story = world.host.cli(&["events", &id]).unwrap().stdout;
    assert!(!story.contains("publishes"), "{story}");
    assert_eq!(inbound(world, &all), before);
}

/// The turns about something, as JSON.
fn turns(world: &World, id: &str) -> Vec<Value> {
    let text = world.host.cli(&["events", id, "--json"]).unwrap();
    let text = text.success().unwrap();
    let lines = text.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn transfer_to_an_absent_fsp_expires_with_its_reason() {
    let options = WorldOptions {
        expires_in: Duration::from_secs(3),
        ..WorldOptions::default()
    };
    let world = World::of(TestScheme::demo().unwrap(), &options)
        .await
        .unwrap();
    let payer = world.payer();
    let money = |world: &World| {
        let books = world.books().unwrap();
        [
            "payerfsp:USD:LIQUIDITY",
            "payerfsp:USD:POSITION",
            "payeefsp:USD:LIQUIDITY",
        ]
        .map(|account| books.balance(account).unwrap())
    };
    let before = money(&world);
    let (found, _) = payer.lookup(world.party(PAYEE)).await.unwrap();
    let order = payer.quote_order(&world.request("5", "USD"), &found);
    let (quote, _) = payer.quote(&order.unwrap()).await.unwrap();
    world.payee().stop().await;
    let order = payer.transfer_order(&quote);
    let failure = payer.transfer(&order).await.unwrap_err();
    assert_eq!(failure.error_code.as_deref(), Some("3303"), "{failure:?}");

    let books = world.settled_books().await.unwrap();
    assert_eq!(books.problems().unwrap(), [""; 0]);
    assert_eq!(books.state(&order.transfer_id), "REJECTED");
    assert_eq!(money(&world), before);
    let id = order.transfer_id.as_str();
    let story = world.host.cli(&["events", id]).unwrap().success().unwrap();
    for step in [
        "transfer-prepared",
        "sends POST http",
        "ended: not delivered after",
        "Connection refused",
        "publishes transfer-prepare-callback-report",
        "reminder-due",
        "process-transfer-release",
        "transfer-fulfil-comit-request-timedout",
        &format!("/transfers/{id}/error (request"),
        "ended: 200 after 1 attempt",
    ] {
        assert!(story.contains(step), "no `{step}` in:\n{story}");
    }
    let turns = turns(&world, id);
    let fired = turns.iter().filter(|turn| turn["kind"] == "Reminder");
    assert_eq!(fired.count(), 1, "{turns:#?}");
    let failed = turns.iter().filter(|turn| turn["ended"] != "Executed");
    assert_eq!(failed.count(), 0, "{turns:#?}");
    world.no_complaints().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_story_of_a_party_is_found_under_one_spelling() {
    let world = World::demo().await.unwrap();
    let payer = world.payer();
    for (spelt, path) in [
        ("MSISDN/+2799", "/parties/MSISDN/%2B2799"),
        ("MSISDN/2799", "/parties/MSISDN/2799"),
        (
            "EMAIL/Henrik@Example.ORG",
            "/parties/EMAIL/Henrik@Example.ORG",
        ),
        (
            "EMAIL/henrik@example.org",
            "/parties/EMAIL/henrik@example.org",
        ),
    ] {
        let answer = payer.raw(Method::GET, path).send().await.unwrap();
        assert_eq!(answer.status, 202, "{answer:?}");
        let path = format!("{path}/error");
        let told = payer.expect_callback(Method::PUT, &path, SOON).await;
        told.unwrap_or_else(|e| panic!("{spelt}: {e}"));
    }
    let of = |spelt: &str| {
        let turns = turns(&world, &format!("party:{spelt}"));
        let requests = turns.iter().filter(|turn| turn["kind"] == "Request");
        (requests.count(), turns.len())
    };
    for (raw, once) in [
        ("MSISDN/+2799", "MSISDN/2799"),
        ("EMAIL/Henrik@Example.ORG", "EMAIL/henrik@example.org"),
    ] {
        until("all turns are on record", SOON, async || {
            let (raw, once) = (of(raw), of(once));
            // Each lookup has as many turns as the other; the one spelling has both.
            let all = raw.0 == 1 && once.0 == 2 && once.1 == 2 * raw.1;
            Ok(all.then_some(()).ok_or(format!("{raw:?}, {once:?}")))
        })
        .await
        .unwrap();
    }
}
