//! Queries for quotes by FSPs. A query changes nothing.

use crate::bindings::exports::rialto::fsp_interop_api::quote_query_received as received;
use crate::bindings::rialto::quoting::quote_query_response::{Event, QuoteQueryResult};
use crate::quote::Quote;
use crate::surroundings::{Publication, Surroundings};
use rialto_sdk::bindings::rialto::common::types::{ErrorInformation, Message};
use rialto_sdk::errors::error;
use rialto_sdk::logging::Level;

/// Answers a query. An FSP that is no party to the quote gets the answer for an unknown id. While the payee FSP
/// has not answered, the query gets no answer of its own: an error would read as a refusal, and the quote's
/// callback answers the query too. After the request's expiration, no callback can come, and the query is
/// answered. A request without `expiration` expires after the answer time of the settings.
pub fn query(world: &mut impl Surroundings, event: received::Event) {
    let received::Event {
        quote_id,
        requester_fsp,
        message,
    } = event;
    let quote = world
        .read_quote(&quote_id)
        .filter(|quote| quote.is_party(&requester_fsp));
    let now = world.now();
    let outcome = match quote {
        None => Some(QuoteQueryResult::Failed(not_found())),
        Some(quote) if quote.is_overdue(now, world.settings()) => {
            let error = error("3302", "the payee FSP has not answered in time");
            Some(QuoteQueryResult::Failed(error))
        }
        Some(quote) => outcome(quote),
    };
    let Some(outcome) = outcome else {
        let line = "a query for a pending quote is answered by the quote's own callback";
        return world.log(Level::Debug, line);
    };
    answer(world, quote_id, requester_fsp, outcome, message);
}

/// A quote as its parties get it: the accepted terms, or the reason for none. None while it is pending.
pub(crate) fn outcome(quote: Quote) -> Option<QuoteQueryResult> {
    if quote.archived.is_some() {
        return Some(of_archived(quote));
    }
    match (quote.response_body, quote.reason) {
        (Some(body), _) => Some(QuoteQueryResult::Found(body)),
        (None, Some(reason)) => Some(QuoteQueryResult::Failed(reason.into())),
        (None, None) => None,
    }
}

/// The answer about an archived quote: the reason why there are no terms, or that they have expired.
pub(crate) fn of_archived(quote: Quote) -> QuoteQueryResult {
    let expired = || error("3302", "the terms have expired");
    QuoteQueryResult::Failed(quote.reason.map_or_else(expired, ErrorInformation::from))
}

/// The answer about a quote that is unknown to its sender.
pub(crate) fn not_found() -> ErrorInformation {
    error("3205", "")
}

/// The error for a message to another FSP than the payer FSP: the payer FSP would refuse the forwarded message.
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
