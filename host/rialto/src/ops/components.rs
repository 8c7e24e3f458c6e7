//! Components over HTTP: sent, with or without their digest, and what they say of themselves.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use rialto_components::Digest;

use super::extractors::{At, By, Sent};
use super::problem::Kind;
use super::{Host, Problem, blocking, done_or};
use crate::audit::{Actor, AuditedAction};
use crate::host::Shared;
use crate::operators::Caller;
use crate::releases::ShownComponent;

/// Store a component's bytes under their digest.
pub(super) async fn put(
    State(shared): Host,
    By(caller): By,
    At(digest): At<String>,
    Sent(bytes): Sent,
) -> Result<StatusCode, Problem> {
    let wanted = read(&digest)?;
    blocking(&shared.clone().changes, move || {
        let actual = Digest::of(&bytes);
        if actual != wanted {
            let detail = format!("these bytes have the digest {actual}");
            return Err(Problem::new(Kind::DigestMismatch, detail));
        }
        keep(&shared, &caller, wanted, &bytes)?;
        Ok(StatusCode::NO_CONTENT)
    })
    .await
}

/// Store a component's bytes if the host can run it, and say what it is. Who sends it need not know its digest.
pub(super) async fn add(
    State(shared): Host,
    By(caller): By,
    Sent(bytes): Sent,
) -> Result<Json<ShownComponent>, Problem> {
    blocking(&shared.clone().changes, move || {
        let digest = Digest::of(&bytes);
        let shown = shared
            .releases
            .describe_bytes(digest, bytes.to_vec().into())?;
        keep(&shared, &caller, digest, &bytes)?;
        Ok(Json(shown))
    })
    .await
}

/// What a stored component says of itself. It may have to be compiled; changes do not wait for that.
pub(super) async fn show(
    State(shared): Host,
    At(digest): At<String>,
) -> Result<Json<ShownComponent>, Problem> {
    let digest = read(&digest)?;
    blocking(&shared.clone().reads, move || {
        let shown = shared.releases.describe(digest)?;
        let unknown = || {
            let detail = format!("no component {digest} is stored");
            Problem::new(Kind::NotFound, detail)
        };
        shown.map(Json).ok_or_else(unknown)
    })
    .await
}

fn read(digest: &str) -> Result<Digest, Problem> {
    digest
        .parse()
        .map_err(|e: rialto_components::digest::NoDigest| {
            Problem::new(Kind::BadDigest, e.to_string())
        })
}

/// Store a component, with an entry in the audit log. One that is stored already stays as it is.
pub(super) fn keep(
    shared: &Arc<Shared>,
    caller: &Caller,
    digest: Digest,
    bytes: &[u8],
) -> Result<(), Problem> {
    let digest = digest.to_string();
    if shared.store.component(&digest)?.is_some() {
        return Ok(());
    }
    let about = format!("{digest}, {} bytes", bytes.len());
    let audited = AuditedAction::new("component-add", &about);
    let add = || Ok(shared.store.add_component(&digest, bytes)?);
    shared
        .audit
        .keep(&Actor::from(caller), &audited, done_or, add)
}
