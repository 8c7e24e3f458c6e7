//! What the rules of the current release said in the last hour.

use std::collections::{BTreeMap, BTreeSet};

use axum::Json;
use axum::extract::State;
use rialto_components::verdict_counts::{CountedRule, VerdictCounts, VerdictFigures};
use rialto_components::{Digest, Release};
use serde::{Deserialize, Serialize};

use super::Host;

/// A version of a rule at a step, in the last hour.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RuleFigures {
    /// The step.
    pub step: String,
    /// The rule, by its name in the scheme.
    pub rule: String,
    /// The digest of its bytes.
    pub digest: Digest,
    /// Its own version; none if the current release does not have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Whether the current release binds it here, as a rule or as a canary.
    pub is_bound: bool,
    /// The first instant of the figures; milliseconds since 1970.
    pub since: u64,
    /// Verdicts that allow.
    pub allowed: u64,
    /// Verdicts that refuse, by their first code.
    pub refused: BTreeMap<String, u64>,
    /// Failures.
    pub failed: u64,
    /// Half of the verdicts used at most this much fuel.
    pub fuel_p50: u64,
    /// 99 of 100 did.
    pub fuel_p99: u64,
    /// The most that one may use; none if the current release does not have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fuel_limit: Option<u64>,
}

pub(super) async fn figures(State(shared): Host) -> Json<Vec<RuleFigures>> {
    let now = shared.releases.now().0;
    let counted = shared.runtime.verdicts().last_hour(now);
    let current = shared.runtime.current();
    Json(told(
        current.as_deref(),
        counted,
        VerdictCounts::hour_begins(now),
    ))
}

/// The rules that are bound, those that said nothing too, and others that said something.
fn told(
    current: Option<&Release>,
    mut counted: BTreeMap<CountedRule, VerdictFigures>,
    since: u64,
) -> Vec<RuleFigures> {
    let mut all = Vec::new();
    let steps = current.map(|release| (release, release.steps.iter()));
    for (release, (step, rules)) in steps
        .into_iter()
        .flat_map(|(release, steps)| steps.map(move |step| (release, step)))
    {
        let canaries = rules.iter().filter_map(|bound| bound.canary.as_deref());
        let canaries = canaries.map(|canary| canary.bound.member);
        let members: BTreeSet<usize> = rules.iter().map(|one| one.member).chain(canaries).collect();
        for member in members.into_iter().filter_map(|at| release.members.get(at)) {
            let key = CountedRule {
                step: step.clone(),
                rule: member.identity.name.clone(),
                digest: member.digest,
            };
            let of = counted.remove(&key).unwrap_or_default();
            let said = member.description.as_ref();
            all.push(RuleFigures {
                version: said.map(|said| said.version.clone()),
                is_bound: true,
                fuel_limit: member.limits.fuel,
                ..RuleFigures::of(&key, of, since)
            });
        }
    }
    all.sort_by(|a, b| (&a.step, &a.rule).cmp(&(&b.step, &b.rule)));
    let gone = counted.into_iter();
    all.extend(gone.map(|(key, of)| RuleFigures::of(&key, of, since)));
    all
}

impl RuleFigures {
    fn of(key: &CountedRule, of: VerdictFigures, since: u64) -> Self {
        Self {
            step: key.step.to_string(),
            rule: key.rule.to_string(),
            digest: key.digest,
            version: None,
            is_bound: false,
            since,
            allowed: of.allowed,
            refused: of.refused,
            failed: of.failed,
            fuel_p50: of.fuel_p50,
            fuel_p99: of.fuel_p99,
            fuel_limit: None,
        }
    }
}
