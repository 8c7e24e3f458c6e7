//! Releases over HTTP: list, plan, apply, rollback, swap of one rule.

use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use rialto_components::Digest;
use rialto_manifest::scheme::SchemeDocument;
use serde::{Deserialize, Serialize};

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
}

/// A component to put behind a rule.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Swap {
    /// The component, which was sent before.
    pub digest: Digest,
}

pub(super) async fn list(State(shared): Host) -> Result<Json<Vec<Summary>>, Problem> {
    blocking(move || Ok(Json(shared.releases.list()?))).await
}

pub(super) async fn plan(
    State(shared): Host,
    Json(proposal): Json<Proposal>,
) -> Result<Json<Applied>, Problem> {
    blocking(move || {
        has_components(&shared, &proposal.document)?;
        Ok(Json(shared.releases.plan(&proposal.document)?))
    })
    .await
}

pub(super) async fn apply(
    State(shared): Host,
    Json(proposal): Json<Proposal>,
) -> Result<Json<Applied>, Problem> {
    blocking(move || {
        has_components(&shared, &proposal.document)?;
        let Proposal { document, note } = proposal;
        Ok(Json(shared.releases.apply(
            &shared.engine,
            document,
            &note,
        )?))
    })
    .await
}

pub(super) async fn rollback(
    State(shared): Host,
    Path(number): Path<u64>,
) -> Result<Json<Applied>, Problem> {
    blocking(move || Ok(Json(shared.releases.rollback(&shared.engine, number)?))).await
}

pub(super) async fn swap(
    State(shared): Host,
    Path(name): Path<String>,
    Json(swap): Json<Swap>,
) -> Result<Json<Applied>, Problem> {
    blocking(move || {
        let document = shared.releases.with_rule(&name, swap.digest)?;
        has_components(&shared, &document)?;
        let note = format!("swap of the rule {name}");
        Ok(Json(shared.releases.apply(
            &shared.engine,
            document,
            &note,
        )?))
    })
    .await
}

/// Take a component's bytes, under their digest.
pub(super) async fn component(
    State(shared): Host,
    Path(digest): Path<String>,
    bytes: Bytes,
) -> Result<StatusCode, Problem> {
    let wanted: Digest = digest
        .parse()
        .map_err(|e: rialto_components::digest::NoDigest| {
            Problem::new(StatusCode::BAD_REQUEST, "bad-digest", e.to_string())
        })?;
    blocking(move || {
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
            let detail = format!(
                "the component of the {kind} {name} ({digest}) has not been sent: PUT /components/{digest}"
            );
            return Err(Problem::new(
                StatusCode::CONFLICT,
                "component-missing",
                detail,
            ));
        }
    }
    Ok(())
}
