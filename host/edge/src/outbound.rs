//! Delivering requests that are on disk.
//!
//! Each request is tried until a 2xx answer, until its policy's attempts are used up, or until its
//! deadline has passed. Tried again is what may go well later: no connection, a broken one, no answer
//! in time, 5xx, 408, 425 and 429. Other answers end it at once: sending the same again would give the
//! same. Pauses double from the policy's first to its longest, each cut by a random part of up to a
//! half so that many senders do not meet again. Each destination has its own connections and its own
//! bound of requests under way, so one that is slow or dead holds up only what is meant for it.
//! Nothing is remembered across a restart: the engine hands unfinished requests over again.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Method, Request, Response, Uri};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Incoming;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use parking_lot::Mutex;
use rialto_engine::network::{
    FailureKind, Network, OutboundRequest, OutboundResponse, Outcome, Report,
};
use rialto_engine::{Clock, Trace};
use rialto_telemetry::metrics::DeliveryLabels;
use rialto_telemetry::{Metrics, Spans};
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tracing::Instrument as _;

use crate::spans::Open;

/// Bytes of an answer's body that are kept for the report.
const ANSWER_BYTES_MAX: usize = 4 << 10;
/// How long an idle connection is kept.
const IDLE: Duration = Duration::from_secs(60);

/// Bounds of what goes out.
#[derive(Clone, Debug)]
pub struct OutboundLimits {
    /// Requests under way to one destination.
    pub connections_per_destination: usize,
    /// How long making a connection may take.
    pub connect_timeout: Duration,
}

struct Inner {
    client: Client<HttpConnector, Full<Bytes>>,
    slots: Mutex<HashMap<String, Arc<Semaphore>>>,
    limits: OutboundLimits,
    clock: Arc<dyn Clock>,
    metrics: Arc<Metrics>,
    spans: Option<Spans>,
}

/// The engine's network over HTTP/1.1.
pub struct Outbound {
    inner: Arc<Inner>,
    runtime: Handle,
}

/// Why one attempt did not go well.
struct Miss {
    kind: FailureKind,
    reason: String,
    response: Option<OutboundResponse>,
    worth_another: bool,
}

impl Outbound {
    /// A network whose tasks run on this runtime, with a span for each request where there are spans.
    pub fn new(
        runtime: Handle,
        limits: OutboundLimits,
        clock: Arc<dyn Clock>,
        metrics: Arc<Metrics>,
        spans: Option<Spans>,
    ) -> Self {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        connector.set_connect_timeout(Some(limits.connect_timeout));
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE)
            .pool_max_idle_per_host(limits.connections_per_destination)
            .build(connector);
        Self {
            inner: Arc::new(Inner {
                client,
                slots: Mutex::default(),
                limits,
                clock,
                metrics,
                spans,
            }),
            runtime,
        }
    }
}

impl Network for Outbound {
    fn send(&self, request: Arc<OutboundRequest>, done: Box<dyn FnOnce(Report) + Send>) {
        let inner = self.inner.clone();
        let span = tracing::debug_span!(
            "delivery",
            request = request.id,
            method = request.method,
            url = request.url,
            traceparent = request.traceparent,
        );
        let delivery = async move {
            let report = inner.traced(&request).await;
            done(report);
        };
        self.runtime.spawn(delivery.instrument(span));
    }
}

impl Inner {
    /// Deliver a request, in a span of its own if somebody wants one.
    async fn traced(&self, request: &OutboundRequest) -> Report {
        let spans = self.spans.as_ref();
        let Some(span) = spans.and_then(|spans| Open::outbound(spans, request)) else {
            return self.deliver(request, None).await;
        };
        let mut report = self.deliver(request, Some(span.trace)).await;
        report.span = Some(span.trace.parent);
        span.reported(request, &report);
        report
    }

    async fn deliver(&self, request: &OutboundRequest, trace: Option<Trace>) -> Report {
        let started = Instant::now();
        let (outcome, attempts, destination) = match built(request, trace) {
            Ok(built) => {
                let destination = built.uri().authority().map(ToString::to_string);
                let destination = destination.unwrap_or_default();
                let (outcome, attempts) = self.attempts(request, built, &destination).await;
                (outcome, attempts, destination)
            }
            Err(reason) => {
                let outcome = Outcome::Failed {
                    kind: FailureKind::NotAllowed,
                    reason,
                    response: None,
                };
                (outcome, 0, String::new())
            }
        };
        let labels = DeliveryLabels {
            destination,
            outcome: label(&outcome),
        };
        self.metrics.deliveries.get_or_create(&labels).inc();
        self.metrics
            .delivery_seconds
            .observe(started.elapsed().as_secs_f64());
        Report {
            id: request.id,
            correlation: request.correlation.clone(),
            attempts,
            outcome,
            span: None,
        }
    }

    async fn attempts(
        &self,
        request: &OutboundRequest,
        built: Request<Full<Bytes>>,
        destination: &str,
    ) -> (Outcome, u32) {
        let slots = self.slots(destination);
        let mut attempts = 0;
        loop {
            let Some(left) = self.left(request) else {
                let reason = "its deadline passed before it could be sent".to_owned();
                let outcome = Outcome::Failed {
                    kind: FailureKind::TimedOut,
                    reason,
                    response: None,
                };
                return (outcome, attempts);
            };
            let slot = tokio::time::timeout(left, slots.acquire()).await;
            let Ok(Ok(slot)) = slot else { continue };
            attempts += 1;
            let missed = match self.attempt(request, built.clone()).await {
                Ok(response) => return (Outcome::Delivered(response), attempts),
                Err(missed) => missed,
            };
            drop(slot);
            let pause = pause(request, attempts);
            let more = missed.worth_another
                && attempts < request.policy.attempts_max
                && self.left(request).is_some_and(|left| left > pause);
            if !more {
                let outcome = Outcome::Failed {
                    kind: missed.kind,
                    reason: missed.reason,
                    response: missed.response,
                };
                return (outcome, attempts);
            }
            tokio::time::sleep(pause).await;
        }
    }

    fn slots(&self, destination: &str) -> Arc<Semaphore> {
        let mut all = self.slots.lock();
        if let Some(slots) = all.get(destination) {
            return slots.clone();
        }
        let slots = Arc::new(Semaphore::new(self.limits.connections_per_destination));
        all.insert(destination.to_owned(), slots.clone());
        slots
    }

    /// How long until the deadline.
    fn left(&self, request: &OutboundRequest) -> Option<Duration> {
        let left = request.policy.deadline.0.checked_sub(self.clock.now().0)?;
        (left > 0).then(|| Duration::from_millis(left))
    }

    async fn attempt(
        &self,
        request: &OutboundRequest,
        built: Request<Full<Bytes>>,
    ) -> Result<OutboundResponse, Miss> {
        let timeout = Duration::from_millis(request.policy.attempt_timeout_ms.into());
        let answered = tokio::time::timeout(timeout, async {
            let response = self.client.request(built).await.map_err(|error| {
                let kind = if error.is_connect() {
                    FailureKind::Unreachable
                } else {
                    FailureKind::Broken
                };
                miss(kind, chain(&error))
            })?;
            received(response).await
        })
        .await;
        let response = answered.map_err(|_| {
            let reason = format!("no answer within {} ms", timeout.as_millis());
            miss(FailureKind::TimedOut, reason)
        })??;
        if (200..300).contains(&response.status) {
            return Ok(response);
        }
        let status = response.status;
        Err(Miss {
            kind: FailureKind::Refused,
            reason: format!("answered {status}"),
            response: Some(response),
            worth_another: status >= 500 || [408, 425, 429].contains(&status),
        })
    }
}

fn miss(kind: FailureKind, reason: String) -> Miss {
    Miss {
        kind,
        reason,
        response: None,
        worth_another: true,
    }
}

/// An error with its causes, in one line.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}

async fn received(response: Response<Incoming>) -> Result<OutboundResponse, Miss> {
    let (head, body) = response.into_parts();
    // What is too long is not needed; the connection is not used again then.
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

/// Host and port of an absolute URL.
pub(crate) fn destination(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.split(['/', '?', '#']).next().unwrap_or(rest)
}

/// The request as hyper sends it; the host sets what belongs to the connection, and the trace: the
/// one of the request's own span, or else that of the turn that sent it.
fn built(request: &OutboundRequest, trace: Option<Trace>) -> Result<Request<Full<Bytes>>, String> {
    let uri: Uri = request.url.parse().map_err(|e| format!("its URL: {e}"))?;
    if uri.scheme_str() != Some("http") {
        return Err("its URL is not http".into());
    }
    let method = Method::from_bytes(request.method.as_bytes());
    let method = method.map_err(|e| format!("its method: {e}"))?;
    let body = Bytes::from(request.body.clone().unwrap_or_default());
    let mut built = Request::new(Full::new(body));
    *built.method_mut() = method;
    *built.uri_mut() = uri;
    let headers = built.headers_mut();
    for (name, value) in &request.headers {
        let own = [
            "host",
            "connection",
            "content-length",
            "transfer-encoding",
            "traceparent",
        ];
        if own.contains(&name.as_str()) {
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

/// The pause after this many attempts.
fn pause(request: &OutboundRequest, attempts: u32) -> Duration {
    let policy = &request.policy;
    let doublings = attempts.saturating_sub(1).min(31);
    let full = u64::from(policy.backoff_initial_ms)
        .saturating_mul(1 << doublings)
        .min(policy.backoff_max_ms.into());
    let least = full / 2;
    Duration::from_millis(least + rand::random_range(0..=full - least))
}

fn label(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Delivered(_) => "delivered",
        Outcome::Failed { kind, .. } => match kind {
            FailureKind::NotAllowed => "not-allowed",
            FailureKind::Unreachable => "unreachable",
            FailureKind::TimedOut => "timed-out",
            FailureKind::Refused => "refused",
            FailureKind::Broken => "broken",
        },
    }
}
