//! Serves HTTP requests as turns.
//!
//! 1. The sender is identified, and the head is validated against the API's document, before a byte of the body is read.
//! 2. The body is read and validated.
//! 3. The engine runs the request's turn.
//! 4. The answer is sent after the commit of the turn.

mod refusing;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use bytes::Bytes;
use http::request::Parts;
use http::{Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use rialto_components::Runtime;
use rialto_components::denials::{self, Denials};
use rialto_components::http as wit;
use rialto_components::http::ViolationKind;
use rialto_components::runtime::{Argument, ReleaseChanged};
use rialto_engine::{Engine, Failure, Name, Priority, Requester, Trace};
use rialto_openapi::{Found, Head, Operation, head, validate};
use rialto_telemetry::metrics::{OperationLabels, RequestLabels};
use rialto_telemetry::{Metrics, Spans};
use tokio::sync::{Semaphore, oneshot};
use tracing::Instrument as _;

use crate::answer_tracking::AnswerGuard;
use crate::api::{Api, Served};
use crate::authentication::{CLIENT, Refusal};
use crate::authorization::{Authorizer, Question, authorized};
use crate::body::{Inbound, Memory, MemoryPermit, too_large};
use crate::confirmation::{self, Confirmations};
use crate::credentials::{self, Presented};
use crate::denied;
use crate::found::FoundApis;
use crate::pace::Pace;
use crate::peers::{Client, PeerAddress};
use crate::refusals::Refusals;
use crate::revocations::Revocations;
use crate::sources::Sources;
use crate::spans::{Open, trace_of};
use crate::tokens::Tokens;
use crate::violation::{found, violation};

pub(crate) use refusing::plain;
use refusing::{answered, busy};

/// How many refusals components word at a time. Each takes an instance and a thread, which turns need more.
const WORDED_AT_A_TIME: usize = 8;
/// How long a request whose time is over waits for the outcome of its turn. The turn does not begin after
/// its time; a running one is ended.
const END_WITHIN: Duration = Duration::from_secs(1);
/// How many releases may become current while one request waits for its turn.
const RELEASES_MET_MAX: u32 = 4;
/// How long the documents of a release may be current before the release, or after it.
const RELEASE_WITHIN: Duration = Duration::from_secs(2);
/// The pause between two checks whether both are current.
const RELEASE_LOOK: Duration = Duration::from_millis(2);
/// How long after its caller was identified and judged a request may go on without another look at it. A body can take
/// long.
const LOOK_AGAIN_AFTER: Duration = Duration::from_millis(100);

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
    /// Verifies access tokens, where clients need them.
    tokens: Option<Arc<Tokens>>,
    /// Knows from which addresses clients may send.
    sources: Option<Arc<Sources>>,
    /// Knows which client certificates are revoked.
    revocations: Option<Arc<Revocations>>,
    /// Knows which operators may do what.
    authorizer: Option<Arc<dyn Authorizer>>,
    /// Knows what operators have confirmed.
    confirmations: Option<Arc<dyn Confirmations>>,
    /// Keeps who was refused, for the audit log.
    denials: Arc<dyn Denials>,
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
            tokens: None,
            sources: None,
            revocations: None,
            authorizer: None,
            confirmations: None,
            denials: denials::none(),
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

    /// Let requests pass by these access tokens where clients need them. Without this, such requests are refused.
    #[must_use]
    pub fn with_tokens(mut self, tokens: Arc<Tokens>) -> Self {
        self.tokens = Some(tokens);
        self
    }

    /// Let clients that have proven who they are send only from the addresses that these know. Without this, they may send
    /// from everywhere.
    #[must_use]
    pub fn with_sources(mut self, sources: Arc<Sources>) -> Self {
        self.sources = Some(sources);
        self
    }

    /// Refuse requests whose connection has shown a certificate that these know as revoked. Without this, only the
    /// listeners' revocation lists count.
    #[must_use]
    pub fn with_revocations(mut self, revocations: Arc<Revocations>) -> Self {
        self.revocations = Some(revocations);
        self
    }

    /// Ask for each request of an operator whether the operator may send it. Without this, components judge by the
    /// operators' roles alone.
    #[must_use]
    pub fn with_authorizer(mut self, authorizer: Arc<dyn Authorizer>) -> Self {
        self.authorizer = Some(authorizer);
        self
    }

    /// Refuse what operators approve and have not confirmed. Without this, their tokens and sessions are enough.
    #[must_use]
    pub fn with_confirmations(mut self, confirmations: Arc<dyn Confirmations>) -> Self {
        self.confirmations = Some(confirmations);
        self
    }

    /// Keep who was refused for what they are, with their requests. Without this, nobody keeps it.
    #[must_use]
    pub fn with_denials(mut self, denials: Arc<dyn Denials>) -> Self {
        self.denials = denials;
        self
    }

    /// The APIs as they are now, for one request.
    pub fn apis(&self) -> FoundApis {
        FoundApis::of(&self.api, self.own.as_ref())
    }

    /// Answer a request of this caller, for which `apis` were found. Without a caller, the APIs say how clients
    /// prove who they are.
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
        let (mut head, body) = request.into_parts();
        Presented::take(&mut head);
        confirmation::Named::take(&mut head);
        if let Some(operator) = caller {
            head.extensions.insert(KnownOperator(operator));
        }
        let PeerAddress(peer) = PeerAddress::of(&head.extensions);
        let mut body = Inbound::new(body, peer, self.limits.pace);
        let mut response = self.response(apis, &mut head, &mut body).await;
        body.leave(&head.headers, &mut response).await;
        response
    }

    async fn response(
        &self,
        apis: FoundApis,
        head: &mut Parts,
        body: &mut Inbound,
    ) -> Response<Full<Bytes>> {
        let started = Instant::now();
        if let Some(document) = apis.document(head) {
            return document;
        }
        let (api, uri) = (apis.into_api(), head.uri.clone());
        let Some((served, _)) = api.find(uri.path()) else {
            if self.runtime.current().is_none() {
                return busy();
            }
            return plain(StatusCode::NOT_FOUND, "nothing is served here");
        };
        let span = self.spans.as_ref();
        let span = span.map(|spans| Open::inbound(spans, &head.headers));
        let (operation, response) = match self.request(&api, served, head, body).await {
            Ok((request, permit)) => {
                let id = request.operation_id.clone();
                let trace = span.as_ref().map(|span| span.trace);
                let trace = trace.unwrap_or_else(|| trace_of(&head.headers));
                let response = self.turn(&api, head, request, permit, trace).await;
                if response.status() == StatusCode::FORBIDDEN {
                    self.keep_denial(&api, served, head);
                }
                (id, response)
            }
            Err(refusal) => {
                let response = self.refuse(served, head, refusal).await;
                let operation = operation(&api, head);
                (
                    operation.map_or_else(String::new, |meant| meant.id.clone()),
                    response,
                )
            }
        };
        let labels = RequestLabels {
            operation,
            status: response.status().as_u16(),
        };
        self.metrics.requests.get_or_create(&labels).inc();
        let labels = OperationLabels {
            operation: labels.operation,
        };
        self.metrics
            .request_seconds
            .get_or_create(&labels)
            .observe(started.elapsed().as_secs_f64());
        if let Some(span) = span {
            let route = api.route(head.uri.path(), head.method.as_str());
            span.answered(head, route, response.status().as_u16());
        }
        response
    }

    /// Keep that a component has refused a request for who has sent it, unless the audit log has it already.
    fn keep_denial(&self, api: &Api, served: &Served, head: &Parts) {
        let operator = head.extensions.get();
        let operator = operator.map(|KnownOperator(operator)| operator);
        let route = api.route(head.uri.path(), head.method.as_str());
        let is_audited = operation(api, head).is_none_or(|operation| operation.is_audited);
        let denial = denied::by_component(head, (operator, route), &served.component, is_audited);
        if let Some(denial) = denial {
            self.denials.keep(denial);
        }
    }

    /// Validate a request. An error is the first violation.
    async fn request(
        &self,
        api: &Api,
        served: &Served,
        head: &mut Parts,
        body: &mut Inbound,
    ) -> Result<(wit::Request, MemoryPermit), Refusal> {
        let mut caller = self.caller(api, head).await?;
        let identified = Instant::now();
        let limits = &self.limits;
        let body_bytes_max = served.document.body_bytes_max.min(limits.body_bytes_max);
        body.announced(body_bytes_max)?;
        let judged = self.judge(api, served, head)?;
        self.may_begin(&judged)?;
        let read = body
            .read(body_bytes_max, &limits.bodies, limits.timeout)
            .await?;
        if caller.is_some() && identified.elapsed() > LOOK_AGAIN_AFTER {
            caller = self.caller(api, head).await?;
        }
        let json_started = Instant::now();
        let body = validate::body(&judged.operation, &read.bytes);
        let took = u64::try_from(json_started.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.metrics.json_nanoseconds.inc_by(took);
        let body = body.map_err(found)?;
        self.confirmed(head, &judged.operation, &read.bytes)?;
        let request = wit::Request {
            operation_id: judged.operation.id.clone(),
            method: head.method.as_str().to_owned(),
            path: head.uri.path().to_owned(),
            path_parameters: judged.path_parameters,
            query_parameters: judged.query_parameters,
            headers: head::texts(&head.headers),
            body,
            caller,
        };
        Ok((request, read.permit))
    }

    /// The caller of a request: the operator who was identified before, or the client. The head of an open operation gets
    /// the credentials that its component sees.
    async fn caller(&self, api: &Api, head: &mut Parts) -> Result<Option<wit::Caller>, Refusal> {
        if let Some(KnownOperator(operator)) = head.extensions.get() {
            return self.operator(api, head, operator).await.map(Some);
        }
        let is_open = operation(api, head).is_some_and(|operation| operation.is_open);
        let tokens = self.tokens.as_deref();
        let sender = api.authentication.sender(head, tokens, is_open).await?;
        if let (Some(revocations), Some(proof)) = (&self.revocations, &sender.proof) {
            revocations.admit(proof).await?;
        }
        if let (Some(sources), Some(caller)) = (&self.sources, &sender.caller) {
            let PeerAddress(address) = PeerAddress::of(&head.extensions);
            sources.admit(&caller.name, address).await?;
        }
        credentials::hide(head);
        if is_open {
            let PeerAddress(address) = PeerAddress::of(&head.extensions);
            credentials::show(head, sender.certificate.as_ref(), address);
        }
        Ok(sender.caller)
    }

    /// An operator as the component is to see them, if they may use the operation.
    async fn operator(
        &self,
        api: &Api,
        head: &Parts,
        operator: &wit::Caller,
    ) -> Result<wit::Caller, Refusal> {
        let served = api.find(head.uri.path()).map(|(served, _)| served);
        let (Some(authorizer), Some(served), Some(operation)) =
            (&self.authorizer, served, operation(api, head))
        else {
            return Ok(operator.clone());
        };
        if operation.roles.is_empty() {
            return Ok(operator.clone());
        }
        let question = Question {
            operator,
            component: &served.component,
            operation: &operation.id,
            default_roles: &operation.roles,
        };
        authorized(question, authorizer.may(question).await)
    }

    /// Use up the confirmation of an operator's request, if it needs one.
    fn confirmed(
        &self,
        head: &mut Parts,
        operation: &Operation,
        body: &[u8],
    ) -> Result<(), Refusal> {
        let operator = head.extensions.get::<KnownOperator>();
        let person = operator.map(|KnownOperator(operator)| operator.name.clone());
        let (Some(confirmations), Some(person)) = (self.confirmations.as_deref(), person) else {
            return Ok(());
        };
        confirmation::confirmed(confirmations, head, operation, &person, body)
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
        head: &mut Parts,
        request: wit::Request,
        permit: MemoryPermit,
        trace: Trace,
    ) -> Response<Full<Bytes>> {
        let until = Instant::now() + self.limits.timeout;
        let uri = head.uri.clone();
        let (mut api, mut request, mut permit) = (api.clone(), Arc::new(request), permit);
        for _ in 0..RELEASES_MET_MAX {
            let Some((served, found)) = api.find(uri.path()) else {
                return plain(StatusCode::NOT_FOUND, "nothing is served here");
            };
            let asker = Requester {
                name: client(head, &request),
                within: Some(until.saturating_duration_since(Instant::now())),
                priority: priority(found.as_ref(), head),
            };
            let operation = found
                .as_ref()
                .and_then(|found| found.operations.get(head.method.as_str()));
            let is_audited = operation.is_none_or(|operation| operation.is_audited);
            // Operators send secrets, and without a credential somebody asks for one.
            let may_keep = operation.is_some_and(|operation| !operation.is_open)
                && head.extensions.get::<KnownOperator>().is_none();
            let judged = (served, api.release, (is_audited, may_keep));
            permit = match self
                .turn_on(judged, head, &request, permit, trace, asker)
                .await
            {
                TurnResult::Answered(response) => return response,
                TurnResult::ReleaseChanged(permit) => permit,
            };
            api = self.api_of_current().await;
            let Some((served, _)) = api.find(uri.path()) else {
                return plain(StatusCode::NOT_FOUND, "nothing is served here");
            };
            request = match self.judged_again(&api, served, head, &request).await {
                Ok(request) => Arc::new(request),
                Err(refusal) => return self.refuse(served, head, refusal).await,
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
    async fn judged_again(
        &self,
        api: &Api,
        served: &Served,
        head: &mut Parts,
        request: &wit::Request,
    ) -> Result<wit::Request, Refusal> {
        let caller = self.caller(api, head).await?;
        let judged = self.judge(api, served, head)?;
        self.may_begin(&judged)?;
        let bytes = request.body.as_deref().unwrap_or_default().as_bytes();
        let body_bytes_max = served.document.body_bytes_max;
        if bytes.len() > body_bytes_max {
            return Err(too_large(body_bytes_max).into());
        }
        let body = validate::body(&judged.operation, bytes).map_err(found)?;
        self.confirmed(head, &judged.operation, bytes)?;
        Ok(wit::Request {
            operation_id: judged.operation.id.clone(),
            path_parameters: judged.path_parameters,
            query_parameters: judged.query_parameters,
            headers: head::texts(&head.headers),
            body,
            caller,
            ..request.clone()
        })
    }

    async fn turn_on(
        &self,
        (served, release, (is_audited, may_keep)): (&Served, u64, (bool, bool)),
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
                is_audited,
                may_keep,
                credential: head
                    .extensions
                    .get()
                    .map(|Credential(name)| Arc::clone(name)),
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
                    | Failure::Away(_)
                    | Failure::NotReady(_)
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
}

/// The public name of the credential that an operator has shown, such as `token 5f0c1e9a77b2d340`: an extension of the
/// request's head, for the audit log.
#[derive(Clone, Debug)]
pub struct Credential(pub Arc<str>);

/// The operator who sent a request, as the listener has identified them. An extension of its head. The component may see
/// other roles, so this one is asked about again when another release judges the request.
#[derive(Clone)]
struct KnownOperator(wit::Caller);

/// The client: its proven name, else its address.
fn client(head: &Parts, request: &wit::Request) -> Name {
    let proven = request.caller.as_ref();
    let proven = proven.map(|caller| {
        let kind = if is_client(caller) {
            CLIENT
        } else {
            "operator"
        };
        format!("{kind} {}", caller.name).into()
    });
    let address = || {
        head.extensions
            .get::<Client>()
            .map(|client| client.0.clone())
    };
    proven.or_else(address).unwrap_or_default()
}

fn is_client(caller: &wit::Caller) -> bool {
    caller.roles.iter().any(|role| role == CLIENT)
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

/// The operation that a request is for, whether it is valid or not.
fn operation<'a>(api: &'a Api, head: &'a Parts) -> Option<&'a Arc<Operation>> {
    let (_, found) = api.find(head.uri.path())?;
    found?.operations.get(head.method.as_str())
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
