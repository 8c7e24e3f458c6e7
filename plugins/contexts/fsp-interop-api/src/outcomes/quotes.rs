//! Outcomes of Quoting.

use super::tell;
use crate::Component;
use crate::bindings::exports::rialto::quoting;
use crate::media::{Resource, shaping};
use crate::notice::{Cause, Frame, Notice, Worth};
use crate::report::{OnFailure, ReportKind};
use quoting::quote_query_response::QuoteQueryResult;
use rialto_sdk::bindings::rialto::common::types::{ErrorInformation, Message};
use rialto_sdk::canonical::canonical_json;

/// POST /quotes, forwarded to the payee FSP. If it cannot be delivered, Quoting is told at once, and tells the
/// payer FSP. The delivery ends at the request's expiration, if that is sooner.
#[must_use]
pub fn request_accepted(
    frame: &Frame<'_>,
    event: quoting::quote_request_accepted::Event,
) -> Notice {
    let on_failure = OnFailure::RefuseQuote {
        requester: event.payer_fsp,
        cause: shaping(&event.message.headers, Resource::Quotes),
    };
    let notice = frame.forward(
        event.message,
        event.payee_fsp,
        ReportKind::QuoteReceived,
        event.quote_id,
    );
    let latest = frame.request_deadline();
    let last = event.expiration.map_or(latest, |at| at.min(latest));
    Notice {
        worth: Worth::Until(last),
        on_failure: Some(on_failure),
        ..notice
    }
}

/// PUT /quotes/{ID}, forwarded to the payer FSP.
#[must_use]
pub fn response_accepted(
    frame: &Frame<'_>,
    event: quoting::quote_response_accepted::Event,
) -> Notice {
    frame.forward(
        event.message,
        event.payer_fsp,
        ReportKind::QuoteAccepted,
        event.quote_id,
    )
}

/// PUT /quotes/{ID}/error, forwarded to the payer FSP.
#[must_use]
pub fn reject_processed(
    frame: &Frame<'_>,
    event: quoting::quote_reject_request_processed::Event,
) -> Notice {
    frame.forward(
        event.message,
        event.payer_fsp,
        ReportKind::QuoteReject,
        event.quote_id,
    )
}

/// PUT /quotes/{ID}/error of the hub.
#[must_use]
pub fn error(
    frame: &Frame<'_>,
    report: ReportKind,
    quote_id: &str,
    destination: &str,
    error: &ErrorInformation,
    cause: &Message,
) -> Notice {
    let path = format!("/quotes/{quote_id}");
    frame.originate_error(
        Cause::message(cause),
        &path,
        error,
        destination,
        (report, quote_id),
    )
}

/// PUT /quotes/{ID}/error of the hub to both FSPs, or once if they are the same.
#[must_use]
pub fn rule_violated_in_response(
    frame: &Frame<'_>,
    event: &quoting::rule_violated_in_quote_response::Event,
) -> Vec<Notice> {
    let other = Some(&event.payee_fsp).filter(|payee| **payee != event.payer_fsp);
    let told = std::iter::once(&event.payer_fsp).chain(other);
    let notice = |destination: &String| {
        let report = ReportKind::RuleViolatedInQuoteResponse;
        error(
            frame,
            report,
            &event.quote_id,
            destination,
            &event.error,
            &event.message,
        )
    };
    told.map(notice).collect()
}

/// PUT /quotes/{ID} or its error twin of the hub to the requester.
#[must_use]
pub fn query_response(frame: &Frame<'_>, event: quoting::quote_query_response::Event) -> Notice {
    let quoting::quote_query_response::Event {
        quote_id,
        requester_fsp,
        outcome,
        message,
    } = event;
    let report = ReportKind::QuoteQuery;
    match outcome {
        QuoteQueryResult::Found(body) => frame.originate(
            Cause::message(&message),
            ("PUT", format!("/quotes/{quote_id}")),
            in_order(body),
            &requester_fsp,
            (report, &quote_id),
        ),
        QuoteQueryResult::Failed(reason) => {
            error(frame, report, &quote_id, &requester_fsp, &reason, &message)
        }
    }
}

/// Terms of the payee FSP in a message of the hub. Their members are sorted, as deployed validators do before
/// they verify the hub's signature.
fn in_order(terms: String) -> String {
    match serde_json::from_str(&terms) {
        Ok(value) => canonical_json(&value),
        // Accepted terms of a quote are always JSON.
        Err(_) => terms,
    }
}

impl quoting::quote_request_accepted::Guest for Component {
    fn quote_request_accepted(event: quoting::quote_request_accepted::Event) {
        tell("quote", &event.quote_id.clone(), |frame| {
            [request_accepted(frame, event)]
        });
    }
}

impl quoting::quote_response_accepted::Guest for Component {
    fn quote_response_accepted(event: quoting::quote_response_accepted::Event) {
        tell("quote", &event.quote_id.clone(), |frame| {
            [response_accepted(frame, event)]
        });
    }
}

impl quoting::quote_reject_request_processed::Guest for Component {
    fn quote_reject_request_processed(event: quoting::quote_reject_request_processed::Event) {
        tell("quote", &event.quote_id.clone(), |frame| {
            [reject_processed(frame, event)]
        });
    }
}

impl quoting::invalid_quote_request::Guest for Component {
    fn invalid_quote_request(event: quoting::invalid_quote_request::Event) {
        let quoting::invalid_quote_request::Event {
            quote_id,
            requester_fsp,
            ..
        } = &event;
        tell("quote", quote_id, |frame| {
            let report = ReportKind::InvalidQuoteRequest;
            [error(
                frame,
                report,
                quote_id,
                requester_fsp,
                &event.error,
                &event.message,
            )]
        });
    }
}

impl quoting::invalid_fsp_in_quote_request::Guest for Component {
    fn invalid_fsp_in_quote_request(event: quoting::invalid_fsp_in_quote_request::Event) {
        let quoting::invalid_fsp_in_quote_request::Event {
            quote_id,
            requester_fsp,
            ..
        } = &event;
        tell("quote", quote_id, |frame| {
            let report = ReportKind::InvalidFspInQuoteRequest;
            [error(
                frame,
                report,
                quote_id,
                requester_fsp,
                &event.error,
                &event.message,
            )]
        });
    }
}

impl quoting::rule_violated_in_quote_request::Guest for Component {
    fn rule_violated_in_quote_request(event: quoting::rule_violated_in_quote_request::Event) {
        let quoting::rule_violated_in_quote_request::Event {
            quote_id,
            requester_fsp,
            ..
        } = &event;
        tell("quote", quote_id, |frame| {
            let report = ReportKind::RuleViolatedInQuoteRequest;
            [error(
                frame,
                report,
                quote_id,
                requester_fsp,
                &event.error,
                &event.message,
            )]
        });
    }
}

impl quoting::rule_violated_in_quote_response::Guest for Component {
    fn rule_violated_in_quote_response(event: quoting::rule_violated_in_quote_response::Event) {
        tell("quote", &event.quote_id, |frame| {
            rule_violated_in_response(frame, &event)
        });
    }
}

impl quoting::quote_query_response::Guest for Component {
    fn quote_query_response(event: quoting::quote_query_response::Event) {
        tell("quote", &event.quote_id.clone(), |frame| {
            [query_response(frame, event)]
        });
    }
}
