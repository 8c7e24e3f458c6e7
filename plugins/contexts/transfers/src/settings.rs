//! The component's settings: what a scheme may choose about transfers.

use rialto_sdk::deliveries::Kept;
use rialto_sdk::lifetime::Lifetime;
use rialto_sdk::settings::Problems;
use serde::Deserialize;

/// Settings of the scheme's manifest for this component.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct Settings {
    /// The longest time to its expiration that an arriving transfer may have, in milliseconds. Its funds can
    /// stay reserved for that time.
    pub longest_lifetime_ms: u64,
    /// The shortest such time, in milliseconds; 0 for none.
    pub shortest_lifetime_ms: u64,
    /// How many transfers an agreed quote serves.
    pub agreement_serves: AgreementServes,
    /// Which messages to participants are kept with the transfer.
    pub deliveries_kept: Kept,
}

/// How many transfers an agreed quote serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AgreementServes {
    /// One, and a second one only if the first has failed: the payer knows the fulfilment after one payment,
    /// and the payee FSP agreed to one.
    OneTransfer,
    /// Any number until it expires: for platforms that test with one quote.
    ManyTransfers,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            longest_lifetime_ms: 24 * 60 * 60 * 1000,
            shortest_lifetime_ms: 0,
            agreement_serves: AgreementServes::OneTransfer,
            deliveries_kept: Kept::default(),
        }
    }
}

impl Settings {
    /// The bounds of a transfer's lifetime.
    #[must_use]
    pub const fn lifetime(&self) -> Lifetime {
        Lifetime {
            shortest_ms: self.shortest_lifetime_ms,
            longest_ms: self.longest_lifetime_ms,
        }
    }

    /// Notes the problems of settings that could be parsed.
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
        let settings: Settings = serde_json::from_str(
            r#"{"longestLifetimeMs":1000,"shortestLifetimeMs":10,"agreementServes":"many-transfers",
                "deliveriesKept":"all"}"#,
        )
        .unwrap();
        assert_eq!(settings.lifetime().longest_ms, 1000);
        assert_eq!(settings.lifetime().shortest_ms, 10);
        assert_eq!(settings.agreement_serves, AgreementServes::ManyTransfers);
        assert_eq!(settings.deliveries_kept, Kept::All);
        assert!(serde_json::from_str::<Settings>(r#"{"longest":1}"#).is_err());
    }

    #[test]
    fn the_defaults_are_valid() {
        assert_eq!(Settings::default().lifetime().validate(), Ok(()));
    }

    #[test]
    fn schema_describes_the_settings() {
        let schema = include_str!("../settings.schema.json");
        rialto_json_schema::settings::describes::<Settings>(schema);
    }
}
