//! Answers as HTTP: what components answer, and refusals, which the component words in its API's own form. The host
//! words them itself only where no component can.

use std::time::Duration;

use bytes::Bytes;
use http::request::Parts;
use http::{HeaderName, HeaderValue, Response, StatusCode};
use http_body_util::Full;
use rialto_components::headers::is_the_hosts;
use rialto_components::http as wit;
use rialto_components::http::ViolationKind;
use rialto_engine::fatal;
use rialto_openapi::head;

use super::{KnownOperator, Service};
use crate::api::Served;
use crate::authentication::{Refusal, RefusalStatus, challenge};
use crate::refusals::{Refused, is_of_the_request};
use crate::violation::violation;
use crate::{confirmation, denied};

/// How long a refusal waits for its wording.
const WORDED_WITHIN: Duration = Duration::from_secs(2);
/// Seconds after which a client may try again, where the host itself words the refusal.
const RETRY_AFTER_SECONDS: HeaderValue = HeaderValue::from_static("1");

impl Service {
    pub(super) async fn overloaded(&self, served: &Served, head: &Parts) -> Response<Full<Bytes>> {
        let detail = "the host has more work than it can take; try again".to_owned();
        let violation = violation(ViolationKind::Overloaded, "", detail);
        self.refuse(served, head, violation).await
    }

    /// The answer when it is not known whether the turn is or will be on disk.
    pub(super) async fn unknown(&self, served: &Served, head: &Parts) -> Response<Full<Bytes>> {
        let detail = "the host could not make sure that the request is kept; it may or may not \
                      have taken effect: ask how it stands before you send it again"
            .to_owned();
        let violation = violation(ViolationKind::Internal, "", detail);
        self.refuse(served, head, violation).await
    }

    pub(super) async fn internal(&self, served: &Served, head: &Parts) -> Response<Full<Bytes>> {
        let detail = "the request could not be handled and changed nothing".to_owned();
        let violation = violation(ViolationKind::Internal, "", detail);
        self.refuse(served, head, violation).await
    }

    /// Refuse a request, and keep the refusal.
    pub(super) async fn refuse(
        &self,
        served: &Served,
        head: &Parts,
        refusal: impl Into<Refusal>,
    ) -> Response<Full<Bytes>> {
        let Refusal { violation, status } = refusal.into();
        let kept = is_of_the_request(violation.kind).then(|| violation.clone());
        let operator = head
            .extensions
            .get()
            .map(|KnownOperator(operator)| operator);
        let is_first_step =
            matches!(status, RefusalStatus::Unconfirmed) && !confirmation::is_named(head);
        let found = served.document.find(head.uri.path());
        let operation = found.as_ref();
        let operation = operation.and_then(|found| found.operations.get(head.method.as_str()));
        let route = operation.map(|operation| &*operation.path);
        if !is_first_step
            && let Some(denial) =
                denied::of_request(head, (operator, route), &status, &violation.detail)
        {
            self.denials.keep(denial);
        }
        let response = match status {
            RefusalStatus::Forbidden => forbidden("role-missing", &violation.detail),
            RefusalStatus::Unconfirmed => forbidden("confirmation-required", &violation.detail),
            RefusalStatus::OfTheComponent => self.worded(served, head, violation).await,
            RefusalStatus::ForbiddenAddress => {
                let mut response = self.worded(served, head, violation).await;
                if response.status().is_client_error() {
                    *response.status_mut() = StatusCode::FORBIDDEN;
                }
                response
            }
            RefusalStatus::Unauthorized(asked) => {
                let mut response = self.worded(served, head, violation).await;
                if response.status().is_client_error() {
                    challenge(&mut response, asked);
                }
                response
            }
        };
        if let Some(violation) = kept {
            let status = response.status().as_u16();
            self.refusals.keep(Refused::of(head, &violation, status));
        }
        response
    }

    /// Let the component word a refusal. It runs component code, so it runs on a blocking thread.
    async fn worded(
        &self,
        served: &Served,
        head: &Parts,
        violation: wit::Violation,
    ) -> Response<Full<Bytes>> {
        let runtime = self.runtime.clone();
        let component = served.component.clone();
        let head = wit::RequestHead {
            method: head.method.as_str().to_owned(),
            path: head.uri.path().to_owned(),
            headers: head::texts(&head.headers),
        };
        let kind = violation.kind;
        // A refusal for load must not cause more load.
        let patience = if kind == ViolationKind::Overloaded {
            Duration::ZERO
        } else {
            WORDED_WITHIN
        };
        let slot = tokio::time::timeout(patience, self.wording.acquire()).await;
        let Ok(Ok(_slot)) = slot else {
            return busy();
        };
        let worded = tokio::task::spawn_blocking(move || {
            let worded = fatal::contained(|| {
                let release = runtime.current()?;
                let member = release.member(&component)?;
                runtime
                    .refuse(member, &head, &violation)
                    .inspect_err(|error| tracing::warn!(%error, "a component could not write the body of a refusal"))
                    .ok()
            });
            worded
                .inspect_err(|panic| tracing::error!("writing the body of a refusal panicked: {panic}"))
                .ok()?
        })
        .await;
        match worded {
            Ok(Some(response)) => answered(response),
            _ if kind == ViolationKind::Overloaded => busy(),
            _ => plain(StatusCode::INTERNAL_SERVER_ERROR, "internal error"),
        }
    }
}

/// A component's answer as HTTP. Headers that cannot be sent are left out and logged.
pub(super) fn answered(response: wit::Response) -> Response<Full<Bytes>> {
    let body = Bytes::from(response.body.unwrap_or_default());
    let mut answer = Response::new(Full::new(body));
    let status = StatusCode::from_u16(response.status);
    *answer.status_mut() = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    for (name, value) in response.headers {
        if is_the_hosts(&name) {
            tracing::warn!(header = %name, "a component set a header that belongs to the connection; the host leaves it out");
            continue;
        }
        let name_value = (
            HeaderName::from_bytes(name.as_bytes()),
            HeaderValue::from_str(&value),
        );
        match name_value {
            (Ok(name), Ok(value)) => {
                answer.headers_mut().append(name, value);
            }
            _ => {
                tracing::warn!(header = %name, "a component set a header that cannot be sent; the host leaves it out");
            }
        }
    }
    answer
}

/// The refusal of an operator who does not have the privilege, or has not confirmed. Components have no words for it, because
/// they are not asked.
fn forbidden(kind: &str, detail: &str) -> Response<Full<Bytes>> {
    let body = serde_json::json!({
        "type": format!("urn:rialto:problem:{kind}"), "title": "Forbidden", "status": 403, "detail": detail,
    });
    let mut response = Response::new(Full::new(Bytes::from(body.to_string())));
    *response.status_mut() = StatusCode::FORBIDDEN;
    let media_type = HeaderValue::from_static("application/problem+json");
    response
        .headers_mut()
        .insert(http::header::CONTENT_TYPE, media_type);
    response
}

pub(crate) fn plain(status: StatusCode, text: &'static str) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from_static(text.as_bytes())));
    *response.status_mut() = status;
    let media_type = HeaderValue::from_static("text/plain; charset=utf-8");
    response
        .headers_mut()
        .insert(http::header::CONTENT_TYPE, media_type);
    response
}

/// A refusal for load in the host's own words.
pub(super) fn busy() -> Response<Full<Bytes>> {
    let mut response = plain(StatusCode::SERVICE_UNAVAILABLE, "overloaded; try again");
    response
        .headers_mut()
        .insert(http::header::RETRY_AFTER, RETRY_AFTER_SECONDS);
    response
}
