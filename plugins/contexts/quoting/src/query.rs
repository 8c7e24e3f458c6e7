//! An FSP asks for a quote that exists, and how a quote is told. A query changes nothing.

use crate::bindings::exports::rialto::fsp_interop_api::quote_query_received as received;
use crate::bindings::rialto::quoting::quote_query_response::{Event, QuoteQueryResult};
use crate::quote::Quote;
use crate::surroundings::{Publication, Surroundings};
use rialto_sdk::bindings::rialto::common::types::{ErrorInformation, Message};
use rialto_sdk::errors::error;

/// Answer a query. Who is no party to the quote is told what is told of an unknown id.
pub fn query(world: &mut impl Surroundings, event: received::Event) {
    let quote = world
        .read_quote(&event.quote_id)
        .filter(|quote| quote.is_party(&event.requester_fsp));
    let outcome = quote.map_or_else(|| QuoteQueryResult::Failed(not_found()), outcome);
    let received::Event {
        quote_id,
        requester_fsp,
        message,
    } = event;
    answer(world, quote_id, requester_fsp, outcome, message);
}

/// A quote as its parties may know it: the accepted terms, or why there are none.
pub(crate) fn outcome(quote: Quote) -> QuoteQueryResult {
    match (quote.response_body, quote.reason) {
        (Some(body), _) => QuoteQueryResult::Found(body),
        (None, Some(reason)) => QuoteQueryResult::Failed(reason.into()),
        (None, None) => {
            let detail = "the payee FSP has not answered yet";
            QuoteQueryResult::Failed(error("3205", detail))
        }
    }
}

/// The answer to a message about a quote that does not exist, or not for its sender.
pub(crate) fn not_found() -> ErrorInformation {
    error("3205", "")
}

/// The answer to a payee FSP whose message is for somebody else than the payer FSP: it would be
/// forwarded to a payer FSP that has every reason to refuse it.
pub(crate) fn wrong_destination() -> ErrorInformation {
    error("3100", "FSPIOP-Destination is not the payer FSP")
}

/// Answer one FSP.
pub(crate) fn answer(
    world: &mut impl Surroundings,
    quote_id: String,
    requester_fsp: String,
    outcome: QuoteQueryResult,
    message: Message,
) {
    world.publish(Publication::QueryResponse(Event {
        quote_id,
        requester_fsp,
        outcome,
        message,
    }));
}
