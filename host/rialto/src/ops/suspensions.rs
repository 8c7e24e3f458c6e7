//! Suspensions of rules over HTTP: suspend, list, confirm, end.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use rialto_store_sqlite::Outcome;

use super::extractors::{At, By, Optional};
use super::releases::Change;
use super::{Host, Problem, blocking};
use crate::audit::{Actor, AuditedAction};
use crate::host::Shared;
use crate::suspensions::ShownSuspension;

pub(super) async fn list(State(shared): Host) -> Result<Json<Vec<ShownSuspension>>, Problem> {
    blocking(&shared.clone().reads, move || {
        Ok(Json(shared.suspended.list()?))
    })
    .await
}

pub(super) async fn suspend(
    State(shared): Host,
    By(caller): By,
    At(rule): At<String>,
    Optional(wanted): Optional<Change>,
) -> Result<Json<ShownSuspension>, Problem> {
    blocking(&shared.clone().changes, move || {
        let about = format!("rule {rule}");
        let audited = AuditedAction::new("rule-suspend", &about).because(&wanted.note);
        keep(&shared, &Actor::from(&caller), &audited, || {
            Ok(shared.suspended.suspend(&caller, &rule, &wanted.note)?)
        })
    })
    .await
}

pub(super) async fn confirm(
    State(shared): Host,
    By(caller): By,
    At(id): At<u64>,
    Optional(wanted): Optional<Change>,
) -> Result<Json<ShownSuspension>, Problem> {
    blocking(&shared.clone().changes, move || {
        let about = format!("suspension {id}");
        let audited = AuditedAction::new("suspension-confirm", &about).because(&wanted.note);
        keep(&shared, &Actor::from(&caller), &audited, || {
            Ok(shared.suspended.confirm(&caller, id)?)
        })
    })
    .await
}

pub(super) async fn end(
    State(shared): Host,
    By(caller): By,
    At(id): At<u64>,
    Optional(wanted): Optional<Change>,
) -> Result<Json<ShownSuspension>, Problem> {
    blocking(&shared.clone().changes, move || {
        let about = format!("suspension {id}");
        let audited = AuditedAction::new("suspension-end", &about).because(&wanted.note);
        keep(&shared, &Actor::from(&caller), &audited, || {
            Ok(shared.suspended.end(&caller, id)?)
        })
    })
    .await
}

/// Change suspensions, with an entry in the audit log.
fn keep(
    shared: &Arc<Shared>,
    who: &Actor,
    audited: &AuditedAction<'_>,
    run: impl FnOnce() -> Result<ShownSuspension, Problem>,
) -> Result<Json<ShownSuspension>, Problem> {
    let outcome = |ran: &Result<ShownSuspension, Problem>| match ran {
        Ok(one) => Outcome::Done(format!(
            "suspension {} of rule {} is {}",
            one.id, one.rule, one.state
        )),
        Err(problem) => problem.outcome(),
    };
    Ok(Json(shared.audit.keep(who, audited, outcome, run)?))
}
