//! Queries for transfers by FSPs. A query changes nothing.
//!
//! A query takes one delivery to get here, a request for a transfer takes two. So a query may overtake the
//! request that the hub accepted before it. A query that finds nothing therefore waits for a reminder that is
//! due at once: it follows the deliveries about the transfer that were under way. After `DELIVERIES` reminders,
//! the request has arrived, or the hub did not accept it before the query.

use crate::bindings::exports::rialto::fsp_interop_api::transfer_query_received as received;
use crate::bindings::exports::rialto::scheduling::schedule_reminder_elapsed as elapsed;
use crate::bindings::rialto::transfers::transfer_query_response::{
    Answer, Event, TransferQueryResult, TransferStatus,
};
use crate::surroundings::{Publication, Surroundings};
use crate::transfer::{State, Transfer};
use rialto_sdk::bindings::rialto::common::types::{ErrorInformation, Message};
use rialto_sdk::canonical::sha256_hex;
use rialto_sdk::errors::error;
use serde::{Deserialize, Serialize};

/// The deliveries of a request for a transfer: to Settlements, and from there to this context.
const DELIVERIES: u32 = 2;

/// A query that has found nothing yet: the payload of its reminder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Question {
    /// Which transfer.
    pub transfer_id: String,
    /// Who asks.
    pub requester_fsp: String,
    /// The version in which the answer is wanted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer_version: Option<String>,
    /// How many more times to ask.
    pub again: u32,
}

/// Answers a query. An FSP that is no party to the transfer gets the same answer as for an unknown id, at the
/// same time.
pub fn query(world: &mut impl Surroundings, event: received::Event) {
    let question = Question {
        transfer_id: event.transfer_id,
        requester_fsp: event.requester_fsp,
        answer_version: event.answer_version,
        again: DELIVERIES,
    };
    // Headers, which have a time and a trace, distinguish two queries of one FSP. The name ends with the
    // transfer's id, as its own reminder's does, so that the history is found by it.
    let told_apart = &sha256_hex(event.message.headers.as_bytes())[..16];
    let name = format!("query/{told_apart}/{}", question.transfer_id);
    answer_or_wait(world, &name, question, event.message);
}

/// The query of a reminder. None if the reminder is for something else.
#[must_use]
pub fn of_reminder(event: &elapsed::Event) -> Option<Question> {
    if event.payload.is_empty() {
        return None;
    }
    let question = serde_json::from_str(&event.payload);
    Some(question.unwrap_or_else(|problem| {
        panic!(
            "the payload of the reminder {:?} cannot be read: {problem}",
            event.id
        )
    }))
}

/// Repeats a query that found nothing.
pub fn ask_again(world: &mut impl Surroundings, name: &str, question: Question) {
    let message = Message {
        method: "GET".to_owned(),
        path: format!("/transfers/{}", question.transfer_id),
        headers: String::new(),
        body: String::new(),
    };
    let question = Question {
        again: question.again.saturating_sub(1),
        ..question
    };
    answer_or_wait(world, name, question, message);
}

fn answer_or_wait(world: &mut impl Surroundings, name: &str, question: Question, message: Message) {
    let transfer = world
        .read_transfer(&question.transfer_id)
        .filter(|transfer| transfer.is_party(&question.requester_fsp));
    let outcome = match transfer {
        Some(transfer) => TransferQueryResult::Found(status(&transfer)),
        None if question.again > 0 => return world.ask_again(name, &question),
        None => TransferQueryResult::Failed(not_found()),
    };
    world.publish(Publication::QueryResponse(Event {
        transfer_id: question.transfer_id,
        requester_fsp: question.requester_fsp,
        outcome,
        answer: Answer::Put,
        message,
        answer_version: question.answer_version,
    }));
}

/// The state of a transfer, as its parties get it.
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

/// The answer about a transfer that is unknown to its sender.
pub(crate) fn not_found() -> ErrorInformation {
    error("3208", "")
}

/// The error for a commitment to another FSP than the payer FSP: the payer FSP would refuse the forwarded
/// message.
pub(crate) fn wrong_destination() -> ErrorInformation {
    error("3100", "FSPIOP-Destination is not the payer FSP")
}

/// Answers a message that does not fit its transfer with an error, to its sender only.
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
