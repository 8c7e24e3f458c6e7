//! Extractors of requests' parts. A part that does not fit is answered with a problem document.

use axum::body::Bytes;
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::StatusCode;
use axum::http::request::Parts;
use serde::de::DeserializeOwned;

use super::problem::Kind;
use super::{Problem, own};
use crate::operators::Caller;

/// A JSON body, validated against the API's document.
pub(super) struct Body<T>(pub T);

/// The same, and the body may be missing.
pub(super) struct Optional<T>(pub T);

/// All bytes of a body.
pub(super) struct Sent(pub Bytes);

/// The parameters of the path.
pub(super) struct At<T>(pub T);

/// The parameters of the query.
pub(super) struct Asked<T>(pub T);

/// The caller, as found by `authorize`.
pub(super) struct By(pub Caller);

impl<S: Send + Sync> FromRequestParts<S> for By {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let caller = parts.extensions.get::<Caller>().cloned();
        // Only routes behind `authorize` use it.
        let nobody = || Problem::new(Kind::Unauthorized, "nobody knows who asks");
        caller.map(Self).ok_or_else(nobody)
    }
}

/// The problem of a request's part.
fn unfit(status: StatusCode, detail: String) -> Problem {
    let kind = match status {
        StatusCode::PAYLOAD_TOO_LARGE => Kind::TooLarge,
        _ => Kind::Malformed,
    };
    Problem::new(kind, detail)
}

/// Read and validate a body.
async fn judged<T: DeserializeOwned, S: Send + Sync>(
    request: Request,
    state: &S,
) -> Result<Option<T>, Problem> {
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let Sent(bytes) = Sent::from_request(request, state).await?;
    own::judge(&method, &path, &bytes)?;
    if bytes.is_empty() {
        return Ok(None);
    }
    let read = serde_json::from_slice(&bytes);
    read.map(Some)
        .map_err(|error| Problem::new(Kind::Malformed, format!("body: {error}")))
}

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Body<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let read = judged(request, state).await?;
        // A body that the document requires was checked already.
        let missing = || Problem::new(Kind::Malformed, "body: is required");
        read.map(Self).ok_or_else(missing)
    }
}

impl<T: DeserializeOwned + Default, S: Send + Sync> FromRequest<S> for Optional<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let read = judged(request, state).await?;
        Ok(Self(read.unwrap_or_default()))
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
