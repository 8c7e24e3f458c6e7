//! The candidates in the shadow of rules.

use axum::Json;
use axum::extract::State;

use super::{Host, Problem, blocking};
use crate::shadow::report::ShadowReport;

/// What the candidates of the current release have judged so far.
pub(super) async fn list(State(shared): Host) -> Result<Json<Vec<ShadowReport>>, Problem> {
    blocking(&shared.clone().reads, move || {
        Ok(Json(shared.shadows.reports()))
    })
    .await
}
