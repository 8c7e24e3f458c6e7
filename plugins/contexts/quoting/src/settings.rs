//! The component's settings: what a scheme may choose about quotes.

use rialto_sdk::deliveries::Kept;
use rialto_sdk::lifetime::Lifetime;
use rialto_sdk::settings::Problems;
use serde::Deserialize;

/// Settings of the scheme's manifest for this component.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct Settings {
    /// The longest time to its expiration that an arriving request or its terms may have, in milliseconds.
    pub longest_lifetime_ms: u64,
    /// The shortest such time, in milliseconds; 0 for none.
    pub shortest_lifetime_ms: u64,
    /// The answer time of the payee FSP for a request without `expiration`, in milliseconds since its arrival.
    /// After it, the request has expired: terms are refused, and a query is told so.
    pub answer_within_ms: u64,
    /// Which FSP may be the payee FSP of a quote.
    pub payee_fsp: PayeeFsp,
    /// How to handle a request for a quote whose payer FSP is its payee FSP.
    pub on_us: OnUs,
    /// Which messages to participants are kept with the quote.
    pub deliveries_kept: Kept,
}

/// See [`Settings::payee_fsp`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PayeeFsp {
    /// The FSP that Account Lookup has for the payee in the currency. For a payee that nobody has associated,
    /// any FSP. Deployed switches check nothing here, and their FSPs ask for quotes for unassociated payees,
    /// with the FSP in FSPIOP-Destination. These requests still work.
    #[default]
    WhereKnown,
    /// The FSP that has the payee, which must be associated.
    AsLookedUp,
    /// The FSP that the payer FSP names, as in deployed switches: the scheme trusts the payer FSP.
    AsNamed,
}

/// See [`Settings::on_us`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OnUs {
    /// It is handled like any other.
    Allow,
    /// It is refused 3100, as in deployed switches by default.
    #[default]
    Refuse,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            longest_lifetime_ms: 7 * 24 * 60 * 60 * 1000,
            shortest_lifetime_ms: 0,
            answer_within_ms: 5 * 60 * 1000,
            payee_fsp: PayeeFsp::default(),
            on_us: OnUs::default(),
            deliveries_kept: Kept::default(),
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

    /// Notes the problems of settings that could be parsed.
    pub fn judge(&self, problems: &mut Problems) {
        if let Err(problem) = self.lifetime().validate() {
            problems.note("", problem);
        }
        if self.answer_within_ms == 0 {
            let why = "it must be more than 0: otherwise no terms would be in time for a request without `expiration`";
            problems.note("/answerWithinMs", why);
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
        let settings: Settings =
            serde_json::from_str(r#"{"payeeFsp":"as-looked-up","onUs":"allow"}"#).unwrap();
        assert_eq!(settings.payee_fsp, PayeeFsp::AsLookedUp);
        assert_eq!(settings.on_us, OnUs::Allow);
    }

    #[test]
    fn a_payee_fsp_has_some_time_to_answer() {
        let judged = |text: &str| rialto_sdk::settings::judge(text, Settings::judge);
        assert_eq!(judged(r#"{"answerWithinMs":1}"#), Ok(()));
        let problems = judged(r#"{"answerWithinMs":0}"#).unwrap_err();
        assert_eq!(problems[0].pointer, "/answerWithinMs");
    }

    #[test]
    fn schema_describes_the_settings() {
        let schema = include_str!("../settings.schema.json");
        rialto_json_schema::settings::describes::<Settings>(schema);
    }
}
