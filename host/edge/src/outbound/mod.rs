//! Delivering requests that are on disk.
//!
//! Each request is tried until a 2xx answer, until its policy's attempts are used up, or until its
//! deadline has passed. Tried again is what may go well later: no connection, a broken one, no answer
//! in time, 5xx but 501, 408, 425 and 429. Other answers end it at once: sending the same again would give the
//! same. Pauses double from the policy's first to its longest, each cut by a random part of up to a
//! half so that many senders do not meet again. Each destination has its own connections, its own bound
//! of requests under way and its own circuit (`breaker`), so one that is slow or dead holds up only
//! what is meant for it, and costs next to nothing while it is away. Waiting for an open circuit is no
//! attempt. Nothing is remembered across a restart: the engine hands unfinished requests over again.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioTimer;
use parking_lot::Mutex;
use rialto_engine::fatal::{Contained, Panic};
use rialto_engine::network::{
    DeliveryPolicy, FailureKind, Network, OutboundRequest, Outcome, Report, WhileAway,
};
use rialto_engine::{Clock, Trace};
use rialto_telemetry::metrics::DeliveryLabels;
use rialto_telemetry::{Metrics, Spans};
use tokio::runtime::Handle;
use tracing::Instrument as _;

use crate::contained;
use crate::spans::Open;

mod attempt;
mod breaker;
mod destination;

pub use breaker::BreakerPolicy;
pub use destination::DestinationStatus;

use attempt::{Miss, attempt, built};
use destination::{Destination, Held};

/// How long an idle connection is kept.
const IDLE: Duration = Duration::from_secs(60);

/// Bounds of what goes out.
#[derive(Clone, Debug)]
pub struct OutboundLimits {
    /// Requests under way to one destination.
    pub connections_per_destination: usize,
    /// How long making a connection may take.
    pub connect_timeout: Duration,
    /// When a destination is left alone.
    pub breaker: BreakerPolicy,
}

struct Inner {
    client: Client<HttpConnector, Full<Bytes>>,
    destinations: Mutex<HashMap<String, Arc<Destination>>>,
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
        let client = Client::builder(contained::Executor)
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE)
            .pool_max_idle_per_host(limits.connections_per_destination)
            .build(connector);
        Self {
            inner: Arc::new(Inner {
                client,
                destinations: Mutex::default(),
                limits,
                clock,
                metrics,
                spans,
            }),
            runtime,
        }
    }
}

impl Outbound {
    /// What is known of the destinations that requests have gone to, in the order of their names.
    pub fn destinations(&self) -> Vec<DestinationStatus> {
        let all = self.inner.destinations.lock();
        let mut all: Vec<DestinationStatus> = all.values().map(|d| d.status()).collect();
        all.sort_by(|a, b| a.destination.cmp(&b.destination));
        all
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
            let delivered = Contained::new(inner.traced(&request)).await;
            done(delivered.unwrap_or_else(|panic| panicked(&request, &panic)));
        };
        self.runtime.spawn(delivery.instrument(span));
    }
}

/// A delivery that ended within the host itself. Whether it has reached anybody is not known.
fn panicked(request: &OutboundRequest, panic: &Panic) -> Report {
    tracing::error!("the delivery panicked: {panic}");
    Report {
        id: request.id,
        correlation: request.correlation.clone(),
        attempts: 0,
        outcome: Outcome::Failed {
            kind: FailureKind::Broken,
            reason: "the host failed while it delivered; its log says how".to_owned(),
            response: None,
        },
        span: None,
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
        let allowed = if request.policy.attempts_max == DeliveryPolicy::NOT_ALLOWED {
            Err(format!(
                "`{}` is not granted requests to {}; the scheme's operator can grant the origin under `outbound`",
                request.component,
                destination(&request.url)
            ))
        } else {
            built(request, trace)
        };
        let (outcome, attempts, destination) = match allowed {
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
        self.metrics.delivered(&labels);
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
        let destination = self.destination(destination);
        let _counted = destination.count();
        let waits = request.policy.while_away == WhileAway::Wait;
        let mut attempts = 0;
        let mut last = None;
        loop {
            let left = self.left(request).unwrap_or_default();
            let mut leave = match destination.leave(left, waits).await {
                Ok(leave) => leave,
                Err(held) => return (given_up(held, last), attempts),
            };
            attempts += 1;
            let missed = match attempt(&self.client, request, built.clone()).await {
                Ok(response) => {
                    destination.met(&mut leave);
                    return (Outcome::Delivered(response), attempts);
                }
                Err(missed) => missed,
            };
            if missed.is_of_nobody() {
                destination.missed(&mut leave, &missed.reason);
            } else {
                destination.met(&mut leave);
            }
            drop(leave);
            let pause = pause(request, attempts);
            let more = missed.worth_another
                && attempts < request.policy.attempts_max
                && self.left(request).is_some_and(|left| left > pause);
            if !more {
                return (missed.into(), attempts);
            }
            last = Some(missed);
            tokio::time::sleep(pause).await;
        }
    }

    fn destination(&self, name: &str) -> Arc<Destination> {
        let mut all = self.destinations.lock();
        if let Some(destination) = all.get(name) {
            return destination.clone();
        }
        let destination = Arc::new(Destination::new(name, &self.limits));
        all.insert(name.to_owned(), destination.clone());
        destination
    }

    /// How long until the deadline.
    fn left(&self, request: &OutboundRequest) -> Option<Duration> {
        let left = request.policy.deadline.0.checked_sub(self.clock.now().0)?;
        (left > 0).then(|| Duration::from_millis(left))
    }
}

impl From<Miss> for Outcome {
    fn from(missed: Miss) -> Self {
        Self::Failed {
            kind: missed.kind,
            reason: missed.reason,
            response: missed.response,
        }
    }
}

/// The end of a request that was not sent again. What the last attempt met says more than that
/// the time was up.
fn given_up(held: Held, last: Option<Miss>) -> Outcome {
    match (held, last) {
        (_, Some(missed)) => missed.into(),
        (Held::Away(reason), None) => Outcome::Failed {
            kind: FailureKind::Unreachable,
            reason,
            response: None,
        },
        (Held::Late, None) => Outcome::Failed {
            kind: FailureKind::TimedOut,
            reason: "its deadline passed before it could be sent".to_owned(),
            response: None,
        },
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

/// Host and port of an absolute URL.
pub(crate) fn destination(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.split(['/', '?', '#']).next().unwrap_or(rest)
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
