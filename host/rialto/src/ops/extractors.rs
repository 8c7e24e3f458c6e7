//! What is taken from a request. What does not fit is answered with a problem, as everything else is.

use axum::body::Bytes;
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::StatusCode;
use axum::http::request::Parts;
use serde::de::DeserializeOwned;

use super::problem::Kind;
use super::{Problem, own};
use crate::operators::Caller;

/// A body of JSON, as the API's document has it.
pub(super) struct Body<T>(pub T);

/// The same, of which nothing need be sent.
pub(super) struct Optional<T>(pub T);

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
        let nobody = || Problem::new(Kind::Unauthorized, "nobody knows who asks");
        caller.map(Self).ok_or_else(nobody)
    }
}

/// What is wrong with a part of a request.
fn unfit(status: StatusCode, detail: String) -> Problem {
    let kind = match status {
        StatusCode::PAYLOAD_TOO_LARGE => Kind::TooLarge,
        _ => Kind::Malformed,
    };
    Problem::new(kind, detail)
}

/// A body that the API's document takes, read.
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
        // Where the document says that it must be there, that was told already.
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
