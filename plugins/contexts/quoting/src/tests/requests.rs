//! Requests for quotes: what is accepted, what is refused and by which event, repeats, queries.

use super::fake::{
    EXPIRATION, Fake, PAYEE, PAYER, asked, message, question, refusal as refusal_of_payee, terms,
};
use crate::bindings::exports::rialto::fsp_interop_api::quote_request_received::Event;
use crate::bindings::exports::rialto::fsp_interop_api::quote_request_undelivered as undelivered;
use crate::bindings::rialto::quoting::quote_query_response::QuoteQueryResult;
use crate::query::query;
use crate::quote::State;
use crate::reject::reject;
use crate::reports::{self, report};
use crate::request::request;
use crate::response::response;
use crate::surroundings::Publication;
use rialto_sdk::bindings::rialto::common::types::CallbackReport;
use rialto_sdk::bindings::rialto::rules::types::Violation;
use rialto_sdk::deliveries::Kept;
use rialto_sdk::errors::error;
use rialto_sdk::money::money;

#[test]
fn request_goes_to_payee_fsp_of_terms_header_or_lookup() {
    for (named, destination, expected) in [
        (None, Some(PAYEE), PAYEE),
        (Some(PAYEE), None, PAYEE),
        (Some(PAYEE), Some("otherfsp"), PAYEE),
        (None, None, PAYEE),
    ] {
        let mut world = Fake {
            now: 5,
            party_fsp: destination.is_none().then_some(PAYEE),
            ..Fake::default()
        };
        let mut event = asked("q1");
        event.request.payee_fsp = named.map(str::to_owned);
        event.destination_fsp = destination.map(str::to_owned);
        request(&mut world, event.clone());
        let Publication::RequestAccepted(accepted) = world.only() else {
            panic!("not accepted");
        };
        assert_eq!(
            (&*accepted.payer_fsp, &*accepted.payee_fsp),
            (PAYER, expected)
        );
        assert_eq!(accepted.message, event.message);
        assert_eq!(accepted.expiration, Some(EXPIRATION));
        assert_eq!(world.state("q1"), Some(State::Pending));
        assert_eq!(world.lookups, 1, "account lookup is asked once");
    }
}

#[test]
fn a_quote_document_reads_as_an_operator_expects() {
    let mut world = Fake {
        now: 5,
        ..Fake::default()
    };
    request(&mut world, asked("q1"));
    assert_eq!(
        serde_json::to_string(&world.quotes["q1"]).unwrap(),
        concat!(
            r#"{"quoteId":"q1","payerFsp":"payerfsp","payeeFsp":"payeefsp","state":"PENDING","requestHash":"hash-1","#,
            r#""request":{"quoteId":"q1","transactionId":"tx1","payerFsp":"payerfsp","payeeFsp":"payeefsp","#,
            r#""payer":{"idType":"MSISDN","identifier":"1"},"payee":{"idType":"MSISDN","identifier":"2"},"#,
            r#""amountType":"SEND","amount":{"currency":"USD","scale":2,"minorUnits":"10000"},"#,
            r#""fees":{"currency":"USD","scale":2,"minorUnits":"0"},"#,
            r#""transactionType":{"scenario":"TRANSFER","initiator":"PAYER","initiatorType":"CONSUMER"},"#,
            r#""expiration":1000},"requestedAt":5,"deliveries":[]}"#
        )
    );
}

/// The event's name and its error code.
fn refusal(publication: &Publication) -> (&'static str, &str) {
    match publication {
        Publication::InvalidRequest(event) => ("request", &event.error.code),
        Publication::InvalidFspInRequest(event) => ("fsp", &event.error.code),
        Publication::RuleViolatedInRequest(event) => ("rule", &event.error.code),
        other => panic!("no refusal: {other:?}"),
    }
}

#[test]
fn each_refusal_has_its_event_and_its_code() {
    type Case = (
        &'static str,
        fn(&mut Fake, &mut Event),
        State,
        (&'static str, &'static str),
    );
    let cases: [Case; 13] = [
        (
            "expires too late",
            |w, _| w.settings.longest_lifetime_ms = EXPIRATION - 6,
            State::Rejected,
            ("rule", "3100"),
        ),
        (
            "expires too soon",
            |w, _| w.settings.shortest_lifetime_ms = EXPIRATION - 4,
            State::Rejected,
            ("rule", "3100"),
        ),
        (
            "barred payer",
            |w, _| w.barred = vec![PAYER],
            State::Rejected,
            ("fsp", "3202"),
        ),
        (
            "no payee",
            |_, e| e.destination_fsp = None,
            State::Rejected,
            ("fsp", "3201"),
        ),
        (
            "unknown payee",
            |_, e| e.destination_fsp = Some("x".into()),
            State::Rejected,
            ("fsp", "3201"),
        ),
        (
            "barred payee",
            |w, _| w.barred = vec![PAYEE],
            State::Rejected,
            ("fsp", "3201"),
        ),
        (
            "payer is payee",
            |_, e| e.destination_fsp = Some(PAYER.into()),
            State::Rejected,
            ("fsp", "3100"),
        ),
        (
            "payer without the currency",
            |_, e| e.request.amount.currency = "KES".into(),
            State::Rejected,
            ("fsp", "4103"),
        ),
        (
            "payee without the currency",
            |_, e| e.request.amount.currency = "TZS".into(),
            State::Rejected,
            ("fsp", "5106"),
        ),
        (
            "at its expiration",
            |w, _| w.now = EXPIRATION,
            State::Expired,
            ("request", "3302"),
        ),
        (
            "barred and expired",
            |w, _| {
                w.now = EXPIRATION;
                w.barred = vec![PAYEE];
            },
            State::Rejected,
            ("fsp", "3201"),
        ),
        (
            "nothing",
            |_, e| e.request.amount = money("USD", 2, 0),
            State::Rejected,
            ("request", "3100"),
        ),
        (
            "against a rule",
            |w, _| {
                w.rules_refuse = Some(Violation {
                    code: "4200".into(),
                    message: "too much".into(),
                })
            },
            State::Rejected,
            ("rule", "4200"),
        ),
    ];
    for (name, arrange, state, expected) in cases {
        let mut world = Fake {
            now: 5,
            ..Fake::default()
        };
        let mut event = asked("q1");
        arrange(&mut world, &mut event);
        request(&mut world, event.clone());
        let publication = world.only();
        assert_eq!(refusal(&publication), expected, "{name}");
        assert_eq!(world.state("q1"), Some(state), "{name}");
        let requester = event.requester_fsp.clone();
        request(&mut world, event);
        let again = (requester, expected.1.to_owned());
        assert_eq!(world.refused(), again, "a repeat is answered: {name}");
    }
}

#[test]
fn payee_fsp_must_have_the_payee_unless_set_otherwise() {
    use crate::settings::PayeeFsp::{AsLookedUp, AsNamed, WhereKnown};
    for (demand, has, accepted) in [
        (WhereKnown, Some(PAYEE), true),
        (WhereKnown, Some("otherfsp"), false),
        (WhereKnown, None, true),
        (AsLookedUp, Some(PAYEE), true),
        (AsLookedUp, Some("otherfsp"), false),
        (AsLookedUp, None, false),
        (AsNamed, Some("otherfsp"), true),
        (AsNamed, None, true),
    ] {
        for (named, destination) in [(Some(PAYEE), None), (None, Some(PAYEE))] {
            let mut world = Fake {
                party_fsp: has,
                ..Fake::default()
            };
            world.settings.payee_fsp = demand;
            let mut event = asked("q1");
            event.request.payee_fsp = named.map(str::to_owned);
            event.destination_fsp = destination.map(str::to_owned);
            request(&mut world, event);
            let publication = world.only();
            let what = format!("{demand:?} {has:?} {named:?}");
            assert_eq!(world.lookups, u32::from(demand != AsNamed), "{what}");
            if accepted {
                let is_accepted = matches!(publication, Publication::RequestAccepted(_));
                assert!(is_accepted, "{what}: {publication:?}");
            } else {
                assert_eq!(refusal(&publication), ("fsp", "3204"), "{what}");
                assert_eq!(world.state("q1"), Some(State::Rejected), "{what}");
            }
        }
    }
    assert_eq!(Fake::default().settings.payee_fsp, WhereKnown);
}

#[test]
fn quote_within_one_fsp_needs_the_setting() {
    let mut world = Fake::default();
    world.settings.on_us = crate::settings::OnUs::Allow;
    let mut event = asked("q1");
    event.destination_fsp = Some(PAYER.into());
    request(&mut world, event);
    assert!(matches!(world.only(), Publication::RequestAccepted(_)));
    let mut event = terms("q1");
    event.requester_fsp = PAYER.to_owned();
    response(&mut world, event);
    let Publication::ResponseAccepted(accepted) = world.only() else {
        panic!("not accepted");
    };
    assert_eq!((&*accepted.payer_fsp, &*accepted.payee_fsp), (PAYER, PAYER));
    assert_eq!(world.state("q1"), Some(State::Accepted));
}

#[test]
fn nothing_is_kept_for_a_payer_that_is_no_participant() {
    for destination in [Some(PAYEE), None] {
        let mut world = Fake::default();
        let mut event = asked("q1");
        event.requester_fsp = "x".into();
        event.request.payer_fsp = None;
        event.destination_fsp = destination.map(str::to_owned);
        request(&mut world, event);
        let publication = world.only();
        assert_eq!(refusal(&publication).0, "fsp");
        assert!(world.quotes.is_empty());
    }
}

#[test]
fn request_in_anothers_name_is_refused_and_uses_no_id() {
    let mut world = Fake::default();
    let mut event = asked("q1");
    event.requester_fsp = "otherfsp".to_owned();
    request(&mut world, event);
    let Publication::InvalidRequest(refused) = world.only() else {
        panic!("not refused");
    };
    assert_eq!(
        (&*refused.requester_fsp, &*refused.error.code),
        ("otherfsp", "3100")
    );
    assert_eq!(world.state("q1"), None);
}

#[test]
fn repeat_of_pending_quote_is_ignored_accepted_is_answered() {
    let mut world = Fake::default();
    request(&mut world, asked("q1"));
    world.published.clear();
    request(&mut world, asked("q1"));
    assert!(world.published.is_empty());
    response(&mut world, terms("q1"));
    world.published.clear();
    request(&mut world, asked("q1"));
    let answer = world.answer();
    assert_eq!(answer.requester_fsp, PAYER);
    assert_eq!(answer.message, asked("q1").message);
    let body = terms("q1").message.body;
    assert_eq!(answer.outcome, QuoteQueryResult::Found(body));
}

#[test]
fn reused_id_is_refused_and_changes_nothing() {
    let mut world = Fake::default();
    request(&mut world, asked("q1"));
    world.published.clear();
    let before = world.quotes.clone();
    let mut modified = asked("q1");
    modified.request_hash = "hash-2".to_owned();
    let mut replayed = asked("q1");
    replayed.requester_fsp = "otherfsp".to_owned();
    for event in [modified, replayed] {
        let requester = event.requester_fsp.clone();
        request(&mut world, event);
        let Publication::InvalidRequest(refused) = world.only() else {
            panic!("not refused");
        };
        assert_eq!(
            (refused.requester_fsp, &*refused.error.code),
            (requester, "3106")
        );
        assert_eq!(world.quotes, before);
    }
}

#[test]
fn only_both_fsps_of_a_quote_are_told() {
    let mut world = Fake::default();
    request(&mut world, asked("q1"));
    world.published.clear();
    for (id, requester) in [("q1", "otherfsp"), ("q9", PAYER)] {
        query(&mut world, question(id, requester));
        assert_eq!(world.refused(), (requester.to_owned(), "3205".to_owned()));
    }
    response(&mut world, terms("q1"));
    world.published.clear();
    for requester in [PAYER, PAYEE] {
        query(&mut world, question("q1", requester));
        let body = terms("q1").message.body;
        assert_eq!(world.answer().outcome, QuoteQueryResult::Found(body));
    }
}

fn delivery(subject: &str, destination: &str, delivered: bool) -> CallbackReport {
    CallbackReport {
        subject: subject.to_owned(),
        destination: destination.to_owned(),
        method: "POST".to_owned(),
        path: "/quotes".to_owned(),
        delivered,
        status: if delivered { 202 } else { 0 },
        attempts: 1,
        reason: None,
        reported_at: 9,
        not_sent: None,
    }
}

fn undelivered_to(payee: &str, id: &str) -> undelivered::Event {
    undelivered::Event {
        quote_id: id.to_owned(),
        payee_fsp: payee.to_owned(),
        error: error("3000", "refused"),
        message: message("POST", ""),
    }
}

#[test]
fn reports_are_kept() {
    let mut world = Fake::default();
    request(&mut world, asked("q1"));
    report(&mut world, "quote-received", delivery("q1", PAYEE, true));
    assert_eq!(world.quotes["q1"].deliveries.len(), 0, "the history has it");
    world.settings.deliveries_kept = Kept::All;
    report(&mut world, "quote-received", delivery("q1", PAYEE, true));
    report(
        &mut world,
        "quote-received",
        delivery("q1", "otherfsp", false),
    );
    report(&mut world, "quote-received", delivery("q9", PAYEE, false));
    assert_eq!(world.quotes["q1"].deliveries.len(), 1);
    world.settings.deliveries_kept = Kept::Troubled;
    report(&mut world, "quote-received", delivery("q1", PAYEE, false));
    assert_eq!(world.quotes["q1"].deliveries.len(), 2);
    // What follows from it is another event's.
    assert_eq!(world.state("q1"), Some(State::Pending));
}

#[test]
fn undelivered_request_ends_the_quote_and_tells_the_payer() {
    let mut world = Fake::default();
    request(&mut world, asked("q1"));
    world.published.clear();
    for (payee, id) in [("otherfsp", "q1"), (PAYEE, "q9")] {
        reports::undelivered(&mut world, undelivered_to(payee, id));
        assert!(world.published.is_empty());
        assert_eq!(world.state("q1"), Some(State::Pending));
    }
    reports::undelivered(&mut world, undelivered_to(PAYEE, "q1"));
    assert_eq!(world.refused(), (PAYER.to_owned(), "3000".to_owned()));
    assert_eq!(world.state("q1"), Some(State::Rejected));
    reports::undelivered(&mut world, undelivered_to(PAYEE, "q1"));
    assert!(world.published.is_empty(), "it is told once");
    query(&mut world, question("q1", PAYER));
    assert_eq!(world.refused().1, "3000");
    response(&mut world, terms("q1"));
    assert_eq!(world.refused(), (PAYEE.to_owned(), "3000".to_owned()));
}

#[test]
fn answered_request_is_not_reported_as_undelivered() {
    let mut world = Fake::default();
    for (id, state) in [("q1", State::Accepted), ("q2", State::Rejected)] {
        request(&mut world, asked(id));
        if state == State::Accepted {
            response(&mut world, terms(id));
        } else {
            reject(&mut world, refusal_of_payee(id));
        }
        world.published.clear();
        let before = world.quotes.clone();
        reports::undelivered(&mut world, undelivered_to(PAYEE, id));
        assert!(world.published.is_empty(), "{:?}", world.published);
        assert_eq!(world.quotes, before);
        assert_eq!(world.state(id), Some(state));
    }
}

#[test]
fn query_for_pending_quote_waits_until_it_is_overdue() {
    let mut world = Fake::default();
    request(&mut world, asked("q1"));
    let mut endless = asked("q2");
    endless.request.expiration = None;
    request(&mut world, endless);
    world.published.clear();
    world.now = EXPIRATION - 1;
    for requester in [PAYER, PAYEE] {
        query(&mut world, question("q1", requester));
        assert!(world.published.is_empty(), "{:?}", world.published);
    }
    world.now = EXPIRATION;
    let before = world.quotes.clone();
    query(&mut world, question("q1", PAYER));
    assert_eq!(world.refused(), (PAYER.to_owned(), "3302".to_owned()));
    query(&mut world, question("q2", PAYER));
    assert!(world.published.is_empty(), "{:?}", world.published);
    assert_eq!(world.quotes, before, "a query changes nothing");
}

#[test]
fn request_without_expiration_expires_after_the_answer_time() {
    let mut world = Fake {
        now: 7,
        ..Fake::default()
    };
    world.settings.answer_within_ms = 100;
    for id in ["q1", "q2"] {
        let mut endless = asked(id);
        endless.request.expiration = None;
        request(&mut world, endless);
    }
    world.published.clear();
    world.now = 106;
    query(&mut world, question("q1", PAYER));
    assert!(world.published.is_empty(), "{:?}", world.published);
    response(&mut world, terms("q2"));
    assert_eq!(world.state("q2"), Some(State::Accepted));
    world.published.clear();
    world.now = 107;
    for requester in [PAYER, PAYEE] {
        query(&mut world, question("q1", requester));
        assert_eq!(world.refused(), (requester.to_owned(), "3302".to_owned()));
    }
    // Earlier answers stay valid.
    response(&mut world, terms("q1"));
    assert_eq!(world.state("q1"), Some(State::Expired));
    let Publication::RuleViolatedInResponse(late) = world.only() else {
        panic!("terms after the time were taken")
    };
    assert_eq!(late.error.code, "3302");
}
