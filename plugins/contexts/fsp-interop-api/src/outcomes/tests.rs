//! The messages of outcomes.

mod reports;

use super::{lookups, quotes, transfers};
use crate::bindings::exports::rialto::account_lookup as lookup;
use crate::bindings::exports::rialto::quoting;
use crate::bindings::exports::rialto::transfers as transfer_events;
use crate::bindings::rialto::accounts_and_balances::types::{AccountPosition, SettlementTiming};
use crate::bindings::rialto::transfers::types::{FulfilMode, TransferState};
use crate::delivery::request;
use crate::jws::fake::{HubKey, NoKeys};
use crate::notice::{Cause, Frame, Notice, Worth, aborted_body, participant_body, transfer_body};
use crate::refusal::error_body;
use crate::report::{
    Correlation, ReportKind, Substitute, callback_report, shaping_in, substitute, undeliverable,
};
use rialto_sdk::bindings::rialto::common::types::{
    CallbackReport, ErrorInformation, Message, PartyId, Role,
};
use rialto_sdk::headers::{first, push};
use rialto_sdk::money::money;
use transfer_events::transfer_query_response::{Answer, TransferQueryResult, TransferStatus};
use transfer_events::transfer_reject_request_processed::Rejection;

const FRAME: Frame<'static> = Frame {
    hub: "Hub",
    keys: &NoKeys,
    now: 784_887_151_000,
    delivery_deadline_ms: 30_000,
    request_deadline_ms: 5_000,
};

fn message(method: &str, path: &str, source: &str, body: &str) -> Message {
    let resource = path.split('/').nth(1).unwrap();
    let media = format!("application/vnd.interoperability.{resource}+json;version=1.0");
    let mut headers = format!(
        "content-type: {media}\n\
         date: Mon, 01 Jan 2024 00:00:00 GMT\n\
         fspiop-source: {source}\n\
         fspiop-signature: {{}}\n\
         traceparent: 00-t-s-01\n"
    );
    if method != "PUT" {
        push(&mut headers, "accept", &media);
    }
    Message {
        method: method.to_owned(),
        path: path.to_owned(),
        headers,
        body: body.to_owned(),
    }
}

fn error() -> ErrorInformation {
    ErrorInformation {
        code: "3303".to_owned(),
        description: "Transfer expired".to_owned(),
    }
}

const ERROR_BODY: &str =
    r#"{"errorInformation":{"errorCode":"3303","errorDescription":"Transfer expired"}}"#;

fn value<'a>(notice: &'a Notice, name: &str) -> Option<&'a str> {
    first(&notice.headers, name)
}

/// Method, path and destination.
fn line(notice: &Notice) -> String {
    format!("{} {} > {}", notice.method, notice.path, notice.destination)
}

fn assert_from_hub(notice: &Notice, version: &str) {
    assert_eq!(value(notice, "fspiop-source"), Some("Hub"));
    assert_eq!(
        value(notice, "fspiop-destination"),
        Some(notice.destination.as_str())
    );
    assert_eq!(value(notice, "date"), Some("Tue, 15 Nov 1994 08:12:31 GMT"));
    assert_eq!(value(notice, "fspiop-signature"), None);
    assert_eq!(value(notice, "accept"), None);
    assert!(
        value(notice, "content-type")
            .unwrap()
            .ends_with(&format!("version={version}"))
    );
}

fn assert_forwarded(notice: &Notice, source: &str) {
    assert_eq!(value(notice, "fspiop-source"), Some(source));
    assert_eq!(value(notice, "fspiop-signature"), Some("{}"));
    assert_eq!(value(notice, "date"), Some("Mon, 01 Jan 2024 00:00:00 GMT"));
    assert_eq!(value(notice, "traceparent"), Some("00-t-s-01"));
}

fn position() -> AccountPosition {
    let nothing = money("USD", 2, 0);
    AccountPosition {
        account_id: "a".to_owned(),
        debit_balance: nothing.clone(),
        credit_balance: nothing.clone(),
        available: nothing,
        threshold: None,
    }
}

fn fulfiled(mode: FulfilMode) -> Vec<Notice> {
    transfers::fulfiled(
        &FRAME,
        transfer_events::transfer_committed_fulfiled::Event {
            transfer_id: "t".to_owned(),
            payer_fsp: "payerfsp".to_owned(),
            payee_fsp: "payeefsp".to_owned(),
            amount: money("USD", 2, 1),
            settlement_model: "DEFERRED_NET".to_owned(),
            settlement: SettlementTiming::Deferred,
            mode,
            fulfilment: "f".to_owned(),
            completed_timestamp: 0,
            payer_position: position(),
            payee_position: position(),
            message: message("PUT", "/transfers/t", "payeefsp", "{ \"a\":1 }"),
            payer_version: None,
        },
    )
}

/// An instant that was reckoned here would pass while the hub itself takes long with it.
#[test]
fn an_answer_is_worth_as_long_whenever_it_leaves() {
    let answers = [FulfilMode::Committed, FulfilMode::Reserved].map(fulfiled);
    assert_eq!(answers.each_ref().map(Vec::len), [1, 2]);
    for notice in answers.iter().flatten() {
        let worth = Worth::Lasting(FRAME.delivery_deadline_ms);
        assert_eq!(notice.worth, worth, "{}", line(notice));
    }
}

#[test]
fn hub_signs_own_messages_and_not_forwarded_ones() {
    let frame = Frame {
        keys: &HubKey,
        ..FRAME
    };
    let cause = Cause::headers("traceparent: 00-t-s-01\n");
    let about = (ReportKind::TransferPrepare, "t");
    let made = frame.originate_error(cause, "/transfers/t", &error(), "payerfsp", about);
    let base = "http://127.0.0.1:4102/fsp";
    let made = request(&frame, made, base, "n".to_owned());
    let signature = made.signature.unwrap();
    assert_eq!(signature.header, "fspiop-signature");
    assert!(signature.members.contains("/transfers/t/error"));
    assert_eq!(
        first(&made.headers, "fspiop-uri"),
        Some("/transfers/t/error")
    );
    let received = message("POST", "/transfers", "payerfsp", "{}");
    let (report, subject) = about;
    let forwarded = frame.forward(received, "payeefsp".to_owned(), report, subject.to_owned());
    assert_forwarded(&forwarded, "payerfsp");
    let forwarded = request(&frame, forwarded, base, "n".to_owned());
    assert_eq!(forwarded.signature, None);
    assert_eq!(first(&forwarded.headers, "fspiop-uri"), None);
}

/// The body that a validator verifies which writes it again with its members sorted.
fn written_again(body: &str) -> String {
    rialto_sdk::canonical::canonical_json(&serde_json::from_str(body).unwrap())
}

#[test]
fn hub_bodies_equal_a_validators_serialization() {
    let extensions = r#"{"transferState":"ABORTED","extensionList":{"extension":[]}}"#;
    assert_ne!(written_again(extensions), extensions);
    for body in [
        transfer_body("COMMITTED", Some("f"), Some(0)),
        transfer_body("RESERVED", None, None),
        aborted_body(0, &error()),
        participant_body(Some("payeefsp")),
        participant_body(None),
        error_body(&error()),
    ] {
        assert_eq!(written_again(&body), body);
    }
}

#[test]
fn a_prepared_transfer_goes_to_the_payee_until_it_expires() {
    let notice = transfers::prepared(
        &FRAME,
        transfer_events::transfer_prepared::Event {
            transfer_id: "t".to_owned(),
            payer_fsp: "payerfsp".to_owned(),
            payee_fsp: "payeefsp".to_owned(),
            amount: money("USD", 2, 1),
            expiration: 99,
            settlement_model: "DEFERRED_NET".to_owned(),
            payer_position: position(),
            prepared_at: 1,
            message: message("POST", "/transfers", "payerfsp", "{ \"a\":1 }"),
        },
    );
    assert_eq!(line(&notice), "POST /transfers > payeefsp");
    assert_forwarded(&notice, "payerfsp");
    assert_eq!(value(&notice, "fspiop-destination"), Some("payeefsp"));
    assert_eq!(notice.body.as_deref(), Some("{ \"a\":1 }"));
    assert_eq!(notice.worth, Worth::Until(99));
    assert_eq!(
        (notice.report, notice.on_failure),
        (ReportKind::TransferPrepare, None)
    );
}

#[test]
fn a_committed_transfer_is_told_in_the_payees_own_words() {
    let notices = fulfiled(FulfilMode::Committed);
    assert_eq!(
        notices.iter().map(line).collect::<Vec<_>>(),
        ["PUT /transfers/t > payerfsp"]
    );
    assert_forwarded(&notices[0], "payeefsp");
    assert_eq!(notices[0].body.as_deref(), Some("{ \"a\":1 }"));
}

#[test]
fn reserved_mode_tells_both_fsps_of_the_commit() {
    let notices = fulfiled(FulfilMode::Reserved);
    assert_eq!(
        notices.iter().map(line).collect::<Vec<_>>(),
        [
            "PUT /transfers/t > payerfsp",
            "PATCH /transfers/t > payeefsp"
        ]
    );
    assert_from_hub(&notices[0], "1.0");
    assert_from_hub(&notices[1], "1.1");
    let completed = r#"{"completedTimestamp":"1970-01-01T00:00:00.000Z","#;
    let state = r#""transferState":"COMMITTED"}"#;
    let with_fulfilment = format!(r#"{completed}"fulfilment":"f",{state}"#);
    assert_eq!(notices[0].body, Some(with_fulfilment));
    assert_eq!(notices[1].body, Some(format!("{completed}{state}")));
}

#[test]
fn rejection_is_forwarded_and_refused_fulfilment_is_the_hubs_error() {
    let notices = |rejection| {
        transfers::reject_processed(
            &FRAME,
            transfer_events::transfer_reject_request_processed::Event {
                transfer_id: "t".to_owned(),
                payer_fsp: "payerfsp".to_owned(),
                payee_fsp: "payeefsp".to_owned(),
                rejection,
                error: error(),
                message: message("PUT", "/transfers/t/error", "payeefsp", "{}"),
                completed_timestamp: Some(0),
                payer_version: None,
            },
        )
    };
    let declined = notices(Rejection::DeclinedByPayee);
    assert_eq!(
        declined.iter().map(line).collect::<Vec<_>>(),
        ["PUT /transfers/t/error > payerfsp"]
    );
    assert_forwarded(&declined[0], "payeefsp");

    let refused = notices(Rejection::FulfilmentRefused(FulfilMode::Committed));
    assert_eq!(
        refused.iter().map(line).collect::<Vec<_>>(),
        [
            "PUT /transfers/t/error > payerfsp",
            "PUT /transfers/t/error > payeefsp"
        ]
    );
    assert!(
        refused
            .iter()
            .all(|notice| notice.body.as_deref() == Some(ERROR_BODY))
    );

    let refused = notices(Rejection::FulfilmentRefused(FulfilMode::Reserved));
    assert_eq!(line(&refused[1]), "PATCH /transfers/t > payeefsp");
    let body = refused[1].body.as_deref().unwrap();
    assert!(body.contains(r#""transferState":"ABORTED""#), "{body}");
    assert!(body.contains("3303: Transfer expired"), "{body}");
    assert!(body.contains("1970-01-01T00:00:00.000Z"), "{body}");
}

#[test]
fn misaddressed_rejection_becomes_the_hubs_error_to_both() {
    let mut refusal = message("PUT", "/transfers/t/error", "payeefsp", "{}");
    push(&mut refusal.headers, "fspiop-destination", "otherfsp");
    let notices = transfers::reject_processed(
        &FRAME,
        transfer_events::transfer_reject_request_processed::Event {
            transfer_id: "t".to_owned(),
            payer_fsp: "payerfsp".to_owned(),
            payee_fsp: "payeefsp".to_owned(),
            rejection: Rejection::DeclinedByPayee,
            error: error(),
            message: refusal,
            completed_timestamp: Some(0),
            payer_version: Some("1.1".to_owned()),
        },
    );
    assert_eq!(
        notices.iter().map(line).collect::<Vec<_>>(),
        [
            "PUT /transfers/t/error > payerfsp",
            "PUT /transfers/t/error > payeefsp"
        ]
    );
    for (notice, version) in notices.iter().zip(["1.1", "1.0"]) {
        assert_from_hub(notice, version);
        assert_eq!(notice.body.as_deref(), Some(ERROR_BODY));
    }
}

#[test]
fn unsent_transfer_is_told_to_the_payer_only() {
    let notices = transfers::reject_processed(
        &FRAME,
        transfer_events::transfer_reject_request_processed::Event {
            transfer_id: "t".to_owned(),
            payer_fsp: "payerfsp".to_owned(),
            payee_fsp: "payeefsp".to_owned(),
            rejection: Rejection::NeverSent,
            error: error(),
            message: Message {
                method: String::new(),
                path: String::new(),
                headers: String::new(),
                body: String::new(),
            },
            completed_timestamp: Some(0),
            payer_version: Some("1.0".to_owned()),
        },
    );
    assert_eq!(
        notices.iter().map(line).collect::<Vec<_>>(),
        ["PUT /transfers/t/error > payerfsp"]
    );
    assert_from_hub(&notices[0], "1.0");
    assert_eq!(notices[0].body.as_deref(), Some(ERROR_BODY));
}

#[test]
fn an_expired_transfer_is_told_to_those_named() {
    let told = |destinations: &[Role], late_mode| -> Vec<String> {
        let event = transfer_events::transfer_fulfil_comit_request_timedout::Event {
            transfer_id: "t".to_owned(),
            payer_fsp: "payerfsp".to_owned(),
            payee_fsp: "payeefsp".to_owned(),
            error: error(),
            destinations: destinations.to_vec(),
            late_mode,
            completed_timestamp: Some(0),
            payer_version: None,
            payee_version: None,
        };
        let notices = transfers::fulfil_timedout(&FRAME, &event);
        notices
            .iter()
            .for_each(|notice| assert_from_hub(notice, "1.1"));
        notices.iter().map(line).collect()
    };
    assert_eq!(
        told(&[Role::Payer, Role::Payee], None),
        [
            "PUT /transfers/t/error > payerfsp",
            "PUT /transfers/t/error > payeefsp"
        ]
    );
    assert_eq!(
        told(&[Role::Payee], Some(FulfilMode::Reserved)),
        ["PATCH /transfers/t > payeefsp"]
    );
    assert_eq!(
        told(&[Role::Payee], Some(FulfilMode::Committed)),
        ["PUT /transfers/t/error > payeefsp"]
    );
}

#[test]
fn timeout_is_told_in_the_requested_version() {
    for version in ["1.0", "1.1", "1.2"] {
        let event = transfer_events::transfer_fulfil_comit_request_timedout::Event {
            transfer_id: "t".to_owned(),
            payer_fsp: "payerfsp".to_owned(),
            payee_fsp: "payeefsp".to_owned(),
            error: error(),
            destinations: vec![Role::Payer, Role::Payee],
            late_mode: None,
            completed_timestamp: Some(0),
            payer_version: Some(version.to_owned()),
            payee_version: None,
        };
        let notices = transfers::fulfil_timedout(&FRAME, &event);
        assert_from_hub(&notices[0], version);
        assert_from_hub(&notices[1], "1.1");
        let late = transfer_events::transfer_fulfil_comit_request_timedout::Event {
            payee_version: Some("1.0".to_owned()),
            ..event
        };
        let notices = transfers::fulfil_timedout(&FRAME, &late);
        assert_from_hub(&notices[1], "1.0");
    }
}

#[test]
fn hub_error_to_payer_has_the_payers_version() {
    let of_payee = message("PUT", "/transfers/t", "payeefsp", "{}");
    let substitute_of = |event_version: Option<&str>| {
        let cause = shaping_in(&of_payee.headers, event_version);
        let path = "/transfers/t".to_owned();
        let about = (ReportKind::TransferFulfilCommitted, "t");
        FRAME.originate(
            Cause::headers(&cause),
            ("PUT", path),
            "{}".to_owned(),
            "payerfsp",
            about,
        )
    };
    assert_from_hub(&substitute_of(Some("1.2")), "1.2");
    assert_from_hub(&substitute_of(Some("1.0")), "1.0");
    // A participant without a version.
    assert_from_hub(&substitute_of(None), "1.1");
    assert_from_hub(&substitute_of(Some("nonsense")), "1.1");
}

#[test]
fn aborted_transfer_has_the_same_cause_by_put_and_patch() {
    let told = |answer| {
        let status = TransferStatus {
            state: TransferState::Aborted,
            fulfilment: None,
            completed_timestamp: Some(0),
            cause: Some(error()),
        };
        let event = transfer_events::transfer_query_response::Event {
            transfer_id: "t".to_owned(),
            requester_fsp: "payerfsp".to_owned(),
            outcome: TransferQueryResult::Found(status),
            answer,
            message: message("GET", "/transfers/t", "payerfsp", ""),
            answer_version: Some("1.1".to_owned()),
        };
        transfers::query_response(&FRAME, &event)
    };
    let (put, patch) = (told(Answer::Put), told(Answer::Patch));
    assert_eq!(line(&put), "PUT /transfers/t > payerfsp");
    assert_eq!(line(&patch), "PATCH /transfers/t > payerfsp");
    assert_from_hub(&put, "1.1");
    assert_eq!(put.body, Some(aborted_body(0, &error())));
    assert_eq!(put.body, patch.body);
}

#[test]
fn a_query_for_a_transfer_is_answered_by_the_hub() {
    let answer = |outcome, answer| {
        transfers::query_response(
            &FRAME,
            &transfer_events::transfer_query_response::Event {
                transfer_id: "t".to_owned(),
                requester_fsp: "payerfsp".to_owned(),
                outcome,
                answer,
                message: message("GET", "/transfers/t", "payerfsp", ""),
                answer_version: None,
            },
        )
    };
    let status = |state, fulfilment: Option<&str>, completed_timestamp| {
        let fulfilment = fulfilment.map(str::to_owned);
        TransferQueryResult::Found(TransferStatus {
            state,
            fulfilment,
            completed_timestamp,
            cause: None,
        })
    };
    let put = answer(
        status(TransferState::Committed, Some("f"), Some(0)),
        Answer::Put,
    );
    assert_eq!(line(&put), "PUT /transfers/t > payerfsp");
    assert_from_hub(&put, "1.0");
    assert_eq!(
        put.body.as_deref(),
        Some(
            r#"{"completedTimestamp":"1970-01-01T00:00:00.000Z","fulfilment":"f","transferState":"COMMITTED"}"#
        )
    );
    let put = answer(status(TransferState::Reserved, None, None), Answer::Put);
    assert_eq!(put.body.as_deref(), Some(r#"{"transferState":"RESERVED"}"#));
    let patch = answer(status(TransferState::Aborted, None, None), Answer::Patch);
    assert_eq!(
        patch.body.as_deref(),
        Some(r#"{"completedTimestamp":"1994-11-15T08:12:31.000Z","transferState":"ABORTED"}"#)
    );
    for how in [Answer::Put, Answer::Patch] {
        let failed = answer(TransferQueryResult::Failed(error()), how);
        assert_eq!(line(&failed), "PUT /transfers/t/error > payerfsp");
    }
}

fn party() -> PartyId {
    PartyId {
        id_type: "MSISDN".to_owned(),
        identifier: "+1".to_owned(),
        sub_id_or_type: None,
    }
}

#[test]
fn lookups_are_answered_on_the_path_that_was_asked() {
    let cause = message("POST", "/participants/MSISDN/%2B1", "payeefsp", "{}");
    let created = lookups::participant(&FRAME, "payeefsp", &party(), Some("payeefsp"), &cause);
    assert_eq!(line(&created), "PUT /participants/MSISDN/%2B1 > payeefsp");
    assert_eq!(created.body.as_deref(), Some(r#"{"fspId":"payeefsp"}"#));
    assert_eq!(created.subject, "MSISDN/+1");
    assert_from_hub(&created, "1.0");
    let removed = lookups::participant(&FRAME, "payeefsp", &party(), None, &cause);
    assert_eq!(removed.body.as_deref(), Some("{}"));

    let failed = lookup::account_lookup_failed::Event {
        requester_fsp: "payerfsp".to_owned(),
        party: party(),
        error: error(),
        message: message("GET", "/parties/MSISDN/%2B1", "payerfsp", ""),
    };
    let failed = lookups::failed(&FRAME, &failed);
    assert_eq!(line(&failed), "PUT /parties/MSISDN/%2B1/error > payerfsp");
}

#[test]
fn request_for_many_parties_is_answered_on_its_id() {
    use lookup::participants_association_processed::{Event, ProcessedParty};
    let cause = message("POST", "/participants", "payeefsp", "{}");
    let processed = Event {
        requester_fsp: "payeefsp".to_owned(),
        request_id: "r".to_owned(),
        parties: vec![ProcessedParty {
            party: party(),
            fsp: "payeefsp".to_owned(),
            error: None,
        }],
        currency: None,
        message: cause.clone(),
    };
    let told = lookups::batch_processed(&FRAME, &processed);
    assert_eq!(line(&told), "PUT /participants/r > payeefsp");
    assert_eq!(
        told.body.as_deref(),
        Some(
            r#"{"partyList":[{"partyId":{"fspId":"payeefsp","partyIdType":"MSISDN","partyIdentifier":"+1"}}]}"#
        )
    );
    assert_from_hub(&told, "1.0");
    assert_eq!(told.report.subject_kind(), "parties");
    let failed = lookup::participants_association_failed::Event {
        requester_fsp: "payeefsp".to_owned(),
        request_id: "r".to_owned(),
        error: error(),
        message: cause,
    };
    let told = lookups::batch_failed(&FRAME, &failed);
    assert_eq!(line(&told), "PUT /participants/r/error > payeefsp");
    assert_from_hub(&told, "1.0");
}

fn party_asked() -> Notice {
    let event = lookup::party_info_requested::Event {
        requester_fsp: "payerfsp".to_owned(),
        destination_fsp: "payeefsp".to_owned(),
        party: party(),
        message: message("GET", "/parties/MSISDN/%2B1", "payerfsp", ""),
    };
    lookups::party_info_requested(&FRAME, event)
}

#[test]
fn a_query_for_a_party_is_forwarded_with_its_destination() {
    let notice = party_asked();
    assert_eq!(line(&notice), "GET /parties/MSISDN/%2B1 > payeefsp");
    assert_forwarded(&notice, "payerfsp");
    assert_eq!(value(&notice, "fspiop-destination"), Some("payeefsp"));
    assert!(value(&notice, "accept").is_some());
    assert_eq!(notice.body, None);
    assert_eq!(notice.worth, Worth::Until(FRAME.now + 5_000));
}

fn quote_asked(expiration: Option<u64>) -> Notice {
    let event = quoting::quote_request_accepted::Event {
        quote_id: "q".to_owned(),
        payer_fsp: "payerfsp".to_owned(),
        payee_fsp: "payeefsp".to_owned(),
        expiration,
        message: message("POST", "/quotes", "payerfsp", "{}"),
    };
    quotes::request_accepted(&FRAME, event)
}

#[test]
fn a_request_for_a_quote_is_delivered_until_it_expires() {
    assert_eq!(quote_asked(None).worth, Worth::Until(FRAME.now + 5_000));
    assert_eq!(
        quote_asked(Some(FRAME.now + 5)).worth,
        Worth::Until(FRAME.now + 5)
    );
    assert_eq!(
        quote_asked(Some(u64::MAX)).worth,
        Worth::Until(FRAME.now + 5_000)
    );
}

#[test]
fn a_broken_rule_in_the_terms_is_told_to_both() {
    let event = quoting::rule_violated_in_quote_response::Event {
        quote_id: "q".to_owned(),
        payer_fsp: "payerfsp".to_owned(),
        payee_fsp: "payeefsp".to_owned(),
        error: error(),
        message: message("PUT", "/quotes/q", "payeefsp", "{}"),
    };
    let notices = quotes::rule_violated_in_response(&FRAME, &event);
    assert_eq!(
        notices.iter().map(line).collect::<Vec<_>>(),
        [
            "PUT /quotes/q/error > payerfsp",
            "PUT /quotes/q/error > payeefsp"
        ]
    );
    notices
        .iter()
        .for_each(|notice| assert_from_hub(notice, "1.0"));
    // An FSP that is both is told once.
    let on_us = quoting::rule_violated_in_quote_response::Event {
        payee_fsp: "payerfsp".to_owned(),
        ..event
    };
    let notices = quotes::rule_violated_in_response(&FRAME, &on_us);
    assert_eq!(
        notices.iter().map(line).collect::<Vec<_>>(),
        ["PUT /quotes/q/error > payerfsp"]
    );
}

#[test]
fn a_stored_quote_is_given_with_its_members_in_order() {
    let event = |outcome| quoting::quote_query_response::Event {
        quote_id: "q".to_owned(),
        requester_fsp: "payerfsp".to_owned(),
        outcome,
        message: message("GET", "/quotes/q", "payerfsp", ""),
    };
    use quoting::quote_query_response::QuoteQueryResult::{Failed, Found};
    let stored = r#"{ "ilpPacket" : "AQ", "condition":"c", "more": [{"z":1.50,"a":"é\/"}] }"#;
    let found = quotes::query_response(&FRAME, event(Found(stored.to_owned())));
    assert_eq!(line(&found), "PUT /quotes/q > payerfsp");
    let sorted = r#"{"condition":"c","ilpPacket":"AQ","more":[{"a":"é/","z":1.5}]}"#;
    assert_eq!(found.body.as_deref(), Some(sorted));
    assert_from_hub(&found, "1.0");
    let failed = quotes::query_response(&FRAME, event(Failed(error())));
    assert_eq!(line(&failed), "PUT /quotes/q/error > payerfsp");
}
