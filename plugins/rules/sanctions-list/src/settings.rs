//! The operator's settings and their checks.

use std::hint::black_box;

use crate::hashes::Hashes;
use crate::salt::Salt;
use rialto_sdk::rule::Problems;
use schemars::JsonSchema;
use serde::Deserialize;

/// The hashes that are searched when settings are validated: twice as many as a verdict searches.
const SEARCHED: usize = 8;
/// The memory that must be left for an input when settings are validated.
const SPARE_BYTES: usize = 64 << 10;
/// The most characters of a participant's id.
const FSP_ID_CHARS_MAX: usize = 32;

/// The settings of the rule at a step.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Settings {
    /// The bytes with which each hash begins, as hexadecimal digits in lower case: at least 16 bytes (32 digits).
    pub salt: Salt,
    /// The hashes of the barred parties, in any order. Each one is SHA-256 of the salt's bytes and the text `TYPE/IDENTIFIER` or `TYPE/IDENTIFIER/SUBID` in UTF-8, as 64 hexadecimal digits in lower case.
    #[schemars(with = "Vec<String>", inner(regex(pattern = "^[0-9a-f]{64}$")))]
    pub hashes: Hashes,
    /// The ids of the barred participants. Upper and lower case differ.
    #[serde(default)]
    #[schemars(inner(length(min = 1, max = 32)))]
    pub fsps: Vec<String>,
    /// The verdict on a transfer without an agreed quote, whose parties are unknown.
    #[serde(default)]
    pub without_agreement: WithoutAgreement,
}

/// The verdict on a transfer without an agreed quote.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum WithoutAgreement {
    /// The rule allows it, unless it is of a barred participant.
    Allow,
    /// The rule refuses it.
    #[default]
    Refuse,
}

/// Notes what the types of the settings do not say.
pub fn validate(settings: &Settings, problems: &mut Problems) {
    for (index, fsp) in settings.fsps.iter().enumerate() {
        if !(1..=FSP_ID_CHARS_MAX).contains(&fsp.chars().count()) {
            let message = "must be the id of a participant: 1 to 32 characters";
            problems.note(&format!("/fsps/{index}"), message);
        }
    }
    search_as_a_verdict(settings);
}

/// Does what a verdict does with the settings, and more, with memory to spare: a list that is too long for verdicts has to
/// fail here, before a release goes live.
fn search_as_a_verdict(settings: &Settings) {
    let absent = [[0; 32]; SEARCHED];
    black_box(vec![0_u8; SPARE_BYTES]);
    black_box(settings.hashes.has_any(&absent));
}

#[cfg(test)]
mod tests {
    use super::*;
    use rialto_sdk::rule::{schema, settings};
    use serde_json::{Value, json};

    fn problems(text: &str) -> Vec<(String, String)> {
        let judged = settings::<Settings>(text, validate);
        let problems = judged.err().unwrap_or_default().into_iter();
        problems.map(|one| (one.pointer, one.message)).collect()
    }

    fn example() -> Value {
        let readme = include_str!("../README.md");
        let (_, rest) = readme.split_once("```json\n").unwrap();
        serde_json::from_str(rest.split_once("```").unwrap().0).unwrap()
    }

    #[test]
    fn the_example_of_the_readme_is_valid() {
        let example = example();
        assert_eq!(problems(&example.to_string()), []);
        let settings: Settings = serde_json::from_value(example.clone()).unwrap();
        let hash = settings.salt.hash("MSISDN", "123456789", None);
        assert!(settings.hashes.has_any(&[hash]));
        let digits: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
        let readme = include_str!("../README.md");
        assert!(readme.matches(&digits).count() >= 2, "{digits}");
    }

    #[test]
    fn every_problem_is_named_by_its_place() {
        let long = "f".repeat(33);
        for (member, value, place, words) in [
            ("salt", json!("00ff"), "/salt", "16 bytes"),
            ("salt", json!("secret"), "/salt", "16 bytes"),
            (
                "hashes",
                json!(["12ab"]),
                "/hashes/0",
                "64 hexadecimal digits",
            ),
            ("hashes", json!("12ab"), "/hashes", "list of hashes"),
            ("hashes", json!([5]), "/hashes/0", "64 hexadecimal digits"),
            ("fsps", json!(["payerfsp", ""]), "/fsps/1", "1 to 32"),
            ("fsps", json!([long]), "/fsps/0", "1 to 32"),
            (
                "withoutAgreement",
                json!("deny"),
                "/withoutAgreement",
                "`allow` or `refuse`",
            ),
            ("names", json!([]), "/names", "unknown field"),
        ] {
            let mut settings = example();
            settings[member] = value.clone();
            let found = problems(&settings.to_string());
            assert_eq!(found.len(), 1, "{member}: {found:?}");
            assert_eq!(found[0].0, place, "{found:?}");
            assert!(found[0].1.contains(words), "{found:?}");
            let is_shown = value.as_str().is_some_and(|text| found[0].1.contains(text));
            assert!(member != "salt" || !is_shown, "{found:?}");
        }
        for member in ["salt", "hashes"] {
            let mut settings = example();
            settings.as_object_mut().unwrap().remove(member);
            let found = problems(&settings.to_string());
            assert!(found[0].1.contains(member), "{found:?}");
        }
    }

    #[test]
    fn the_schema_describes_every_member() {
        let schema: Value = serde_json::from_str(&schema::<Settings>()).unwrap();
        for (name, member) in schema["properties"].as_object().unwrap() {
            let description = member["description"].as_str().unwrap_or_default();
            assert!(!description.is_empty(), "{name}");
        }
        assert_eq!(schema["required"], json!(["salt", "hashes"]));
        let hash = &schema["properties"]["hashes"]["items"];
        assert_eq!(
            *hash,
            json!({ "type": "string", "pattern": "^[0-9a-f]{64}$" })
        );
    }
}
