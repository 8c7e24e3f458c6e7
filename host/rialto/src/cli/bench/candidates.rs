//! A benchmark with candidates: one in the shadow of a rule, or one that decides about half of the requests in its place.

use std::path::Path;

use anyhow::Context as _;
use toml::{Table, Value};

use super::rules;

/// The rule that has a candidate at each step: the same component, with settings that allow what no limit names.
const RULE: &str = "amount-limits";

/// What the candidate does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Candidate {
    /// It judges what was committed, within 10 % of a processor
    Shadow,
    /// It decides about half of the requests, and the rule judges them afterwards
    Canary,
}

impl Candidate {
    /// In a word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Shadow => "shadow",
            Self::Canary => "canary",
        }
    }
}

/// Gives each binding of the rule in the scheme in this folder a candidate.
pub(super) fn bind(folder: &Path, candidate: Candidate) -> anyhow::Result<()> {
    rules::rewrite(folder, |scheme| bound(scheme, candidate))
}

fn bound(mut scheme: Table, candidate: Candidate) -> anyhow::Result<Table> {
    let mut found = 0;
    let steps = scheme.get_mut("steps").and_then(Value::as_table_mut);
    let bindings = steps.into_iter().flat_map(|steps| steps.iter_mut());
    let bindings = bindings
        .filter_map(|(_, step)| step.as_array_mut())
        .flatten();
    for binding in bindings.filter_map(Value::as_table_mut) {
        if binding.get("rule").and_then(Value::as_str) != Some(RULE) {
            continue;
        }
        let settings = binding.get("settings").and_then(Value::as_table);
        let mut settings = settings.cloned().unwrap_or_default();
        settings.insert("otherwise".into(), "allow".into());
        let mut terms: Table = match candidate {
            Candidate::Shadow => "cpu = \"10 %\"",
            Candidate::Canary => "to = { hash = \"50 %\" }\nhold-back = { failures = 3 }",
        }
        .parse()?;
        terms.insert("rule".into(), RULE.into());
        terms.insert("settings".into(), Value::Table(settings));
        binding.insert(candidate.name().into(), Value::Table(terms));
        found += 1;
    }
    (found > 0)
        .then_some(scheme)
        .with_context(|| format!("the scheme binds no rule `{RULE}` at a step"))
}
