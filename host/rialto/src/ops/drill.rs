//! What a request at a step would come to if one of its rules failed. Nothing is decided, and the running release is
//! not touched.

use axum::Json;
use axum::extract::State;
use rialto_components::release::BoundRule;
use rialto_components::rules::{Outcome, Violation};
use rialto_components::{Drilled, DrilledFailure, Failing, FailureKind, Release};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::extractors::{At, Body};
use super::problem::Kind;
use super::{Host, Problem, blocking};

/// What an input without a subject is about.
const DRILL: &str = "drill";

/// Which failures are drilled, and with which request.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewDrill {
    /// One kind of failure; all without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<FailureKind>,
    /// One rule, by its name in the scheme; all at the step without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// What the input is about, as receipts have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// The step's input, as receipts have it. Without it, the other rules are not asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Value>,
}

/// What would happen.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Drill {
    /// Always true: it is no decision, and there is no receipt of it.
    pub drill: bool,
    /// The step.
    pub step: String,
    /// The release that was drilled.
    pub release: u64,
    /// Whether the other rules were asked, because there was an input.
    pub asks_others: bool,
    /// The rules, in the order in which they are asked.
    pub rules: Vec<DrilledRule>,
    /// Rules that are confidential, and were not asked about the input.
    pub left_out: usize,
    /// Rules that are suspended, and are not asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub suspended: Vec<String>,
    /// How often a delivery whose turn fails is tried, before it is a dead letter.
    pub attempts: u32,
    /// How long it is tried at most, in milliseconds.
    pub retry_for_ms: u64,
}

/// A rule, and what its failures would come to.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DrilledRule {
    /// The rule, by its name in the scheme.
    pub rule: String,
    /// Its own version.
    pub version: String,
    /// What the failures would come to.
    pub failures: Vec<ShownFailure>,
    /// After so many failures in a row, it is in quarantine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quarantine: Option<ShownTerms>,
    /// The candidate that decides in its place about some requests. If that one fails, the rule is asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub canary: Option<String>,
}

/// When a rule is in quarantine.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ShownTerms {
    /// After so many failures in a row.
    pub failures: u32,
    /// The first pause, in milliseconds.
    pub pause_ms: u64,
    /// The longest pause.
    pub longest_ms: u64,
}

/// What a failure would come to.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ShownFailure {
    /// The kind of failure that was caused.
    pub failure: FailureKind,
    /// How the rule failed.
    pub reason: String,
    /// `allow`, `allow-and-flag`, `refuse`, `last-good` if the last good release decides and there was no input to ask it
    /// about, or `turn-fails` if there is no verdict.
    pub answer: String,
    /// What the sender of a request is told, if it is refused.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub violations: Vec<Violation>,
    /// The number of the last good release that decides after the failure, if one does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_good: Option<u64>,
    /// The rule that decides it; none if it is the one that fails.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided_by: Option<String>,
    /// What would be decided without asking the rule while it is in quarantine; none if it never is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_quarantine: Option<Failing>,
}

pub(super) async fn run(
    State(shared): Host,
    At(step): At<String>,
    Body(wanted): Body<NewDrill>,
) -> Result<Json<Drill>, Problem> {
    blocking(&shared.clone().reads, move || {
        let release = shared.runtime.current();
        let (release, (_, document)) = release
            .zip(shared.releases.current())
            .ok_or_else(|| Problem::new(Kind::NotNow, "no release is current"))?;
        let scheme = document.scheme();
        let scheme = scheme.map_err(|problems| Problem::new(Kind::Internal, problems.plain()))?;
        let now = shared.releases.now().0;
        let rules = at_step(&release, &step, now, wanted.rule.as_deref())?;
        let is_confidential = |rule: &str| {
            let mut all = scheme.rules.iter();
            let found = all.find(|(name, _)| name.as_str() == rule);
            found.is_none_or(|(_, rule)| rule.confidential)
        };
        let is_suspended = |rule: &str| release.suspends(rule, now);
        let drills = |rule: &str| {
            let is_named = wanted.rule.as_ref().is_none_or(|named| *named == *rule);
            is_named && !is_suspended(rule)
        };
        let judges = |rule: &str| !is_confidential(rule) && !is_suspended(rule);
        let kinds = wanted
            .failure
            .map_or(FailureKind::ALL.to_vec(), |k| vec![k]);
        let subject = wanted.subject.as_deref().unwrap_or(DRILL);
        let drilled = release
            .drill(
                (&step, now),
                (subject, wanted.input.as_ref()),
                &kinds,
                (drills, judges),
            )
            .map_err(|misfit| Problem::new(Kind::Malformed, misfit.to_string()))?;
        let asks_others = wanted.input.is_some();
        let left_out = rules.iter().filter(|rule| is_confidential(rule));
        let suspended = rules.iter().filter(|rule| is_suspended(rule));
        let (attempts, retry_for_ms) = shared.releases.retries();
        Ok(Json(Drill {
            drill: true,
            asks_others,
            left_out: if asks_others { left_out.count() } else { 0 },
            suspended: suspended.cloned().collect(),
            release: release.number,
            rules: drilled.into_iter().map(DrilledRule::of).collect(),
            step,
            attempts,
            retry_for_ms,
        }))
    })
    .await
}

/// The names of the rules at a step that are asked at an instant, one of them the wanted one.
fn at_step(
    release: &Release,
    step: &str,
    now: u64,
    wanted: Option<&str>,
) -> Result<Vec<String>, Problem> {
    let Some(rules) = release.steps.get(step) else {
        let mut steps: Vec<&str> = release.steps.keys().map(|known| &**known).collect();
        steps.sort_unstable();
        let steps = steps.join(", ");
        let detail = format!("no rule is bound to `{step}`; rules are at {steps}");
        return Err(Problem::new(Kind::NotFound, detail));
    };
    let effective = rules.iter().filter(|bound| bound.effective.covers(now));
    let names: Vec<String> = effective.map(|b| b.identity.name.to_string()).collect();
    if let Some(wanted) = wanted
        && !names.iter().any(|name| name == wanted)
    {
        let names = names.join(", ");
        let detail = format!("the rule `{wanted}` is not asked at `{step}`; those are: {names}");
        return Err(Problem::new(Kind::NotFound, detail));
    }
    Ok(names)
}

impl DrilledRule {
    fn of(drilled: Drilled<'_>) -> Self {
        let Drilled {
            bound,
            member,
            failures,
        } = drilled;
        let said = member.description.as_ref();
        let terms = bound.quarantine.as_ref().map(|one| one.terms);
        let canary = bound.canary.as_ref();
        Self {
            rule: bound.identity.name.to_string(),
            version: said.map(|said| said.version.clone()).unwrap_or_default(),
            failures: failures
                .into_iter()
                .map(|failure| ShownFailure::of(failure, bound))
                .collect(),
            quarantine: terms.map(|terms| ShownTerms {
                failures: terms.failures,
                pause_ms: terms.pause_ms,
                longest_ms: terms.longest_ms,
            }),
            canary: canary.map(|canary| canary.bound.identity.name.to_string()),
        }
    }
}

impl ShownFailure {
    fn of(drilled: DrilledFailure<'_>, bound: &BoundRule) -> Self {
        let (reason, flags) = match &drilled.outcome {
            Ok(Outcome::Failed { reason, means, .. }) => {
                (reason.clone(), *means == Failing::AllowAndFlag)
            }
            Ok(other) => (other.short(), false),
            Err(reason) => (reason.clone(), false),
        };
        let answer = match (&drilled.prevented, &drilled.refusal) {
            (Some(_), _) => "turn-fails",
            (None, Some(_)) => "refuse",
            (None, None) if matches!(drilled.last_good, Some((_, None))) => "last-good",
            (None, None) if flags => "allow-and-flag",
            (None, None) => "allow",
        };
        let has_quarantine = bound.quarantine.is_some();
        let refusal = drilled.refusal;
        let last_good = drilled.last_good.map(|(number, _)| number);
        let decided_by = refusal.as_ref().map(|(by, _)| (*by).to_owned());
        Self {
            failure: drilled.kind,
            reason,
            answer: answer.to_owned(),
            violations: refusal.map(|(_, all)| all).unwrap_or_default(),
            last_good,
            decided_by: decided_by.filter(|by| **by != *bound.identity.name),
            in_quarantine: has_quarantine.then(|| bound.means(drilled.kind)),
        }
    }
}
