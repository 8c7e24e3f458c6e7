//! The component's settings.

use serde::Deserialize;

/// Settings of the scheme's manifest for this component.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct Settings {
    /// How long a query for a party waits for the answer of the party's FSP, in milliseconds.
    pub party_query_timeout_ms: u64,
    /// What happens when an FSP associates a party that is with another FSP.
    pub takeover: Takeover,
}

/// Whether an FSP may associate a party that is with another FSP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Takeover {
    /// No: the other FSP has to end its association first.
    Refuse,
    /// Yes: the scheme has its own ways to see that the party wants it.
    Allow,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            party_query_timeout_ms: 30_000,
            takeover: Takeover::Refuse,
        }
    }
}
