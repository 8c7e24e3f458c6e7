//! Golden cases: an input with the verdict that is expected, one in a file of JSON.
//!
//! ```json
//! {
//!   "step": "transfer-prepare-check",
//!   "settings": { "maximum": "100" },
//!   "input": { "now": 1767258000000 },
//!   "expect": { "refuse": ["5200"] }
//! }
//! ```
//!
//! Inputs have the form of receipts, so one of a receipt can be copied.

use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use rialto_components::rules::{Outcome, Violation};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::file::{Judged, RuleFile};

/// The folder of cases beside a rule, or beside the project that it was built in.
pub const FOLDER: &str = "cases";
/// What a case is about if it does not say.
const SUBJECT: &str = "case:1";

/// A case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Case {
    /// A sentence for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// The step.
    pub step: String,
    /// What the input is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// The rule's settings.
    #[serde(default)]
    pub settings: Map<String, Value>,
    /// The input, as receipts have it.
    pub input: Value,
    /// The verdict; none if it is not known yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expect: Option<Expected>,
    /// The most fuel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fuel_max: Option<u64>,
}

/// An expected verdict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Expected {
    /// The rule allows.
    Allow,
    /// The rule refuses, with these violations in this order.
    Refuse(Vec<Violated>),
}

/// An expected violation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Violated {
    /// Its code, with any message.
    Code(String),
    /// Its code and its message.
    Whole(Violation),
}

impl Violated {
    fn is(&self, violation: &Violation) -> bool {
        match self {
            Self::Code(code) => *code == violation.code,
            Self::Whole(whole) => whole == violation,
        }
    }
}

impl Expected {
    /// What a rule has said; none if it failed.
    #[must_use]
    pub fn of(outcome: &Outcome) -> Option<Self> {
        match outcome {
            Outcome::Allow => Some(Self::Allow),
            Outcome::Refuse { violations } => {
                let violations = violations.iter().cloned();
                Some(Self::Refuse(violations.map(Violated::Whole).collect()))
            }
            Outcome::Failed { .. } => None,
        }
    }

    /// Whether a rule has said this.
    #[must_use]
    pub fn is(&self, outcome: &Outcome) -> bool {
        match (self, outcome) {
            (Self::Allow, Outcome::Allow) => true,
            (Self::Refuse(expected), Outcome::Refuse { violations }) => {
                let mut both = expected.iter().zip(violations);
                expected.len() == violations.len() && both.all(|(one, other)| one.is(other))
            }
            _ => false,
        }
    }
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Allow => f.write_str("allow"),
            Self::Refuse(violations) => {
                let words = violations.iter().map(|one| match one {
                    Violated::Code(code) => code.clone(),
                    Violated::Whole(Violation { code, message }) => format!("{code} {message}"),
                });
                write!(f, "refuse {}", words.collect::<Vec<_>>().join("; "))
            }
        }
    }
}

impl Case {
    /// Read a file.
    ///
    /// # Errors
    /// When it cannot be read, or is no case.
    pub fn read(path: &Path) -> anyhow::Result<Self> {
        let text = std::fs::read(path).with_context(|| format!("reading {}", path.display()))?;
        serde_json::from_slice(&text).with_context(|| format!("{} is no case", path.display()))
    }

    /// Write it as a file.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write(&self, path: &Path) -> anyhow::Result<()> {
        let mut text = serde_json::to_string_pretty(self)?;
        text.push('\n');
        std::fs::write(path, text).with_context(|| format!("writing {}", path.display()))
    }

    /// What is wrong with a verdict of the rule; none if it is as expected.
    #[must_use]
    pub fn objection(&self, rule: &RuleFile, judged: &Judged) -> Option<String> {
        match (&judged.outcome, &self.expect) {
            (Outcome::Failed { .. }, _) => Some("a rule must not fail".to_owned()),
            (_, None) => Some("no verdict is expected: --bless writes this one".to_owned()),
            (said, Some(expected)) if !expected.is(said) => Some(format!("expected: {expected}")),
            _ => {
                let bounds = [self.fuel_max, rule.description.fuel()];
                let least = bounds.into_iter().flatten().min();
                let most = least.filter(|most| judged.fuel > *most)?;
                Some(format!("it may use {most} fuel"))
            }
        }
    }

    /// What it is about.
    #[must_use]
    pub fn subject(&self) -> &str {
        self.subject.as_deref().unwrap_or(SUBJECT)
    }

    /// The rule's settings.
    #[must_use]
    pub fn settings(&self) -> Value {
        Value::Object(self.settings.clone())
    }
}

/// The files of cases that are named, those of folders included; if none is, those of the nearest folder `cases` in the
/// folder of a component or above it.
///
/// # Errors
/// When there are none, or they cannot be read.
pub fn files(component: &Path, named: &[PathBuf]) -> anyhow::Result<Vec<PathBuf>> {
    let mut named = named.to_vec();
    if named.is_empty() {
        let whole = std::path::absolute(component).context("asking for the current folder")?;
        let folders = whole.ancestors().skip(1).map(|folder| folder.join(FOLDER));
        let mut folders = folders.filter(|folder| folder.is_dir());
        let Some(folder) = folders.next() else {
            bail!(
                "there is no folder `{FOLDER}` beside {} or above it: name files or folders of cases",
                component.display()
            );
        };
        named.push(folder);
    }
    let mut files = Vec::new();
    for path in named {
        if !path.is_dir() {
            files.push(path);
            continue;
        }
        let listed = path
            .read_dir()
            .with_context(|| format!("reading {}", path.display()))?;
        for entry in listed {
            let file = entry
                .with_context(|| format!("reading {}", path.display()))?
                .path();
            if file.extension().is_some_and(|end| end == "json") {
                files.push(file);
            }
        }
    }
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn refusal(code: &str, message: &str) -> Outcome {
        Outcome::Refuse {
            violations: vec![Violation {
                code: code.to_owned(),
                message: message.to_owned(),
            }],
        }
    }

    fn expected(value: Value) -> Expected {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn verdicts_are_expected_by_code_or_whole() {
        assert!(expected(json!("allow")).is(&Outcome::Allow));
        assert!(!expected(json!("allow")).is(&refusal("5200", "no")));
        let by_code = expected(json!({ "refuse": ["5200"] }));
        assert!(by_code.is(&refusal("5200", "no")) && !by_code.is(&refusal("5100", "no")));
        assert!(!by_code.is(&Outcome::Allow));
        let whole = json!({ "refuse": [{ "code": "5200", "message": "no" }] });
        assert!(expected(whole.clone()).is(&refusal("5200", "no")));
        assert!(!expected(whole.clone()).is(&refusal("5200", "yes")));
        // What is blessed is read again.
        let blessed = Expected::of(&refusal("5200", "no")).unwrap();
        assert_eq!(serde_json::to_value(blessed).unwrap(), whole);
    }

    #[test]
    fn cases_are_found_beside_the_component_or_above_it() {
        let folder = tempfile::tempdir().unwrap();
        let cases = folder.path().join(FOLDER);
        let built = folder.path().join("target/wasm32-wasip2/release");
        std::fs::create_dir_all(&built).unwrap();
        let component = built.join("rule.wasm");
        assert!(files(&component, &[]).is_err());
        std::fs::create_dir(&cases).unwrap();
        for name in ["b.json", "a.json", "notes.md"] {
            std::fs::write(cases.join(name), "{}").unwrap();
        }
        let found = files(&component, &[]).unwrap();
        assert_eq!(found, [cases.join("a.json"), cases.join("b.json")]);
        let one = [cases.join("b.json")];
        assert_eq!(files(&component, &one).unwrap(), one);
    }

    #[test]
    fn unknown_members_of_a_case_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.json");
        std::fs::write(&path, r#"{ "step": "s", "input": {}, "expects": "allow" }"#).unwrap();
        let error = format!("{:#}", Case::read(&path).unwrap_err());
        assert!(error.contains("expects"), "{error}");
    }
}
