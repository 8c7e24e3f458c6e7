//! Bringing the participants of the manifest in.

mod facts;

use super::fake::Fake;
use crate::activation::{self, STEP};
use crate::api;
use crate::bindings::exports::rialto::host::http_handler::Request as HttpRequest;
use crate::history;
use crate::participants::{PARTICIPANTS, Participant, State};
use crate::world::Event;
use rialto_sdk::operators::Caller;
use rialto_sdk::scheme::{self, Scheme};

fn scheme(accounts: &str, url: &str) -> Vec<scheme::Participant> {
    serde_json::from_str(&format!(
        r#"[{{"id":"payerfsp","name":"Payer","callbackBaseUrl":"{url}","accounts":[{accounts}]}}]"#
    ))
    .unwrap()
}

fn facts() -> Scheme {
    serde_json::from_str(
        r#"{"name":"demo","hub":"Hub",
            "currencies":[{"code":"USD","scale":2},{"code":"TZS","scale":0}]}"#,
    )
    .unwrap()
}

fn listed(participants: &[scheme::Participant]) -> impl Fn(u32, u32) -> Vec<scheme::Participant> {
    move |first, limit| {
        let rest = participants.iter().skip(first as usize);
        rest.take(limit as usize).cloned().collect()
    }
}

/// All steps of a release.
fn bring_in(world: &mut Fake, participants: &[scheme::Participant], release: u64) -> Vec<String> {
    bring_in_with(world, &facts(), participants, release)
}

fn bring_in_with(
    world: &mut Fake,
    facts: &Scheme,
    participants: &[scheme::Participant],
    release: u64,
) -> Vec<String> {
    let mut changes = Vec::new();
    for step in 0.. {
        let manifest = (facts, &listed(participants) as &dyn Fn(u32, u32) -> _);
        let (changed, more) = activation::step(world, manifest, release, step);
        changes.extend(changed);
        if !more {
            break;
        }
    }
    changes
}

fn numbered(count: usize) -> Vec<scheme::Participant> {
    let one = scheme(USD, "http://127.0.0.1:4101").remove(0);
    let id = |n| scheme::Participant {
        id: format!("fsp{n:05}"),
        ..one.clone()
    };
    (0..count).map(id).collect()
}

#[test]
fn participants_of_a_release_trade_after_its_last_step() {
    let mut world = Fake::new();
    let all = numbered(2 * STEP as usize + 1);
    let facts = facts();
    let step = |world: &mut Fake, release, step| {
        activation::step(world, (&facts, &listed(&all)), release, step)
    };
    let trades = |world: &mut Fake, id: &str| {
        let known = activation::known(world, id);
        known.map(|participant| participant.may_transact())
    };
    let (changes, more) = step(&mut world, 1, 0);
    assert_eq!((changes.len(), more), (STEP as usize, true));
    assert_eq!(trades(&mut world, "fsp00000"), Some(false));
    assert_eq!(trades(&mut world, "fsp00100"), None);
    // As after a crash, or a refusal: from the beginning, by a later release.
    let (changes, more) = step(&mut world, 2, 0);
    assert_eq!((changes.len(), more), (0, true), "nobody comes twice");
    assert!(step(&mut world, 2, 1).1);
    assert_eq!(trades(&mut world, "fsp00199"), Some(false));
    let (changes, more) = step(&mut world, 2, 2);
    assert_eq!((changes.len(), more), (1, false));
    for id in ["fsp00000", "fsp00199", "fsp00200"] {
        assert_eq!(trades(&mut world, id), Some(true), "{id}");
    }
    // A release that was refused during its activation adds no more participants.
    assert!(!world.documents("activations").contains_key("1"));
    assert_eq!(bring_in(&mut world, &all[..1], 3), [""; 0]);
    assert_eq!(trades(&mut world, "fsp00200"), Some(true));
}

#[test]
#[should_panic(expected = "of participant \"fsp00150\": more than 2 decimal places")]
fn the_first_step_judges_those_of_all_steps() {
    let mut all = numbered(2 * STEP as usize);
    all[150].accounts[0].opening_liquidity = "1.234".to_owned();
    let facts = facts();
    activation::step(&mut Fake::new(), (&facts, &listed(&all)), 1, 0);
}

const USD: &str = r#"{"currency":"USD","openingLiquidity":"1000.00","netDebitCap":"500"}"#;
const TZS: &str = r#"{"currency":"TZS","openingLiquidity":"0","netDebitCap":null}"#;

fn payer(world: &mut Fake) -> Participant {
    PARTICIPANTS
        .within(world)
        .get("payerfsp")
        .expect("it is in")
}

#[test]
fn new_participant_gets_accounts_liquidity_event_and_history() {
    let mut world = Fake::new();
    let changes = bring_in(&mut world, &scheme(USD, "http://127.0.0.1:4101/"), 3);
    assert_eq!(changes, ["participant payerfsp created, accounts in USD"]);
    let book = world.book("payerfsp", "USD");
    assert_eq!(
        (book.liquidity, book.settled, book.cap),
        (100_000, 100_000, Some(50_000))
    );
    let [Event::Created(event)] = world.published.as_slice() else {
        panic!("{:?}", world.published);
    };
    assert_eq!(event.accounts[0].ids.liquidity, "payerfsp-USD-L");
    let participant = payer(&mut world);
    assert_eq!(participant.callback_base_url, "http://127.0.0.1:4101");
    assert_eq!((participant.version, participant.changes), (1, 1));
    assert_eq!(history::broken(&mut world, &participant), None);
    let change = &world.documents("changes")["payerfsp/0000000000"];
    assert_eq!(change["by"], serde_json::json!({ "release": 3 }));
    let data = participant.into_transfers_data();
    assert!(data.may_transact);
    assert_eq!(data.currencies, ["USD"]);
}

#[test]
fn a_document_of_an_earlier_host_is_read() {
    let mut world = Fake::new();
    let old = concat!(
        r#"{"participant":"payerfsp","name":"Payer","state":"APPROVED","callbackBaseUrl":"http://127.0.0.1:4101","#,
        r#""accounts":[{"currency":"USD","scale":2,"enabled":true,"netDebitCap":{"currency":"USD","scale":2,"minorUnits":"50000"},"#,
        r#""liquidityAccount":"payerfsp-USD-L","positionAccount":"P","liquidityCoverAccount":"C","settlementAccount":"S"}],"#,
        r#""createdAt":7,"updatedAt":7}"#
    );
    let key = ("participants".to_owned(), "payerfsp".to_owned());
    world.store.0.insert(key, old.to_owned());
    let changes = bring_in(&mut world, &scheme(USD, "http://127.0.0.1:4101"), 8);
    assert!(changes.is_empty(), "{changes:?}");
    let changes = bring_in(&mut world, &scheme(USD, "http://127.0.0.1:4102"), 9);
    assert_eq!(changes, ["participant payerfsp: name or endpoint updated"]);
    let participant = payer(&mut world);
    assert_eq!((participant.created_at, participant.changes), (7, 1));
}

#[test]
fn a_participant_that_is_stored_and_unchanged_is_left_alone() {
    let mut world = Fake::new();
    bring_in(&mut world, &scheme(USD, "http://127.0.0.1:4101"), 1);
    let before = world.clone();
    let changes = bring_in(&mut world, &scheme(USD, "http://127.0.0.1:4101/"), 2);
    assert!(changes.is_empty());
    for collection in ["participants", "changes"] {
        let (now, then) = (world.documents(collection), before.documents(collection));
        assert_eq!(now, then, "{collection}");
    }
    assert_eq!(world.published, before.published);
    assert_eq!(world.documents("activations").len(), 2);
}

#[test]
fn changed_endpoint_is_taken_without_another_deposit() {
    let mut world = Fake::new();
    bring_in(&mut world, &scheme(USD, "http://127.0.0.1:4101"), 1);
    let raised = USD.replace("1000.00", "2000");
    world.now += 1;
    let changes = bring_in(&mut world, &scheme(&raised, "http://127.0.0.1:4102"), 2);
    assert_eq!(changes, ["participant payerfsp: name or endpoint updated"]);
    assert_eq!(world.book("payerfsp", "USD").liquidity, 100_000);
    let Some(Event::EndpointsUpdated(event)) = world.published.last() else {
        panic!("{:?}", world.published);
    };
    assert_eq!(event.endpoints[0].value, "http://127.0.0.1:4102");
    let participant = payer(&mut world);
    assert_eq!(participant.updated_at, participant.created_at + 1);
    let info = participant.into_callback_info().unwrap();
    assert_eq!(info.base_url, "http://127.0.0.1:4102");
}

#[test]
fn operators_changes_stay_until_a_release_differs() {
    let mut world = Fake::new();
    bring_in(&mut world, &scheme(USD, "http://first"), 1);
    let mut participant = payer(&mut world);
    participant.callback_base_url = "http://by-operators".to_owned();
    PARTICIPANTS
        .within(&mut world)
        .put("payerfsp", &participant);
    let changes = bring_in(&mut world, &scheme(USD, "http://first"), 2);
    assert!(changes.is_empty(), "{changes:?}");
    assert_eq!(payer(&mut world).callback_base_url, "http://by-operators");
    bring_in(&mut world, &scheme(USD, "http://second"), 3);
    assert_eq!(payer(&mut world).callback_base_url, "http://second");
}

#[test]
fn new_currency_gets_accounts_and_an_event() {
    let mut world = Fake::new();
    bring_in(&mut world, &scheme(USD, "http://h"), 1);
    let changes = bring_in(&mut world, &scheme(&format!("{TZS},{USD}"), "http://h"), 2);
    assert_eq!(changes, ["participant payerfsp: accounts opened in TZS"]);
    assert_eq!(world.book("payerfsp", "TZS").liquidity, 0);
    assert_eq!(world.book("payerfsp", "TZS").cap, None);
    let Some(Event::AccountAdded(event)) = world.published.last() else {
        panic!("{:?}", world.published);
    };
    assert_eq!(event.account.ids.currency, "TZS");
    assert_eq!(world.published.len(), 2);
}

#[test]
fn a_participant_that_is_disabled_or_waits_stays_so() {
    let mut world = Fake::new();
    bring_in(&mut world, &scheme(USD, "http://h"), 1);
    let mut participant = payer(&mut world);
    participant.state = State::Disabled;
    participant.accounts[0].enabled = false;
    PARTICIPANTS
        .within(&mut world)
        .put("payerfsp", &participant);
    bring_in(&mut world, &scheme(USD, "http://other"), 2);
    let data = payer(&mut world).into_quote_data();
    assert!(!data.may_transact);
    assert!(data.currencies.is_empty());
    participant.state = State::PendApproval;
    PARTICIPANTS
        .within(&mut world)
        .put("payerfsp", &participant);
    let changes = bring_in(&mut world, &scheme(USD, "http://third"), 3);
    assert!(changes[0].contains("is PEND-APPROVAL"), "{changes:?}");
    assert_eq!(payer(&mut world), participant);
}

#[test]
#[should_panic(
    expected = "the opening liquidity \"1.234\" USD of participant \"payerfsp\": more than 2 decimal places"
)]
fn an_amount_that_cannot_be_used_stops_the_release() {
    let account = USD.replace("1000.00", "1.234");
    bring_in(&mut Fake::new(), &scheme(&account, "http://h"), 1);
}

/// A world where operators have let this participant in, of type PISP.
fn with_pisp(id: &str) -> Fake {
    let mut world = Fake::with(r#"{"approval":{"default":"automatic"}}"#);
    let application = serde_json::json!({
        "id": id, "name": "Starter", "type": "PISP", "accounts": [], "reason": "it asked to",
        "endpoints": [{ "type": "FSPIOP", "value": "http://h" }],
    });
    let request = HttpRequest {
        operation_id: "CreateParticipant".to_owned(),
        method: "POST".to_owned(),
        path: "/participants".to_owned(),
        path_parameters: Vec::new(),
        query_parameters: Vec::new(),
        headers: Vec::new(),
        body: Some(application.to_string()),
        caller: None,
    };
    let mia = Caller {
        name: "mia".to_owned(),
        roles: vec!["maker".to_owned()],
    };
    let answer = api::answer(&mut world, &mia, &request);
    assert_eq!(answer.status, 201, "{answer:?}");
    world
}

#[test]
#[should_panic(expected = "participant \"fsp00150\" is of type PISP and cannot have accounts")]
fn release_with_accounts_for_a_pisp_is_refused_first() {
    let mut world = with_pisp("fsp00150");
    let (all, facts) = (numbered(2 * STEP as usize), facts());
    activation::step(&mut world, (&facts, &listed(&all)), 2, 0);
}

#[test]
#[should_panic(expected = "of type PISP and cannot have accounts")]
fn a_pisp_of_an_older_store_gets_no_accounts_either() {
    let mut world = with_pisp("payerfsp");
    world.store.0.retain(|(of, _), _| of != "pisps");
    bring_in(&mut world, &scheme(USD, "http://h"), 2);
}

#[test]
fn release_may_name_a_pisp_without_accounts() {
    let mut world = with_pisp("payerfsp");
    let changes = bring_in(&mut world, &scheme("", "http://other"), 2);
    assert_eq!(changes, ["participant payerfsp: name or endpoint updated"]);
    let mut participant = payer(&mut world);
    participant.state = State::PendApproval;
    PARTICIPANTS
        .within(&mut world)
        .put("payerfsp", &participant);
    world.store.0.retain(|(of, _), _| of != "pisps");
    bring_in(&mut world, &scheme(USD, "http://other"), 3);
    assert!(world.ledger.is_empty());
}

#[test]
#[should_panic(expected = "has an account in EUR, which the scheme does not use")]
fn an_unknown_currency_stops_the_release() {
    let account = USD.replace("USD", "EUR");
    bring_in(&mut Fake::new(), &scheme(&account, "http://h"), 1);
}
