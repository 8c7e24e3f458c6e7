//! Paused components, and decisions about many dead letters.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use rialto_engine::{Decision, Engine, Failure, LetterFilter, Reply, Timestamp};
use rialto_store_sqlite::Outcome;
use serde::{Deserialize, Serialize};

use super::extractors::{Body, By};
use super::problem::Kind;
use super::{Host, Problem, blocking};
use crate::audit::{Actor, AuditedAction};
use crate::host::Shared;
use crate::operators::Caller;
use crate::words::instant;

/// A paused component: deliveries to it failed, and new ones are kept in order.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ShownPause {
    /// The component.
    pub component: String,
    /// When the pause began; milliseconds since 1970.
    pub since: u64,
    /// Deliveries that are kept.
    pub kept: usize,
    /// Probes since then.
    pub probes: u32,
    /// Milliseconds until the next probe; none while one runs.
    pub next_probe_ms: Option<u64>,
    /// The last failure.
    pub error: String,
}

/// The dead letters that are retried or dropped.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Retry {
    /// Those to this component; none for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub component: Option<String>,
    /// Those given up at this instant or later; milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<u64>,
    /// Those given up before this instant; milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<u64>,
    /// Why.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
}

impl Retry {
    /// The selection in words, for the audit log.
    fn words(&self) -> String {
        let to = self.component.as_deref().unwrap_or("any component");
        let since = self
            .since
            .map(|at| format!(", given up since {}", instant(at)));
        let before = self.before.map(|at| format!(", before {}", instant(at)));
        let (since, before) = (since.unwrap_or_default(), before.unwrap_or_default());
        format!("dead letters to {to}{since}{before}")
    }
}

/// How many dead letters are retried: at most a fixed number at a time, and 0 when none is left.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Retried {
    /// How many.
    pub retried: usize,
}

/// How many dead letters are dropped: at most a fixed number at a time, and 0 when none is left.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Dropped {
    /// How many.
    pub dropped: usize,
}

pub(super) async fn paused(State(shared): Host) -> Json<Vec<ShownPause>> {
    let paused = shared.engine.paused().into_iter();
    let shown = paused.map(|paused| ShownPause {
        component: paused.component.to_string(),
        since: paused.since.0,
        kept: paused.kept,
        probes: paused.probes,
        next_probe_ms: paused.next_probe_ms,
        error: paused.error,
    });
    Json(shown.collect())
}

pub(super) async fn retry(
    State(shared): Host,
    By(caller): By,
    Body(which): Body<Retry>,
) -> Result<Json<Retried>, Problem> {
    let retried = many(shared, caller, which, Decision::Retry).await?;
    Ok(Json(Retried { retried }))
}

pub(super) async fn drop(
    State(shared): Host,
    By(caller): By,
    Body(which): Body<Retry>,
) -> Result<Json<Dropped>, Problem> {
    let dropped = many(shared, caller, which, Decision::Drop).await?;
    Ok(Json(Dropped { dropped }))
}

/// Decide about many dead letters. Returns about how many it was.
async fn many(
    shared: Arc<Shared>,
    caller: Caller,
    which: Retry,
    decision: Decision,
) -> Result<usize, Problem> {
    let (about, note) = (which.words(), which.note.clone());
    let (action, done) = match decision {
        Decision::Retry => ("dead-letters-retry", "are tried again"),
        Decision::Drop => ("dead-letters-drop", "are dropped"),
    };
    let letters = LetterFilter {
        component: which.component.map(Into::into),
        since: which.since.map(Timestamp),
        before: which.before.map(Timestamp),
    };
    blocking(&shared.clone().changes, move || {
        let outcome = |ran: &Result<usize, Problem>| match ran {
            Ok(count) => Outcome::Done(format!("{count} {done}")),
            Err(problem) => problem.outcome(),
        };
        let decide = || decided(&shared.engine, &letters, decision);
        let audited = AuditedAction::new(action, &about).because(&note);
        let who = Actor::from(&caller);
        shared.audit.keep(&who, &audited, outcome, decide)
    })
    .await
}

fn decided(engine: &Engine, letters: &LetterFilter, decision: Decision) -> Result<usize, Problem> {
    let (sender, receiver) = std::sync::mpsc::sync_channel(1);
    let waiter = move |outcome: Result<Reply, Failure>| {
        let _ = sender.send(outcome);
    };
    engine.decide_dead_letters(letters, decision, Box::new(waiter));
    // Called once in any case, also when the engine stops.
    let outcome = receiver.recv().unwrap_or(Err(Failure::Shutdown));
    let decided = outcome.map(|reply| reply.downcast::<usize>().map_or(0, |count| *count));
    decided.map_err(|failure| {
        let detail = format!("the dead letters may not be settled: {failure}");
        Problem::new(Kind::NotSettled, detail)
    })
}
