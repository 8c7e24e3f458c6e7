//! An FSP asks for a transfer, and how a transfer's state is told. A query changes nothing.

use crate::bindings::exports::rialto::fsp_interop_api::transfer_query_received as received;
use crate::bindings::rialto::transfers::transfer_query_response::{
    Answer, Event, TransferQueryResult, TransferStatus,
};
use crate::surroundings::{Publication, Surroundings};
use crate::transfer::{State, Transfer};
use rialto_sdk::bindings::rialto::common::types::{ErrorInformation, Message};
use rialto_sdk::errors::error;

/// Answer a query. Who is no party to the transfer is told what is told of an unknown id.
pub fn query(world: &mut impl Surroundings, event: received::Event) {
    let transfer = world
        .read_transfer(&event.transfer_id)
        .filter(|transfer| transfer.is_party(&event.requester_fsp));
    let outcome = transfer.map_or_else(
        || TransferQueryResult::Failed(not_found()),
        |transfer| TransferQueryResult::Found(status(&transfer)),
    );
    world.publish(Publication::QueryResponse(Event {
        transfer_id: event.transfer_id,
        requester_fsp: event.requester_fsp,
        outcome,
        answer: Answer::Put,
        message: event.message,
        answer_version: event.answer_version,
    }));
}

/// The state of a transfer as its parties may know it.
pub(crate) fn status(transfer: &Transfer) -> TransferStatus {
    let is_committed = transfer.state == State::Committed;
    assert!(
        !is_committed || transfer.fulfilment.is_some(),
        "transfer {} is committed and has no fulfilment",
        transfer.transfer_id
    );
    TransferStatus {
        state: transfer.state.external(),
        fulfilment: transfer.fulfilment.clone().filter(|_| is_committed),
        completed_timestamp: transfer.ended_at(),
        cause: transfer.reason.clone().map(ErrorInformation::from),
    }
}

/// The answer to a message about a transfer that does not exist, or not for its sender.
pub(crate) fn not_found() -> ErrorInformation {
    error("3208", "")
}

/// Why a commitment for somebody else than the payer FSP is refused: it would be forwarded to a payer FSP
/// that has every reason to refuse it.
pub(crate) fn wrong_destination() -> ErrorInformation {
    error("3100", "FSPIOP-Destination is not the payer FSP")
}

/// Answer a message that does not fit its transfer with an error, to its sender alone.
pub(crate) fn refuse(
    world: &mut impl Surroundings,
    transfer_id: String,
    sender: String,
    error: ErrorInformation,
    message: Message,
) {
    world.publish(Publication::QueryResponse(Event {
        transfer_id,
        requester_fsp: sender,
        outcome: TransferQueryResult::Failed(error),
        answer: Answer::Put,
        message,
        answer_version: None,
    }));
}
