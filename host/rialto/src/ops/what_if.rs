//! What the rules of the current release would say about a draft. Nothing is decided, and no receipt is kept.

use axum::Json;
use axum::extract::State;
use rialto_components::rules::Outcome;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::extractors::{At, Body};
use super::problem::Kind;
use super::{Host, Problem, blocking};

/// What a draft without a subject is about.
const DRAFT: &str = "draft";

/// A draft at a step.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Draft {
    /// What it is about, as receipts have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// The step's input, as receipts have it.
    pub input: Value,
}

/// What the rules would say.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WhatIf {
    /// Always true: it is no decision, and there is no receipt of it.
    pub what_if: bool,
    /// The step.
    pub step: String,
    /// The release that was asked.
    pub release: u64,
    /// Whether the step would allow the request, as far as the rules that were asked go.
    pub allows: bool,
    /// The verdicts, in the order in which the rules are asked, up to the first refusal.
    pub verdicts: Vec<WhatIfVerdict>,
    /// Rules that are confidential, and were not asked.
    pub left_out: usize,
    /// Rules that are suspended, and were not asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub suspended: Vec<String>,
}

/// What one rule would say.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WhatIfVerdict {
    /// The rule, by its name in the scheme.
    pub rule: String,
    /// Its own version.
    pub version: String,
    /// What it says of itself.
    pub summary: String,
    /// The verdict.
    pub verdict: Outcome,
    /// Its settings at this step, which have its limits.
    pub settings: Value,
    /// Fuel used.
    pub fuel: u64,
    /// The branches that it has marked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub branches: Vec<String>,
}

pub(super) async fn ask(
    State(shared): Host,
    At(step): At<String>,
    Body(draft): Body<Draft>,
) -> Result<Json<WhatIf>, Problem> {
    blocking(&shared.clone().reads, move || {
        let release = shared.runtime.current();
        let (release, (_, document)) = release
            .zip(shared.releases.current())
            .ok_or_else(|| Problem::new(Kind::NotNow, "no release is current"))?;
        let scheme = document.scheme();
        let scheme = scheme.map_err(|problems| Problem::new(Kind::Internal, problems.plain()))?;
        let Some(rules) = release.steps.get(step.as_str()) else {
            let mut steps: Vec<&str> = release.steps.keys().map(|known| &**known).collect();
            steps.sort_unstable();
            let detail = format!(
                "no rule is bound to `{step}`; rules are at {}",
                steps.join(", ")
            );
            return Err(Problem::new(Kind::NotFound, detail));
        };
        let now = shared.releases.now().0;
        let is_confidential = |rule: &str| {
            let mut all = scheme.rules.iter();
            let found = all.find(|(name, _)| name.as_str() == rule);
            found.is_none_or(|(_, rule)| rule.confidential)
        };
        let effective = rules.iter().filter(|bound| bound.effective.covers(now));
        let names: Vec<&str> = effective.map(|bound| &*bound.identity.name).collect();
        let left_out = names.iter().filter(|rule| is_confidential(rule)).count();
        let suspended = |rule: &&&str| !is_confidential(rule) && release.suspends(rule, now);
        let suspended: Vec<String> = names
            .iter()
            .filter(suspended)
            .map(ToString::to_string)
            .collect();
        let wanted = |rule: &str| !is_confidential(rule) && !release.suspends(rule, now);
        let subject = draft.subject.as_deref().unwrap_or(DRAFT);
        let verdicts = release
            .judge_by((&step, now), subject, &draft.input, wanted)
            .map_err(|misfit| Problem::new(Kind::Malformed, misfit.to_string()))?;
        let verdicts = verdicts.into_iter().map(|one| {
            let said = one.member.description.as_ref();
            let verdict = one.outcome.map_err(|reason| {
                Problem::new(
                    Kind::NotNow,
                    format!("a rule could not be asked: {reason}; try again"),
                )
            })?;
            Ok(WhatIfVerdict {
                rule: one.bound.identity.name.to_string(),
                version: said.map(|said| said.version.clone()).unwrap_or_default(),
                summary: said.map(|said| said.summary.clone()).unwrap_or_default(),
                settings: serde_json::from_str(&one.bound.identity.settings).unwrap_or_default(),
                verdict,
                fuel: one.fuel,
                branches: one.branches,
            })
        });
        let verdicts = verdicts.collect::<Result<Vec<_>, Problem>>()?;
        Ok(Json(WhatIf {
            what_if: true,
            release: release.number,
            allows: !verdicts.iter().any(|one| one.verdict.refuses()),
            step,
            verdicts,
            left_out,
            suspended,
        }))
    })
    .await
}
