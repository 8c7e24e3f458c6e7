//! What became of the messages to participants.

use crate::quote::State;
use crate::surroundings::Surroundings;
use rialto_sdk::bindings::rialto::common::types::CallbackReport;
use rialto_sdk::deliveries::{DeliveryDocument, record};
use rialto_sdk::errors::error;
use rialto_sdk::logging::Level;

/// The report about the request that went to the payee FSP.
pub const REQUEST: &str = "quote-received";

/// Keep a report with its quote. A message to an FSP that is no party to the quote is not kept:
/// strangers could push out what matters. A request that did not reach the payee FSP ends the
/// quote: there is nothing reserved to wait for, and the payer FSP is told at once.
pub fn report(world: &mut impl Surroundings, kind: &str, report: CallbackReport) {
    let quote = world
        .quote(&report.subject)
        .filter(|quote| quote.is_party(&report.destination));
    let Some(mut quote) = quote else {
        let line = format!("a {kind} report to {} is not kept", report.destination);
        return world.log(Level::Debug, &line);
    };
    if kind == REQUEST && !report.delivered && quote.state == State::Pending {
        let error = error("1001", "the payee FSP could not be reached");
        quote.end(State::Rejected, &error, world.now());
    }
    record(&mut quote.deliveries, DeliveryDocument::new(kind, report));
    world.put_quote(&quote);
}
