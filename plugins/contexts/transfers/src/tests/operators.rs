//! Transfers for operators: lists, searches, one with its story, the end of one that is stuck, the sweep.

use super::fake::{EXPIRATION, Fake, PAYEE, PAYER, agreement, commitment, request};
use crate::api::answer;
use crate::bindings::exports::rialto::host::http_handler::Request;
use crate::bindings::rialto::scheduling::get_earlier_work::{EarlierWork, PendingDelivery};
use crate::bindings::rialto::transfers::types::FulfilMode;
use crate::fulfil::fulfil;
use crate::index::{BY_TIME, LIVE_MS, Slice};
use crate::prepare::prepare;
use crate::reports::report;
use crate::surroundings::Publication;
use crate::timeout::reminder_elapsed;
use crate::transfer::State;
use rialto_sdk::bindings::rialto::common::types::{CallbackReport, Role};
use rialto_sdk::operators::Caller;
use rialto_sdk::scheme::Scheme;
use serde_json::{Value, json};

fn scheme() -> Scheme {
    serde_json::from_value(json!({
        "name": "t", "hub": "Hub", "currencies": [{ "code": "USD", "scale": 2 }],
    }))
    .unwrap()
}

/// An operator's request: operator, roles, operation, transfer, query or body.
fn ask(
    world: &mut Fake,
    (who, roles): (&str, &[&str]),
    operation: &str,
    id: &str,
    query: &[(&str, &str)],
    body: Option<Value>,
) -> (u16, Value) {
    let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    let request = Request {
        operation_id: operation.to_owned(),
        method: if body.is_some() { "POST" } else { "GET" }.to_owned(),
        path: format!("/transfers/{id}"),
        path_parameters: vec![("id".to_owned(), id.to_owned())],
        query_parameters: query.iter().map(owned).collect(),
        headers: Vec::new(),
        body: body.map(|body| body.to_string()),
        caller: None,
    };
    let caller = Caller {
        name: who.to_owned(),
        roles: roles.iter().map(|role| (*role).to_owned()).collect(),
    };
    let answer = answer(world, &scheme(), &caller, &request);
    let said = answer.body.as_deref().unwrap_or("null");
    (answer.status, serde_json::from_str(said).unwrap())
}

const ANNA: (&str, &[&str]) = ("anna", &["reader", "maker"]);
const BEN: (&str, &[&str]) = ("ben", &["reader", "checker"]);

fn list(world: &mut Fake, query: &[(&str, &str)]) -> Vec<String> {
    let (status, page) = ask(world, ANNA, "listTransfers", "", query, None);
    assert_eq!(status, 200, "{page}");
    ids(&page)
}

fn ids(page: &Value) -> Vec<String> {
    let items = page["items"].as_array().unwrap().iter();
    let id = |item: &Value| item["transferId"].as_str().unwrap().to_owned();
    items.map(id).collect()
}

fn kind(problem: &Value) -> String {
    let kind = problem["type"].as_str().unwrap();
    kind.rsplit(':').next().unwrap().to_owned()
}

/// Three transfers: `a` at 10, committed; `b` at 20, prepared; `c` at 30, of another payer, failed.
fn three() -> Fake {
    let mut world = Fake {
        now: 10,
        agreement: Some(agreement("q1")),
        ..Fake::default()
    };
    world.settings.agreement_serves = crate::settings::AgreementServes::ManyTransfers;
    prepare(&mut world, request("a"));
    fulfil(&mut world, commitment("a", FulfilMode::Committed));
    world.now = 20;
    prepare(&mut world, request("b"));
    world.now = 30;
    world.barred = vec!["otherfsp"];
    let mut other = request("c");
    other.payer_fsp = "otherfsp".to_owned();
    other.requester_fsp = "otherfsp".to_owned();
    prepare(&mut world, other);
    assert_eq!(world.state("c"), Some(State::Failed));
    world.published.clear();
    world.now = LIVE_MS + 100;
    world
}

/// When the last transfers have expired and are looked at.
const LATER: u64 = EXPIRATION + LIVE_MS;

#[test]
fn transfers_are_listed_by_time_and_filtered() {
    let mut world = three();
    let all: &[&str] = &["a", "b", "c"];
    for (query, found) in [
        (&[][..], all),
        (&[("from", "20")], &["b", "c"]),
        (&[("to", "20")], &["a"]),
        (&[("from", "11"), ("to", "20")], &[]),
        (&[("from", "9"), ("to", "11")], &["a"]),
        (&[("from", "30"), ("to", "20")], &[]),
        (&[("participant", PAYER)], &["a", "b"]),
        (&[("participant", PAYEE)], all),
        (&[("participant", "nobody")], &[]),
        (&[("state", "PREPARED")], &["b"]),
        (&[("state", "FAILED"), ("participant", "otherfsp")], &["c"]),
        (&[("currency", "USD")], all),
        (&[("currency", "USD"), ("amountAtLeast", "10.5")], all),
        (&[("currency", "USD"), ("amountAtLeast", "10.51")], &[]),
        (&[("currency", "USD"), ("amountAtMost", "10.49")], &[]),
        (&[("party", "MSISDN/1")], all),
        (&[("party", "MSISDN/2")], &[]),
    ] {
        assert_eq!(list(&mut world, query), found, "{query:?}");
    }
    let (status, problem) = ask(
        &mut world,
        ANNA,
        "listTransfers",
        "",
        &[("amountAtLeast", "1")],
        None,
    );
    assert_eq!((status, kind(&problem).as_str()), (400, "malformed"));
    let (status, _) = ask(
        &mut world,
        ("x", &["maker"]),
        "listTransfers",
        "",
        &[],
        None,
    );
    assert_eq!(status, 403);
}

#[test]
fn pages_list_each_transfer_once_within_the_bound() {
    let mut world = Fake {
        now: 1,
        ..Fake::default()
    };
    for n in 0..1_500_u64 {
        world.now = 1 + n / 3;
        prepare(&mut world, request(&format!("t{n:04}")));
    }
    world.now = 900 + LIVE_MS;
    for limit in ["7", "100", "1000"] {
        let (mut found, mut cursor) = (Vec::new(), None::<String>);
        loop {
            let mut query = vec![("limit", limit)];
            query.extend(cursor.as_deref().map(|cursor| ("cursor", cursor)));
            let (_, page) = ask(&mut world, ANNA, "listTransfers", "", &query, None);
            found.extend(ids(&page));
            let Some(next) = page["nextCursor"].as_str() else {
                break;
            };
            cursor = Some(next.to_owned());
        }
        assert_eq!(found.len(), 1_500, "{limit}");
        assert!(found.is_sorted());
    }
    // What fits nothing is looked for in bounded steps.
    let query = [("participant", "nobody")];
    let (_, page) = ask(&mut world, ANNA, "listTransfers", "", &query, None);
    assert!(ids(&page).is_empty());
    let cursor = page["nextCursor"].as_str().unwrap().to_owned();
    let query = [("participant", "nobody"), ("cursor", cursor.as_str())];
    let (_, page) = ask(&mut world, ANNA, "listTransfers", "", &query, None);
    assert!(ids(&page).is_empty() && page["nextCursor"].is_null());
    for nonsense in [
        "nonsense",
        "0000000000010/payerfsp",
        "0000000000010:1",
        "a/b:-1",
    ] {
        let query = [("cursor", nonsense)];
        let (status, _) = ask(&mut world, ANNA, "listTransfers", "", &query, None);
        assert_eq!(status, 400, "{nonsense}");
    }
    // One that is behind `to` has come to its end.
    for query in [
        [("to", "20"), ("cursor", "0000000000020/payerfsp:1")],
        [("to", "20"), ("cursor", "0000000000490/payerfsp:0")],
    ] {
        let (status, page) = ask(&mut world, ANNA, "listTransfers", "", &query, None);
        assert_eq!((status, &page), (200, &json!({ "items": [] })));
    }
}

#[test]
fn transfers_of_the_last_second_are_listed_later() {
    let mut world = three();
    world.now = 20 + LIVE_MS;
    for query in [&[][..], &[("to", "9999")], &[("from", "0"), ("to", "1021")]] {
        assert_eq!(list(&mut world, query), ["a"], "{query:?}");
    }
    world.now = 21 + LIVE_MS;
    assert_eq!(list(&mut world, &[]), ["a", "b"]);
}

#[test]
fn transfers_of_one_payer_share_index_documents() {
    let mut world = Fake::default();
    for n in 0..200 {
        world.now = 1_000_000 + n / 20;
        let mut request = request(&format!("t{n:03}"));
        request.expiration = 2_000_000;
        request.payer_fsp = ["payerfsp", "otherfsp"][usize::from(n % 4 == 0)].to_owned();
        request.requester_fsp.clone_from(&request.payer_fsp);
        prepare(&mut world, request);
    }
    // Of each payer FSP 16 share a document; its other transfers have one each.
    let of_order = |(collection, _): &&(String, String)| collection == BY_TIME.name();
    let documents = world.store.0.keys().filter(of_order).count();
    assert_eq!(documents, 2 + (50 - 16) + (150 - 16));
    world.now = 1_500_000;
    let mut found = list(&mut world, &[("limit", "1000")]);
    found.sort();
    let all: Vec<String> = (0..200).map(|n| format!("t{n:03}")).collect();
    assert_eq!(found, all);
    // Within a millisecond of that hundredth of a second.
    let found = list(&mut world, &[("from", "1000003"), ("to", "1000004")]);
    assert_eq!(found.len(), 20);
    assert!(
        found
            .iter()
            .all(|id| id.starts_with("t06") || id.starts_with("t07"))
    );
    let of_one = list(&mut world, &[("participant", "otherfsp")]);
    assert_eq!(of_one.len(), 50);
}

#[test]
fn the_order_of_time_of_a_release_before_is_read() {
    let mut world = three();
    let before: Slice =
        serde_json::from_str(r#"{"payer":"payerfsp","payee":"payeefsp","expires":1000}"#).unwrap();
    world
        .store
        .0
        .retain(|(collection, _), _| collection != BY_TIME.name());
    for id in ["0000000000020/b", "0000000000030/c"] {
        BY_TIME.within(&mut world.store).put(id, &before);
    }
    assert_eq!(list(&mut world, &[]), ["b", "c"]);
    assert_eq!(list(&mut world, &[("from", "25")]), ["c"]);
    world.now = LATER;
    assert_eq!(sweep(&mut world, &[])["items"][0]["transferId"], "b");
}

fn never_left() -> CallbackReport {
    CallbackReport {
        subject: "b".to_owned(),
        destination: PAYEE.to_owned(),
        method: "POST".to_owned(),
        path: "/transfers".to_owned(),
        delivered: false,
        status: 0,
        attempts: 4,
        reason: Some("unreachable".to_owned()),
        reported_at: 40,
        not_sent: None,
    }
}

#[test]
fn transfer_is_shown_with_its_story_by_time() {
    let mut world = three();
    report(&mut world, "transfer-prepare", never_left());
    let (status, told) = ask(&mut world, ANNA, "getTransfer", "b", &[], None);
    assert_eq!(status, 200);
    assert_eq!(
        told["amount"],
        json!({ "currency": "USD", "amount": "10.5" })
    );
    assert_eq!(
        (&told["state"], &told["endedAt"]),
        (&json!("PREPARED"), &Value::Null)
    );
    let story: Vec<(u64, &str)> = told["story"]
        .as_array()
        .unwrap()
        .iter()
        .map(|step| (step["at"].as_u64().unwrap(), step["what"].as_str().unwrap()))
        .collect();
    assert_eq!(story, [(20, "state"), (20, "state"), (40, "not-delivered")]);
    assert!(
        told.get("fulfilment").is_none(),
        "a reader is no party to it"
    );
    let (status, problem) = ask(&mut world, ANNA, "getTransfer", "x", &[], None);
    assert_eq!((status, kind(&problem).as_str()), (404, "transfer-unknown"));
}

fn end(world: &mut Fake, who: (&str, &[&str])) -> (u16, Value) {
    let body = json!({ "reason": "its reminder is gone" });
    ask(world, who, "endTransfer", "b", &[], Some(body))
}

fn decide(world: &mut Fake, who: (&str, &[&str]), decision: &str) -> (u16, Value) {
    let body = json!({ "decision": decision });
    ask(world, who, "decideTransferEnding", "b", &[], Some(body))
}

#[test]
fn two_operators_end_a_stuck_transfer_as_rejected() {
    let mut world = three();
    world.now = EXPIRATION;
    let (status, ending) = end(&mut world, ANNA);
    assert_eq!((status, &ending["state"]), (202, &json!("PENDING")));
    let (status, problem) = end(&mut world, ANNA);
    assert_eq!(
        (status, kind(&problem).as_str()),
        (409, "duplicate-request")
    );
    assert_eq!(
        world.state("b"),
        Some(State::Prepared),
        "nothing is done yet"
    );
    let (_, page) = ask(&mut world, BEN, "listPendingTransferEndings", "", &[], None);
    assert_eq!(ids(&page), ["b"]);
    let both: (&str, &[&str]) = ("anna", &["checker"]);
    let (status, problem) = decide(&mut world, both, "APPROVE");
    assert_eq!((status, kind(&problem).as_str()), (403, "maker-is-checker"));
    let (status, _) = decide(&mut world, ("carl", &["maker"]), "APPROVE");
    assert_eq!(status, 403);
    assert!(world.published.is_empty() && world.legs("b") == (1, 0, 0));

    let (status, ending) = decide(&mut world, BEN, "APPROVE");
    assert_eq!((status, &ending["state"]), (200, &json!("APPROVED")));
    let Publication::FulfilComitRequestTimedout(event) = world.only() else {
        panic!("nobody is told");
    };
    assert_eq!(event.destinations, [Role::Payer, Role::Payee]);
    assert_eq!(world.state("b"), Some(State::Rejected));
    assert_eq!(world.legs("b"), (1, 0, 1));
    assert!(!world.reminders.contains_key("b"));
    let (_, told) = ask(&mut world, ANNA, "getTransfer", "b", &[], None);
    let by = json!({ "maker": "anna", "checker": "ben", "reason": "its reminder is gone" });
    assert_eq!(told["endedBy"], by);
    let (_, page) = ask(&mut world, BEN, "listPendingTransferEndings", "", &[], None);
    assert!(ids(&page).is_empty());
    let (status, problem) = decide(&mut world, BEN, "APPROVE");
    assert_eq!((status, kind(&problem).as_str()), (409, "already-decided"));
}

#[test]
fn committable_or_final_transfer_is_not_ended() {
    let mut world = three();
    for (id, now) in [("a", EXPIRATION), ("c", EXPIRATION), ("b", EXPIRATION - 1)] {
        world.now = now;
        let body = json!({ "reason": "r" });
        let (status, problem) = ask(&mut world, ANNA, "endTransfer", id, &[], Some(body));
        assert_eq!(
            (status, kind(&problem).as_str()),
            (409, "transfer-state"),
            "{id}"
        );
    }
    let (status, problem) = decide(&mut world, BEN, "APPROVE");
    assert_eq!((status, kind(&problem).as_str()), (404, "request-unknown"));
    // Nor one of which the payee FSP has heard, or may have: the hub only did not hear so.
    for delivered in [true, false] {
        let told = CallbackReport {
            delivered,
            ..never_left()
        };
        report(&mut world, "transfer-prepare", told);
        let (status, problem) = end(&mut world, ANNA);
        assert_eq!((status, kind(&problem).as_str()), (409, "transfer-state"));
    }

    // It is judged again when it is decided: the payee FSP's word was first.
    world.now = EXPIRATION;
    assert_eq!(end(&mut world, ANNA).0, 202);
    let mut in_time = commitment("b", FulfilMode::Committed);
    in_time.arrived_at = Some(EXPIRATION - 1);
    fulfil(&mut world, in_time);
    world.published.clear();
    let (status, problem) = decide(&mut world, BEN, "APPROVE");
    assert_eq!((status, kind(&problem).as_str()), (409, "transfer-state"));
    assert_eq!(world.state("b"), Some(State::Committed));
    assert!(world.published.is_empty());
    assert_eq!(decide(&mut world, BEN, "REJECT").1["state"], "REJECTED");
}

#[test]
fn transfer_stays_if_the_ledger_refuses_the_release() {
    let mut world = three();
    world.now = EXPIRATION;
    assert_eq!(end(&mut world, ANNA).0, 202);
    let before = (world.transfers.clone(), world.store.clone());
    world.release_fails = true;
    let (status, problem) = decide(&mut world, BEN, "APPROVE");
    assert_eq!((status, kind(&problem).as_str()), (409, "transfer-state"));
    assert_eq!((world.transfers.clone(), world.store.clone()), before);
    assert!(world.published.is_empty() && world.reminders.contains_key("b"));
}

/// Unhandled work about a transfer, with its view for operators.
fn unhandled() -> [(EarlierWork, Value); 3] {
    let delivery = PendingDelivery {
        id: 7,
        context: "transfers".to_owned(),
    };
    let told = |what: &str| json!({ "what": what, "id": 7, "context": "transfers" });
    [
        (EarlierWork::Running, json!({ "what": "running" })),
        (EarlierWork::Delivery(delivery.clone()), told("delivery")),
        (EarlierWork::DeadLetter(delivery), told("dead-letter")),
    ]
}

#[test]
fn end_waits_for_messages_before_the_expiry() {
    for (earlier, told) in unhandled() {
        let mut world = three();
        world.now = EXPIRATION + 5;
        let in_time = ("b".to_owned(), (EXPIRATION - 1, earlier.clone()));
        world.earlier.extend([in_time.clone()]);
        let (status, problem) = end(&mut world, ANNA);
        assert_eq!((status, kind(&problem).as_str()), (409, "transfer-state"));
        assert_eq!(problem["waitsFor"], told);
        let (status, _) = decide(&mut world, BEN, "APPROVE");
        assert_eq!(status, 404, "nothing was asked for");

        // What came when it had expired is late anyway.
        world.earlier.insert("b".to_owned(), (EXPIRATION, earlier));
        assert_eq!(end(&mut world, ANNA).0, 202);
        // It is judged again when it is decided.
        world.earlier.extend([in_time]);
        let before = (world.transfers.clone(), world.store.clone());
        let (status, problem) = decide(&mut world, BEN, "APPROVE");
        assert_eq!((status, kind(&problem).as_str()), (409, "transfer-state"));
        assert_eq!(problem["waitsFor"], told);
        assert_eq!((world.transfers.clone(), world.store.clone()), before);
        assert!(world.published.is_empty() && world.legs("b") == (1, 0, 0));
        assert!(world.reminders.contains_key("b"), "it waits as before");

        // The commitment that came in time is handled at last.
        world.earlier.clear();
        let mut in_time = commitment("b", FulfilMode::Committed);
        in_time.arrived_at = Some(EXPIRATION - 1);
        fulfil(&mut world, in_time);
        assert_eq!(world.state("b"), Some(State::Committed));
        assert_eq!(decide(&mut world, BEN, "APPROVE").0, 409);
    }
}

#[test]
fn unsent_transfer_waits_for_messages_about_it() {
    for (earlier, _) in unhandled() {
        let mut world = three();
        report(&mut world, "transfer-prepare", never_left());
        world.transfers.get_mut("b").unwrap().deliveries[0].never_sent = true;
        world.published.clear();
        world.now = 200;
        let is_of_it = earlier != EarlierWork::Running;
        world.earlier.insert("b".to_owned(), (199, earlier));
        assert_eq!(end(&mut world, ANNA).0, if is_of_it { 409 } else { 202 });
    }
}

fn sweep(world: &mut Fake, query: &[(&str, &str)]) -> Value {
    let (status, page) = ask(world, ANNA, "sweepTransfers", "", query, Some(json!({})));
    assert_eq!(status, 200, "{page}");
    page
}

#[test]
fn sweep_reminds_transfers_that_wait_for_nothing() {
    let mut world = three();
    // One that has not expired is never found.
    world.now = 40;
    let mut open = request("d");
    open.expiration = 2 * LATER;
    prepare(&mut world, open);
    world.now = LATER;
    // Its reminder is gone, and a fulfilment that came in time is on its way.
    world.reminders.clear();
    for (earlier, told) in unhandled() {
        world.earlier = [("b".to_owned(), (EXPIRATION - 1, earlier))].into();
        let found = json!([{ "transferId": "b", "reminded": false, "waitsFor": told }]);
        assert_eq!(sweep(&mut world, &[])["items"], found);
    }
    assert!(world.reminders.is_empty() && world.about.is_empty());
    let told = "transfer b is reserved past its expiry: it waits for dead letter 7 of transfers";
    assert!(world.log[2].starts_with(told), "{:?}", world.log);

    world.earlier.clear();
    world.log.clear();
    let found = json!([{ "transferId": "b", "reminded": true }]);
    assert_eq!(sweep(&mut world, &[])["items"], found);
    let told = "transfer b is reserved past its expiry: it waits for nothing; its timeout is triggered now";
    assert_eq!(world.log, [told]);
    // The reminder is about the transfer, and so waits for what is about it.
    assert_eq!(world.about, ["b"]);
    // It is the timeout that ends it, as always.
    assert_eq!(world.state("b"), Some(State::Prepared));
    assert_eq!(world.reminders.remove("b"), Some(EXPIRATION));
    reminder_elapsed(&mut world, &super::fake::reminder("b"));
    assert_eq!(world.state("b"), Some(State::Rejected));
    assert_eq!(sweep(&mut world, &[])["items"], json!([]));
    let (status, _) = ask(&mut world, BEN, "sweepTransfers", "", &[], Some(json!({})));
    assert_eq!(status, 403);
}

#[test]
fn sweep_handles_a_few_and_continues_by_cursor() {
    let mut world = Fake::default();
    for n in 0..12 {
        world.now = 10 + n;
        prepare(&mut world, request(&format!("t{n:02}")));
    }
    world.reminders.clear();
    world.now = LATER;
    let mut cursor: Option<String> = None;
    for expected in [5, 5, 2] {
        world.about.clear();
        let mut query = vec![("limit", "100"), ("from", "0")];
        query.extend(cursor.as_deref().map(|cursor| ("cursor", cursor)));
        let page = sweep(&mut world, &query);
        assert_eq!(page["items"].as_array().unwrap().len(), expected);
        assert_eq!(world.about.len(), expected, "a turn is about few things");
        cursor = page["nextCursor"].as_str().map(str::to_owned);
    }
    assert_eq!((cursor, world.reminders.len()), (None, 12));
}
