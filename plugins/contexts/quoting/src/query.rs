//! An FSP asks for a quote that exists, and how a quote is told. A query changes nothing.

use crate::bindings::exports::rialto::fsp_interop_api::quote_query_received as received;
use crate::bindings::rialto::quoting::quote_query_response::{Event, QuoteQueryResult};
use crate::quote::Quote;
use crate::surroundings::{Publication, Surroundings};
use rialto_sdk::bindings::rialto::common::types::{ErrorInformation, Message};
use rialto_sdk::errors::error;
use rialto_sdk::logging::Level;

/// Answer a query. Who is no party to the quote is told what is told of an unknown id. While the payee
/// FSP has not answered there is nothing to tell: an error would read as a refusal, and the callback
/// that comes of the quote answers the query too. Once the request has expired it cannot come any more;
/// a request without `expiration` expires when the payee FSP has had its time.
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

/// A quote as its parties may know it: the accepted terms, or why there are none; nothing of one that is
/// pending.
pub(crate) fn outcome(quote: Quote) -> Option<QuoteQueryResult> {
    match (quote.response_body, quote.reason) {
        (Some(body), _) => Some(QuoteQueryResult::Found(body)),
        (None, Some(reason)) => Some(QuoteQueryResult::Failed(reason.into())),
        (None, None) => None,
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
