//! What became of the messages to participants: kept beside a transfer, never inside its state.

use crate::surroundings::{Surroundings, keep};
use rialto_sdk::bindings::rialto::common::types::CallbackReport;
use rialto_sdk::deliveries::{DeliveryDocument, record};
use rialto_sdk::logging::Level;

/// Keep a report with its transfer. A message to an FSP that is no party to the transfer is not
/// kept: strangers could push out what matters.
pub fn report(world: &mut impl Surroundings, kind: &str, report: CallbackReport) {
    let transfer = world
        .transfer(&report.subject)
        .filter(|transfer| transfer.is_party(&report.destination));
    let Some(mut transfer) = transfer else {
        let line = format!("a {kind} report to {} is not kept", report.destination);
        return world.log(Level::Debug, &line);
    };
    record(
        &mut transfer.deliveries,
        DeliveryDocument::new(kind, report),
    );
    keep(world, &transfer);
}
