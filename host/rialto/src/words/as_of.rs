//! What was in force at an instant for what an id stands for, as text for people and as JSON.

use std::fmt::Write as _;

use rialto_components::rules::Outcome;
use serde::Serialize;
use serde_json::Value;

use super::{instant, plain, verdict};

/// What was in force at an instant, and what stood then.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct VerdictAsOf {
    /// The id.
    pub id: String,
    /// The instant; milliseconds since 1970.
    pub as_of: u64,
    /// The release that was current then.
    pub release: u64,
    /// Its digest.
    pub digest: String,
    /// The steps of which there are receipts.
    pub steps: Vec<StepAsOf>,
}

/// A step at an instant.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StepAsOf {
    /// The step.
    pub step: String,
    /// The rules that were in force, in the order in which they were asked.
    pub in_force: Vec<RuleInForce>,
    /// What had been decided; none if nothing had.
    pub stood: Option<Stood>,
}

/// A rule at a step, with its settings at an instant.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RuleInForce {
    /// Its name in the scheme.
    pub rule: String,
    /// The digest of its component.
    pub digest: String,
    /// Its settings then.
    pub settings: Value,
    /// From when on it had them; milliseconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effective_from: Option<u64>,
    /// Until when it has them; milliseconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effective_until: Option<u64>,
}

/// What had been decided at a step.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Stood {
    /// When; milliseconds since 1970.
    pub at: u64,
    /// Whether the step allowed it.
    pub allows: bool,
    /// The verdicts that decided.
    pub verdicts: Vec<StoodVerdict>,
}

/// A verdict that decided.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StoodVerdict {
    /// The id of its receipt.
    pub receipt: u64,
    /// The rule, by its name in the scheme.
    pub rule: String,
    /// The digest of its component.
    pub digest: String,
    /// The digest of its settings.
    pub settings_digest: String,
    /// The release whose rule it was.
    pub release: u64,
    /// The verdict.
    pub verdict: Outcome,
}

/// What was in force, and what stood.
pub fn verdict_as_of(found: &VerdictAsOf) -> String {
    let mut text = format!(
        "as of {}: release {} was current ({})\n",
        instant(found.as_of),
        found.release,
        found.digest
    );
    for step in &found.steps {
        let _ = writeln!(text, "{}", plain(&step.step));
        if step.in_force.is_empty() {
            let _ = writeln!(text, "  no rule was in force");
        }
        for rule in &step.in_force {
            let _ = writeln!(text, "  in force   {} {}", plain(&rule.rule), rule.digest);
            let _ = writeln!(text, "    settings {}", rule.settings);
            let from = rule
                .effective_from
                .map(|at| format!(" from {}", instant(at)));
            let until = rule.effective_until;
            let until = until.map(|at| format!(" until {}", instant(at)));
            if from.is_some() || until.is_some() {
                let from = from.unwrap_or_default();
                let until = until.unwrap_or_default();
                let _ = writeln!(text, "    dated   {from}{until}");
            }
        }
        let Some(stood) = &step.stood else {
            let _ = writeln!(text, "  stood      nothing: it was not judged yet");
            continue;
        };
        let said = if stood.allows { "allowed" } else { "refused" };
        let at = instant(stood.at);
        let _ = writeln!(text, "  stood      {said} at {at}");
        for one in &stood.verdicts {
            let said = plain(&verdict(&one.verdict));
            let other = match one.release {
                release if release == found.release => String::new(),
                release => format!(" (of release {release})"),
            };
            let _ = writeln!(
                text,
                "    receipt {} {}{other}: {said}",
                one.receipt,
                plain(&one.rule)
            );
        }
    }
    text
}
