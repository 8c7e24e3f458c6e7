//! The operator's settings and their checks.

use crate::limit::{Amount, Offset};
use rialto_sdk::counters::{Counter, Dimension, ROLLING_SECONDS_MAX, Window, counter};
use rialto_sdk::rule::Problems;
use schemars::JsonSchema;
use serde::Deserialize;

/// The limits. A transfer must stay within all that apply to it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Settings {
    /// The limits, at least one.
    #[schemars(length(min = 1))]
    pub limits: Vec<Limit>,
    /// What happens to a transfer without an agreed quote that a limit by payer or payee applies to.
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
    /// Limits by payer or payee do not apply to it.
    Allow,
}

/// The most that is transferred within a time: in number, in sum, or both.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Limit {
    /// Whose transfers are counted together: those with the same values of all of these.
    #[schemars(length(min = 1))]
    pub per: Vec<Per>,
    /// The time.
    pub window: LimitWindow,
    /// The currency (ISO 4217). Absent: each currency for itself.
    #[serde(default)]
    #[schemars(regex(pattern = "^[A-Z]{3}$"))]
    pub currency: Option<String>,
    /// The most transfers, at least one.
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub transfers: Option<u64>,
    /// The largest sum of amounts, such as `1000.00`. It needs a currency.
    #[serde(default)]
    pub amount: Option<Amount>,
}

/// Whose transfers are counted together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Per {
    /// The paying party.
    Payer,
    /// The paid party.
    Payee,
    /// The payer FSP.
    PayerFsp,
    /// The payee FSP.
    PayeeFsp,
}

impl Per {
    /// The dimension of a counter.
    #[must_use]
    pub const fn dimension(self) -> Dimension {
        match self {
            Self::Payer => Dimension::Payer,
            Self::Payee => Dimension::Payee,
            Self::PayerFsp => Dimension::PayerFsp,
            Self::PayeeFsp => Dimension::PayeeFsp,
        }
    }

    /// In a message.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Payer => "payer",
            Self::Payee => "payee",
            Self::PayerFsp => "payer FSP",
            Self::PayeeFsp => "payee FSP",
        }
    }

    /// Whether it is on the payer's side.
    #[must_use]
    pub const fn is_of_payer(self) -> bool {
        matches!(self, Self::Payer | Self::PayerFsp)
    }
}

/// The time that a limit covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum LimitWindow {
    /// So many seconds before each transfer: 1 to 34300800.
    RollingSeconds(#[schemars(range(min = 1, max = 34_300_800))] u64),
    /// The day at this offset from UTC, such as `+02:00`.
    Day(Offset),
    /// The week at this offset from UTC. It begins on Monday.
    Week(Offset),
    /// The month at this offset from UTC.
    Month(Offset),
}

impl LimitWindow {
    /// In a message.
    #[must_use]
    pub fn words(self) -> String {
        match self {
            Self::RollingSeconds(seconds) => format!("{seconds} s"),
            Self::Day(_) => "a day".to_owned(),
            Self::Week(_) => "a week".to_owned(),
            Self::Month(_) => "a month".to_owned(),
        }
    }
}

impl From<LimitWindow> for Window {
    fn from(window: LimitWindow) -> Self {
        match window {
            LimitWindow::RollingSeconds(seconds) => Self::Rolling(seconds),
            LimitWindow::Day(offset) => Self::Day(offset.minutes()),
            LimitWindow::Week(offset) => Self::Week(offset.minutes()),
            LimitWindow::Month(offset) => Self::Month(offset.minutes()),
        }
    }
}

impl Limit {
    /// The counter that the limit needs.
    #[must_use]
    pub fn counter(&self) -> Counter {
        let dimensions = self.per.iter().map(|per| per.dimension());
        counter(dimensions, self.window.into())
    }
}

/// The counters of all limits.
#[must_use]
pub fn counters(settings: &Settings) -> Vec<Counter> {
    settings.limits.iter().map(Limit::counter).collect()
}

/// Notes every problem that the types of the settings do not find.
pub fn validate(settings: &Settings, problems: &mut Problems) {
    if settings.limits.is_empty() {
        problems.note("/limits", "There is no limit: add one, or remove the rule.");
    }
    for (index, limit) in settings.limits.iter().enumerate() {
        let place = |member: &str| format!("/limits/{index}{member}");
        if limit.per.is_empty() {
            let message = "The limit applies to nobody: add payer, payee, payerFsp or payeeFsp.";
            problems.note(&place("/per"), message);
        }
        for (at, per) in limit.per.iter().enumerate() {
            if limit.per[..at].contains(per) {
                problems.note(
                    &place(&format!("/per/{at}")),
                    "It is there twice: remove one.",
                );
            }
        }
        if let LimitWindow::RollingSeconds(seconds) = limit.window
            && !(1..=ROLLING_SECONDS_MAX).contains(&seconds)
        {
            let message = format!("{seconds} is not possible: use 1 to {ROLLING_SECONDS_MAX}.");
            problems.note(&place("/window/rollingSeconds"), message);
        }
        if let Some(code) = &limit.currency
            && !(code.len() == 3 && code.bytes().all(|byte| byte.is_ascii_uppercase()))
        {
            let message =
                format!("{code:?} is not a currency: use three capital letters, as in USD.");
            problems.note(&place("/currency"), message);
        }
        if limit.transfers == Some(0) {
            let message = "No transfer would be possible: use 1 or more.";
            problems.note(&place("/transfers"), message);
        }
        match (&limit.transfers, &limit.amount) {
            (None, None) => {
                problems.note(
                    &place(""),
                    "The limit limits nothing: add transfers or amount.",
                );
            }
            (_, Some(_)) if limit.currency.is_none() => {
                problems.note(&place("/amount"), "An amount has a currency: add it.");
            }
            _ => {}
        }
        let same =
            |other: &Limit| other.counter() == limit.counter() && other.currency == limit.currency;
        if let Some(first) = settings.limits[..index].iter().position(same) {
            let message = format!("/limits/{first} is about the same: write them together.");
            problems.note(&place(""), message);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(limits: &str) -> Vec<String> {
        let text = format!(r#"{{ "limits": {limits} }}"#);
        let judged = rialto_sdk::rule::settings::<Settings>(&text, validate);
        let problems = judged.err().unwrap_or_default().into_iter();
        problems
            .map(|one| format!("{}: {}", one.pointer, one.message))
            .collect()
    }

    #[test]
    fn settings_are_read_as_an_operator_writes_them() {
        let text = r#"{ "limits": [
            { "per": ["payer"], "window": { "day": "+02:00" }, "currency": "USD", "transfers": 5, "amount": "1000.00" },
            { "per": ["payeeFsp", "payerFsp"], "window": { "rollingSeconds": 60 }, "transfers": 100 }
        ], "withoutAgreement": "allow" }"#;
        let settings: Settings = rialto_sdk::rule::settings(text, validate).unwrap();
        assert_eq!(settings.without_agreement, WithoutAgreement::Allow);
        let counters = counters(&settings);
        assert_eq!(counters[0].window, Window::Day(120));
        assert_eq!(
            counters[1].by,
            [Dimension::PayerFsp, Dimension::PayeeFsp],
            "in their order"
        );
    }

    #[test]
    fn problems_have_their_places() {
        let day = r#""window": { "day": "+00:00" }"#;
        for (limits, expected) in [
            ("[]".to_owned(), "/limits: There is no limit"),
            (
                format!(r#"[{{ "per": [], {day}, "transfers": 1 }}]"#),
                "/limits/0/per: The limit applies to nobody",
            ),
            (
                format!(r#"[{{ "per": ["payer", "payer"], {day}, "transfers": 1 }}]"#),
                "/limits/0/per/1: It is there twice",
            ),
            (
                r#"[{ "per": ["payer"], "window": { "rollingSeconds": 0 }, "transfers": 1 }]"#
                    .to_owned(),
                "/limits/0/window/rollingSeconds: 0 is not possible",
            ),
            (
                format!(r#"[{{ "per": ["payer"], {day}, "currency": "usd", "transfers": 1 }}]"#),
                "/limits/0/currency: \"usd\" is not a currency",
            ),
            (
                format!(r#"[{{ "per": ["payer"], {day}, "transfers": 0 }}]"#),
                "/limits/0/transfers: No transfer would be possible",
            ),
            (
                format!(r#"[{{ "per": ["payer"], {day} }}]"#),
                "/limits/0: The limit limits nothing",
            ),
            (
                format!(r#"[{{ "per": ["payer"], {day}, "amount": "1" }}]"#),
                "/limits/0/amount: An amount has a currency",
            ),
            (
                format!(
                    r#"[{{ "per": ["payer"], {day}, "transfers": 1 }}, {{ "per": ["payer"], {day}, "transfers": 2 }}]"#
                ),
                "/limits/1: /limits/0 is about the same",
            ),
            (
                r#"[{ "per": ["payer"], "window": { "day": "2" }, "transfers": 1 }]"#.to_owned(),
                "/limits/0/window/day: must be an offset",
            ),
            (
                format!(r#"[{{ "per": ["payer"], {day}, "currency": "USD", "amount": "-1" }}]"#),
                "/limits/0/amount: must be an amount",
            ),
        ] {
            let found = problems(&limits);
            assert!(
                found.len() == 1 && found[0].starts_with(expected),
                "{limits}: {found:?}"
            );
        }
    }
}
