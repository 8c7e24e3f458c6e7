//! Reports of messages to participants, kept with the transfer as the settings say. One report changes its state: if the request
//! never left the hub, the payee FSP cannot answer, and the transfer ends.

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

/// Keeps a report with its transfer. A report of a message to another FSP is not kept: strangers could push out
/// the others.
pub fn report(world: &mut impl Surroundings, kind: &str, report: CallbackReport) {
    let kept = world.settings().deliveries_kept;
    if !kept.keeps(report.delivered, report.attempts) {
        return;
    }
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

/// Ends a prepared transfer that never left the hub for its payee FSP: releases the funds and tells the payer
/// FSP at once.
pub(crate) fn end_never_sent(
    world: &mut impl Surroundings,
    transfer: &mut Transfer,
    error: ErrorInformation,
) {
    world.delete_reminder(&transfer.transfer_id);
    release(world, transfer);
    conclude_never_sent(world, transfer, error);
}

/// The rest of [`end_never_sent`], after the release of the funds.
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

/// The error for the payer FSP.
fn never_sent(transfer: &Transfer, why: NotSent) -> ErrorInformation {
    let payee = &transfer.payee_fsp;
    match why {
        NotSent::NoAddress => error("3201", &format!("{payee} has no callback address")),
        NotSent::NotAllowed => error("1001", &format!("{payee} cannot be reached")),
    }
}
