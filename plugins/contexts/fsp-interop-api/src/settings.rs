//! The component's settings.

use serde::Deserialize;

/// Settings of the scheme's manifest for this component.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct Settings {
    /// How long an answer to a participant is worth delivering, in milliseconds. A request for a
    /// transfer is worth it until the transfer expires.
    pub delivery_deadline_ms: u64,
    /// How long a query for a party or a request for a quote is worth delivering, in milliseconds:
    /// after that the one who waits for it is told that the other FSP cannot be reached.
    pub request_deadline_ms: u64,
    /// How far ahead of the hub's clock a payee FSP's `completedTimestamp` may be, in milliseconds.
    pub completed_timestamp_ahead_ms: u64,
    /// How old a payee FSP's `completedTimestamp` may be, in milliseconds.
    pub completed_timestamp_age_ms: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            delivery_deadline_ms: 30_000,
            request_deadline_ms: 5_000,
            // As deployed switches have it.
            completed_timestamp_ahead_ms: 200,
            completed_timestamp_age_ms: 300_000,
        }
    }
}
