//! Alerts: canonical events that operators are to hear of. An alert is kept as data, told in the log, and
//! served with the others; the choreography (5.4) leaves open by which other way it reaches people.

use crate::bindings::exports::rialto::participant_lifecycle_management::participant_liquidity_threshold_exceeded::{
    Event, Warning,
};
use rialto_sdk::documents::{Collection, Page, Range};
use rialto_sdk::money::format_amount;
use serde::{Deserialize, Serialize};

/// Alerts, the oldest first.
pub(crate) const ALERTS: Collection<AlertDocument> = Collection::new("alerts");

/// Something that operators are to hear of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AlertDocument {
    /// What happened: the event's name in kebab-case, and after a slash which kind of it.
    pub alert: String,
    /// Whom it is about.
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

/// Keep an alert.
pub fn keep(alert: &AlertDocument) {
    ALERTS.put(&alert.id(), alert);
}

/// One page of alerts, oldest first, and where the next one begins.
#[must_use]
pub fn page(cursor: Option<&str>, limit: u32) -> (Vec<AlertDocument>, Option<String>) {
    let Page { documents, cursor } = ALERTS.scan(&Range::All, cursor, limit);
    let alerts = documents.into_iter().map(|(_, alert)| alert);
    (alerts.collect(), cursor)
}
