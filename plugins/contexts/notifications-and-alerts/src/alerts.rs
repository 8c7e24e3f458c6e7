//! Alerts: canonical events for operators. An alert is stored, logged and listed over HTTP; the choreography
//! (5.4) leaves other ways open.

use crate::bindings::exports::rialto::participant_lifecycle_management::participant_liquidity_threshold_exceeded::{
    Event, Warning,
};
use rialto_sdk::documents::{Collection, Page, Range};
use rialto_sdk::money::format_amount;
use serde::{Deserialize, Serialize};

/// Alerts, the oldest first.
pub(crate) const ALERTS: Collection<AlertDocument> = Collection::new("alerts");

/// An alert.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AlertDocument {
    /// The event's name in kebab-case, and its kind after a slash.
    pub alert: String,
    /// The participant.
    pub participant: String,
    /// A sentence.
    pub message: String,
    /// UTC, milliseconds since 1970.
    pub raised_at: u64,
}

impl AlertDocument {
    /// The alert that a participant's liquidity is low.
    #[must_use]
    pub fn of_liquidity(event: &Event) -> Self {
        let (participant, currency) = (&event.participant, &event.currency);
        let available = format_amount(&event.position.available);
        let (kind, message) = match event.warning {
            Warning::Threshold => {
                let threshold = event.position.threshold.as_ref().map(format_amount);
                let threshold = threshold.unwrap_or_default();
                let message = format!(
                    "{participant} has {available} {currency} left, less than its threshold of {threshold}"
                );
                ("threshold", message)
            }
            Warning::Limit => {
                let message = format!(
                    "{participant} could not cover a transfer: {available} {currency} are left, within its limits"
                );
                ("limit", message)
            }
        };
        Self {
            alert: format!("participant-liquidity-threshold-exceeded/{kind}"),
            participant: participant.clone(),
            message,
            raised_at: event.warned_at,
        }
    }

    fn id(&self) -> String {
        let (at, participant, alert) = (self.raised_at, &self.participant, &self.alert);
        format!("{at:013}/{participant}/{alert}")
    }
}

/// Stores an alert.
pub fn keep(alert: &AlertDocument) {
    ALERTS.put(&alert.id(), alert);
}

/// A page of alerts, oldest first, and the cursor of the next one.
#[must_use]
pub fn page(cursor: Option<&str>, limit: u32) -> (Vec<AlertDocument>, Option<String>) {
    let Page { documents, cursor } = ALERTS.scan(&Range::All, cursor, limit);
    let alerts = documents.into_iter().map(|(_, alert)| alert);
    (alerts.collect(), cursor)
}
