//! What became of the messages to participants: kept beside a transfer. One report says something about its
//! state: that its request surely never left the hub for the payee FSP. Then nobody can answer, and it ends.

use crate::bindings::rialto::transfers::transfer_reject_request_processed as processed;
use crate::surroundings::{Publication, Surroundings, keep, release};
use crate::transfer::{RejectionKind, State, Transfer};
use rialto_sdk::bindings::rialto::common::types::{
    CallbackReport, ErrorInformation, Message, NotSent,
};
use rialto_sdk::deliveries::{DeliveryDocument, record};
use rialto_sdk::errors::error;
use rialto_sdk::logging::Level;

/// The kind of the report about the POST to the payee FSP.
pub const PREPARE: &str = "transfer-prepare";

/// Keep a report with its transfer. A message to an FSP that is no party to the transfer is not
/// kept: strangers could push out what matters.
pub fn report(world: &mut impl Surroundings, kind: &str, report: CallbackReport) {
    let transfer = world
        .transfer(&report.subject)
        .filter(|transfer| transfer.is_party(&report.destination));
    let Some(mut transfer) = transfer else {
        let line = format!("a {kind} report to {} is not kept", report.destination);
        return world.log(Level::Debug, &line);
    };
    let never_asked = report
        .not_sent
        .filter(|_| kind == PREPARE && report.destination == transfer.payee_fsp)
        .filter(|_| transfer.state == State::Prepared);
    record(
        &mut transfer.deliveries,
        DeliveryDocument::new(kind, report),
    );
    match never_asked {
        Some(why) => {
            let error = never_sent(&transfer, why);
            end_never_sent(world, &mut transfer, error);
        }
        None => keep(world, &transfer),
    }
}

/// End a prepared transfer of which its payee FSP surely never heard: give the funds back and tell the payer
/// FSP. To wait for its expiry would help nobody.
pub(crate) fn end_never_sent(
    world: &mut impl Surroundings,
    transfer: &mut Transfer,
    error: ErrorInformation,
) {
    world.delete_reminder(&transfer.transfer_id);
    release(world, &transfer.transfer_id);
    conclude_never_sent(world, transfer, error);
}

/// The rest of [`end_never_sent`], when the funds have been given back.
pub(crate) fn conclude_never_sent(
    world: &mut impl Surroundings,
    transfer: &mut Transfer,
    error: ErrorInformation,
) {
    let now = world.now();
    transfer.reject(RejectionKind::NeverSent, &error, now);
    keep(world, transfer);
    world.publish(Publication::RejectRequestProcessed(processed::Event {
        transfer_id: transfer.transfer_id.clone(),
        payer_fsp: transfer.payer_fsp.clone(),
        payee_fsp: transfer.payee_fsp.clone(),
        rejection: processed::Rejection::NeverSent,
        error,
        message: Message {
            method: String::new(),
            path: String::new(),
            headers: String::new(),
            body: String::new(),
        },
        completed_timestamp: Some(now),
        payer_version: transfer.payer_version.clone(),
    }));
}

/// What the payer FSP is told.
fn never_sent(transfer: &Transfer, why: NotSent) -> ErrorInformation {
    let payee = &transfer.payee_fsp;
    match why {
        NotSent::NoAddress => error("3201", &format!("{payee} takes no callbacks")),
        NotSent::NotAllowed => error("1001", &format!("{payee} cannot be reached")),
    }
}
