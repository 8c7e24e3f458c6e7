//! The candidates that decide in the place of rules.

use axum::Json;
use axum::extract::State;

use super::{Host, Problem, blocking};
use crate::canaries::CanaryReport;

/// What the canaries of the current release have done so far.
pub(super) async fn list(State(shared): Host) -> Result<Json<Vec<CanaryReport>>, Problem> {
    blocking(&shared.clone().reads, move || {
        let release = shared.runtime.current();
        let reports = release.map(|release| shared.canaries.reports(&release));
        Ok(Json(reports.unwrap_or_default()))
    })
    .await
}
