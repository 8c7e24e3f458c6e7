//! The payee FSP declines.

use crate::bindings::exports::rialto::fsp_interop_api::transfer_reject_requested as requested;
use crate::bindings::rialto::transfers::transfer_reject_request_processed as processed;
use crate::query::{not_found, refuse};
use crate::surroundings::{Publication, Surroundings, keep, release};
use crate::timeout::tell_late_payee;
use crate::transfer::{RejectionKind, State, Transfer};
use rialto_sdk::errors::error;
use rialto_sdk::logging::Level;
use rialto_sdk::messages::ErrorDocument;

/// Handles a refusal. It counts even if the transfer has just expired: the funds are released in both cases,
/// and the payee FSP's own reason says more. It also counts if it names another destination than the payer FSP.
pub fn reject(world: &mut impl Surroundings, event: requested::Event) {
    let refusal = match world.transfer(&event.transfer_id) {
        None => not_found(),
        Some(transfer) if event.requester_fsp != transfer.payee_fsp => {
            error("3100", "the sender is not the payee FSP")
        }
        Some(transfer) => match (transfer.state, transfer.rejection) {
            (State::Prepared, _) => return conclude(world, transfer, event),
            (State::Rejected, Some(RejectionKind::TimedOut)) => {
                return tell_late_payee(world, &transfer, None, event.answer_version);
            }
            (State::Rejected, Some(RejectionKind::DeclinedByPayee)) => {
                if transfer.reason == Some(ErrorDocument::from(&event.error)) {
                    // A repeat: the payee FSP needs no answer.
                    return world.log(Level::Debug, "a repeated refusal is ignored");
                }
                error("3106", "another refusal was handled already")
            }
            _ => error("3100", "the transfer does not wait for the payee FSP"),
        },
    };
    let requested::Event {
        transfer_id,
        requester_fsp,
        message,
        ..
    } = event;
    refuse(world, transfer_id, requester_fsp, refusal, message);
}

fn conclude(world: &mut impl Surroundings, mut transfer: Transfer, event: requested::Event) {
    let now = world.now();
    world.delete_reminder(&transfer.transfer_id);
    transfer.reject(RejectionKind::DeclinedByPayee, &event.error, now);
    release(world, &mut transfer);
    keep(world, &transfer);
    world.publish(Publication::RejectRequestProcessed(processed::Event {
        transfer_id: transfer.transfer_id,
        payer_fsp: transfer.payer_fsp,
        payee_fsp: transfer.payee_fsp,
        rejection: processed::Rejection::DeclinedByPayee,
        error: event.error,
        message: event.message,
        completed_timestamp: Some(now),
        payer_version: transfer.payer_version,
    }));
}
