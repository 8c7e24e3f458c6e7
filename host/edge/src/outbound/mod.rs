//! Delivery of outbound requests over HTTP, with TLS where the URL is https. The requests are on disk already.
//!
//! A request is tried until a 2xx answer, until its policy's attempts are used up, or until its deadline.
//!
//! - **Retried**: no connection, a broken one, no answer in time, 408, 425, 429, and 5xx except 501.
//! - **Final**: all other answers. The same request would get the same answer.
//! - **Pauses** double from the policy's first to its longest. A random part of up to a half is cut off, so
//!   that many senders do not retry at the same moment.
//! - **Isolation**: each destination has its own connection slots and its own circuit breaker (`breaker`).
//!   A slow or dead destination delays only its own requests. Waiting for an open circuit is not an attempt.
//! - **Restart**: this module stores nothing. The engine sends unfinished requests again.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use ipnet::IpNet;
use parking_lot::Mutex;
use rialto_engine::fatal::{CatchPanic, Panic};
use rialto_engine::network::{
    DeliveryPolicy, FailureKind, Network, OutboundRequest, Outcome, Report, WhileAway,
};
use rialto_engine::{Clock, Trace};
use rialto_telemetry::metrics::DeliveryLabels;
use rialto_telemetry::{Metrics, Spans};
use rialto_tls::OutboundTls;
use tokio::runtime::Handle;
use tracing::Instrument as _;

use crate::spans::Open;

mod attempt;
mod breaker;
mod connector;
mod destination;
mod pool;
mod resolver;
mod signing;

pub use breaker::BreakerPolicy;
pub use destination::DestinationStatus;
pub use signing::{NotSigned, OwnSigner};

use attempt::{FailedAttempt, attempt, built};
use connector::Connector;
use destination::{Destination, NotSent};
use pool::Pool;
use resolver::Resolver;

/// Bounds of outbound requests.
#[derive(Clone, Debug)]
pub struct OutboundLimits {
    /// Requests under way to one destination at a time.
    pub connections_per_destination: usize,
    /// How long making a connection may take.
    pub connect_timeout: Duration,
    /// Private ranges of addresses that names may lead to.
    pub private_ranges: Vec<IpNet>,
    /// When the circuit to a destination opens.
    pub breaker: BreakerPolicy,
}

/// Whether this host may send at this moment: another host may serve its scheme otherwise, which sends the same.
pub type MaySend = Arc<dyn Fn() -> bool + Send + Sync>;

/// The pause before a host that may not send looks again.
const LOOK: Duration = Duration::from_millis(20);

struct Inner {
    may_send: OnceLock<MaySend>,
    pool: Pool,
    destinations: Mutex<HashMap<String, Arc<Destination>>>,
    limits: OutboundLimits,
    signer: Arc<dyn OwnSigner>,
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
    /// A network whose tasks run on this runtime. With `spans`, each request has a span.
    pub fn new(
        runtime: Handle,
        limits: OutboundLimits,
        tls: Arc<OutboundTls>,
        signer: Arc<dyn OwnSigner>,
        clock: Arc<dyn Clock>,
        metrics: Arc<Metrics>,
        spans: Option<Spans>,
    ) -> Self {
        let resolver = Resolver::new(limits.private_ranges.clone());
        let connector = Connector::new(resolver, tls, limits.connect_timeout);
        let pool = Pool::new(connector, limits.connections_per_destination);
        Self {
            inner: Arc::new(Inner {
                may_send: OnceLock::new(),
                pool,
                destinations: Mutex::default(),
                limits,
                signer,
                clock,
                metrics,
                spans,
            }),
            runtime,
        }
    }

    /// Begin attempts only while this host may send. A request waits until it may, or until its deadline. The first call counts;
    /// make it before the first request.
    #[must_use]
    pub fn while_it_may(self, may_send: MaySend) -> Self {
        let _ = self.inner.may_send.set(may_send);
        self
    }

    /// The status of all destinations that requests have gone to, in the order of their names.
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
            let delivered = CatchPanic::new(inner.traced(&request)).await;
            done(delivered.unwrap_or_else(|panic| panicked(&request, &panic)));
        };
        self.runtime.spawn(delivery.instrument(span));
    }
}

/// The report of a delivery whose task panicked. Whether the request reached the destination is not known.
fn panicked(request: &OutboundRequest, panic: &Panic) -> Report {
    tracing::error!("the delivery of a request panicked: {panic}");
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
    /// Deliver a request, in a span of its own if spans are exported.
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
            Ok(mut built) => {
                let destination = built.uri().authority().map(ToString::to_string);
                let destination = destination.unwrap_or_default();
                let (outcome, attempts) = match self.sign(request, &mut built).await {
                    Ok(()) => self.attempts(request, built, &destination).await,
                    Err(not_signed) => (not_signed, 0),
                };
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
            let mut permit = match destination.acquire(left, waits).await {
                Ok(permit) => permit,
                Err(not_sent) => return (given_up(not_sent, last), attempts),
            };
            if !self.until_it_may(request).await {
                return (given_up(NotSent::Late, last), attempts);
            }
            attempts += 1;
            let failed = match attempt(&self.pool.client(), request, built.clone()).await {
                Ok(response) => {
                    destination.reached(&mut permit);
                    return (Outcome::Delivered(response), attempts);
                }
                Err(failed) => failed,
            };
            if failed.is_unreachable() {
                destination.not_reached(&mut permit, &failed.reason);
            } else {
                destination.reached(&mut permit);
            }
            drop(permit);
            let pause = pause(request, attempts);
            let more = failed.worth_a_retry
                && attempts < request.policy.attempts_max
                && self.left(request).is_some_and(|left| left > pause);
            if !more {
                return (failed.into(), attempts);
            }
            last = Some(failed);
            tokio::time::sleep(pause).await;
        }
    }

    /// Wait until this host may send. Returns whether it may before the request's deadline.
    async fn until_it_may(&self, request: &OutboundRequest) -> bool {
        let Some(may_send) = self.may_send.get() else {
            return true;
        };
        while !may_send() {
            if self.left(request).is_none() {
                return false;
            }
            tokio::time::sleep(LOOK).await;
        }
        true
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

impl From<FailedAttempt> for Outcome {
    fn from(failed: FailedAttempt) -> Self {
        Self::Failed {
            kind: failed.kind,
            reason: failed.reason,
            response: failed.response,
        }
    }
}

/// The outcome of a request that was not sent again: the last attempt's failure if there was one, otherwise
/// the reason why it was not sent.
fn given_up(not_sent: NotSent, last: Option<FailedAttempt>) -> Outcome {
    match (not_sent, last) {
        (_, Some(failed)) => failed.into(),
        (NotSent::Away(reason), None) => Outcome::Failed {
            kind: FailureKind::Unreachable,
            reason,
            response: None,
        },
        (NotSent::Late, None) => Outcome::Failed {
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
