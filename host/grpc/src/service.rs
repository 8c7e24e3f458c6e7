//! Answers the requests of the gRPC listener: authorizes the client, finds the method, and passes the call on.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{HeaderValue, Method, Request, Response, StatusCode, header};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use rialto_components::denials::{self, Denials};
use rialto_components::external_calls::Client as CallClient;
use rialto_edge::pace::PacedBody;
use rialto_edge::peers::Shares;
use rialto_edge::spans::{Open, begun_by};
use rialto_edge::{Memory, Pace, PeerAddress};
use rialto_engine::{Engine, Requester};
use rialto_telemetry::metrics::CallLabels;
use rialto_telemetry::{Metrics, Spans};
use tokio::sync::{Semaphore, watch};
use tonic::body::Body;
use tonic::server::Grpc;
use tonic::{Code, Status};
use tower::{Service as _, ServiceExt as _, service_fn};
use tracing::Instrument as _;

use crate::answer;
use crate::authorization::{Authorizer, Client, Permission, denial};
use crate::body::{Measured, SharedPermit, Stopped};
use crate::calls::{Boxed, Calls, Reflection, Served};
use crate::codec::BytesCodec;
use crate::deadline;
use crate::health::Health;
use crate::server::Answers;
use crate::turn::Turns;

/// The prefix of a gRPC request's `content-type`.
const MEDIA_TYPE: &str = "application/grpc";
/// The header with the trace.
const TRACE: &str = "trace-id";
/// The one call with an endless answer. It needs no token.
const WATCH: &str = "/grpc.health.v1.Health/Watch";
/// The most health watchers at a time, over all connections. Each is an open stream.
const WATCHERS_MAX: usize = 1_024;
/// The most of one peer.
const WATCHERS_PER_PEER_MAX: usize = 64;

/// Bounds of a listener's calls.
#[derive(Clone, Debug)]
pub struct Limits {
    /// How long a call may take; a client may ask for less.
    pub timeout: Duration,
    /// The longest message, in bytes.
    pub message_bytes_max: usize,
    /// The memory for all messages that are being read or handled.
    pub messages: Memory,
    /// The slowest pace at which a client may send a message.
    pub pace: Pace,
    /// Whether the disk is nearly full. Then no call is accepted, because contracts do not say which calls begin
    /// something.
    pub is_full: Arc<AtomicBool>,
}

/// An extension of responses: how long the client may take to read the answer; none for no limit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReadTimeLimit(pub Option<Duration>);

/// How long the client of a path may take to read its answer, if the answer says nothing else: another host has given it.
pub(crate) fn read_time(path: &str, finite: Duration) -> ReadTimeLimit {
    ReadTimeLimit(match path {
        WATCH => None,
        path if streams(path) => Some(2 * finite),
        _ => Some(finite),
    })
}

/// Whether a client may go on asking after the answer to a call has begun.
#[must_use]
pub fn streams(path: &str) -> bool {
    path.starts_with("/grpc.reflection.")
}

/// Answers the requests of a listener.
pub struct Service {
    turns: Turns,
    authorizer: Authorizer,
    /// Whether reflection needs no token.
    open_reflection: bool,
    /// Keeps who was refused, for the audit log.
    denials: Arc<dyn Denials>,
    metrics: Arc<Metrics>,
    spans: Option<Spans>,
    limits: Limits,
    stop: watch::Receiver<bool>,
    watchers: Arc<Semaphore>,
    watchers_of_peers: Shares,
    pub(crate) health: Health,
}

/// The target of a request.
enum To {
    Health,
    Reflection(Boxed),
    Method(Arc<Served>),
    Nowhere,
}

impl Service {
    /// A service over the table in `calls`, which may be replaced at any time.
    pub fn new(
        engine: Engine,
        calls: watch::Receiver<Arc<Calls>>,
        authorizer: Authorizer,
        metrics: Arc<Metrics>,
        spans: Option<Spans>,
        limits: Limits,
        stop: watch::Receiver<bool>,
    ) -> Self {
        Self {
            stop,
            health: Health::new(calls.clone()),
            turns: Turns { engine, calls },
            authorizer,
            open_reflection: false,
            denials: denials::none(),
            metrics,
            spans,
            limits,
            watchers: Arc::new(Semaphore::new(WATCHERS_MAX)),
            watchers_of_peers: Shares::new(WATCHERS_PER_PEER_MAX),
        }
    }

    /// This service as what answers.
    #[must_use]
    pub fn answers(self: Arc<Self>) -> Answers {
        Arc::new(move |request| {
            let service = self.clone();
            Box::pin(async move { service.answer(request).await })
        })
    }

    /// Report the health of what is served until told to stop.
    pub async fn follow_health(&self, stop: watch::Receiver<bool>) {
        self.health.follow(stop).await;
    }

    /// How long a client may take to read a finite answer.
    pub(crate) fn answer_within(&self) -> Duration {
        self.limits.timeout
    }

    /// Report services as unhealthy while the host is not ready.
    #[must_use]
    pub fn with_readiness(mut self, ready: watch::Receiver<bool>) -> Self {
        self.health = self.health.with_readiness(ready);
        self
    }

    /// Keep who was refused. Without this, nobody keeps it.
    #[must_use]
    pub fn with_denials(mut self, denials: Arc<dyn Denials>) -> Self {
        self.denials = denials;
        self
    }

    /// Serve reflection without a token.
    #[must_use]
    pub fn with_open_reflection(mut self, open: bool) -> Self {
        self.open_reflection = open;
        self
    }

    /// Answer a request.
    pub async fn answer(&self, request: Request<Incoming>) -> Response<Body> {
        if let Some(refused) = no_grpc(&request) {
            return refused;
        }
        let calls = self.turns.calls.borrow().clone();
        let to = to(&calls, request.uri().path());
        let permission = match &to {
            To::Health => None,
            To::Reflection(_) if self.open_reflection => None,
            To::Reflection(_) => Some(Permission::Read),
            To::Method(_) | To::Nowhere => Some(Permission::Call),
        };
        let mut client = Client::default();
        if let Some(permission) = permission {
            let mut shown = request.headers().get_all(header::AUTHORIZATION).iter();
            let only = shown.next().filter(|_| shown.next().is_none());
            let shown = only.and_then(|value| value.to_str().ok());
            match (self.authorizer)(shown, permission) {
                Ok(known) => client = known,
                Err(denied) => {
                    self.denials.keep(denial(&request, &denied));
                    let status = answer::denied(denied);
                    self.count(&to, status.code());
                    return status.into_http();
                }
            }
        }
        match to {
            To::Health if request.uri().path() == WATCH => self.watched(request).await,
            To::Health => self.health(request).await,
            To::Reflection(server) => {
                let within = self.limits.timeout;
                let stopped = |body| Body::new(Stopped::new(body, self.stop.clone(), within));
                let mut answered = asked(server, request.map(stopped)).await;
                // The client may send messages for this long, and then read the last answer.
                let lasting = ReadTimeLimit(Some(2 * within));
                answered.extensions_mut().insert(lasting);
                answered
            }
            To::Method(ref served) => {
                let started = Instant::now();
                let (response, code) = self.call(&calls, served, request, client).await;
                let took = started.elapsed().as_secs_f64();
                self.metrics.call_seconds.observe(took);
                self.count(&to, code);
                response
            }
            To::Nowhere => {
                self.count(&to, Code::Unimplemented);
                Status::unimplemented("no such method is served here").into_http()
            }
        }
    }

    async fn health(&self, request: Request<Incoming>) -> Response<Body> {
        // The one message is read before the answer begins.
        let answering = asked(self.health.server(), request.map(Body::new));
        let answered = tokio::time::timeout(self.limits.timeout, answering).await;
        answered.unwrap_or_else(|_| answer::unasked().into_http())
    }

    /// Serve a health watcher, if there are not too many.
    async fn watched(&self, request: Request<Incoming>) -> Response<Body> {
        let PeerAddress(peer) = PeerAddress::of(request.extensions());
        let place = self.watchers.clone().try_acquire_owned().ok();
        let Some(place) = place.zip(self.watchers_of_peers.take(peer, 1)) else {
            let full = "too many clients follow the health of this host; ask with Check";
            return Status::resource_exhausted(full).into_http();
        };
        let answered = self.health(request).await;
        let mut answered = answered.map(|body| {
            Body::new(body.map_frame(move |frame| {
                let _ = &place;
                frame
            }))
        });
        answered.extensions_mut().insert(ReadTimeLimit(None));
        answered
    }

    fn count(&self, to: &To, code: Code) {
        let method = match to {
            To::Method(served) => format!("{}/{}", served.service, served.method.name),
            _ => String::new(),
        };
        let status = answer::word(code);
        let labels = CallLabels { method, status };
        self.metrics.calls.get_or_create(&labels).inc();
    }

    async fn call(
        &self,
        calls: &Arc<Calls>,
        served: &Arc<Served>,
        request: Request<Incoming>,
        client: Client,
    ) -> (Response<Body>, Code) {
        if self.limits.is_full.load(Ordering::Relaxed) {
            return (answer::full().into_http(), Code::Unavailable);
        }
        let open = self.spans.as_ref();
        let open = open.map(|spans| Open::inbound(spans, request.headers()));
        let trace = open.as_ref().map(|open| open.trace);
        let trace = trace.unwrap_or_else(|| begun_by(request.headers()));
        let span = tracing::debug_span!(
            "call",
            service = served.service,
            method = served.method.name,
            trace = format!("{:032x}", trace.id),
        );
        let within = match deadline::of(request.headers()) {
            Ok(within) => within.map_or(self.limits.timeout, |w| w.min(self.limits.timeout)),
            Err(bad) => {
                let status = Status::invalid_argument(bad.to_string());
                return (status.into_http(), Code::InvalidArgument);
            }
        };
        let until = tokio::time::Instant::now() + within;
        let permit = SharedPermit::default();
        let (head, body) = request.into_parts();
        let PeerAddress(peer) = PeerAddress::of(&head.extensions);
        let body = PacedBody::new(body, self.limits.pace);
        let body = Measured::new(body, peer, self.limits.messages.clone(), permit.clone());
        let request = Request::from_parts(head, body);
        let turns = self.turns.clone();
        let (calls, method) = (calls.clone(), served.clone());
        let arrived = Arc::new(AtomicBool::new(false));
        let arrives = arrived.clone();
        let handler = service_fn(move |request: tonic::Request<Bytes>| {
            let (turns, calls, method) = (turns.clone(), calls.clone(), method.clone());
            let (permit, client) = (permit.clone(), client.clone());
            arrives.store(true, Ordering::Relaxed);
            async move {
                let left = until.saturating_duration_since(tokio::time::Instant::now());
                let asker = Requester {
                    name: client.share,
                    within: Some(left),
                    ..Requester::default()
                };
                let caller = CallClient {
                    name: client.name,
                    credential: client.credential,
                };
                let message = request.into_inner();
                let answer = turns
                    .run(&calls, &method, message, permit, trace, (asker, caller))
                    .await;
                answer.map(tonic::Response::new)
            }
        });
        let mut grpc =
            Grpc::new(BytesCodec).max_decoding_message_size(self.limits.message_bytes_max);
        let answering = grpc.unary(handler, request).instrument(span);
        let answered = tokio::time::timeout_at(until, answering).await;
        let mut response = answered.unwrap_or_else(|_| answer::late().into_http());
        let status = response.extensions().get::<Status>();
        // Tonic's status for a message that is too long. It uses it for nothing else.
        if let Some(status) = status.filter(|status| status.code() == Code::OutOfRange) {
            response = Status::resource_exhausted(status.message()).into_http();
        } else if let Some(status) = status.filter(|status| status.code() == Code::Internal)
            && !arrived.load(Ordering::Relaxed)
        {
            // The client's frame is malformed. No component was called.
            response = Status::invalid_argument(status.message()).into_http();
        }
        let status = response.extensions().get::<Status>().map(Status::code);
        let code = status.unwrap_or(Code::Ok);
        if let Ok(id) = HeaderValue::from_str(&format!("{:032x}", trace.id)) {
            response.headers_mut().insert(TRACE, id);
        }
        if let Some(open) = open {
            open.called(&served.service, &served.method.name, code as i32);
        }
        (response, code)
    }
}

/// The answer to a request that is not gRPC.
fn no_grpc(request: &Request<Incoming>) -> Option<Response<Body>> {
    let status = if request.method() != Method::POST {
        StatusCode::METHOD_NOT_ALLOWED
    } else if !is_grpc(request.headers().get(header::CONTENT_TYPE)) {
        StatusCode::UNSUPPORTED_MEDIA_TYPE
    } else {
        return None;
    };
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    Some(response)
}

fn is_grpc(media_type: Option<&HeaderValue>) -> bool {
    let rest = media_type.and_then(|value| value.to_str().ok()?.strip_prefix(MEDIA_TYPE));
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['+', ';']))
}

fn to(calls: &Calls, path: &str) -> To {
    let service = path.trim_start_matches('/').split('/').next();
    let reflection = |which: fn(&Reflection) -> &Boxed| match calls.reflection() {
        Some(reflection) => To::Reflection(which(reflection).clone()),
        None => To::Nowhere,
    };
    match service.unwrap_or_default() {
        "grpc.health.v1.Health" => To::Health,
        "grpc.reflection.v1.ServerReflection" => reflection(|r| &r.v1),
        "grpc.reflection.v1alpha.ServerReflection" => reflection(|r| &r.v1alpha),
        _ => match calls.find(path) {
            Some(served) => To::Method(served.clone()),
            None => To::Nowhere,
        },
    }
}

async fn asked(mut server: Boxed, request: Request<Body>) -> Response<Body> {
    let answered = match server.ready().await {
        Ok(server) => server.call(request).await,
        Err(never) => match never {},
    };
    match answered {
        Ok(response) => response,
        Err(never) => match never {},
    }
}
