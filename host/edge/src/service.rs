//! Serves HTTP requests as turns.
//!
//! 1. The head is validated against the API's document, before a byte of the body is read.
//! 2. The body is read and validated.
//! 3. The engine runs the request's turn.
//! 4. The answer is sent after the commit of the turn.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use bytes::Bytes;
use http::request::Parts;
use http::{HeaderName, HeaderValue, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use rialto_components::Runtime;
use rialto_components::headers::is_the_hosts;
use rialto_components::http as wit;
use rialto_components::http::ViolationKind;
use rialto_components::runtime::{Argument, ReleaseChanged};
use rialto_engine::{Engine, Failure, Name, Priority, Requester, Trace, fatal};
use rialto_openapi::{Found, Head, head, validate};
use rialto_telemetry::metrics::RequestLabels;
use rialto_telemetry::{Metrics, Spans};
use tokio::sync::{Semaphore, oneshot};
use tracing::Instrument as _;

use crate::answer_tracking::AnswerGuard;
use crate::api::{Api, Served};
use crate::body::{Inbound, Memory, MemoryPermit, too_large};
use crate::found::FoundApis;
use crate::pace::Pace;
use crate::peers::{Client, PeerAddress};
use crate::refusals::{Refusals, Refused, is_of_the_request};
use crate::spans::{Open, trace_of};
use crate::violation::{found, violation};

/// How many refusals components word at a time. Each takes an instance and a thread, which turns need more.
const WORDED_AT_A_TIME: usize = 8;
/// How long a refusal waits for its wording.
const WORDED_WITHIN: Duration = Duration::from_secs(2);
/// How long a request whose time is over waits for the outcome of its turn. The turn does not begin after
/// its time; a running one is ended.
const END_WITHIN: Duration = Duration::from_secs(1);
/// How many releases may become current while one request waits for its turn.
const RELEASES_MET_MAX: u32 = 4;
/// How long the documents of a release may be current before the release, or after it.
const RELEASE_WITHIN: Duration = Duration::from_secs(2);
/// The pause between two checks whether both are current.
const RELEASE_LOOK: Duration = Duration::from_millis(2);
/// Seconds after which a client may try again, where the host itself words the refusal.
const RETRY_AFTER_SECONDS: HeaderValue = HeaderValue::from_static("1");

/// Bounds of a listener's requests.
#[derive(Clone, Debug)]
pub struct ServiceLimits {
    /// How long a body may take to arrive, and how long a request waits for its turn's commit.
    pub timeout: Duration,
    /// The longest body, in bytes, whatever a document says.
    pub body_bytes_max: usize,
    /// The longest header section, in bytes, whatever a document says.
    pub header_bytes_max: usize,
    /// The memory for all bodies that are being read or handled.
    pub bodies: Memory,
    /// The slowest pace at which a client may send a body.
    pub pace: Pace,
    /// Whether the disk is so full that requests which begin something are refused.
    pub is_full: Arc<AtomicBool>,
}

/// Answers the requests of a listener.
pub struct Service {
    engine: Engine,
    runtime: Arc<Runtime>,
    api: Arc<ArcSwap<Api>>,
    /// An API that other code handles on the same listener. Its document is served here.
    own: Option<Arc<Served>>,
    metrics: Arc<Metrics>,
    spans: Option<Spans>,
    limits: ServiceLimits,
    refusals: Arc<Refusals>,
    wording: Semaphore,
}

impl Service {
    /// A service over the APIs in `api`, which may be replaced at any time. With `spans`, each request has a
    /// span. Refusals are kept in `refusals`.
    pub fn new(
        engine: Engine,
        runtime: Arc<Runtime>,
        api: Arc<ArcSwap<Api>>,
        metrics: Arc<Metrics>,
        spans: Option<Spans>,
        limits: ServiceLimits,
        refusals: Arc<Refusals>,
    ) -> Self {
        Self {
            engine,
            runtime,
            api,
            own: None,
            metrics,
            spans,
            limits,
            refusals,
            wording: Semaphore::new(WORDED_AT_A_TIME),
        }
    }

    /// Serve also the document of an API that other code handles on the same listener.
    #[must_use]
    pub fn with_own(mut self, own: Arc<Served>) -> Self {
        self.own = Some(own);
        self
    }

    /// The APIs as they are now, for one request.
    pub fn apis(&self) -> FoundApis {
        FoundApis::of(&self.api, self.own.as_ref())
    }

    /// Answer a request of this caller, for which `apis` were found. The caller is none on a listener without
    /// authentication.
    pub async fn answer(
        &self,
        apis: FoundApis,
        request: http::Request<Incoming>,
        caller: Option<wit::Caller>,
    ) -> Response<Full<Bytes>> {
        let trace = trace_of(request.headers()).id;
        let span = tracing::debug_span!(
            "request",
            method = %request.method(),
            path = request.uri().path(),
            // Without a trace of the client, the engine makes one.
            trace = (trace != 0).then(|| format!("{trace:032x}")),
        );
        self.answered(apis, request, caller).instrument(span).await
    }

    async fn answered(
        &self,
        apis: FoundApis,
        request: http::Request<Incoming>,
        caller: Option<wit::Caller>,
    ) -> Response<Full<Bytes>> {
        let (head, body) = request.into_parts();
        let PeerAddress(peer) = PeerAddress::of(&head.extensions);
        let mut body = Inbound::new(body, peer, self.limits.pace);
        let mut response = self.response(apis, &head, &mut body, caller).await;
        body.leave(&head.headers, &mut response).await;
        response
    }

    async fn response(
        &self,
        apis: FoundApis,
        head: &Parts,
        body: &mut Inbound,
        caller: Option<wit::Caller>,
    ) -> Response<Full<Bytes>> {
        let started = Instant::now();
        if let Some(document) = apis.document(head) {
            return document;
        }
        let api = apis.into_api();
        let Some((served, _)) = api.find(head.uri.path()) else {
            if self.runtime.current().is_none() {
                return busy();
            }
            return plain(StatusCode::NOT_FOUND, "nothing is served here");
        };
        let span = self.spans.as_ref();
        let span = span.map(|spans| Open::inbound(spans, &head.headers));
        let (operation, response) = match self.request(&api, served, head, body).await {
            Ok((mut request, permit)) => {
                request.caller = caller;
                let id = request.operation_id.clone();
                let trace = span.as_ref().map(|span| span.trace);
                let trace = trace.unwrap_or_else(|| trace_of(&head.headers));
                (id, self.turn(&api, head, request, permit, trace).await)
            }
            Err(violation) => {
                let response = self.refuse(served, head, violation).await;
                (operation_meant(&api, head), response)
            }
        };
        let labels = RequestLabels {
            operation,
            status: response.status().as_u16(),
        };
        self.metrics.requests.get_or_create(&labels).inc();
        self.metrics
            .request_seconds
            .observe(started.elapsed().as_secs_f64());
        if let Some(span) = span {
            let route = api.route(head.uri.path(), head.method.as_str());
            span.answered(head, route, response.status().as_u16());
        }
        response
    }

    /// Validate a request. An error is the first violation.
    async fn request(
        &self,
        api: &Api,
        served: &Served,
        head: &Parts,
        body: &mut Inbound,
    ) -> Result<(wit::Request, MemoryPermit), wit::Violation> {
        let limits = &self.limits;
        let body_bytes_max = served.document.body_bytes_max.min(limits.body_bytes_max);
        body.announced(body_bytes_max)?;
        let judged = self.judge(api, served, head)?;
        self.may_begin(&judged)?;
        let read = body
            .read(body_bytes_max, &limits.bodies, limits.timeout)
            .await?;
        let json_started = Instant::now();
        let body = validate::body(&judged.operation, &read.bytes);
        let took = u64::try_from(json_started.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.metrics.json_nanoseconds.inc_by(took);
        let request = wit::Request {
            operation_id: judged.operation.id.clone(),
            method: head.method.as_str().to_owned(),
            path: head.uri.path().to_owned(),
            path_parameters: judged.path_parameters,
            query_parameters: judged.query_parameters,
            headers: head::texts(&head.headers),
            body: body.map_err(found)?,
            caller: None,
        };
        Ok((request, read.permit))
    }

    fn judge(&self, api: &Api, served: &Served, parts: &Parts) -> Result<Head, wit::Violation> {
        let header_bytes_max = served
            .document
            .header_bytes_max
            .min(self.limits.header_bytes_max);
        let leads_to = api.find(parts.uri.path()).and_then(|(_, found)| found);
        head::judge(leads_to, parts, header_bytes_max).map_err(found)
    }

    /// Refuse a request that begins something while the disk is nearly full. Requests that continue something
    /// are accepted.
    fn may_begin(&self, judged: &Head) -> Result<(), wit::Violation> {
        if !judged.operation.begins || !self.limits.is_full.load(Ordering::Relaxed) {
            return Ok(());
        }
        let detail = "the host has too little disk space to begin this; try again later".to_owned();
        Err(violation(ViolationKind::Overloaded, "", detail))
    }

    /// Run a request's turn. If another release becomes current before the turn begins, the request is validated
    /// again against that release's document.
    async fn turn(
        &self,
        api: &Arc<Api>,
        head: &Parts,
        request: wit::Request,
        permit: MemoryPermit,
        trace: Trace,
    ) -> Response<Full<Bytes>> {
        let until = Instant::now() + self.limits.timeout;
        let (mut api, mut request, mut permit) = (api.clone(), Arc::new(request), permit);
        for _ in 0..RELEASES_MET_MAX {
            let Some((served, found)) = api.find(head.uri.path()) else {
                return plain(StatusCode::NOT_FOUND, "nothing is served here");
            };
            let asker = Requester {
                name: client(head, &request),
                within: Some(until.saturating_duration_since(Instant::now())),
                priority: priority(found.as_ref(), head),
            };
            let judged = (served, api.release);
            permit = match self
                .turn_on(judged, head, &request, permit, trace, asker)
                .await
            {
                TurnResult::Answered(response) => return response,
                TurnResult::ReleaseChanged(permit) => permit,
            };
            api = self.api_of_current().await;
            let Some((served, _)) = api.find(head.uri.path()) else {
                return plain(StatusCode::NOT_FOUND, "nothing is served here");
            };
            request = match self.judged_again(&api, served, head, &request) {
                Ok(request) => Arc::new(request),
                Err(violation) => return self.refuse(served, head, violation).await,
            };
        }
        busy()
    }

    /// The API of the current release. Its documents become current just before the release.
    async fn api_of_current(&self) -> Arc<Api> {
        let until = Instant::now() + RELEASE_WITHIN;
        loop {
            let api = self.api.load_full();
            let current = self.runtime.current().map(|release| release.number);
            if current == Some(api.release) || Instant::now() >= until {
                return api;
            }
            tokio::time::sleep(RELEASE_LOOK).await;
        }
    }

    /// Validate again a request that another release's document accepted.
    fn judged_again(
        &self,
        api: &Api,
        served: &Served,
        head: &Parts,
        request: &wit::Request,
    ) -> Result<wit::Request, wit::Violation> {
        let judged = self.judge(api, served, head)?;
        self.may_begin(&judged)?;
        let bytes = request.body.as_deref().unwrap_or_default().as_bytes();
        let body_bytes_max = served.document.body_bytes_max;
        if bytes.len() > body_bytes_max {
            return Err(too_large(body_bytes_max));
        }
        Ok(wit::Request {
            operation_id: judged.operation.id.clone(),
            path_parameters: judged.path_parameters,
            query_parameters: judged.query_parameters,
            body: validate::body(&judged.operation, bytes).map_err(found)?,
            ..request.clone()
        })
    }

    async fn turn_on(
        &self,
        (served, release): (&Served, u64),
        head: &Parts,
        request: &Arc<wit::Request>,
        permit: MemoryPermit,
        trace: Trace,
        asker: Requester,
    ) -> TurnResult {
        let within = asker.within.unwrap_or_default();
        let label = format!("{} {}", request.method, request.path);
        let (sender, receiver) = oneshot::channel();
        let submitted = self.engine.submit_answered(
            asker,
            served.component.clone(),
            label.into(),
            Arc::new(Argument::Http {
                request: request.clone(),
                judged_by: Some(release),
            }),
            trace,
            Box::new(move |outcome| {
                // The body's memory is reserved until the turn has ended, also when the client is gone.
                let _ = sender.send((outcome, permit));
            }),
        );
        let Ok(answering) = submitted else {
            return TurnResult::Answered(self.overloaded(served, head).await);
        };
        let ended = tokio::time::timeout(within + END_WITHIN, receiver).await;
        let mut response = match ended {
            Ok(Ok((Ok(reply), permit))) => match reply.downcast::<wit::Response>() {
                Ok(response) => answered(*response),
                Err(other) if other.is::<ReleaseChanged>() => {
                    return TurnResult::ReleaseChanged(permit);
                }
                Err(_) => self.internal(served, head).await,
            },
            Ok(Ok((
                Err(
                    Failure::Contention(_)
                    | Failure::Refused
                    | Failure::Shutdown
                    | Failure::Expired,
                ),
                _,
            ))) => self.overloaded(served, head).await,
            Ok(Ok((Err(Failure::Store(_)), _))) | Err(_) => self.unknown(served, head).await,
            Ok(Ok((Err(Failure::Handler { .. }), _)) | Err(_)) => self.internal(served, head).await,
        };
        // Outbound requests of this request's chain wait until the guard is dropped.
        response
            .extensions_mut()
            .insert(AnswerGuard::new(answering));
        TurnResult::Answered(response)
    }

    async fn overloaded(&self, served: &Served, head: &Parts) -> Response<Full<Bytes>> {
        let detail = "the host has more work than it can take; try again".to_owned();
        let violation = violation(ViolationKind::Overloaded, "", detail);
        self.refuse(served, head, violation).await
    }

    /// The answer when it is not known whether the turn is or will be on disk.
    async fn unknown(&self, served: &Served, head: &Parts) -> Response<Full<Bytes>> {
        let detail = "the host could not make sure that the request is kept; it may or may not \
                      have taken effect: ask how it stands before you send it again"
            .to_owned();
        let violation = violation(ViolationKind::Internal, "", detail);
        self.refuse(served, head, violation).await
    }

    async fn internal(&self, served: &Served, head: &Parts) -> Response<Full<Bytes>> {
        let detail = "the request could not be handled and changed nothing".to_owned();
        let violation = violation(ViolationKind::Internal, "", detail);
        self.refuse(served, head, violation).await
    }

    /// Refuse a request, and keep the refusal.
    async fn refuse(
        &self,
        served: &Served,
        head: &Parts,
        violation: wit::Violation,
    ) -> Response<Full<Bytes>> {
        let kept = is_of_the_request(violation.kind).then(|| violation.clone());
        let response = self.worded(served, head, violation).await;
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

/// The client: its proven name, else its address.
fn client(head: &Parts, request: &wit::Request) -> Name {
    let proven = request.caller.as_ref();
    let proven = proven.map(|caller| format!("operator {}", caller.name).into());
    let address = || {
        head.extensions
            .get::<Client>()
            .map(|client| client.0.clone())
    };
    proven.or_else(address).unwrap_or_default()
}

/// The priority of a request's operation.
fn priority(found: Option<&Found>, head: &Parts) -> Priority {
    let operation = found.and_then(|found| found.operations.get(head.method.as_str()));
    match operation
        .map(|operation| operation.priority)
        .unwrap_or_default()
    {
        rialto_openapi::Priority::Low => Priority::Low,
        rialto_openapi::Priority::Middle => Priority::Middle,
        rialto_openapi::Priority::High => Priority::High,
    }
}

/// The outcome of a request's turn.
enum TurnResult {
    /// An answer.
    Answered(Response<Full<Bytes>>),
    /// The turn had no effect: another release is current than the one that validated the request. The body
    /// keeps its reservation.
    ReleaseChanged(MemoryPermit),
}

/// The operation of a refused request; empty if it has none.
fn operation_meant(api: &Api, head: &Parts) -> String {
    let found = api.find(head.uri.path()).and_then(|(_, found)| found);
    let operation = found.and_then(|found| found.operations.get(head.method.as_str()));
    operation.map_or_else(String::new, |operation| operation.id.clone())
}

/// A component's answer as HTTP. Headers that cannot be sent are left out and logged.
fn answered(response: wit::Response) -> Response<Full<Bytes>> {
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
fn busy() -> Response<Full<Bytes>> {
    let mut response = plain(StatusCode::SERVICE_UNAVAILABLE, "overloaded; try again");
    response
        .headers_mut()
        .insert(http::header::RETRY_AFTER, RETRY_AFTER_SECONDS);
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_has_the_priority_of_its_operation() {
        let text = "openapi: 3.1.0\npaths:\n  /a:\n    get: {operationId: a, x-rialto-priority: low}\n    \
                    post: {operationId: b, x-rialto-priority: middle}\n    put: {operationId: c}\n";
        let document = rialto_openapi::Document::parse(text).expect("the document is valid");
        let of = |method: &str| {
            let request = http::Request::builder().method(method).uri("/a");
            let (head, ()) = request.body(()).expect("a request").into_parts();
            priority(document.find("/a").as_ref(), &head)
        };
        assert_eq!(of("GET"), Priority::Low);
        assert_eq!(of("POST"), Priority::Middle);
        assert_eq!(of("PUT"), Priority::High);
    }
}
