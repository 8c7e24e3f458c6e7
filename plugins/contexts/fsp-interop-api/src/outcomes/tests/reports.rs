//! What reports of callbacks come to.

use super::*;
/// The report of a notice, as Notifications & Alerts would make it from the request for it.
fn reported(notice: Notice, status: u16, attempts: u32) -> (Correlation, CallbackReport) {
    use crate::bindings::exports::rialto::notifications_and_alerts::notify_report;
    let request = request(&FRAME, notice, "http://127.0.0.1:4102/fsp", "n".to_owned());
    assert_eq!(
        request.url,
        format!("http://127.0.0.1:4102/fsp{}", request.path)
    );
    let event = notify_report::Event {
        notification_id: request.notification_id,
        requested_by: request.requested_by,
        destination: request.destination,
        method: request.method,
        path: request.path,
        correlation: request.correlation,
        delivered: (200..300).contains(&status),
        status,
        attempts,
        reason: None,
        reported_at: 1,
        not_sent: None,
    };
    let correlation = Correlation::of_text(&event.correlation);
    let report = callback_report(event, &correlation);
    (correlation, report)
}

#[test]
fn a_report_comes_back_to_what_it_is_about() {
    let notice = fulfiled(FulfilMode::Reserved).remove(0);
    let (correlation, report) = reported(notice, 200, 1);
    assert_eq!(correlation.report, ReportKind::TransferFulfilCommitted);
    assert_eq!(
        (report.subject.as_str(), report.destination.as_str()),
        ("t", "payerfsp")
    );
    assert!(report.delivered);
    assert_eq!(
        correlation.to_text(),
        r#"{"report":"transfer-fulfil-committed","subject":"t","destination":"payerfsp"}"#
    );
}

fn substituted(correlation: Correlation, report: &CallbackReport) -> Substitute {
    let on_failure = correlation.on_failure.unwrap();
    substitute(&FRAME, on_failure, report, undeliverable(report))
}

#[test]
fn quoting_learns_at_once_of_an_undelivered_quote_request() {
    for (status, attempts, code) in [
        (0, 3, "1001"),
        (503, 3, "1001"),
        (404, 1, "3000"),
        (0, 0, "1001"),
    ] {
        let (correlation, report) = reported(quote_asked(None), status, attempts);
        let substitute = substituted(correlation, &report);
        let Substitute::QuoteUndelivered(event) = substitute else {
            panic!("{substitute:?}")
        };
        assert_eq!((&*event.quote_id, &*event.payee_fsp), ("q", "payeefsp"));
        assert_eq!(event.error.code, code);
        // Quoting answers with it, in the payer FSP's version.
        let answer = quoting::quote_query_response::Event {
            quote_id: event.quote_id,
            requester_fsp: "payerfsp".to_owned(),
            outcome: quoting::quote_query_response::QuoteQueryResult::Failed(event.error),
            message: event.message,
        };
        let notice = quotes::query_response(&FRAME, answer);
        assert_eq!(line(&notice), "PUT /quotes/q/error > payerfsp");
        assert_from_hub(&notice, "1.0");
        let body = notice.body.unwrap();
        assert!(body.contains(&format!(r#""errorCode":"{code}""#)), "{body}");
        assert_eq!(notice.on_failure, None);
    }
}

#[test]
fn undeliverable_payee_message_is_replaced_by_the_hubs() {
    let declined = transfers::reject_processed(
        &FRAME,
        transfer_events::transfer_reject_request_processed::Event {
            transfer_id: "t".to_owned(),
            payer_fsp: "payerfsp".to_owned(),
            payee_fsp: "payeefsp".to_owned(),
            rejection: Rejection::DeclinedByPayee,
            error: error(),
            message: message("PUT", "/transfers/t/error", "payeefsp", "{}"),
            completed_timestamp: None,
            payer_version: None,
        },
    );
    let committed = concat!(
        r#"{"completedTimestamp":"1970-01-01T00:00:00.000Z","fulfilment":"f","#,
        r#""transferState":"COMMITTED"}"#
    );
    for (mut notices, path, body, kind) in [
        (
            fulfiled(FulfilMode::Committed),
            "PUT /transfers/t > payerfsp",
            committed,
            ReportKind::TransferFulfilCommitted,
        ),
        (
            declined,
            "PUT /transfers/t/error > payerfsp",
            ERROR_BODY,
            ReportKind::TransferRejectRequestProcessed,
        ),
    ] {
        let (correlation, report) = reported(notices.remove(0), 400, 1);
        let substitute = substituted(correlation, &report);
        let Substitute::Notice(notice) = substitute else {
            panic!("{substitute:?}")
        };
        assert_eq!(line(&notice), path);
        assert_from_hub(&notice, "1.1");
        assert_eq!(notice.body.as_deref(), Some(body));
        assert_eq!((notice.report, notice.subject.as_str()), (kind, "t"));
        assert_eq!(notice.on_failure, None, "once");
    }
}

#[test]
fn undeliverable_party_query_is_answered_with_an_error() {
    let (correlation, report) = reported(party_asked(), 0, 2);
    let substitute = substituted(correlation, &report);
    let Substitute::PartyInfo(event) = substitute else {
        panic!("{substitute:?}")
    };
    assert_eq!(event.requester_fsp, "payeefsp");
    assert_eq!(event.destination_fsp.as_deref(), Some("payerfsp"));
    assert_eq!(event.party, party());
    assert_eq!(event.error.unwrap().code, "1001");
    assert_eq!(event.message.path, "/parties/MSISDN/%2B1/error");
    let source = first(&event.message.headers, "fspiop-source");
    assert_eq!(source, Some("Hub"));
}

#[test]
fn the_hub_signs_what_it_answers_in_anothers_place() {
    let (correlation, report) = reported(party_asked(), 0, 2);
    let frame = Frame {
        keys: &HubKey,
        ..FRAME
    };
    let on_failure = correlation.on_failure.unwrap();
    let substitute = substitute(&frame, on_failure, &report, undeliverable(&report));
    let Substitute::PartyInfo(event) = substitute else {
        panic!("{substitute:?}")
    };
    // It goes to Account Lookup, and comes back to be forwarded.
    let answer = lookup::party_query_response::Event {
        requester_fsp: event.requester_fsp,
        responder_fsp: "payeefsp".to_owned(),
        party: event.party,
        message: event.message,
    };
    let notice = lookups::party_query_response(&frame, answer);
    let sent = request(&frame, notice, "http://127.0.0.1:4101", "n".to_owned());
    let header = |name| first(&sent.headers, name);
    assert_eq!(header("fspiop-uri"), Some("/parties/MSISDN/%2B1/error"));
    assert_eq!(header("fspiop-http-method"), Some("PUT"));
    let signature = sent.signature.unwrap();
    assert!(signature.members.contains("/parties/MSISDN/%2B1/error"));
}
