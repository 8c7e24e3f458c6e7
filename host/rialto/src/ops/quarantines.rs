//! The rules in quarantine.

use axum::Json;
use axum::extract::State;

use super::{Host, Problem, blocking};
use crate::quarantines::{self, ShownQuarantine};

/// The rules that are in quarantine now, by step.
pub(super) async fn list(State(shared): Host) -> Result<Json<Vec<ShownQuarantine>>, Problem> {
    blocking(&shared.clone().reads, move || {
        Ok(Json(quarantines::list(&shared.runtime)))
    })
    .await
}
