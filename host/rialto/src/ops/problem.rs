//! Errors of the operators' API: RFC 9457 problem details.

use axum::Json;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use rialto_store_sqlite::Outcome;
use serde_json::json;

use crate::releases::Refused;

/// What went wrong, as an operator's client gets it.
#[derive(Debug)]
pub struct Problem {
    status: StatusCode,
    kind: &'static str,
    detail: String,
    problems: Vec<String>,
}

impl Problem {
    /// A problem of a stable kind.
    pub fn new(status: StatusCode, kind: &'static str, detail: impl Into<String>) -> Self {
        Self {
            status,
            kind,
            detail: detail.into(),
            problems: Vec::new(),
        }
    }
}

impl Problem {
    /// What the audit log says of it.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        let Self { kind, detail, .. } = self;
        let reason = format!("{kind}: {detail}");
        if self.status.is_server_error() {
            Outcome::Failed(reason)
        } else {
            Outcome::Refused(reason)
        }
    }
}

impl From<Refused> for Problem {
    fn from(refused: Refused) -> Self {
        let detail = refused.to_string();
        let (status, kind) = match &refused {
            Refused::Unfit(_) => (StatusCode::UNPROCESSABLE_ENTITY, "release-unfit"),
            Refused::Unknown(_) => (StatusCode::NOT_FOUND, "release-unknown"),
            Refused::NoRule(_) => (StatusCode::NOT_FOUND, "rule-unknown"),
            Refused::Moved { .. } => (StatusCode::CONFLICT, "release-moved"),
            Refused::Waits(_) => (StatusCode::CONFLICT, "release-waits"),
            Refused::NotWaiting(_) => (StatusCode::CONFLICT, "release-not-waiting"),
            Refused::OwnRelease { .. } => (StatusCode::FORBIDDEN, "own-release"),
            Refused::Unnamed(_) => (StatusCode::FORBIDDEN, "nobody-named"),
            Refused::Failed(_) => (StatusCode::INTERNAL_SERVER_ERROR, "internal"),
        };
        let mut problem = Self::new(status, kind, detail);
        if let Refused::Unfit(problems) = refused {
            problem.problems = problems;
        }
        problem
    }
}

impl From<rialto_engine::store::StoreError> for Problem {
    fn from(error: rialto_engine::store::StoreError) -> Self {
        Self::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "store",
            error.to_string(),
        )
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut body = json!({
            "type": format!("urn:rialto:problem:{}", self.kind),
            "title": self.status.canonical_reason().unwrap_or_default(),
            "status": self.status.as_u16(),
            "detail": self.detail,
        });
        if !self.problems.is_empty() {
            body["problems"] = json!(self.problems);
        }
        let media_type = [(header::CONTENT_TYPE, "application/problem+json")];
        (self.status, media_type, Json(body)).into_response()
    }
}
