//! Backtests over HTTP: start one, look at it, cancel it, and judge a single input of it again.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use rialto_components::rules::{self, Outcome};
use rialto_components::{Release, Unjudgeable};
use rialto_store_sqlite::Outcome as AuditOutcome;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::extractors::{Asked, At, Body, By};
use super::inspect::receipts_about;
use super::problem::Kind;
use super::releases::has_components;
use super::{Host, Problem, blocking};
use crate::audit::{Actor, AuditedAction};
use crate::backtest::figures::Decision;
use crate::backtest::jobs::{NewBacktest, NotStarted, ShownBacktest};
use crate::host::Shared;
use crate::personal_data::Readable as _;

/// Which input.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OneInput {
    /// The id of a receipt of the request.
    receipt: u64,
    /// What the request is about.
    subject: String,
}

/// An input with both verdicts.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct JudgedInput {
    /// The step.
    pub step: String,
    /// What the request is about.
    pub subject: String,
    /// When it was judged first; milliseconds since 1970.
    pub at: u64,
    /// The input.
    pub input: Value,
    /// What was decided.
    pub before: Decision,
    /// What the candidate decides.
    pub after: Decision,
    /// The verdicts of then.
    pub verdicts_before: Vec<OneVerdict>,
    /// The candidate's verdicts.
    pub verdicts_after: Vec<OneVerdict>,
}

/// What one rule said.
#[derive(Debug, Serialize, Deserialize)]
pub struct OneVerdict {
    /// The rule, by its name in the scheme.
    pub rule: String,
    /// Its own version.
    pub version: String,
    /// The verdict; none if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Outcome>,
    /// Why there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Fuel used.
    pub fuel: u64,
}

pub(super) async fn start(
    State(shared): Host,
    By(caller): By,
    Body(wanted): Body<NewBacktest>,
) -> Result<Json<ShownBacktest>, Problem> {
    blocking(&shared.clone().changes, move || {
        let who = Actor::from(&caller);
        let (of, candidate) = candidate(&shared, &wanted)?;
        let about = of.clone();
        let audited = AuditedAction::new("backtest-start", &about);
        let run = || {
            let started = shared
                .backtests
                .start(candidate, (&who.person, of), &wanted);
            started.map_err(|refused| {
                let kind = match refused {
                    NotStarted::Runs(_) => Kind::BacktestRuns,
                    NotStarted::Period => Kind::Malformed,
                    NotStarted::Thread(_) => Kind::Internal,
                };
                Problem::new(kind, refused.to_string())
            })
        };
        let outcome = |ran: &Result<ShownBacktest, Problem>| match ran {
            Ok(started) => AuditOutcome::Done(format!("backtest {}", started.id)),
            Err(problem) => problem.outcome(),
        };
        Ok(Json(shared.audit.keep(&who, &audited, outcome, run)?))
    })
    .await
}

/// The rules that are to judge, and what they are in words.
fn candidate(
    shared: &Arc<Shared>,
    wanted: &NewBacktest,
) -> Result<(String, Arc<Release>), Problem> {
    let (of, document) = match (wanted.release, &wanted.plan, &wanted.document) {
        (Some(number), None, None) => {
            let document = shared.releases.show(number)?.document;
            (format!("release {number}"), document)
        }
        (None, Some(digest), None) => {
            let document = shared.releases.planned_document(digest)?;
            (format!("plan {digest}"), document)
        }
        (None, None, Some(document)) => {
            has_components(shared, document)?;
            (format!("draft {}", document.digest()), document.clone())
        }
        _ => {
            let detail =
                "a backtest is of a `release`, of a `plan` or of a `document`, one of them";
            return Err(Problem::new(Kind::Malformed, detail));
        }
    };
    let candidate = shared.releases.rules_alone(&document)?;
    Ok((of, Arc::new(candidate)))
}

pub(super) async fn list(State(shared): Host) -> Json<Vec<ShownBacktest>> {
    Json(shared.backtests.list())
}

pub(super) async fn show(
    State(shared): Host,
    At(id): At<u64>,
) -> Result<Json<ShownBacktest>, Problem> {
    let shown = shared.backtests.show(id);
    shown.map(Json).ok_or_else(|| unknown(id))
}

/// The report's own bytes, of which a plan names the digest.
pub(super) async fn report(State(shared): Host, At(id): At<u64>) -> Result<Response, Problem> {
    let report = shared.backtests.show(id).and_then(|shown| shown.report);
    let report = report.ok_or_else(|| unknown(id))?;
    blocking(&shared.clone().reads, move || {
        let bytes = report.bytes();
        let bytes = bytes.map_err(|error| Problem::new(Kind::Internal, error.to_string()))?;
        Ok(([(header::CONTENT_TYPE, "application/json")], bytes).into_response())
    })
    .await
}

pub(super) async fn cancel(
    State(shared): Host,
    By(caller): By,
    At(id): At<u64>,
) -> Result<Json<ShownBacktest>, Problem> {
    blocking(&shared.clone().changes, move || {
        let who = Actor::from(&caller);
        let about = format!("backtest {id}");
        let audited = AuditedAction::new("backtest-cancel", &about);
        let run = || shared.backtests.cancel(id).ok_or_else(|| unknown(id));
        let outcome = |ran: &Result<ShownBacktest, Problem>| match ran {
            Ok(_) => AuditOutcome::Done(String::new()),
            Err(problem) => problem.outcome(),
        };
        Ok(Json(shared.audit.keep(&who, &audited, outcome, run)?))
    })
    .await
}

fn unknown(id: u64) -> Problem {
    let detail = format!(
        "no backtest {id} is kept: the host keeps the last four, a report for a day, and none over its own end"
    );
    Problem::new(Kind::BacktestUnknown, detail)
}

/// A single input of a backtest, judged again by its candidate.
pub(super) async fn input(
    State(shared): Host,
    At(id): At<u64>,
    Asked(one): Asked<OneInput>,
) -> Result<Json<JudgedInput>, Problem> {
    blocking(&shared.clone().reads, move || {
        let (candidate, as_of) = shared.backtests.candidate(id).ok_or_else(|| unknown(id))?;
        let stored = stored(&shared, &one)?;
        judged(&candidate, as_of, stored).map(Json)
    })
    .await
}

/// The receipts of the request that has this one, the rules in the order in which they were asked; with the instant.
fn stored(shared: &Arc<Shared>, one: &OneInput) -> Result<(u64, Vec<rules::Receipt>), Problem> {
    let gone = || {
        let detail = format!(
            "there is no receipt {} about {}, or it cannot be read any more",
            one.receipt, one.subject
        );
        Problem::new(Kind::NotFound, detail)
    };
    let all = receipts_about(shared, &one.subject)?;
    let opened = all
        .into_iter()
        .map(|stored| shared.people.readable_receipt(stored));
    let readable = opened.filter(|opened| opened.is_readable);
    let read = readable.filter_map(|opened| {
        let receipt: rules::Receipt = serde_json::from_str(&opened.receipt.body).ok()?;
        Some((opened.receipt.id, opened.receipt.at.0, receipt))
    });
    let read: Vec<_> = read.collect();
    let found = read.iter().find(|(id, _, _)| *id == one.receipt);
    let (_, at, found) = found.ok_or_else(gone)?;
    let (at, step, digest) = (*at, found.step.clone(), found.input_digest);
    let of = read.into_iter().map(|(_, _, receipt)| receipt);
    let of = of.filter(|receipt| {
        let is_void = receipt.canary.as_ref().is_some_and(|canary| canary.is_void);
        let is_same = receipt.step == step && receipt.input_digest == digest;
        is_same && receipt.shadow.is_none() && !is_void
    });
    Ok((at, of.collect()))
}

fn judged(
    candidate: &Release,
    as_of: u64,
    (at, receipts): (u64, Vec<rules::Receipt>),
) -> Result<JudgedInput, Problem> {
    let Some(first) = receipts.first() else {
        let detail = "this receipt is of a candidate, which decided nothing";
        return Err(Problem::new(Kind::NotReplayable, detail));
    };
    let input: Value = serde_json::from_str(first.input.get())
        .map_err(|error| Problem::new(Kind::Receipt, error.to_string()))?;
    let verdicts = candidate.judge_step((&first.step, as_of), &first.subject, &input);
    let verdicts = verdicts.map_err(|why| {
        let why = match why {
            Unjudgeable::Misfit(misfit) => misfit.to_string(),
            uncounted @ Unjudgeable::Uncounted { .. } => uncounted.to_string(),
        };
        Problem::new(Kind::NotReplayable, why)
    })?;
    let before = receipts.iter().map(|one| (&*one.rule, &one.verdict));
    let after = verdicts.iter().filter_map(|verdict| {
        let outcome = verdict.outcome.as_ref().ok()?;
        Some((&*verdict.member.identity.name, outcome))
    });
    let (before, after) = (Decision::of(before), Decision::of(after));
    let verdicts_after = verdicts.into_iter().map(|one| {
        let said = one.member.description.as_ref();
        let (verdict, error) = match one.outcome {
            Ok(verdict) => (Some(verdict), None),
            Err(reason) => (None, Some(reason)),
        };
        OneVerdict {
            rule: one.member.identity.name.to_string(),
            version: said.map(|said| said.version.clone()).unwrap_or_default(),
            verdict,
            error,
            fuel: one.fuel,
        }
    });
    let verdicts_after = verdicts_after.collect();
    let (step, subject) = (first.step.to_string(), first.subject.clone());
    let verdicts_before = receipts.into_iter().map(|one| OneVerdict {
        rule: one.rule.to_string(),
        version: one.rule_version,
        verdict: Some(one.verdict),
        error: None,
        fuel: one.fuel,
    });
    Ok(JudgedInput {
        step,
        subject,
        at,
        input,
        before,
        after,
        verdicts_before: verdicts_before.collect(),
        verdicts_after,
    })
}
