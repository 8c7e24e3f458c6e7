//! Serves HTTP requests as turns.
//!
//! 1. The sender is identified, and the head is validated against the API's document, before a byte of the body is read.
//! 2. The body is read and validated.
//! 3. The engine runs the request's turn.
//! 4. The answer is sent after the commit of the turn.

mod judging;
mod refusing;
mod running;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
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
use rialto_engine::Engine;
use rialto_openapi::Operation;
use rialto_telemetry::metrics::{OperationLabels, RequestLabels};
use rialto_telemetry::{Metrics, Spans};
use tokio::sync::Semaphore;
use tracing::Instrument as _;

use self::refusing::busy;
pub(crate) use self::refusing::plain;
use crate::api::{Api, Served};
use crate::authorization::Authorizer;
use crate::body::{Inbound, Memory};
use crate::confirmation::{self, Confirmations};
use crate::credentials::Presented;
use crate::denied;
use crate::found::FoundApis;
use crate::pace::Pace;
use crate::peers::PeerAddress;
use crate::refusals::Refusals;
use crate::revocations::Revocations;
use crate::sources::Sources;
use crate::spans::{Open, trace_of};
use crate::tokens::Tokens;

/// How many refusals components word at a time. Each takes an instance and a thread, which turns need more.
const WORDED_AT_A_TIME: usize = 8;

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
}

/// The public name of the credential that an operator has shown, such as `token 5f0c1e9a77b2d340`: an extension of the
/// request's head, for the audit log.
#[derive(Clone, Debug)]
pub struct Credential(pub Arc<str>);

/// The operator who sent a request, as the listener has identified them. An extension of its head. The component may see
/// other roles, so this one is asked about again when another release judges the request.
#[derive(Clone)]
struct KnownOperator(wit::Caller);

/// The operation that a request is for, whether it is valid or not.
fn operation<'a>(api: &'a Api, head: &'a Parts) -> Option<&'a Arc<Operation>> {
    let (_, found) = api.find(head.uri.path())?;
    found?.operations.get(head.method.as_str())
}
