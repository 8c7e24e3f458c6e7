//! Requests to an OpenTelemetry collector: OTLP over HTTP, in JSON.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Method, Request, Uri};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioTimer;
use rialto_telemetry::otlp::{MEDIA_TYPE, Resource, Signal};
use serde_json::Value;

use crate::contained;
use crate::outbound::chain;

/// The timeout for making a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
/// The timeout for the collector's answer to a batch.
const EXPORT_TIMEOUT: Duration = Duration::from_secs(5);
/// Bytes of an answer that are read.
const ANSWER_BYTES_MAX: usize = 64 << 10;

/// A collector, for one kind of records.
pub struct Collector {
    url: Uri,
    client: Client<HttpConnector, Full<Bytes>>,
}

/// Why a batch was not accepted.
#[derive(Debug, thiserror::Error)]
#[error("{reason}")]
pub struct BatchRefused {
    /// The reason, for the log.
    pub reason: String,
    /// Whether the same batch may be accepted later: the collector is away or overloaded.
    pub worth_a_retry: bool,
}

/// How many records of an accepted batch the collector has rejected. It does not say which, and asks nobody to send them
/// again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rejected(pub u64);

impl Collector {
    /// The collector at this URL, `http://host:port` with or without a path.
    ///
    /// # Errors
    /// When that is no URL.
    pub fn new<T: Signal>(collector: &str) -> Result<Self, http::uri::InvalidUri> {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        connector.set_connect_timeout(Some(CONNECT_TIMEOUT));
        let client = Client::builder(contained::Executor)
            .pool_timer(TokioTimer::new())
            .build(connector);
        Ok(Self {
            url: format!("{collector}{}", T::PATH).parse()?,
            client,
        })
    }

    /// Where batches go.
    #[must_use]
    pub const fn url(&self) -> &Uri {
        &self.url
    }

    /// Send a batch once.
    ///
    /// # Errors
    /// When it is not accepted.
    pub async fn export<T: Signal>(
        &self,
        resource: &Resource,
        batch: &[T],
    ) -> Result<Rejected, BatchRefused> {
        let again = |reason: String| BatchRefused {
            reason,
            worth_a_retry: true,
        };
        let body = T::encode(resource, batch);
        let mut request = Request::new(Full::new(Bytes::from(body)));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.url.clone();
        request.headers_mut().insert(
            http::header::CONTENT_TYPE,
            HeaderValue::from_static(MEDIA_TYPE),
        );
        let answered = tokio::time::timeout(EXPORT_TIMEOUT, async {
            let answered = self.client.request(request).await;
            let (head, body) = answered.map_err(|e| again(chain(&e)))?.into_parts();
            // The body is read to its end, so that the connection can be used again.
            let body = Limited::new(body, ANSWER_BYTES_MAX).collect().await;
            let body = body.map(http_body_util::Collected::to_bytes);
            Ok((head.status, body.unwrap_or_default()))
        });
        let (status, body) = answered
            .await
            .map_err(|_| again(format!("no answer within {} s", EXPORT_TIMEOUT.as_secs())))??;
        if status.is_success() {
            return Ok(rejected(&body));
        }
        Err(BatchRefused {
            reason: format!("answered {status}"),
            worth_a_retry: [429, 502, 503, 504].contains(&status.as_u16()),
        })
    }
}

/// What the answer to an accepted batch says. The protocol writes 64-bit numbers as texts, and readers take both.
fn rejected(answer: &[u8]) -> Rejected {
    let answer: Value = serde_json::from_slice(answer).unwrap_or_default();
    let partial = &answer["partialSuccess"];
    let counts = ["rejectedLogRecords", "rejectedSpans"].map(|name| match &partial[name] {
        Value::String(text) => text.parse().unwrap_or(0),
        number => number.as_u64().unwrap_or(0),
    });
    Rejected(counts.into_iter().max().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejected_records_of_an_accepted_batch_are_counted() {
        for (answer, count) in [
            (r#"{"partialSuccess":{"rejectedLogRecords":"3"}}"#, 3),
            (r#"{"partialSuccess":{"rejectedSpans":2}}"#, 2),
            (r#"{"partialSuccess":{"errorMessage":"old format"}}"#, 0),
            ("{}", 0),
            ("no JSON", 0),
        ] {
            assert_eq!(rejected(answer.as_bytes()), Rejected(count), "{answer}");
        }
    }
}
