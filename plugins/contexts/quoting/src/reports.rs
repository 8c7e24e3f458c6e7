//! Outcomes of the messages to participants.

use crate::bindings::exports::rialto::fsp_interop_api::quote_request_undelivered as undelivered;
use crate::bindings::rialto::quoting::quote_query_response::QuoteQueryResult;
use crate::query::answer;
use crate::quote::State;
use crate::surroundings::Surroundings;
use rialto_sdk::bindings::rialto::common::types::CallbackReport;
use rialto_sdk::deliveries::{DeliveryDocument, record};
use rialto_sdk::logging::Level;

/// Keeps a report with its quote. A report of a message to another FSP is not kept: strangers could push out
/// the others.
pub fn report(world: &mut impl Surroundings, kind: &str, report: CallbackReport) {
    let kept = world.settings().deliveries_kept;
    if !kept.keeps(report.delivered, report.attempts) {
        return;
    }
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

/// Ends a quote whose request did not reach the payee FSP, and tells the payer FSP at once: nothing is reserved
/// that would have to wait. If the payee FSP has answered, the request did arrive, and the answer stands.
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
