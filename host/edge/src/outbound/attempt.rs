//! One attempt to send a request with hyper, and its answer. `mod.rs` decides whether there is another.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Method, Request, Response, Uri};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Incoming;
use hyper_util::client::legacy::Client;
use rialto_components::headers::is_the_hosts;
use rialto_engine::Trace;
use rialto_engine::network::{FailureKind, OutboundRequest, OutboundResponse};

use super::chain;
use super::connector::Connector;

/// Bytes of an answer's body that are kept for the report.
const ANSWER_BYTES_MAX: usize = 4 << 10;

/// An attempt without a 2xx answer, and the reason.
pub(super) struct FailedAttempt {
    pub kind: FailureKind,
    pub reason: String,
    pub response: Option<OutboundResponse>,
    pub worth_a_retry: bool,
}

impl FailedAttempt {
    /// Whether the attempt did not reach the destination: there was no answer, or a gateway's 502, 503 or
    /// 504. Any other refusal comes from the destination itself.
    pub fn is_unreachable(&self) -> bool {
        match &self.response {
            Some(response) => [502, 503, 504].contains(&response.status),
            None => true,
        }
    }
}

/// Send a request once.
pub(super) async fn attempt(
    client: &Client<Connector, Full<Bytes>>,
    request: &OutboundRequest,
    built: Request<Full<Bytes>>,
) -> Result<OutboundResponse, FailedAttempt> {
    let timeout = Duration::from_millis(request.policy.attempt_timeout_ms.into());
    let answered = tokio::time::timeout(timeout, async {
        let response = client.request(built).await.map_err(|error| {
            let kind = if error.is_connect() {
                FailureKind::Unreachable
            } else {
                FailureKind::Broken
            };
            failed(kind, chain(&error))
        })?;
        received(response).await
    })
    .await;
    let response = answered.map_err(|_| {
        let reason = format!("no answer within {} ms", timeout.as_millis());
        failed(FailureKind::TimedOut, reason)
    })??;
    if (200..300).contains(&response.status) {
        return Ok(response);
    }
    let status = response.status;
    Err(FailedAttempt {
        kind: FailureKind::Refused,
        reason: format!("answered {status}"),
        response: Some(response),
        worth_a_retry: is_worth_a_retry(status),
    })
}

/// Whether the same request may succeed later. 501 means that the destination does not have the service.
fn is_worth_a_retry(status: u16) -> bool {
    (status >= 500 && status != 501) || [408, 425, 429].contains(&status)
}

fn failed(kind: FailureKind, reason: String) -> FailedAttempt {
    FailedAttempt {
        kind,
        reason,
        response: None,
        worth_a_retry: true,
    }
}

async fn received(response: Response<Incoming>) -> Result<OutboundResponse, FailedAttempt> {
    let (head, body) = response.into_parts();
    // A body that is too long is not needed. Its connection is not used again.
    let body = Limited::new(body, ANSWER_BYTES_MAX).collect().await;
    let body = body.map(http_body_util::Collected::to_bytes);
    let text = |value: &HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    Ok(OutboundResponse {
        status: head.status.as_u16(),
        headers: head
            .headers
            .iter()
            .map(|(name, value)| (name.as_str().to_owned(), text(value)))
            .collect(),
        body: String::from_utf8_lossy(&body.unwrap_or_default()).into_owned(),
    })
}

/// The request as hyper sends it. The host sets the headers of the connection and the trace: that of the
/// request's own span, or else that of the turn that sent it.
pub(super) fn built(
    request: &OutboundRequest,
    trace: Option<Trace>,
) -> Result<Request<Full<Bytes>>, String> {
    let uri: Uri = request.url.parse().map_err(|e| format!("its URL: {e}"))?;
    if !matches!(uri.scheme_str(), Some("http" | "https")) {
        return Err("its URL is neither http nor https".into());
    }
    let method = Method::from_bytes(request.method.as_bytes());
    let method = method.map_err(|e| format!("its method: {e}"))?;
    let body = Bytes::from(request.body.clone().unwrap_or_default());
    let mut built = Request::new(Full::new(body));
    *built.method_mut() = method;
    *built.uri_mut() = uri;
    let headers = built.headers_mut();
    for (name, value) in &request.headers {
        // Components cannot set these. A request on disk may be from before that rule.
        if is_the_hosts(name) {
            continue;
        }
        let name = HeaderName::from_bytes(name.as_bytes());
        let name = name.map_err(|e| format!("a header's name: {e}"))?;
        let value = HeaderValue::from_str(value);
        let value = value.map_err(|e| format!("the header {name}: {e}"))?;
        headers.append(name, value);
    }
    let traceparent = match trace {
        Some(trace) => trace.to_string(),
        None => request.traceparent.clone(),
    };
    if let Ok(value) = HeaderValue::from_str(&traceparent) {
        headers.insert("traceparent", value);
    }
    Ok(built)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

    use rialto_engine::Timestamp;
    use rialto_engine::network::{DeliveryPolicy, WhileAway};

    use super::*;

    #[test]
    fn a_request_from_disk_sets_no_connection_headers() {
        let headers = [
            ("Host", "elsewhere"),
            ("HOST", "elsewhere"),
            ("Content-Length", "1"),
            ("Transfer-Encoding", "chunked"),
            ("Connection", "upgrade"),
            ("Upgrade", "websocket"),
            ("Proxy-Authorization", "x"),
            ("TraceParent", "00-1-1-01"),
            ("FSPIOP-Source", "hub"),
        ];
        let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let request = OutboundRequest {
            id: 1,
            component: "c".into(),
            method: "PUT".to_owned(),
            url: "http://127.0.0.1:1/x".to_owned(),
            headers: headers.to_vec(),
            body: Some("{}".to_owned()),
            signature: None,
            policy: DeliveryPolicy {
                attempts_max: 1,
                attempt_timeout_ms: 1,
                deadline: Timestamp(1),
                backoff_initial_ms: 1,
                backoff_max_ms: 1,
                while_away: WhileAway::Wait,
            },
            correlation: String::new(),
            traceparent: "00-2-2-01".to_owned(),
            subjects: Vec::new(),
        };
        let built = built(&request, None).unwrap();
        let sent: Vec<(&str, &str)> = built
            .headers()
            .iter()
            .map(|(name, value)| (name.as_str(), value.to_str().unwrap()))
            .collect();
        assert_eq!(
            sent,
            [("fspiop-source", "hub"), ("traceparent", "00-2-2-01")]
        );
    }
}
