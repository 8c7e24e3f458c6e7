//! The check of the audit log, over HTTP.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;

use super::extractors::By;
use super::problem::Kind;
use super::{Host, Problem};
use crate::audit_verification::Verification;

pub(super) async fn show(State(shared): Host) -> Json<Verification> {
    Json(shared.audit_verifier.now())
}

pub(super) async fn begin(
    State(shared): Host,
    By(caller): By,
) -> Result<(StatusCode, Json<Verification>), Problem> {
    if !shared.audit_verifier.begin(&caller.person) {
        let detail = "a check of the audit log runs; its result will be at this path";
        return Err(Problem::new(Kind::CheckUnderWay, detail));
    }
    Ok((StatusCode::ACCEPTED, Json(shared.audit_verifier.now())))
}
