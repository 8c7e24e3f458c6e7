//! Deliveries of the messages about a transfer or a quote, in its document.

use crate::bindings::rialto::common::types::CallbackReport;
use serde::{Deserialize, Serialize};

/// The most deliveries of a document: enough for all usual messages and some repeats, and a bound for an FSP
/// that repeats its queries.
pub const DELIVERIES_MAX: usize = 16;

/// Which messages leave a report or a delivery. The history has all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kept {
    /// Messages that took more than one attempt or failed.
    #[default]
    Troubled,
    /// All messages, at the cost of a write for each.
    All,
}

impl Kept {
    /// Whether a message with this outcome is kept.
    #[must_use]
    pub const fn keeps(self, delivered: bool, attempts: u32) -> bool {
        matches!(self, Self::All) || !delivered || attempts > 1
    }
}

/// A message to a participant, with its outcome.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DeliveryDocument {
    /// The event's name in kebab-case: `transfer-prepare`.
    pub kind: String,
    /// Whom it was for.
    pub destination: String,
    /// The HTTP method.
    pub method: String,
    /// The path of the FSPIOP resource.
    pub path: String,
    /// Whether the destination answered 2xx.
    pub delivered: bool,
    /// The destination's answer, or 0 if there was none.
    pub status: u16,
    /// Attempts in all.
    pub attempts: u32,
    /// Why it was not delivered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// UTC, milliseconds since 1970.
    pub reported_at: u64,
    /// Whether it never left the hub.
    #[serde(default, skip_serializing_if = "is_false")]
    pub never_sent: bool,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
const fn is_false(flag: &bool) -> bool {
    !*flag
}

impl DeliveryDocument {
    /// The document of a report.
    #[must_use]
    pub fn new(kind: &str, report: CallbackReport) -> Self {
        Self {
            kind: kind.to_owned(),
            destination: report.destination,
            method: report.method,
            path: report.path,
            delivered: report.delivered,
            status: report.status,
            attempts: report.attempts,
            reason: report.reason,
            reported_at: report.reported_at,
            never_sent: report.not_sent.is_some(),
        }
    }
}

/// Adds a delivery. Removes the oldest if there are more than [`DELIVERIES_MAX`].
pub fn record(deliveries: &mut Vec<DeliveryDocument>, delivery: DeliveryDocument) {
    if deliveries.len() >= DELIVERIES_MAX {
        deliveries.drain(..=deliveries.len() - DELIVERIES_MAX);
    }
    deliveries.push(delivery);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_delivered_at_once_are_kept_on_request() {
        assert!(!Kept::Troubled.keeps(true, 1));
        assert!(Kept::Troubled.keeps(true, 2));
        assert!(Kept::Troubled.keeps(false, 1));
        assert!(Kept::All.keeps(true, 1));
    }

    #[test]
    fn the_latest_deliveries_are_kept() {
        let mut deliveries = Vec::new();
        for attempts in 0..40 {
            let report = CallbackReport {
                subject: "t".to_owned(),
                destination: "payerfsp".to_owned(),
                method: "PUT".to_owned(),
                path: "/transfers/t".to_owned(),
                delivered: true,
                status: 200,
                attempts,
                reason: None,
                reported_at: 1,
                not_sent: None,
            };
            record(
                &mut deliveries,
                DeliveryDocument::new("transfer-prepare", report),
            );
        }
        let kept: Vec<u32> = deliveries
            .iter()
            .map(|delivery| delivery.attempts)
            .collect();
        assert_eq!(kept, (24..40).collect::<Vec<u32>>());
    }
}
