//! The payee FSP declines a request for a quote.

use crate::bindings::exports::rialto::fsp_interop_api::quote_reject_requested as requested;
use crate::bindings::rialto::quoting::quote_query_response::QuoteQueryResult;
use crate::bindings::rialto::quoting::quote_reject_request_processed as processed;
use crate::query::{answer, not_found, wrong_destination};
use crate::quote::{Quote, State};
use crate::surroundings::{Publication, Surroundings};
use rialto_sdk::errors::error;
use rialto_sdk::logging::Level;
use rialto_sdk::messages::ErrorDocument;

/// Handles a refusal.
pub fn reject(world: &mut impl Surroundings, event: requested::Event) {
    let refusal = match world.quote(&event.quote_id) {
        None => not_found(),
        Some(quote) if !quote.is_payee(&event.requester_fsp) => {
            error("3100", "the sender is not the payee FSP")
        }
        Some(quote) if !quote.may_go_to_payer(event.destination_fsp.as_deref()) => {
            wrong_destination()
        }
        Some(quote) if quote.state == State::Pending => return conclude(world, quote, event),
        Some(quote) if quote.reason == Some(ErrorDocument::from(&event.error)) => {
            // A repeat: the payee FSP needs no answer.
            return world.log(Level::Debug, "a repeated refusal is ignored");
        }
        Some(_) => error("3100", "the quote does not wait for the payee FSP"),
    };
    let outcome = QuoteQueryResult::Failed(refusal);
    answer(
        world,
        event.quote_id,
        event.requester_fsp,
        outcome,
        event.message,
    );
}

fn conclude(world: &mut impl Surroundings, mut quote: Quote, event: requested::Event) {
    quote.end(State::Rejected, &event.error, world.now());
    world.put_quote(&quote);
    world.publish(Publication::RejectRequestProcessed(processed::Event {
        quote_id: event.quote_id,
        payer_fsp: quote.payer_fsp,
        payee_fsp: event.requester_fsp,
        message: event.message,
    }));
}
