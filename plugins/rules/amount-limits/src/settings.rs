//! The operator's settings and their checks. `settings.schema.json` says the same for editors and
//! documentation.

use crate::decimal::Decimal;
use rialto_sdk::bindings::rialto::rules::types::Scenario;
use rialto_sdk::settings::{Members, Problem, Problems, any_of, join};
use serde_json::Value;

const SCENARIOS: [(&str, Option<Scenario>); 6] = [
    ("DEPOSIT", Some(Scenario::Deposit)),
    ("WITHDRAWAL", Some(Scenario::Withdrawal)),
    ("TRANSFER", Some(Scenario::Transfer)),
    ("PAYMENT", Some(Scenario::Payment)),
    ("REFUND", Some(Scenario::Refund)),
    ("*", None),
];

/// How to handle an amount without a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Otherwise {
    /// Allow it.
    Allow,
    /// Refuse it.
    Refuse,
}

/// A number and the text that an operator gave it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bound {
    /// For comparing.
    pub value: Decimal,
    /// For people.
    pub text: String,
}

/// The limits of one currency and scenario. At least one of them is set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limit {
    /// ISO 4217.
    pub currency: String,
    /// None: every scenario without a limit of its own.
    pub scenario: Option<Scenario>,
    /// The smallest allowed amount.
    pub minimum: Option<Bound>,
    /// The largest allowed amount.
    pub maximum: Option<Bound>,
}

/// Valid settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// At most one per currency and scenario.
    pub limits: Vec<Limit>,
    /// How to handle all other amounts.
    pub otherwise: Otherwise,
}

impl Settings {
    /// Parses settings from JSON.
    ///
    /// # Errors
    /// All problems.
    pub fn read(text: &str) -> Result<Self, Vec<Problem>> {
        let mut problems = Problems::default();
        let mut settings = Self {
            limits: Vec::new(),
            otherwise: Otherwise::Allow,
        };
        let value: Value = match serde_json::from_str(text) {
            Ok(value) => value,
            Err(error) => {
                problems.note("", format!("The settings are not JSON: {error}."));
                return problems.or(settings);
            }
        };
        if let Some(members) = Members::of(&value, "", &["limits", "otherwise"], &mut problems) {
            settings.otherwise = read_otherwise(&members, &mut problems);
            settings.limits = read_limits(&members, &mut problems);
        }
        problems.or(settings)
    }
}

fn read_otherwise(members: &Members<'_>, problems: &mut Problems) -> Otherwise {
    match members.text("otherwise", problems) {
        None | Some("allow") => Otherwise::Allow,
        Some("refuse") => Otherwise::Refuse,
        Some(other) => {
            let message = format!(
                "`{other}` is not possible: use {}.",
                any_of(&["allow", "refuse"])
            );
            problems.note(&members.pointer_to("otherwise"), message);
            Otherwise::Refuse
        }
    }
}

fn read_limits(members: &Members<'_>, problems: &mut Problems) -> Vec<Limit> {
    let pointer = members.pointer_to("limits");
    let elements = match members.get("limits") {
        None => return Vec::new(),
        Some(Value::Array(elements)) => elements,
        Some(_) => {
            problems.note(&pointer, "`limits` must be a list.");
            return Vec::new();
        }
    };
    let mut limits: Vec<Limit> = Vec::new();
    for (index, element) in elements.iter().enumerate() {
        let pointer = join(&pointer, &index.to_string());
        let Some(limit) = read_limit(element, &pointer, problems) else {
            continue;
        };
        let is_same =
            |other: &Limit| other.currency == limit.currency && other.scenario == limit.scenario;
        if limits.iter().any(is_same) {
            let message = format!(
                "There are limits for {} {} already: write them together.",
                limit.currency,
                scenario_name(limit.scenario)
            );
            problems.note(&pointer, message);
        }
        limits.push(limit);
    }
    limits
}

fn read_limit(element: &Value, pointer: &str, problems: &mut Problems) -> Option<Limit> {
    let known = ["currency", "scenario", "minimum", "maximum"];
    let members = Members::of(element, pointer, &known, problems)?;
    let currency = members.required_text("currency", problems);
    let is_code = |text: &str| text.len() == 3 && text.bytes().all(|b| b.is_ascii_uppercase());
    if let Some(currency) = currency.filter(|currency| !is_code(currency)) {
        let message =
            format!("`{currency}` is not a currency: use three capital letters, as in USD.");
        problems.note(&members.pointer_to("currency"), message);
    }
    let scenario = read_scenario(&members, problems);
    let minimum = read_bound(&members, "minimum", problems);
    let maximum = read_bound(&members, "maximum", problems);
    if members.get("minimum").is_none() && members.get("maximum").is_none() {
        problems.note(pointer, "A limit needs a `minimum`, a `maximum` or both.");
    }
    if let (Some(least), Some(greatest)) = (&minimum, &maximum)
        && least.value > greatest.value
    {
        let message = format!(
            "The minimum {} is more than the maximum {}: nothing could pass.",
            least.text, greatest.text
        );
        problems.note(pointer, message);
    }
    Some(Limit {
        currency: currency?.to_owned(),
        scenario: scenario?,
        minimum,
        maximum,
    })
}

/// The scenario: `Some(None)` for `*`; `None` if it is missing or wrong.
#[allow(
    clippy::option_option,
    reason = "a limit without scenario is for every scenario"
)]
fn read_scenario(members: &Members<'_>, problems: &mut Problems) -> Option<Option<Scenario>> {
    let text = members.required_text("scenario", problems)?;
    let found = SCENARIOS.iter().find(|(name, _)| *name == text);
    if found.is_none() {
        let names = SCENARIOS.map(|(name, _)| name);
        let message = format!("`{text}` is not a scenario: use {}.", any_of(&names));
        problems.note(&members.pointer_to("scenario"), message);
    }
    found.map(|(_, scenario)| *scenario)
}

fn read_bound(members: &Members<'_>, name: &str, problems: &mut Problems) -> Option<Bound> {
    let text = members.text(name, problems)?;
    let value = Decimal::read(text);
    if value.is_none() {
        let message = format!(
            "`{text}` is not an amount: use digits and at most one point, as in \"1000.50\", no sign, at most 18 digits on each side."
        );
        problems.note(&members.pointer_to(name), message);
    }
    value.map(|value| Bound {
        value,
        text: text.to_owned(),
    })
}

/// FSPIOP's name of a scenario.
#[must_use]
pub fn scenario_name(scenario: Option<Scenario>) -> &'static str {
    let found = SCENARIOS.iter().find(|(_, known)| *known == scenario);
    found.map_or("*", |(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems_of(text: &str) -> Vec<(String, String)> {
        let problems = Settings::read(text).err().unwrap_or_default();
        let pair = |problem: Problem| (problem.pointer, problem.message);
        problems.into_iter().map(pair).collect()
    }

    /// The first block of JSON in a page.
    fn example_of(page: &str) -> &str {
        let (_, rest) = page.split_once("```json\n").unwrap();
        rest.split_once("```").unwrap().0
    }

    #[test]
    fn the_example_of_the_readme_is_valid() {
        let settings = Settings::read(example_of(include_str!("../README.md"))).unwrap();
        assert_eq!(settings.limits.len(), 2);
        assert_eq!(settings.otherwise, Otherwise::Refuse);
    }

    #[test]
    fn the_schema_is_json_and_names_the_same_members() {
        let schema: Value = serde_json::from_str(include_str!("../settings.schema.json")).unwrap();
        let keys = |pointer: &str| -> Vec<&String> {
            schema
                .pointer(pointer)
                .unwrap()
                .as_object()
                .unwrap()
                .keys()
                .collect()
        };
        assert_eq!(keys("/properties"), ["limits", "otherwise"]);
        assert_eq!(
            keys("/properties/limits/items/properties"),
            ["currency", "maximum", "minimum", "scenario"]
        );
        let names = schema
            .pointer("/properties/limits/items/properties/scenario/enum")
            .unwrap();
        assert_eq!(
            names,
            &Value::from(SCENARIOS.map(|(name, _)| name).to_vec())
        );
    }

    #[test]
    fn settings_may_be_empty() {
        let settings = Settings::read("{}").unwrap();
        assert_eq!(
            (settings.limits.len(), settings.otherwise),
            (0, Otherwise::Allow)
        );
    }

    #[test]
    fn every_problem_is_named_by_its_place() {
        let text = r#"{
            "limits": [
                {"currency": "usd", "scenario": "GIFT", "minimum": "1"},
                {"currency": "USD", "scenario": "*", "minimum": "10", "maximum": "9.99"},
                {"currency": "USD", "scenario": "*", "max": 5},
                {"scenario": "PAYMENT", "maximum": 100},
                7
            ],
            "otherwise": "maybe", "note": ""
        }"#;
        let problems = problems_of(text);
        let expected = [
            ("/note", "There is no setting `note` here: use `limits` or `otherwise`."),
            ("/otherwise", "`maybe` is not possible: use `allow` or `refuse`."),
            ("/limits/0/currency", "`usd` is not a currency: use three capital letters, as in USD."),
            ("/limits/0/scenario", "`GIFT` is not a scenario: use `DEPOSIT`, `WITHDRAWAL`, `TRANSFER`, `PAYMENT`, `REFUND` or `*`."),
            ("/limits/1", "The minimum 10 is more than the maximum 9.99: nothing could pass."),
            ("/limits/2/max", "There is no setting `max` here: use `currency`, `scenario`, `minimum` or `maximum`."),
            ("/limits/2", "A limit needs a `minimum`, a `maximum` or both."),
            ("/limits/2", "There are limits for USD * already: write them together."),
            ("/limits/3/currency", "`currency` is missing: add it."),
            ("/limits/3/maximum", "`maximum` must be a text, in quotation marks."),
            ("/limits/4", "This must be an object with `currency`, `scenario`, `minimum` or `maximum`."),
        ]
        .map(|(pointer, message)| (pointer.to_owned(), message.to_owned()));
        assert_eq!(problems, expected);
    }

    #[test]
    fn an_amount_that_is_no_number_is_refused_with_advice() {
        for text in ["1e3", "-1", "1,000", ""] {
            let settings =
                format!(r#"{{"limits":[{{"currency":"USD","scenario":"*","minimum":"{text}"}}]}}"#);
            let problems = problems_of(&settings);
            assert_eq!(problems.len(), 1);
            assert_eq!(problems[0].0, "/limits/0/minimum");
        }
        assert_eq!(problems_of("[]").len(), 1);
        assert!(
            problems_of("{")
                .first()
                .unwrap()
                .1
                .starts_with("The settings are not JSON")
        );
        assert_eq!(
            problems_of(r#"{"limits":{}}"#)[0].1,
            "`limits` must be a list."
        );
    }
}
