//! Releases over HTTP: list, plan, apply, rollback, swap of one rule.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use rialto_components::Digest;
use rialto_manifest::scheme::SchemeDocument;
use serde::{Deserialize, Serialize};

use super::taken::{At, Body, Sent};
use super::{Host, Problem, blocking};
use crate::host::Shared;
use crate::releases::{Applied, Summary};

/// A scheme to plan or apply.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Proposal {
    /// The scheme's document with the digests of its components, which were sent before.
    pub document: SchemeDocument,
    /// Why.
    #[serde(default)]
    pub note: String,
    /// The release that must be current for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<u64>,
}

/// How a kept release is made current again.
#[derive(Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Rollback {
    /// The release that must be current for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<u64>,
}

/// A component to put behind a rule.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Swap {
    /// The component, which was sent before.
    pub digest: Digest,
    /// The release that must be current for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<u64>,
}

pub(super) async fn list(State(shared): Host) -> Result<Json<Vec<Summary>>, Problem> {
    blocking(&shared.clone().reads, move || {
        Ok(Json(shared.releases.list()?))
    })
    .await
}

pub(super) async fn plan(
    State(shared): Host,
    Body(proposal): Body<Proposal>,
) -> Result<Json<Applied>, Problem> {
    blocking(&shared.clone().changes, move || {
        has_components(&shared, &proposal.document)?;
        Ok(Json(shared.releases.plan(&proposal.document)?))
    })
    .await
}

pub(super) async fn apply(
    State(shared): Host,
    Body(proposal): Body<Proposal>,
) -> Result<Json<Applied>, Problem> {
    blocking(&shared.clone().changes, move || {
        has_components(&shared, &proposal.document)?;
        let Proposal {
            document,
            note,
            expected,
        } = proposal;
        let engine = &shared.engine;
        let applied = shared.releases.apply(engine, document, &note, expected)?;
        Ok(Json(applied))
    })
    .await
}

pub(super) async fn rollback(
    State(shared): Host,
    At(number): At<u64>,
    Sent(body): Sent,
) -> Result<Json<Applied>, Problem> {
    let wanted: Rollback = if body.is_empty() {
        Rollback::default()
    } else {
        serde_json::from_slice(&body).map_err(|error| {
            let detail = format!("the body is `{{\"expected\": N}}` or nothing: {error}");
            Problem::new(StatusCode::BAD_REQUEST, "malformed", detail)
        })?
    };
    blocking(&shared.clone().changes, move || {
        let engine = &shared.engine;
        let applied = shared.releases.rollback(engine, number, wanted.expected)?;
        Ok(Json(applied))
    })
    .await
}

pub(super) async fn swap(
    State(shared): Host,
    At(name): At<String>,
    Body(swap): Body<Swap>,
) -> Result<Json<Applied>, Problem> {
    blocking(&shared.clone().changes, move || {
        let Swap { digest, expected } = swap;
        if shared.store.component(&digest.to_string())?.is_none() {
            return Err(not_sent(&format!("rule {name}"), &digest));
        }
        let engine = &shared.engine;
        let applied = shared.releases.swap(engine, &name, digest, expected)?;
        Ok(Json(applied))
    })
    .await
}

/// Take a component's bytes, under their digest.
pub(super) async fn component(
    State(shared): Host,
    At(digest): At<String>,
    Sent(bytes): Sent,
) -> Result<StatusCode, Problem> {
    let wanted: Digest = digest
        .parse()
        .map_err(|e: rialto_components::digest::NoDigest| {
            Problem::new(StatusCode::BAD_REQUEST, "bad-digest", e.to_string())
        })?;
    blocking(&shared.clone().changes, move || {
        let actual = Digest::of(&bytes);
        if actual != wanted {
            let detail = format!("these bytes have the digest {actual}");
            return Err(Problem::new(
                StatusCode::BAD_REQUEST,
                "digest-mismatch",
                detail,
            ));
        }
        shared.store.add_component(&wanted.to_string(), &bytes)?;
        Ok(StatusCode::NO_CONTENT)
    })
    .await
}

/// Whether every component of a document has been sent.
fn has_components(shared: &Arc<Shared>, document: &SchemeDocument) -> Result<(), Problem> {
    for (kind, name, digest) in document.digests.iter() {
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
    Problem::new(StatusCode::CONFLICT, "component-missing", detail)
}
