//! The operators' API: health, metrics, releases, dead letters, history.
//!
//! Health, metrics (without names of destinations), the APIs' documents and the way to a sign-in are open. Everything else
//! needs an operator's token or session with the right role. The audit log has every change and every refused attempt, with the
//! operator.

mod archives;
mod backtests;
mod books;
mod callers;
mod canaries;
mod cluster;
mod components;
mod console;
mod cookies;
mod deliveries;
mod drafts;
mod drill;
mod extractors;
pub mod health;
mod inspect;
mod live;
mod own;
mod pages;
mod passkey_pages;
mod passkeys;
mod personal_data;
mod plans;
mod problem;
mod quarantines;
mod releases;
mod rules;
mod shadows;
mod sign_in;
mod suspensions;
mod tokens;
mod verification;
mod what_if;

use std::sync::Arc;

use axum::Router;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::MethodRouter;
use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Body as _;
use rialto_components::denials::Denials as _;
use rialto_edge::denied;
use rialto_edge::pace::PacedBody;
use rialto_edge::{Credential, Served, Service};
use rialto_manifest::operator::Role;
use rialto_store_sqlite::Outcome;
use rialto_telemetry::metrics::in_text_format;
use tokio::sync::Semaphore;
use tower::ServiceExt as _;

use crate::audit::{Actor, AuditedAction};
use crate::host::{OPERATORS, Shared};
use crate::operators::role_for;

use callers::caller_of;

pub use archives::ShownArchive;
pub use backtests::{JudgedInput, OneVerdict};
pub use cluster::{
    HandedOver, NewHandover, ShownCluster, ShownHost, ShownHostState, ShownPartition,
};
pub use deliveries::{Retried, Retry, ShownPause};
pub use drafts::{BundleRead, NewDraft};
pub use drill::{Drill, DrilledRule, NewDrill, ShownFailure, ShownTerms};
pub use inspect::{
    Collections, Destination, FiledReceipt, Reason, ReplayResult, ShownDocument, ShownLetter, Story,
};
pub use passkeys::{Confirming, ShownBegun, ShownConfirmation, ShownPasskey};
pub use personal_data::{ShownKeys, Shred, ShreddedPeople};
pub use plans::NewPlan;
pub use problem::{Kind, Problem};
pub use quarantines::EndQuarantine;
pub use releases::{Change, Proposal, Swap};
pub use rules::RuleFigures;
pub use sign_in::ShownSession;
pub use tokens::{MadeToken, NewToken, ShownCredential};
pub use what_if::{AgreedDraft, Draft, WhatIf, WhatIfVerdict};

/// The audit log's name for an attempt without the role for it.
const REFUSED: &str = "role-missing";

/// The longest body of an operator's request, in bytes: a component.
const BODY_BYTES_MAX: usize = 64 << 20;

type Host = State<Arc<Shared>>;

/// Whether a request has a body.
#[derive(Clone, Copy)]
struct HasBody(bool);

/// The first segments of the paths below. On the operators' listener no component may serve paths with them.
const OWN: [&str; 32] = [
    "archives",
    "audit-log",
    "books",
    "canaries",
    "cluster",
    "components",
    "confirmations",
    "console",
    "dead-letters",
    "destinations",
    "documents",
    "drill",
    "events",
    "health",
    "live",
    "metrics",
    "openapi",
    "passkeys",
    "personal-data",
    "plans",
    "quarantines",
    "receipts",
    "refusals",
    "releases",
    "rules",
    "session",
    "shadows",
    "sign-in",
    "sign-out",
    "suspensions",
    "tokens",
    "what-if",
];

/// The first segments of the host's own paths on this listener.
pub fn reserved(listener: &str) -> &'static [&'static str] {
    if listener == OPERATORS { &OWN } else { &[] }
}

/// Makes the router, and the list of routes that a test compares with the document.
macro_rules! routes {
    ($list:ident $router:ident $($path:literal $($method:ident $handler:expr),+;)*) => {
        #[cfg(test)]
        const $list: &[(&str, &str)] = &[$($(($path, stringify!($method)),)+)*];

        fn $router() -> Router<Arc<Shared>> {
            Router::new()$(.route($path, MethodRouter::new()$(.$method($handler))+))*
        }
    };
}

routes! {
    OPEN open
    "/health/live" get health::live;
    "/health/ready" get health::ready;
    "/metrics" get metrics;
    "/sign-in" get sign_in::begin;
    "/sign-in/callback" get sign_in::callback;
    "/console" get console::page;
    "/console/{file}" get console::asset;
}

routes! {
    CLOSED closed
    "/shadows" get shadows::list;
    "/canaries" get canaries::list;
    "/cluster" get cluster::show;
    "/cluster/handover" post cluster::hand_over;
    "/releases" get releases::list, post releases::apply;
    "/releases/plan" post releases::plan;
    "/releases/draft" post drafts::edit;
    "/releases/bundle" post drafts::read_bundle;
    "/releases/backtests" get backtests::list, post backtests::start;
    "/releases/backtests/{id}" get backtests::show, delete backtests::cancel;
    "/releases/backtests/{id}/report" get backtests::report;
    "/releases/backtests/{id}/input" get backtests::input;
    "/releases/{number}" get releases::show;
    "/releases/{number}/diff/{other}" get releases::difference;
    "/releases/{number}/wiring" get releases::wiring;
    "/releases/{number}/approve" post releases::approve;
    "/releases/{number}/rollback" post releases::rollback;
    "/releases/{number}/withdraw" post releases::withdraw;
    "/rules" get rules::figures;
    "/rules/{name}/swap" post releases::swap;
    "/rules/{name}/suspend" post suspensions::suspend;
    "/rules/{name}/end-quarantine" post quarantines::end;
    "/what-if/{step}" post what_if::ask;
    "/drill/{step}" post drill::run;
    "/quarantines" get quarantines::list;
    "/suspensions" get suspensions::list;
    "/suspensions/{number}/approve" post suspensions::confirm;
    "/suspensions/{number}/end" post suspensions::end;
    "/plans" get plans::list, post plans::make;
    "/plans/{digest}" get plans::show;
    "/plans/{digest}/signatures" post plans::sign;
    "/plans/{digest}/approve" post plans::approve;
    "/plans/{digest}/apply" post plans::apply;
    "/components" post components::add;
    "/components/{digest}" get components::show, put components::put;
    "/live" get live::stream;
    "/live/past" get live::past;
    "/archives" get archives::list;
    "/books/balance" get books::balance;
    "/books/check" get books::checks, post books::check;
    "/books/accounts/{id}/entries" get books::entries;
    "/events/{id}" get inspect::events;
    "/refusals" get inspect::refusals;
    "/receipts/{id}" get inspect::receipts;
    "/receipts/{id}/proofs" get inspect::proofs;
    "/documents" get inspect::collections;
    "/documents/{component}/{collection}" get inspect::documents;
    "/destinations" get inspect::destinations;
    "/audit-log" get inspect::audit;
    "/audit-log/verification" get verification::show, post verification::begin;
    "/dead-letters" get inspect::dead_letters;
    "/dead-letters/paused" get deliveries::paused;
    "/dead-letters/retry" post deliveries::retry;
    "/dead-letters/drop" post deliveries::drop;
    "/dead-letters/{id}" get inspect::dead_letter;
    "/dead-letters/{id}/{verb}" post inspect::decide_dead_letter;
    "/session" get sign_in::session, post sign_in::exchange;
    "/sign-out" post sign_in::sign_out;
    "/tokens" get tokens::list, post tokens::make;
    "/tokens/{id}" delete tokens::end;
    "/passkeys" get passkeys::list, post passkeys::register;
    "/passkeys/registrations" post passkeys::begin_registration;
    "/passkeys/{id}" delete passkeys::end;
    "/personal-data" get personal_data::show;
    "/personal-data/shred" post personal_data::shred;
    "/passkeys/{id}/approve" post passkeys::approve;
    "/confirmations" post passkeys::begin_confirmation;
    "/confirmations/{id}" get passkeys::confirmation, post passkeys::confirm;
}

/// The routes.
pub fn router(shared: Arc<Shared>) -> Router {
    let closed = closed()
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
        .layer(from_fn_with_state(shared.clone(), authorize));
    open()
        .merge(closed)
        .fallback(async || Problem::new(Kind::NotFound, "there is nothing at this path"))
        .method_not_allowed_fallback(async || {
            Problem::new(
                Kind::MethodNotAllowed,
                "this path does not take this method",
            )
        })
        .with_state(shared)
}

/// The document of this API, to be served with those of components.
pub fn document() -> Arc<Served> {
    own::document()
}

/// The path of the health on listeners other than the operators', unless a component serves it.
const HEALTH: &str = "/health";

/// Answer a request on another listener: by the component that serves its path. The health needs no identity. The service
/// takes the credentials out of the request.
pub async fn answer_client(
    service: Arc<Service>,
    shared: Arc<Shared>,
    mut request: http::Request<hyper::body::Incoming>,
) -> http::Response<Full<Bytes>> {
    cookies::hide(request.headers_mut());
    let asks_health = request.method() == Method::GET && request.uri().path() == HEALTH;
    let apis = service.apis();
    if asks_health && !apis.serves(HEALTH) {
        return health::told(&health::Readiness::of(&shared));
    }
    service.answer(apis, request, None).await
}

/// Answer a request on the operators' listener: by the routes, or by the component that serves its path. The
/// component checks the caller's roles itself.
pub async fn answer(
    router: Router,
    service: Arc<Service>,
    shared: Arc<Shared>,
    mut request: http::Request<hyper::body::Incoming>,
) -> Response {
    let apis = service.apis();
    if apis.has_document(request.uri().path()) {
        cookies::hide(request.headers_mut());
        let answer = service.answer(apis, request, None).await;
        return answer.map(axum::body::Body::new);
    }
    let has_body = !request.body().is_end_stream();
    if apis.serves(request.uri().path()) {
        let caller = match caller_of(&shared, request.method(), request.uri(), request.headers()) {
            Ok(caller) => caller,
            Err(refusal) => {
                let (head, _) = request.into_parts();
                refusal.keep(&shared, &head);
                return refusal.into_response();
            }
        };
        let (head, body) = request.into_parts();
        if let Some(taken) = apis.other_media_type(&head).filter(|_| has_body) {
            return own::another_media_type(&taken).into_response();
        }
        request = http::Request::from_parts(head, body);
        // No component may see the token or the session.
        request.headers_mut().remove(header::AUTHORIZATION);
        cookies::hide(request.headers_mut());
        let credential = Credential(caller.credential().into());
        request.extensions_mut().insert(credential);
        let caller = Some(caller.to_component());
        let mut answer = service.answer(apis, request, caller).await;
        restrain(answer.headers_mut());
        return answer.map(axum::body::Body::new);
    }
    request.extensions_mut().insert(HasBody(has_body));
    let pace = shared.pace;
    let arriving = |body| axum::body::Body::new(PacedBody::new(body, pace));
    match router.oneshot(request.map(arriving)).await {
        Ok(response) => response,
        Err(never) => match never {},
    }
}

async fn authorize(State(shared): Host, mut request: Request, next: Next) -> Response {
    let caller = match caller_of(&shared, request.method(), request.uri(), request.headers()) {
        Ok(caller) => caller,
        Err(refusal) => return refusal.of_page(&shared, request),
    };
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let role = role_for(&method, &path);
    if let Some(role) = role
        && !caller.has(role)
    {
        let detail = format!(
            "the operator `{}` needs the role `{}` for this; the operator's document gives roles: `[operators.{}]`",
            caller.name,
            role.name(),
            caller.name
        );
        let problem = Problem::new(Kind::RoleMissing, detail.clone());
        if role == Role::Reader {
            let about = denied::about(&method, &path, None);
            let denial = denied::not_allowed(&caller.person, about, detail);
            shared.denials.keep(denial);
            return problem.into_response();
        }
        let changes = shared.changes.clone();
        let kept = blocking(&changes, move || {
            let (who, what) = (Actor::from(&caller), format!("{method} {path}"));
            let audited = AuditedAction::new(REFUSED, &what);
            let noted = shared.audit.note(&who, &audited, problem.outcome());
            noted.map_err(Problem::from).and(Err(problem))
        });
        let refused: Result<(), Problem> = kept.await;
        return refused.into_response();
    }
    if matches!(request.extensions().get(), Some(HasBody(true)))
        && let Err(problem) = own::media_type(&method, &path, request.headers())
    {
        return problem.into_response();
    }
    if role == Some(Role::Checker) {
        request = match passkeys::confirmed(&shared, &caller, request).await {
            Ok(request) => request,
            Err(problem) => return problem.into_response(),
        };
    }
    request.extensions_mut().insert(caller);
    next.run(request).await
}

/// The outcome of an action without a result, for the audit log.
fn done_or(ran: &Result<(), Problem>) -> Outcome {
    match ran {
        Ok(()) => Outcome::Done(String::new()),
        Err(problem) => problem.outcome(),
    }
}

/// Keep a component's answer from acting in a browser for an operator who has signed in: it sets no cookie of the host, and
/// runs no script on a page of this origin.
fn restrain(headers: &mut HeaderMap) {
    cookies::keep_own(headers);
    let sandbox = header::HeaderValue::from_static("sandbox");
    headers.append(header::CONTENT_SECURITY_POLICY, sandbox);
    let nosniff = header::HeaderValue::from_static("nosniff");
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, nosniff);
}

/// The metrics, for everybody. The names of destinations are only for readers, unless the operator's document
/// shows them to everybody.
async fn metrics(State(shared): Host, head: Parts) -> Response {
    let headers = &head.headers;
    let named = if headers.contains_key(header::AUTHORIZATION) {
        match caller_of(&shared, &Method::GET, &head.uri, headers) {
            Ok(caller) => caller.has(Role::Reader),
            Err(refusal) => {
                refusal.keep(&shared, &head);
                return refusal.into_response();
            }
        }
    } else {
        // A browser's session counts too; one that has ended is no hindrance.
        let session = caller_of(&shared, &Method::GET, &head.uri, headers);
        shared.open_metrics || session.is_ok_and(|caller| caller.has(Role::Reader))
    };
    let text = shared.metrics.render(named);
    let (media_type, text) = if wants_text_format(headers) {
        let media_type = "text/plain; version=0.0.4; charset=utf-8";
        (media_type, in_text_format(&text))
    } else {
        let media_type = "application/openmetrics-text; version=1.0.0; charset=utf-8";
        (media_type, text)
    };
    ([(header::CONTENT_TYPE, media_type)], text).into_response()
}

/// Whether the request wants metrics as plain text instead of OpenMetrics.
fn wants_text_format(headers: &HeaderMap) -> bool {
    let accepts = headers.get_all(header::ACCEPT).iter();
    let accepts = accepts.filter_map(|value| value.to_str().ok());
    let ranges = accepts.flat_map(|value| value.split(','));
    let types = ranges.map(|range| range.split(';').next().unwrap_or_default().trim());
    let wanted: Vec<&str> = types.collect();
    let has = |media_type: &str| wanted.iter().any(|w| w.eq_ignore_ascii_case(media_type));
    has("text/plain") && !has("application/openmetrics-text")
}

/// Run blocking code on a thread for that, with a permit. Waits until a permit is free.
async fn blocking<T: Send + 'static>(
    permits: &Arc<Semaphore>,
    run: impl FnOnce() -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    let internal = |error: String| Problem::new(Kind::Internal, error);
    let permit = permits.clone().acquire_owned().await;
    let permit = permit.map_err(|error| internal(error.to_string()))?;
    let ran = tokio::task::spawn_blocking(move || {
        // Held until it has run, also when the client is gone.
        let _permit = permit;
        run()
    });
    ran.await
        .unwrap_or_else(|error| Err(internal(error.to_string())))
}
