//! What is taken from a request. What does not fit is answered with a problem, as everything else is.

use axum::Json;
use axum::body::Bytes;
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::StatusCode;
use axum::http::request::Parts;
use serde::de::DeserializeOwned;

use super::Problem;
use crate::operators::Caller;

/// A body of JSON.
pub(super) struct Body<T>(pub T);

/// All bytes of a body.
pub(super) struct Sent(pub Bytes);

/// What the path names.
pub(super) struct At<T>(pub T);

/// What the query asks for.
pub(super) struct Asked<T>(pub T);

/// Who asks, as `authorize` has found out.
pub(super) struct By(pub Caller);

impl<S: Send + Sync> FromRequestParts<S> for By {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let caller = parts.extensions.get::<Caller>().cloned();
        // Only behind `authorize` is there anything to change.
        let nobody = || unfit(StatusCode::UNAUTHORIZED, "nobody knows who asks".to_owned());
        caller.map(Self).ok_or_else(nobody)
    }
}

/// What is wrong with a part of a request.
fn unfit(status: StatusCode, detail: String) -> Problem {
    let kind = match status {
        StatusCode::PAYLOAD_TOO_LARGE => "too-large",
        _ => "malformed",
    };
    Problem::new(status, kind, detail)
}

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Body<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let read = Json::from_request(request, state).await;
        let read = read.map_err(|rejection| unfit(rejection.status(), rejection.body_text()));
        read.map(|Json(value)| Self(value))
    }
}

impl<S: Send + Sync> FromRequest<S> for Sent {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let read = Bytes::from_request(request, state).await;
        let read = read.map_err(|rejection| unfit(rejection.status(), rejection.body_text()));
        read.map(Self)
    }
}

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for At<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let read = Path::from_request_parts(parts, state).await;
        let read = read.map_err(|rejection| unfit(rejection.status(), rejection.body_text()));
        read.map(|Path(value)| Self(value))
    }
}

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Asked<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let read = Query::from_request_parts(parts, state).await;
        let read = read.map_err(|rejection| unfit(rejection.status(), rejection.body_text()));
        read.map(|Query(value)| Self(value))
    }
}
