//! The component's settings: what a scheme may choose about quotes.

use rialto_sdk::lifetime::Lifetime;
use rialto_sdk::settings::Problems;
use serde::Deserialize;

/// Settings of the scheme's manifest for this component.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct Settings {
    /// The most time that a request for a quote, or the terms of a quote, may have left when they
    /// arrive, in milliseconds.
    pub longest_lifetime_ms: u64,
    /// The least time that they must have left, in milliseconds; 0 for none.
    pub shortest_lifetime_ms: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            longest_lifetime_ms: 7 * 24 * 60 * 60 * 1000,
            shortest_lifetime_ms: 0,
        }
    }
}

impl Settings {
    /// The bounds of a quote's lifetime.
    #[must_use]
    pub const fn lifetime(&self) -> Lifetime {
        Lifetime {
            shortest_ms: self.shortest_lifetime_ms,
            longest_ms: self.longest_lifetime_ms,
        }
    }

    /// What is wrong with settings that can be parsed.
    pub fn judge(&self, problems: &mut Problems) {
        if let Err(problem) = self.lifetime().validate() {
            problems.note("", problem);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_read_as_an_operator_writes_them() {
        let settings: Settings =
            serde_json::from_str(r#"{"longestLifetimeMs":1000,"shortestLifetimeMs":10}"#).unwrap();
        assert_eq!(settings.lifetime().longest_ms, 1000);
        assert_eq!(settings.lifetime().shortest_ms, 10);
        assert_eq!(Settings::default().lifetime().validate(), Ok(()));
    }
}
