//! The operator's settings and their checks.

use rialto_sdk::rule::Problems;
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};

/// The text for every FSP in a list of payers or payees.
pub const EVERY_FSP: &str = "*";
/// Most characters of an FSP's id.
const ID_CHARS_MAX: usize = 32;

/// The allowed currencies and corridors. A payment must pass all three members.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Settings {
    /// The currencies that may be paid (ISO 4217). Empty or absent: every currency.
    #[serde(default)]
    #[schemars(inner(regex(pattern = "^[A-Z]{3}$")))]
    pub currencies: Vec<String>,
    /// The corridors that may be used. Absent: every corridor. An empty list is not valid.
    #[serde(default)]
    #[schemars(length(min = 1))]
    pub corridors: Option<Vec<Corridor>>,
    /// The corridors that may not be used, even if `corridors` allows them.
    #[serde(default)]
    pub denied: Vec<Corridor>,
}

/// Who may pay whom: each of the payers may pay each of the payees.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Corridor {
    /// The ids of the payer FSPs, or `*` for every FSP. Ids are case-sensitive.
    #[schemars(length(min = 1), inner(length(min = 1, max = 32)))]
    pub payers: Vec<String>,
    /// The ids of the payee FSPs, or `*` for every FSP. Ids are case-sensitive.
    #[schemars(length(min = 1), inner(length(min = 1, max = 32)))]
    pub payees: Vec<String>,
    /// The currencies of this corridor (ISO 4217). Empty or absent: every currency.
    #[serde(default)]
    #[schemars(inner(regex(pattern = "^[A-Z]{3}$")))]
    pub currencies: Vec<String>,
}

impl Corridor {
    /// Whether the corridor leads from this payer to this payee, in some currency.
    #[must_use]
    pub fn connects(&self, payer: &str, payee: &str) -> bool {
        includes_fsp(&self.payers, payer) && includes_fsp(&self.payees, payee)
    }

    /// Whether the corridor includes a currency.
    #[must_use]
    pub fn includes_currency(&self, currency: &str) -> bool {
        includes_currency(&self.currencies, currency)
    }
}

/// Whether a list of currencies includes a currency. An empty list includes every currency.
#[must_use]
pub fn includes_currency(currencies: &[String], currency: &str) -> bool {
    currencies.is_empty() || currencies.iter().any(|one| one == currency)
}

fn includes_fsp(ids: &[String], id: &str) -> bool {
    ids.iter().any(|one| one == EVERY_FSP || one == id)
}

/// Notes every problem that the types of the settings do not find.
pub fn validate(settings: &Settings, problems: &mut Problems) {
    validate_currencies(&settings.currencies, "/currencies", problems);
    if let Some(corridors) = &settings.corridors {
        if corridors.is_empty() {
            let message = "No corridor is allowed: add one, or remove `corridors` to allow all.";
            problems.note("/corridors", message);
        }
        validate_corridors(corridors, "/corridors", problems);
    }
    validate_corridors(&settings.denied, "/denied", problems);
}

fn validate_corridors(corridors: &[Corridor], pointer: &str, problems: &mut Problems) {
    // The first place of each corridor, whatever the order in its lists.
    let mut first_places = BTreeMap::new();
    for (index, corridor) in corridors.iter().enumerate() {
        let place = format!("{pointer}/{index}");
        validate_ids(&corridor.payers, &format!("{place}/payers"), problems);
        validate_ids(&corridor.payees, &format!("{place}/payees"), problems);
        validate_currencies(
            &corridor.currencies,
            &format!("{place}/currencies"),
            problems,
        );
        let lists = [&corridor.payers, &corridor.payees, &corridor.currencies];
        let key = lists.map(|list| list.iter().collect::<BTreeSet<_>>());
        if let Some(first) = first_places.get(&key) {
            let message = format!("The corridor is the same as {first}: remove one of them.");
            problems.note(&place, message);
        } else {
            first_places.insert(key, place);
        }
    }
}

fn validate_ids(ids: &[String], pointer: &str, problems: &mut Problems) {
    if ids.is_empty() {
        let message = format!("The list has no FSP: add ids, or \"{EVERY_FSP}\" for every FSP.");
        problems.note(pointer, message);
    }
    if ids.len() > 1 && ids.iter().any(|id| id == EVERY_FSP) {
        let message = format!("\"{EVERY_FSP}\" is every FSP: remove it, or the other ids.");
        problems.note(pointer, message);
    }
    for (index, id) in ids.iter().enumerate() {
        let chars = id.chars().count();
        if !(1..=ID_CHARS_MAX).contains(&chars) {
            let message =
                format!("An id of {chars} characters is not valid: use 1 to {ID_CHARS_MAX}.");
            problems.note(&format!("{pointer}/{index}"), message);
        }
    }
    note_repeated(ids, pointer, problems);
}

fn validate_currencies(currencies: &[String], pointer: &str, problems: &mut Problems) {
    for (index, code) in currencies.iter().enumerate() {
        if !is_currency(code) {
            let message =
                format!("{code:?} is not a currency: use three capital letters, as in USD.");
            problems.note(&format!("{pointer}/{index}"), message);
        }
    }
    note_repeated(currencies, pointer, problems);
}

/// Whether a code has the form of ISO 4217: three capital letters.
fn is_currency(code: &str) -> bool {
    code.len() == 3 && code.bytes().all(|byte| byte.is_ascii_uppercase())
}

fn note_repeated(items: &[String], pointer: &str, problems: &mut Problems) {
    let mut seen = BTreeSet::new();
    for (index, item) in items.iter().enumerate() {
        if !seen.insert(item) {
            let message = format!("{item:?} is in the list twice: remove one.");
            problems.note(&format!("{pointer}/{index}"), message);
        }
    }
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
            "{}",
            r#"{ "currencies": [], "denied": [] }"#,
            r#"{ "corridors": [{ "payers": ["*"], "payees": ["*"] }] }"#,
            // The same corridor may be allowed and, for a while, denied.
            r#"{ "corridors": [{ "payers": ["a"], "payees": ["b"] }],
                 "denied": [{ "payers": ["a"], "payees": ["b"] }] }"#,
            // Corridors may overlap.
            r#"{ "corridors": [{ "payers": ["a"], "payees": ["b"] },
                               { "payers": ["a", "b"], "payees": ["b"] },
                               { "payers": ["b"], "payees": ["a"] },
                               { "payers": ["a"], "payees": ["b"], "currencies": ["USD"] }] }"#,
            // 32 characters are not 32 bytes.
            r#"{ "denied": [{ "payers": ["ähnlich-ähnlich-ähnlich-ähnlich!"], "payees": ["b"] }] }"#,
        ] {
            assert_eq!(problems(text), [], "{text}");
        }
    }

    #[test]
    fn every_problem_is_noted_with_its_place() {
        let long = "x".repeat(33);
        let text = format!(
            r#"{{
                "currencies": ["USD", "usd", "USD", "EU", "EURO", "ÄÖ"],
                "corridors": [
                    {{ "payers": [], "payees": ["b"] }},
                    {{ "payers": ["a", ""], "payees": ["{long}", "b"] }},
                    {{ "payers": ["*", "a"], "payees": ["b", "b"], "currencies": ["U$D"] }},
                    {{ "payers": ["a", "c"], "payees": ["b"], "currencies": ["EUR", "USD"] }},
                    {{ "payers": ["c", "a"], "payees": ["b"], "currencies": ["USD", "EUR"] }}
                ],
                "denied": [{{ "payers": ["a"], "payees": [] }}]
            }}"#
        );
        let expected = [
            (
                "/currencies/1",
                "\"usd\" is not a currency: use three capital letters, as in USD.",
            ),
            (
                "/currencies/3",
                "\"EU\" is not a currency: use three capital letters, as in USD.",
            ),
            (
                "/currencies/4",
                "\"EURO\" is not a currency: use three capital letters, as in USD.",
            ),
            (
                "/currencies/5",
                "\"ÄÖ\" is not a currency: use three capital letters, as in USD.",
            ),
            ("/currencies/2", "\"USD\" is in the list twice: remove one."),
            (
                "/corridors/0/payers",
                "The list has no FSP: add ids, or \"*\" for every FSP.",
            ),
            (
                "/corridors/1/payers/1",
                "An id of 0 characters is not valid: use 1 to 32.",
            ),
            (
                "/corridors/1/payees/0",
                "An id of 33 characters is not valid: use 1 to 32.",
            ),
            (
                "/corridors/2/payers",
                "\"*\" is every FSP: remove it, or the other ids.",
            ),
            (
                "/corridors/2/payees/1",
                "\"b\" is in the list twice: remove one.",
            ),
            (
                "/corridors/2/currencies/0",
                "\"U$D\" is not a currency: use three capital letters, as in USD.",
            ),
            (
                "/corridors/4",
                "The corridor is the same as /corridors/3: remove one of them.",
            ),
            (
                "/denied/0/payees",
                "The list has no FSP: add ids, or \"*\" for every FSP.",
            ),
        ];
        let expected = expected.map(|(place, message)| (place.to_owned(), message.to_owned()));
        assert_eq!(problems(&text), expected);
    }

    #[test]
    fn empty_list_of_corridors_is_a_problem() {
        let found = problems(r#"{ "corridors": [] }"#);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].0, "/corridors");
    }

    #[test]
    fn settings_of_another_type_are_a_problem() {
        for (text, place) in [
            (r#"{ "currency": ["USD"] }"#, "/currency"),
            (r#"{ "currencies": "USD" }"#, "/currencies"),
            (r#"{ "corridors": [{ "payers": ["a"] }] }"#, "/corridors/0"),
            (
                r#"{ "corridors": [{ "payers": ["a"], "payees": "b" }] }"#,
                "/corridors/0/payees",
            ),
            (
                r#"{ "denied": [{ "payers": ["a"], "payees": ["b"], "note": "" }] }"#,
                "/denied/0/note",
            ),
            ("[", ""),
            ("", ""),
        ] {
            let found = problems(text);
            assert_eq!(found.len(), 1, "{text}: {found:?}");
            assert_eq!(found[0].0, place, "{text}: {found:?}");
        }
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
        for (members, names) in [
            (&schema["properties"], ["currencies", "corridors", "denied"]),
            (
                &schema["$defs"]["Corridor"]["properties"],
                ["payers", "payees", "currencies"],
            ),
        ] {
            assert_eq!(members.as_object().unwrap().len(), names.len());
            for name in names {
                assert!(members[name]["description"].is_string(), "{name}");
            }
        }
        assert_eq!(
            schema["properties"]["currencies"]["items"]["pattern"],
            "^[A-Z]{3}$"
        );
    }
}
