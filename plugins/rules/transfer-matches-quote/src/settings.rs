//! The operator's settings and their checks. `settings.schema.json` says the same for editors and
//! documentation.

use rialto_sdk::settings::{Members, Problem, Problems};
use serde_json::Value;

/// Valid settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// Whether a transfer without an agreed quote is refused.
    pub require_quote: bool,
    /// Whether a transfer may still use a quote whose terms have expired.
    pub allow_expired_quote: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            require_quote: true,
            allow_expired_quote: false,
        }
    }
}

impl Settings {
    /// Parses settings from JSON.
    ///
    /// # Errors
    /// All problems.
    pub fn read(text: &str) -> Result<Self, Vec<Problem>> {
        let mut problems = Problems::default();
        let mut settings = Self::default();
        let value: Value = match serde_json::from_str(text) {
            Ok(value) => value,
            Err(error) => {
                problems.note("", format!("The settings are not JSON: {error}."));
                return problems.or(settings);
            }
        };
        let known = ["requireQuote", "allowExpiredQuote"];
        if let Some(members) = Members::of(&value, "", &known, &mut problems) {
            settings = Self {
                require_quote: members.flag(known[0], settings.require_quote, &mut problems),
                allow_expired_quote: members.flag(
                    known[1],
                    settings.allow_expired_quote,
                    &mut problems,
                ),
            };
        }
        problems.or(settings)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_have_the_defaults_of_the_schema() {
        let schema: Value = serde_json::from_str(include_str!("../settings.schema.json")).unwrap();
        let default = |name: &str| schema["properties"][name]["default"].as_bool();
        let settings = Settings::read("{}").unwrap();
        assert_eq!(default("requireQuote"), Some(settings.require_quote));
        assert_eq!(
            default("allowExpiredQuote"),
            Some(settings.allow_expired_quote)
        );
    }

    #[test]
    fn the_example_of_the_readme_is_valid() {
        let (_, rest) = include_str!("../README.md")
            .split_once("```json\n")
            .unwrap();
        let example = rest.split_once("```").unwrap().0;
        assert_eq!(Settings::read(example), Ok(Settings::default()));
    }

    #[test]
    fn every_problem_is_named_by_its_place() {
        let problems = Settings::read(r#"{"requireQuote":"yes","strict":true}"#);
        let expected = [
            (
                "/strict",
                "There is no setting `strict` here: use `requireQuote` or `allowExpiredQuote`.",
            ),
            ("/requireQuote", "`requireQuote` must be true or false."),
        ]
        .map(|(pointer, message)| Problem {
            pointer: pointer.to_owned(),
            message: message.to_owned(),
        });
        assert_eq!(problems, Err(expected.to_vec()));
        assert!(Settings::read("").is_err());
        assert!(Settings::read("true").is_err());
    }
}
