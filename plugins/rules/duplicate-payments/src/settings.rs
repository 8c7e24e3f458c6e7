//! The operator's settings and their checks.

use rialto_sdk::counters::{Counter, Dimension, ROLLING_SECONDS_MAX, Window, counter};
use rialto_sdk::rule::Problems;
use schemars::JsonSchema;
use serde::Deserialize;

/// What makes two payments the same, and for how long.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Settings {
    /// For how long after a payment the same one is refused, in seconds: 1 to 34300800.
    #[schemars(range(min = 1, max = 34_300_800))]
    pub window_seconds: u64,
    /// Whether payments of different scenarios, such as a transfer and a refund, are different.
    #[serde(default)]
    pub by_scenario: bool,
    /// What happens to a transfer without an agreed quote, whose parties are not known.
    #[serde(default)]
    pub without_agreement: WithoutAgreement,
}

/// What happens to a transfer whose parties are not known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum WithoutAgreement {
    /// It is refused.
    #[default]
    Refuse,
    /// It is no duplicate.
    Allow,
}

/// The counter of payments that are the same.
#[must_use]
pub fn same_payments(settings: &Settings) -> Counter {
    let scenario = settings.by_scenario.then_some(Dimension::Scenario);
    let always = [
        Dimension::PayerFsp,
        Dimension::PayeeFsp,
        Dimension::Payer,
        Dimension::Payee,
        Dimension::Amount,
    ];
    counter(
        always.into_iter().chain(scenario),
        Window::Rolling(settings.window_seconds),
    )
}

/// All counters of the rule.
#[must_use]
pub fn counters(settings: &Settings) -> Vec<Counter> {
    vec![same_payments(settings)]
}

/// Notes every problem that the types of the settings do not find.
pub fn validate(settings: &Settings, problems: &mut Problems) {
    let seconds = settings.window_seconds;
    if !(1..=ROLLING_SECONDS_MAX).contains(&seconds) {
        let message = format!("{seconds} is not possible: use 1 to {ROLLING_SECONDS_MAX}.");
        problems.note("/windowSeconds", message);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Settings, String> {
        let judged = rialto_sdk::rule::settings::<Settings>(text, validate);
        judged.map_err(|problems| format!("{}: {}", problems[0].pointer, problems[0].message))
    }

    #[test]
    fn scenario_is_a_dimension_if_settings_say_so() {
        let settings = read(r#"{ "windowSeconds": 60 }"#).unwrap();
        assert_eq!(settings.without_agreement, WithoutAgreement::Refuse);
        let counter = same_payments(&settings);
        assert_eq!(counter.window, Window::Rolling(60));
        assert!(!counter.by.contains(&Dimension::Scenario));
        let settings = read(r#"{ "windowSeconds": 60, "byScenario": true }"#).unwrap();
        assert!(same_payments(&settings).by.contains(&Dimension::Scenario));
    }

    #[test]
    fn window_has_bounds() {
        for seconds in ["0", "34300801"] {
            let found = read(&format!(r#"{{ "windowSeconds": {seconds} }}"#));
            let found = found.unwrap_err();
            assert!(found.starts_with("/windowSeconds: "), "{found}");
        }
        assert!(read(r#"{ "windowSeconds": 34300800 }"#).is_ok());
        assert!(read("{}").unwrap_err().contains("windowSeconds"));
    }
}
