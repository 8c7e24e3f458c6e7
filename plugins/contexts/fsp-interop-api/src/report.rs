//! Handling of delivery reports: the callback report of the outcome and, for a request that needs an answer, an
//! answer in place of the unreachable participant.

use crate::Component;
use crate::bindings::exports::rialto::notifications_and_alerts::notify_report;
use crate::bindings::rialto::fsp_interop_api as events;
use crate::callback_reports::publish;
use crate::delivery::{REQUESTED_BY, deliver, frame};
use crate::headers::originated;
use crate::media::{Resource, Version, media_type, trace, version_for_sender};
use crate::notice::{Cause, Frame, Notice};
use crate::refusal::error_body;
use rialto_sdk::bindings::rialto::common::types::{CallbackReport, ErrorInformation, Message};
use rialto_sdk::errors::error;
use rialto_sdk::headers::push;
use rialto_sdk::logging;
use rialto_sdk::messages::PartyDocument;
use serde::{Deserialize, Serialize};

/// The kind of callback report for a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReportKind {
    /// Lookups: no report.
    Lookup,
    /// A request to associate many parties: no report.
    Parties,
    /// The answer to a query for a quote: no report.
    QuoteQuery,
    /// A refused quote: no report.
    QuoteReject,
    /// An answer in place of an unreachable FSP. Only messages of an earlier release have it.
    Substitute,
    /// `QuoteReceivedCallbackReport`
    QuoteReceived,
    /// `QuoteAcceptedCallbackReport`
    QuoteAccepted,
    /// `InvalidQuoteRequestCallbackReport`
    InvalidQuoteRequest,
    /// `InvalidFSPInQuoteRequestCallbackReport`
    InvalidFspInQuoteRequest,
    /// `RuleViolatedInQuoteRequestCallbackReport`
    RuleViolatedInQuoteRequest,
    /// `RuleViolatedInQuoteResponseCallbackReport`
    RuleViolatedInQuoteResponse,
    /// `TransferPrepareCallbackReport`
    TransferPrepare,
    /// `TransferFulfilCommittedCallbackReport`
    TransferFulfilCommitted,
    /// `TransferQueryResponseCallbackReport`
    TransferQueryResponse,
    /// `TransferRejectRequestProcessedCallbackReport`
    TransferRejectRequestProcessed,
    /// `TransferPrepareRequestTimedoutCallbackReport`
    TransferPrepareRequestTimedout,
    /// `TransferFulfilCommitRequestTimedoutCallbackReport`
    TransferFulfilCommitRequestTimedout,
    /// `TransferPrepareDuplicateCheckFailedCallbackReport`
    TransferPrepareDuplicateCheckFailed,
    /// `TransferPrepareLiquidityCheckFailedCallbackReport`
    TransferPrepareLiquidityCheckFailed,
    /// `TransferPrepareInvalidPayerCheckFailedCallbackReport`
    TransferPrepareInvalidPayerCheckFailed,
    /// `TransferPrepareInvalidPayeeCheckFailedCallbackReport`
    TransferPrepareInvalidPayeeCheckFailed,
    /// The report of a scheme rule that a transfer breaks.
    TransferPrepareRuleCheckFailed,
}

/// The action if a message cannot be delivered, besides the callback report.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum OnFailure {
    /// A request for a quote: tell Quoting. It knows whether the payee FSP has answered, and otherwise tells
    /// the payer FSP. Nothing is reserved that would have to wait.
    RefuseQuote {
        /// The payer FSP.
        requester: String,
        /// The headers of its request that shape the answer.
        cause: String,
    },
    /// A party query: answer in place of the party's FSP, so that Account Lookup ends the query and the
    /// requester is told once.
    AnswerParty {
        /// The requester.
        requester: String,
        /// For whom.
        party: PartyDocument,
        /// The headers of its request that shape the answer.
        cause: String,
    },
    /// A payee FSP's message that ends a transfer: tell the payer FSP the same by a message of the hub. The
    /// payer FSP may have refused the payee FSP's wording, and has to learn the outcome.
    SayItself {
        /// The callback report for the hub's message.
        report: ReportKind,
        /// The path of its PUT.
        path: String,
        /// Its body.
        body: String,
        /// The headers of the payee FSP's message that shape the hub's.
        cause: String,
    },
}

/// The correlation that comes back with a delivery report.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Correlation {
    /// The kind of callback report.
    pub report: ReportKind,
    /// The transfer, the quote or the party.
    pub subject: String,
    /// Whom the message is for.
    pub destination: String,
    /// What to do when it cannot be delivered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_failure: Option<OnFailure>,
}

impl Correlation {
    /// As text.
    ///
    /// # Panics
    /// Never: strings always have a JSON text.
    #[must_use]
    pub fn to_text(&self) -> String {
        serde_json::to_string(self).expect("strings always have a JSON text")
    }

    /// From text. The message may be of a newer release that was rolled back, with more members.
    ///
    /// # Panics
    /// If [`Self::to_text`] did not make the text: only this context writes them.
    #[must_use]
    pub fn of_text(text: &str) -> Self {
        rialto_sdk::documents::read(text)
            .unwrap_or_else(|problem| panic!("the correlation {text:?} cannot be read: {problem}"))
    }
}

/// The headers of a PUT that shape the hub's message in its place: the trace. They have no version for the
/// answer.
#[must_use]
pub fn shaping(headers: &str) -> String {
    trace(headers)
}

/// As [`shaping`], for a receiver who has asked for this version of transfers. A forwarded PUT has no `Accept`.
#[must_use]
pub fn shaping_in(headers: &str, version: Option<&str>) -> String {
    let mut shaping = shaping(headers);
    if let Some(version) = version.and_then(Version::of_text) {
        push(
            &mut shaping,
            "accept",
            &media_type(Resource::Transfers, version),
        );
    }
    shaping
}

/// The substitute for an answer that will not come.
#[derive(Debug, PartialEq)]
pub enum Substitute {
    /// A message of the hub.
    Notice(Box<Notice>),
    /// An answer to a query for a party.
    PartyInfo(Box<events::party_info_available::Event>),
    /// The event for Quoting.
    QuoteUndelivered(Box<events::quote_request_undelivered::Event>),
}

/// The substitute for a message that was not delivered.
#[must_use]
pub fn substitute(
    frame: &Frame<'_>,
    on_failure: OnFailure,
    report: &CallbackReport,
    error: ErrorInformation,
) -> Substitute {
    match on_failure {
        OnFailure::RefuseQuote { cause, .. } => {
            Substitute::QuoteUndelivered(Box::new(events::quote_request_undelivered::Event {
                quote_id: report.subject.clone(),
                payee_fsp: report.destination.clone(),
                error,
                message: Message {
                    method: report.method.clone(),
                    path: report.path.clone(),
                    headers: cause,
                    body: String::new(),
                },
            }))
        }
        OnFailure::SayItself {
            report: kind,
            path,
            body,
            cause,
        } => {
            let about = (kind, report.subject.as_str());
            let cause = Cause::headers(&cause);
            let notice = frame.originate(cause, ("PUT", path), body, &report.destination, about);
            Substitute::Notice(Box::new(notice))
        }
        OnFailure::AnswerParty {
            requester,
            party,
            cause,
        } => {
            let resource = Resource::Parties;
            let version = version_for_sender(&cause, resource);
            let (path, body) = (format!("{}/error", report.path), error_body(&error));
            let headers = originated(resource, version, &requester, frame.hub, frame.now, &cause);
            Substitute::PartyInfo(Box::new(events::party_info_available::Event {
                requester_fsp: report.destination.clone(),
                destination_fsp: Some(requester),
                party: party.into(),
                message: Message {
                    method: "PUT".to_owned(),
                    path,
                    headers,
                    body,
                },
                error: Some(error),
            }))
        }
    }
}

/// The error for the sender of an undelivered request.
#[must_use]
pub fn undeliverable(report: &CallbackReport) -> ErrorInformation {
    let destination = &report.destination;
    match report.status {
        400..=499 => error(
            "3000",
            &format!(
                "{destination} refused the request with status {}",
                report.status
            ),
        ),
        // Also without an attempt: the circuit of the destination is open.
        0 => error("1001", &format!("{destination} cannot be reached")),
        status => error(
            "1001",
            &format!("{destination} answered with status {status}"),
        ),
    }
}

/// Publishes the callback report of a message that has ended, and its substitute with this error, if one is
/// due.
pub fn ended(
    frame: &Frame<'_>,
    correlation: Correlation,
    report: &CallbackReport,
    error: ErrorInformation,
) {
    publish(correlation.report, report);
    let on_failure = correlation.on_failure.filter(|_| !report.delivered);
    match on_failure.map(|on_failure| substitute(frame, on_failure, report, error)) {
        Some(Substitute::Notice(notice)) => deliver(frame, *notice),
        Some(Substitute::PartyInfo(event)) => {
            events::party_info_available::party_info_available(&event);
        }
        Some(Substitute::QuoteUndelivered(event)) => {
            events::quote_request_undelivered::quote_request_undelivered(&event);
        }
        None => {}
    }
}

impl notify_report::Guest for Component {
    fn notify_report(event: notify_report::Event) {
        if event.requested_by != REQUESTED_BY {
            return;
        }
        let correlation = Correlation::of_text(&event.correlation);
        logging::subject(correlation.report.subject_kind(), &correlation.subject);
        let report = callback_report(event, &correlation);
        let error = undeliverable(&report);
        ended(&frame(), correlation, &report, error);
    }
}

/// The callback report of a delivery report.
#[must_use]
pub fn callback_report(event: notify_report::Event, correlation: &Correlation) -> CallbackReport {
    CallbackReport {
        subject: correlation.subject.clone(),
        destination: event.destination,
        method: event.method,
        path: event.path,
        delivered: event.delivered,
        status: event.status,
        attempts: event.attempts,
        reason: event.reason,
        reported_at: event.reported_at,
        not_sent: event.not_sent,
    }
}

impl ReportKind {
    /// The kind of the message's subject, as in a turn's.
    #[must_use]
    pub fn subject_kind(self) -> &'static str {
        match self {
            Self::Lookup => "party",
            Self::Parties => "parties",
            Self::QuoteQuery
            | Self::QuoteReject
            | Self::Substitute
            | Self::QuoteReceived
            | Self::QuoteAccepted
            | Self::InvalidQuoteRequest
            | Self::InvalidFspInQuoteRequest
            | Self::RuleViolatedInQuoteRequest
            | Self::RuleViolatedInQuoteResponse => "quote",
            _ => "transfer",
        }
    }
}
