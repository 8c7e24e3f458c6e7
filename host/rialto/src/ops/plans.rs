//! Plans over HTTP: make, list, show, sign, approve with a passkey, apply.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use rialto_manifest::scheme::SchemeDocument;
use rialto_manifest::values::Instant;
use rialto_store_sqlite::Outcome;
use serde::{Deserialize, Serialize};

use super::extractors::{At, Body, By, Optional};
use super::problem::Kind;
use super::releases::{Change, has_components, keep};
use super::{Host, Problem, blocking};
use crate::audit::{Actor, AuditedAction};
use crate::host::Shared;
use crate::plans::SignatureFile;
use crate::releases::{Applied, ChangeRequest, Dates, ShownPlan};

/// A scheme to make a plan of.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewPlan {
    /// The scheme's document with the digests of its components, which must be stored already. Without it, `release`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub document: Option<SchemeDocument>,
    /// A release that is to become current again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub release: Option<u64>,
    /// Why.
    #[serde(default)]
    pub note: String,
    /// The release that must be current for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<u64>,
    /// The text of a backtest's report about the document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backtest: Option<String>,
    /// The instant from which on it is in force; at once without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effective_from: Option<Instant>,
    /// The instant from which on the release before is in force again; never without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effective_until: Option<Instant>,
}

pub(super) async fn list(State(shared): Host) -> Result<Json<Vec<ShownPlan>>, Problem> {
    blocking(&shared.clone().reads, move || {
        Ok(Json(shared.releases.plans()?))
    })
    .await
}

pub(super) async fn show(
    State(shared): Host,
    At(digest): At<String>,
) -> Result<Json<ShownPlan>, Problem> {
    blocking(&shared.clone().reads, move || {
        Ok(Json(shared.releases.show_plan(&digest)?))
    })
    .await
}

pub(super) async fn make(
    State(shared): Host,
    By(caller): By,
    Body(new): Body<NewPlan>,
) -> Result<Json<ShownPlan>, Problem> {
    blocking(&shared.clone().changes, move || {
        let document = match (new.document, new.release) {
            (Some(document), None) => document,
            (None, Some(number)) => shared.releases.show(number)?.document,
            _ => {
                let detail = "a plan is of a `document` or of a `release`, one of both";
                return Err(Problem::new(Kind::Malformed, detail));
            }
        };
        let about = document.digest().to_string();
        let who = Actor::from(&caller);
        let audited = AuditedAction::new("plan-make", &about).because(&new.note);
        audited_plan(&shared, &who, &audited, || {
            has_components(&shared, &document)?;
            let request = ChangeRequest {
                who: &who,
                note: &new.note,
                expected: new.expected,
                dates: Dates {
                    effective_from: new.effective_from,
                    effective_until: new.effective_until,
                },
            };
            let backtest = new.backtest.as_deref();
            Ok(shared.releases.make_plan(&request, document, backtest)?)
        })
    })
    .await
}

pub(super) async fn sign(
    State(shared): Host,
    By(caller): By,
    At(digest): At<String>,
    Body(file): Body<SignatureFile>,
) -> Result<Json<ShownPlan>, Problem> {
    blocking(&shared.clone().changes, move || {
        let who = Actor::from(&caller);
        let about = format!("{digest}, signed by {}", file.officer);
        let audited = AuditedAction::new("plan-sign", &about);
        audited_plan(&shared, &who, &audited, || {
            Ok(shared.releases.sign_plan(&digest, &file)?)
        })
    })
    .await
}

/// The route's role is `checker`, so that a passkey has confirmed it where passkeys are required. Elsewhere a token alone
/// would approve, which is no signature.
pub(super) async fn approve(
    State(shared): Host,
    By(caller): By,
    At(digest): At<String>,
    Optional(wanted): Optional<Change>,
) -> Result<Json<ShownPlan>, Problem> {
    blocking(&shared.clone().changes, move || {
        let who = Actor::from(&caller);
        let audited = AuditedAction::new("plan-approve", &digest).because(&wanted.note);
        audited_plan(&shared, &who, &audited, || {
            let are_required = shared.passkeys.as_ref().is_some_and(|one| one.are_required());
            if !are_required {
                let detail = "a plan is approved here with a passkey, and rialto.toml does not require them ([passkeys]): sign the plan with a key instead, `rialto plan sign FILE`";
                return Err(Problem::new(Kind::PasskeysNotSet, detail));
            }
            Ok(shared.releases.approve_plan(&digest, &caller)?)
        })
    })
    .await
}

pub(super) async fn apply(
    State(shared): Host,
    By(caller): By,
    At(digest): At<String>,
    Optional(wanted): Optional<Change>,
) -> Result<Json<Applied>, Problem> {
    let (expected, note) = wanted.at_once()?;
    blocking(&shared.clone().changes, move || {
        let who = Actor::from(&caller);
        let about = format!("plan {digest}");
        let audited = AuditedAction::new("plan-apply", &about).because(&note);
        keep(&shared, &who, &audited, || {
            let request = ChangeRequest {
                who: &who,
                note: &note,
                expected,
                dates: Dates::default(),
            };
            let (engine, releases) = (&shared.engine, &shared.releases);
            Ok(releases.apply_plan(engine, &request, &digest)?)
        })
    })
    .await
}

/// Change plans, with an entry in the audit log.
fn audited_plan(
    shared: &Arc<Shared>,
    who: &Actor,
    audited: &AuditedAction<'_>,
    run: impl FnOnce() -> Result<ShownPlan, Problem>,
) -> Result<Json<ShownPlan>, Problem> {
    let outcome = |ran: &Result<ShownPlan, Problem>| match ran {
        Ok(plan) => Outcome::Done(format!(
            "plan {} is {}, signed by {} of {}",
            plan.digest,
            plan.state,
            plan.signatures.iter().filter(|one| one.counts).count(),
            plan.needed
        )),
        Err(problem) => problem.outcome(),
    };
    Ok(Json(shared.audit.keep(who, audited, outcome, run)?))
}
