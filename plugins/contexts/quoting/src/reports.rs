//! What became of the messages to participants.

use crate::bindings::exports::rialto::fsp_interop_api::quote_request_undelivered as undelivered;
use crate::bindings::rialto::quoting::quote_query_response::QuoteQueryResult;
use crate::query::answer;
use crate::quote::State;
use crate::surroundings::Surroundings;
use rialto_sdk::bindings::rialto::common::types::CallbackReport;
use rialto_sdk::deliveries::{DeliveryDocument, record};
use rialto_sdk::logging::Level;

/// Keep a report with its quote. A message to an FSP that is no party to the quote is not kept:
/// strangers could push out what matters.
pub fn report(world: &mut impl Surroundings, kind: &str, report: CallbackReport) {
    let quote = world
        .quote(&report.subject)
        .filter(|quote| quote.is_party(&report.destination));
    let Some(mut quote) = quote else {
        let line = format!("a {kind} report to {} is not kept", report.destination);
        return world.log(Level::Debug, &line);
    };
    record(&mut quote.deliveries, DeliveryDocument::new(kind, report));
    world.put_quote(&quote);
}

/// A request that did not reach the payee FSP ends the quote: there is nothing reserved to wait for,
/// and the payer FSP is told at once. But it may have come there all the same, only the hub did not
/// hear so: if the payee FSP has answered, what it answered stands.
pub fn undelivered(world: &mut impl Surroundings, event: undelivered::Event) {
    let quote = world
        .quote(&event.quote_id)
        .filter(|quote| quote.state == State::Pending && quote.is_payee(&event.payee_fsp));
    let Some(mut quote) = quote else {
        let line = "the payee FSP has answered a request that was reported as not delivered";
        return world.log(Level::Debug, line);
    };
    quote.end(State::Rejected, &event.error, world.now());
    world.put_quote(&quote);
    let outcome = QuoteQueryResult::Failed(event.error);
    answer(
        world,
        quote.quote_id,
        quote.payer_fsp,
        outcome,
        event.message,
    );
}
