//! The rules in quarantine over HTTP: list, end.

use axum::Json;
use axum::extract::State;
use rialto_store_sqlite::Outcome;
use serde::{Deserialize, Serialize};

use super::extractors::{At, By, Optional};
use super::{Host, Problem, blocking};
use crate::audit::{Actor, AuditedAction};
use crate::quarantines::{self, ShownQuarantine};

/// Which quarantine is ended, and why.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EndQuarantine {
    /// The step; all steps without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// Why, for the audit log.
    #[serde(default)]
    pub note: String,
}

/// The rules that are in quarantine now, by step.
pub(super) async fn list(State(shared): Host) -> Result<Json<Vec<ShownQuarantine>>, Problem> {
    blocking(&shared.clone().reads, move || {
        Ok(Json(quarantines::list(&shared.runtime)))
    })
    .await
}

/// End the quarantine of a rule: the next request asks it.
pub(super) async fn end(
    State(shared): Host,
    By(caller): By,
    At(rule): At<String>,
    Optional(wanted): Optional<EndQuarantine>,
) -> Result<Json<Vec<ShownQuarantine>>, Problem> {
    blocking(&shared.clone().changes, move || {
        let EndQuarantine { step, note } = wanted;
        let about = match &step {
            Some(step) => format!("rule {rule} at {step}"),
            None => format!("rule {rule}"),
        };
        let audited = AuditedAction::new(quarantines::LIFTED, &about).because(&note);
        let outcome = |ran: &Result<Vec<ShownQuarantine>, Problem>| match ran {
            Ok(ended) => {
                let steps: Vec<&str> = ended.iter().map(|one| one.step.as_str()).collect();
                Outcome::Done(format!("it is asked again at {}", steps.join(", ")))
            }
            Err(problem) => problem.outcome(),
        };
        let ended = shared
            .audit
            .keep(&Actor::from(&caller), &audited, outcome, || {
                let now = shared.releases.now().0;
                let ended = quarantines::end(&shared.runtime, &rule, step.as_deref(), now);
                Ok(ended?)
            });
        Ok(Json(ended?))
    })
    .await
}
