//! Releases over HTTP: list, show, compare, plan, apply, approve, rollback, withdraw, swap of one rule.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use rialto_components::Digest;
use rialto_manifest::scheme::SchemeDocument;
use rialto_manifest::values::Instant;
use rialto_store_sqlite::Outcome;
use serde::{Deserialize, Serialize};

use super::extractors::{At, Body, By, Optional};
use super::problem::Kind;
use super::{Host, Problem, blocking};
use crate::audit::{Actor, AuditedAction};
use crate::host::Shared;
use crate::releases::{
    Applied, ChangeRequest, Dates, Difference, ShownRelease, ShownWiring, Summary, Withdrawn,
};

/// A scheme to plan or apply.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Proposal {
    /// The scheme's document with the digests of its components, which must be stored already.
    pub document: SchemeDocument,
    /// Why.
    #[serde(default)]
    pub note: String,
    /// The release that must be current for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<u64>,
    /// The instant from which on it is in force; at once without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effective_from: Option<Instant>,
    /// The instant from which on the release before is in force again; never without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effective_until: Option<Instant>,
}

/// The body of a rollback or an approval.
#[derive(Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Change {
    /// The release that must be current for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<u64>,
    /// Why.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
    /// The instant from which on it is in force; at once without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effective_from: Option<Instant>,
    /// The instant from which on the release before is in force again; never without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effective_until: Option<Instant>,
}

impl Change {
    /// What takes no date: the expected release and the note.
    ///
    /// # Errors
    /// When it has a date.
    pub(super) fn at_once(self) -> Result<(Option<u64>, String), Problem> {
        if self.effective_from.is_some() || self.effective_until.is_some() {
            let detail = "this is done at once: leave `effectiveFrom` and `effectiveUntil` out";
            return Err(Problem::new(Kind::Malformed, detail));
        }
        Ok((self.expected, self.note))
    }
}

/// A new component for a rule.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Swap {
    /// The component, which must be stored already.
    pub digest: Digest,
    /// The release that must be current for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<u64>,
    /// Why.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
}

pub(super) async fn list(State(shared): Host) -> Result<Json<Vec<Summary>>, Problem> {
    blocking(&shared.clone().reads, move || {
        Ok(Json(shared.releases.list()?))
    })
    .await
}

pub(super) async fn show(
    State(shared): Host,
    At(number): At<u64>,
) -> Result<Json<ShownRelease>, Problem> {
    blocking(&shared.clone().reads, move || {
        Ok(Json(shared.releases.show(number)?))
    })
    .await
}

/// The differences from the first release of the path to the second.
pub(super) async fn difference(
    State(shared): Host,
    At((from, to)): At<(u64, u64)>,
) -> Result<Json<Difference>, Problem> {
    blocking(&shared.clone().reads, move || {
        Ok(Json(shared.releases.difference(from, to)?))
    })
    .await
}

/// The wiring of a release. One that is not current is prepared first; changes do not wait for that.
pub(super) async fn wiring(
    State(shared): Host,
    At(number): At<u64>,
) -> Result<Json<ShownWiring>, Problem> {
    let current = shared.runtime.current();
    if let Some(current) = current.filter(|current| current.number == number) {
        return Ok(Json(ShownWiring::of(&current)));
    }
    blocking(&shared.clone().reads, move || {
        let release = shared.releases.load(number)?;
        Ok(Json(ShownWiring::of(&release)))
    })
    .await
}

pub(super) async fn plan(
    State(shared): Host,
    Body(proposal): Body<Proposal>,
) -> Result<Json<Applied>, Problem> {
    blocking(&shared.clone().changes, move || {
        has_components(&shared, &proposal.document)?;
        let dates = Dates {
            effective_from: proposal.effective_from,
            effective_until: proposal.effective_until,
        };
        Ok(Json(shared.releases.plan(&proposal.document, dates)?))
    })
    .await
}

pub(super) async fn apply(
    State(shared): Host,
    By(caller): By,
    Body(proposal): Body<Proposal>,
) -> Result<Json<Applied>, Problem> {
    blocking(&shared.clone().changes, move || {
        let Proposal {
            document,
            note,
            expected,
            effective_from,
            effective_until,
        } = proposal;
        let about = document.digest().to_string();
        let who = Actor::from(&caller);
        let audited = AuditedAction::new("release-apply", &about).because(&note);
        keep(&shared, &who, &audited, || {
            has_components(&shared, &document)?;
            let request = ChangeRequest {
                who: &who,
                note: &note,
                expected,
                dates: Dates {
                    effective_from,
                    effective_until,
                },
            };
            let (engine, releases) = (&shared.engine, &shared.releases);
            Ok(releases.apply(engine, &request, document)?)
        })
    })
    .await
}

pub(super) async fn approve(
    State(shared): Host,
    By(caller): By,
    At(number): At<u64>,
    Optional(wanted): Optional<Change>,
) -> Result<Json<Applied>, Problem> {
    let Change {
        expected,
        note,
        effective_from,
        effective_until,
    } = wanted;
    let dates = Dates {
        effective_from,
        effective_until,
    };
    blocking(&shared.clone().changes, move || {
        let about = format!("release {number}");
        let audited = AuditedAction::new("release-approve", &about).because(&note);
        keep(&shared, &Actor::from(&caller), &audited, || {
            let (engine, releases) = (&shared.engine, &shared.releases);
            Ok(releases.approve(engine, &caller, number, &note, (expected, dates))?)
        })
    })
    .await
}

pub(super) async fn rollback(
    State(shared): Host,
    By(caller): By,
    At(number): At<u64>,
    Optional(wanted): Optional<Change>,
) -> Result<Json<Applied>, Problem> {
    let (expected, note) = wanted.at_once()?;
    blocking(&shared.clone().changes, move || {
        let who = Actor::from(&caller);
        let about = format!("release {number}");
        let audited = AuditedAction::new("release-rollback", &about).because(&note);
        keep(&shared, &who, &audited, || {
            let request = ChangeRequest {
                who: &who,
                note: &note,
                expected,
                dates: Dates::default(),
            };
            let (engine, releases) = (&shared.engine, &shared.releases);
            Ok(releases.rollback(engine, &request, number)?)
        })
    })
    .await
}

/// Withdraw a release that comes into force later.
pub(super) async fn withdraw(
    State(shared): Host,
    By(caller): By,
    At(number): At<u64>,
    Optional(wanted): Optional<Change>,
) -> Result<Json<Withdrawn>, Problem> {
    let (_, note) = wanted.at_once()?;
    blocking(&shared.clone().changes, move || {
        let who = Actor::from(&caller);
        let about = format!("release {number}");
        let audited = AuditedAction::new("release-withdraw", &about).because(&note);
        let outcome = |ran: &Result<Withdrawn, Problem>| match ran {
            Ok(withdrawn) => Outcome::Done(format!("withdrawn: releases {:?}", withdrawn.releases)),
            Err(problem) => problem.outcome(),
        };
        let run = || Ok(shared.releases.withdraw(number, &who)?);
        Ok(Json(shared.audit.keep(&who, &audited, outcome, run)?))
    })
    .await
}

/// Change releases, with an entry in the audit log.
pub(super) fn keep(
    shared: &Arc<Shared>,
    who: &Actor,
    audited: &AuditedAction<'_>,
    run: impl FnOnce() -> Result<Applied, Problem>,
) -> Result<Json<Applied>, Problem> {
    let outcome = |ran: &Result<Applied, Problem>| match ran {
        Ok(applied) => Outcome::Done(applied.told()),
        Err(problem) => problem.outcome(),
    };
    let applied = shared.audit.keep(who, audited, outcome, run)?;
    Ok(Json(applied))
}

pub(super) async fn swap(
    State(shared): Host,
    By(caller): By,
    At(name): At<String>,
    Body(swap): Body<Swap>,
) -> Result<Json<Applied>, Problem> {
    blocking(&shared.clone().changes, move || {
        let Swap {
            digest,
            expected,
            note,
        } = swap;
        let who = Actor::from(&caller);
        let about = format!("rule {name}: {digest}");
        let audited = AuditedAction::new("rule-swap", &about).because(&note);
        keep(&shared, &who, &audited, || {
            if shared.store.component(&digest.to_string())?.is_none() {
                return Err(not_sent(&format!("rule {name}"), &digest));
            }
            let request = ChangeRequest {
                who: &who,
                note: &note,
                expected,
                dates: Dates::default(),
            };
            let (engine, releases) = (&shared.engine, &shared.releases);
            Ok(releases.swap(engine, &request, &name, digest)?)
        })
    })
    .await
}

/// Check that every component of a document is stored.
pub(super) fn has_components(
    shared: &Arc<Shared>,
    document: &SchemeDocument,
) -> Result<(), Problem> {
    for (kind, name, digest) in document.digests().iter() {
        if shared.store.component(&digest.to_string())?.is_none() {
            return Err(not_sent(&format!("{kind} {name}"), &digest));
        }
    }
    Ok(())
}

fn not_sent(whose: &str, digest: &impl std::fmt::Display) -> Problem {
    let detail = format!(
        "the component of the {whose} ({digest}) has not been sent: PUT /components/{digest}"
    );
    Problem::new(Kind::ComponentMissing, detail)
}
