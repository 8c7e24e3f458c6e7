//! Outcomes of Transfers.

use super::tell;
use crate::Component;
use crate::bindings::exports::rialto::transfers;
use crate::bindings::rialto::transfers::types::{FulfilMode, TransferState};
use crate::delivery::{deliver, frame};
use crate::headers::named_destination;
use crate::notice::{Cause, Frame, Notice, Worth, aborted_body, transfer_body};
use crate::refusal::error_body;
use crate::report::{OnFailure, ReportKind, shaping_in};
use rialto_sdk::bindings::rialto::common::types::{ErrorInformation, Role};
use rialto_sdk::{info, logging};
use transfers::transfer_query_response::{Answer, TransferQueryResult, TransferStatus};
use transfers::transfer_reject_request_processed::Rejection;

/// POST /transfers, forwarded to the payee FSP until the transfer expires: its funds are reserved until then,
/// and a failed attempt may still have arrived.
#[must_use]
pub fn prepared(frame: &Frame<'_>, event: transfers::transfer_prepared::Event) -> Notice {
    let worth = Worth::Until(event.expiration);
    let notice = frame.forward(
        event.message,
        event.payee_fsp,
        ReportKind::TransferPrepare,
        event.transfer_id,
    );
    Notice { worth, ..notice }
}

/// The messages of a commit. The payer FSP gets the payee FSP's PUT, or the hub's if that cannot be delivered.
/// In reserved mode the payee FSP has signed RESERVED, so the payer FSP gets a PUT of the hub with COMMITTED,
/// and the payee FSP a PATCH.
#[must_use]
pub fn fulfiled(
    frame: &Frame<'_>,
    event: transfers::transfer_committed_fulfiled::Event,
) -> Vec<Notice> {
    let report = ReportKind::TransferFulfilCommitted;
    let path = format!("/transfers/{}", event.transfer_id);
    let completed = Some(event.completed_timestamp);
    let put = transfer_body("COMMITTED", Some(&event.fulfilment), completed);
    let payer_version = event.payer_version.as_deref();
    if event.mode == FulfilMode::Committed {
        let on_failure = Some(OnFailure::SayItself {
            report,
            path,
            body: put,
            cause: shaping_in(&event.message.headers, payer_version),
        });
        let notice = frame.forward(event.message, event.payer_fsp, report, event.transfer_id);
        return vec![Notice {
            on_failure,
            ..notice
        }];
    }
    let cause = Cause::message(&event.message);
    let about = (report, event.transfer_id.as_str());
    let patch = transfer_body("COMMITTED", None, completed);
    let to_payer = cause.in_version(payer_version);
    vec![
        frame.originate(
            to_payer,
            ("PUT", path.clone()),
            put,
            &event.payer_fsp,
            about,
        ),
        frame.originate(cause, ("PATCH", path), patch, &event.payee_fsp, about),
    ]
}

/// PUT or PATCH /transfers/{ID} with the state, or PUT …/error, to the requester.
#[must_use]
pub fn query_response(
    frame: &Frame<'_>,
    event: &transfers::transfer_query_response::Event,
) -> Notice {
    let report = ReportKind::TransferQueryResponse;
    let cause = Cause::message(&event.message).in_version(event.answer_version.as_deref());
    let status = match &event.outcome {
        TransferQueryResult::Found(status) => status,
        // Also for a payee FSP in reserved mode: the error is about its message, not about the end of the
        // transfer.
        TransferQueryResult::Failed(reason) => {
            return error(
                frame,
                report,
                &event.transfer_id,
                &event.requester_fsp,
                reason,
                cause,
            );
        }
    };
    frame.originate(
        cause,
        (
            match event.answer {
                Answer::Put => "PUT",
                Answer::Patch => "PATCH",
            },
            format!("/transfers/{}", event.transfer_id),
        ),
        status_body(status, event.answer, frame.now),
        &event.requester_fsp,
        (report, &event.transfer_id),
    )
}

/// The body with a state. For an aborted transfer it has the reason, by PUT and by PATCH.
fn status_body(status: &TransferStatus, answer: Answer, now: u64) -> String {
    let state = match status.state {
        TransferState::Received => "RECEIVED",
        TransferState::Reserved => "RESERVED",
        TransferState::Committed => "COMMITTED",
        TransferState::Aborted => "ABORTED",
    };
    let completed = status.completed_timestamp;
    if let Some(cause) = &status.cause {
        assert_eq!(state, "ABORTED", "only an aborted transfer has a cause");
        return aborted_body(completed.unwrap_or(now), cause);
    }
    match answer {
        Answer::Put => transfer_body(state, status.fulfilment.as_deref(), completed),
        // PATCH requires an instant.
        Answer::Patch => transfer_body(state, None, Some(completed.unwrap_or(now))),
    }
}

/// The messages of a rejection:
///
/// - The payee FSP declined: its own message to the payer FSP. If that names another FSP, an error of the
///   hub to both.
/// - The payee FSP was never asked: an error to the payer FSP only.
/// - The scheme refused the fulfilment: an error of the hub to both, to the payee FSP according to its mode.
#[must_use]
pub fn reject_processed(
    frame: &Frame<'_>,
    event: transfers::transfer_reject_request_processed::Event,
) -> Vec<Notice> {
    let report = ReportKind::TransferRejectRequestProcessed;
    let destination = named_destination(&event.message.headers, frame.hub);
    let is_for_payer = destination.is_none_or(|destination| destination == event.payer_fsp);
    let payer_version = event.payer_version.as_deref();
    let completed = event.completed_timestamp.unwrap_or(frame.now);
    match event.rejection {
        Rejection::DeclinedByPayee if !is_for_payer => {
            let cause = Cause::message(&event.message);
            let to_payer = cause.in_version(payer_version);
            let (id, reason) = (&event.transfer_id, &event.error);
            vec![
                error(frame, report, id, &event.payer_fsp, reason, to_payer),
                error(frame, report, id, &event.payee_fsp, reason, cause),
            ]
        }
        Rejection::DeclinedByPayee => {
            let on_failure = Some(OnFailure::SayItself {
                report,
                path: format!("/transfers/{}/error", event.transfer_id),
                body: error_body(&event.error),
                cause: shaping_in(&event.message.headers, payer_version),
            });
            let notice = frame.forward(event.message, event.payer_fsp, report, event.transfer_id);
            vec![Notice {
                on_failure,
                ..notice
            }]
        }
        Rejection::NeverSent => {
            let cause = Cause::none().in_version(payer_version);
            let (id, reason) = (&event.transfer_id, &event.error);
            vec![error(frame, report, id, &event.payer_fsp, reason, cause)]
        }
        Rejection::FulfilmentRefused(mode) => {
            let cause = Cause::message(&event.message);
            let (id, reason) = (&event.transfer_id, &event.error);
            let to_payer = cause.in_version(payer_version);
            let about = (report, id.as_str());
            vec![
                error(frame, report, id, &event.payer_fsp, reason, to_payer),
                aborted_for_payee(
                    frame,
                    about,
                    &event.payee_fsp,
                    (reason, completed),
                    mode,
                    cause,
                ),
            ]
        }
    }
}

/// An error of the hub to the destinations of the event.
#[must_use]
pub fn fulfil_timedout(
    frame: &Frame<'_>,
    event: &transfers::transfer_fulfil_comit_request_timedout::Event,
) -> Vec<Notice> {
    let report = ReportKind::TransferFulfilCommitRequestTimedout;
    let (id, reason) = (&event.transfer_id, &event.error);
    let mode = event.late_mode.unwrap_or(FulfilMode::Committed);
    let completed = event.completed_timestamp.unwrap_or(frame.now);
    let to_payer = Cause::none().in_version(event.payer_version.as_deref());
    let to_payee = Cause::none().in_version(event.payee_version.as_deref());
    let notices = event.destinations.iter().map(|role| match role {
        Role::Payer => error(frame, report, id, &event.payer_fsp, reason, to_payer),
        Role::Payee => aborted_for_payee(
            frame,
            (report, id),
            &event.payee_fsp,
            (reason, completed),
            mode,
            to_payee,
        ),
    });
    notices.collect()
}

/// Tells the payee FSP of an aborted transfer that it wanted to commit, with reason and time: by PATCH in
/// reserved mode, or else by PUT …/error.
fn aborted_for_payee(
    frame: &Frame<'_>,
    (report, transfer_id): (ReportKind, &str),
    payee: &str,
    (reason, completed): (&ErrorInformation, u64),
    mode: FulfilMode,
    cause: Cause<'_>,
) -> Notice {
    match mode {
        FulfilMode::Committed => error(frame, report, transfer_id, payee, reason, cause),
        FulfilMode::Reserved => frame.originate(
            cause,
            ("PATCH", format!("/transfers/{transfer_id}")),
            aborted_body(completed, reason),
            payee,
            (report, transfer_id),
        ),
    }
}

/// PUT /transfers/{ID}/error of the hub.
#[must_use]
pub fn error(
    frame: &Frame<'_>,
    report: ReportKind,
    transfer_id: &str,
    destination: &str,
    error: &ErrorInformation,
    cause: Cause<'_>,
) -> Notice {
    let path = format!("/transfers/{transfer_id}");
    frame.originate_error(cause, &path, error, destination, (report, transfer_id))
}

fn tell_all(transfer_id: &str, notices: impl FnOnce(&Frame<'_>) -> Vec<Notice>) {
    logging::subject("transfer", transfer_id);
    let frame = frame();
    for notice in notices(&frame) {
        deliver(&frame, notice);
    }
}

impl transfers::transfer_prepared::Guest for Component {
    fn transfer_prepared(event: transfers::transfer_prepared::Event) {
        tell("transfer", &event.transfer_id.clone(), |frame| {
            [prepared(frame, event)]
        });
    }
}

impl transfers::transfer_committed_fulfiled::Guest for Component {
    fn transfer_committed_fulfiled(event: transfers::transfer_committed_fulfiled::Event) {
        tell_all(&event.transfer_id.clone(), |frame| fulfiled(frame, event));
    }
}

impl transfers::transfer_query_response::Guest for Component {
    fn transfer_query_response(event: transfers::transfer_query_response::Event) {
        tell("transfer", &event.transfer_id, |frame| {
            [query_response(frame, &event)]
        });
    }
}

impl transfers::transfer_reject_request_processed::Guest for Component {
    fn transfer_reject_request_processed(
        event: transfers::transfer_reject_request_processed::Event,
    ) {
        tell_all(&event.transfer_id.clone(), |frame| {
            reject_processed(frame, event)
        });
    }
}

impl transfers::transfer_fulfil_comit_request_timedout::Guest for Component {
    fn transfer_fulfil_comit_request_timedout(
        event: transfers::transfer_fulfil_comit_request_timedout::Event,
    ) {
        tell_all(&event.transfer_id, |frame| fulfil_timedout(frame, &event));
    }
}

impl transfers::transfer_prepare_request_timedout::Guest for Component {
    fn transfer_prepare_request_timedout(
        event: transfers::transfer_prepare_request_timedout::Event,
    ) {
        let transfers::transfer_prepare_request_timedout::Event {
            transfer_id,
            payer_fsp,
            ..
        } = &event;
        tell("transfer", transfer_id, |frame| {
            let report = ReportKind::TransferPrepareRequestTimedout;
            let cause = Cause::message(&event.message);
            [error(
                frame,
                report,
                transfer_id,
                payer_fsp,
                &event.error,
                cause,
            )]
        });
    }
}

impl transfers::transfer_prepare_duplicate_check_failed::Guest for Component {
    fn transfer_prepare_duplicate_check_failed(
        event: transfers::transfer_prepare_duplicate_check_failed::Event,
    ) {
        let transfers::transfer_prepare_duplicate_check_failed::Event {
            transfer_id,
            requester_fsp,
            ..
        } = &event;
        tell("transfer", transfer_id, |frame| {
            let report = ReportKind::TransferPrepareDuplicateCheckFailed;
            let cause = Cause::message(&event.message);
            [error(
                frame,
                report,
                transfer_id,
                requester_fsp,
                &event.error,
                cause,
            )]
        });
    }
}

impl transfers::transfer_prepare_liquidity_check_failed::Guest for Component {
    fn transfer_prepare_liquidity_check_failed(
        event: transfers::transfer_prepare_liquidity_check_failed::Event,
    ) {
        let transfers::transfer_prepare_liquidity_check_failed::Event {
            transfer_id,
            payer_fsp,
            ..
        } = &event;
        tell("transfer", transfer_id, |frame| {
            let report = ReportKind::TransferPrepareLiquidityCheckFailed;
            let cause = Cause::message(&event.message);
            [error(
                frame,
                report,
                transfer_id,
                payer_fsp,
                &event.error,
                cause,
            )]
        });
    }
}

impl transfers::transfer_prepare_invalid_payer_check_failed::Guest for Component {
    fn transfer_prepare_invalid_payer_check_failed(
        event: transfers::transfer_prepare_invalid_payer_check_failed::Event,
    ) {
        let Some(destination) = &event.notify else {
            logging::subject("transfer", &event.transfer_id);
            info!(
                "the payer FSP {} is unknown, so no error is sent to it",
                event.payer_fsp
            );
            return;
        };
        tell("transfer", &event.transfer_id, |frame| {
            let report = ReportKind::TransferPrepareInvalidPayerCheckFailed;
            let cause = Cause::message(&event.message);
            [error(
                frame,
                report,
                &event.transfer_id,
                destination,
                &event.error,
                cause,
            )]
        });
    }
}

impl transfers::transfer_prepare_invalid_payee_check_failed::Guest for Component {
    fn transfer_prepare_invalid_payee_check_failed(
        event: transfers::transfer_prepare_invalid_payee_check_failed::Event,
    ) {
        let transfers::transfer_prepare_invalid_payee_check_failed::Event {
            transfer_id,
            payer_fsp,
            ..
        } = &event;
        tell("transfer", transfer_id, |frame| {
            let report = ReportKind::TransferPrepareInvalidPayeeCheckFailed;
            let cause = Cause::message(&event.message);
            [error(
                frame,
                report,
                transfer_id,
                payer_fsp,
                &event.error,
                cause,
            )]
        });
    }
}

impl transfers::transfer_prepare_rule_check_failed::Guest for Component {
    fn transfer_prepare_rule_check_failed(
        event: transfers::transfer_prepare_rule_check_failed::Event,
    ) {
        let transfers::transfer_prepare_rule_check_failed::Event {
            transfer_id,
            payer_fsp,
            ..
        } = &event;
        tell("transfer", transfer_id, |frame| {
            let report = ReportKind::TransferPrepareRuleCheckFailed;
            let cause = Cause::message(&event.message);
            [error(
                frame,
                report,
                transfer_id,
                payer_fsp,
                &event.error,
                cause,
            )]
        });
    }
}
