//! The operator's settings and their checks.

use crate::decimal::{Amount, Share};
use rialto_sdk::rule::Problems;
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::BTreeMap;

/// The ceilings of fees.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Settings {
    /// The ceilings, at most one for each currency.
    pub ceilings: Vec<Ceiling>,
    /// The verdict on a fee in a currency without a ceiling.
    #[serde(default)]
    pub otherwise: Otherwise,
}

/// The ceiling of one currency: a share of the transfer amount, a maximum, or the smaller one of both.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Ceiling {
    /// The currency of the fee and of the transfer amount (ISO 4217).
    #[schemars(regex(pattern = "^[A-Z]{3}$"))]
    pub currency: String,
    /// The largest fee as a share of the transfer amount, as decimal text from 0 to 1: `0.01` is one percent.
    #[serde(default)]
    pub share: Option<Share>,
    /// The largest fee as an amount in the currency, as decimal text.
    #[serde(default)]
    pub maximum: Option<Amount>,
}

impl Ceiling {
    /// The largest fee for a transfer amount, in minor units; none without a share and a maximum.
    #[must_use]
    pub fn minor_units(&self, transfer_amount: u128, scale: u8) -> Option<u128> {
        let share = self.share.map(|share| share.of(transfer_amount));
        let maximum = self.maximum.map(|maximum| maximum.minor_units(scale));
        share.into_iter().chain(maximum).min()
    }
}

/// The verdict on a fee to which no ceiling applies.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Otherwise {
    /// The fee is allowed.
    #[default]
    Allow,
    /// The fee is refused.
    Refuse,
}

/// Notes every problem that the types of the settings do not find.
pub fn validate(settings: &Settings, problems: &mut Problems) {
    let mut first_places = BTreeMap::new();
    for (index, ceiling) in settings.ceilings.iter().enumerate() {
        let Ceiling {
            currency,
            share,
            maximum,
        } = ceiling;
        let place = format!("/ceilings/{index}");
        if !is_currency(currency) {
            let message =
                format!("{currency:?} is not a currency: use three capital letters, as in USD.");
            problems.note(&format!("{place}/currency"), message);
        }
        if share.is_none() && maximum.is_none() {
            let message = "The ceiling has no limit: add `share`, `maximum` or both.";
            problems.note(&place, message);
        }
        if let Some(first) = first_places.get(currency) {
            let message = format!("{currency} has a ceiling in {first}: remove one of them.");
            problems.note(&place, message);
        } else {
            first_places.insert(currency, place);
        }
    }
}

/// Whether a code has the form of ISO 4217: three capital letters.
fn is_currency(code: &str) -> bool {
    code.len() == 3 && code.bytes().all(|byte| byte.is_ascii_uppercase())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rialto_sdk::rule;

    fn problems(text: &str) -> Vec<(String, String)> {
        let judged = rule::settings::<Settings>(text, validate);
        let problems = judged.err().unwrap_or_default().into_iter();
        problems.map(|one| (one.pointer, one.message)).collect()
    }

    #[test]
    fn valid_settings_have_no_problem() {
        for text in [
            r#"{ "ceilings": [] }"#,
            r#"{ "ceilings": [], "otherwise": "refuse" }"#,
            r#"{ "ceilings": [{ "currency": "USD", "share": "0" }], "otherwise": "allow" }"#,
            r#"{ "ceilings": [{ "currency": "USD", "maximum": "0" }] }"#,
            r#"{ "ceilings": [{ "currency": "USD", "share": "1", "maximum": "2.50" },
                              { "currency": "EUR", "share": "1", "maximum": "2.50" }] }"#,
        ] {
            assert_eq!(problems(text), [], "{text}");
        }
        let settings: Settings = rule::settings(r#"{ "ceilings": [] }"#, validate).unwrap();
        assert_eq!(settings.otherwise, Otherwise::Allow);
    }

    #[test]
    fn every_problem_is_noted_with_its_place() {
        let text = r#"{ "ceilings": [
            { "currency": "usd", "share": "0.01" },
            { "currency": "USD", "share": "0.01" },
            { "currency": "EUR" },
            { "currency": "USD", "maximum": "1" }
        ] }"#;
        let expected = [
            (
                "/ceilings/0/currency",
                "\"usd\" is not a currency: use three capital letters, as in USD.",
            ),
            (
                "/ceilings/2",
                "The ceiling has no limit: add `share`, `maximum` or both.",
            ),
            (
                "/ceilings/3",
                "USD has a ceiling in /ceilings/1: remove one of them.",
            ),
        ];
        let expected = expected.map(|(place, message)| (place.to_owned(), message.to_owned()));
        assert_eq!(problems(text), expected);
    }

    #[test]
    fn settings_of_another_type_are_a_problem() {
        let ceiling = |members: &str| format!(r#"{{ "ceilings": [{{ {members} }}] }}"#);
        for (text, place, words) in [
            (
                ceiling(r#""currency": "USD", "share": 0.01"#),
                "/ceilings/0/share",
                "string",
            ),
            (
                ceiling(r#""currency": "USD", "share": "1.01""#),
                "/ceilings/0/share",
                "the share \"1.01\" is more than 1: use 0 to 1",
            ),
            (
                ceiling(r#""currency": "USD", "share": "1 %""#),
                "/ceilings/0/share",
                "\"1 %\" is not a share: use a decimal text, as in \"0.01\"",
            ),
            (
                ceiling(r#""currency": "USD", "maximum": "1,50""#),
                "/ceilings/0/maximum",
                "\"1,50\" is not an amount: use a decimal text, as in \"2\" or \"2.50\"",
            ),
            (
                ceiling(r#""currency": "USD", "minimum": "1""#),
                "/ceilings/0/minimum",
                "unknown field",
            ),
            (ceiling(r#""share": "0.01""#), "/ceilings/0", "currency"),
            (
                r#"{ "ceilings": [], "otherwise": "ignore" }"#.to_owned(),
                "/otherwise",
                "ignore",
            ),
            ("{}".to_owned(), "", "ceilings"),
            ("[".to_owned(), "", "EOF"),
        ] {
            let found = problems(&text);
            assert_eq!(found.len(), 1, "{text}: {found:?}");
            assert_eq!(found[0].0, place, "{text}: {found:?}");
            assert!(found[0].1.contains(words), "{text}: {found:?}");
        }
    }

    #[test]
    fn smaller_limit_is_the_ceiling() {
        let ceiling = |share: Option<&str>, maximum: Option<&str>| Ceiling {
            currency: "USD".to_owned(),
            share: share.map(|text| Share::try_from(text.to_owned()).unwrap()),
            maximum: maximum.map(|text| Amount::try_from(text.to_owned()).unwrap()),
        };
        let both = ceiling(Some("0.01"), Some("5"));
        assert_eq!(both.minor_units(49_999, 2), Some(499));
        assert_eq!(both.minor_units(50_000, 2), Some(500));
        assert_eq!(both.minor_units(60_000, 2), Some(500));
        assert_eq!(
            ceiling(Some("0.01"), None).minor_units(60_000, 2),
            Some(600)
        );
        assert_eq!(ceiling(None, Some("5")).minor_units(1, 2), Some(500));
        assert_eq!(ceiling(None, None).minor_units(1, 2), None);
    }

    #[test]
    fn example_of_the_readme_is_valid() {
        let readme = include_str!("../README.md");
        let (_, rest) = readme.split_once("```json\n").unwrap();
        let example = rest.split_once("```").unwrap().0;
        assert_eq!(problems(example), []);
    }

    #[test]
    fn schema_documents_every_member() {
        let schema: serde_json::Value = serde_json::from_str(&rule::schema::<Settings>()).unwrap();
        let ceiling = &schema["$defs"]["Ceiling"];
        for (members, names) in [
            (&schema["properties"], vec!["ceilings", "otherwise"]),
            (&ceiling["properties"], vec!["currency", "share", "maximum"]),
        ] {
            assert_eq!(members.as_object().unwrap().len(), names.len());
            for name in names {
                assert!(members[name]["description"].is_string(), "{name}");
            }
        }
        assert_eq!(schema["required"], serde_json::json!(["ceilings"]));
        assert_eq!(ceiling["required"], serde_json::json!(["currency"]));
        assert!(schema.to_string().contains("0-9"), "{schema}");
    }
}
