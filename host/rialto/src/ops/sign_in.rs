//! Sign-in and sign-out of people, by an OpenID provider or with a token.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Query, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use rialto_sign_in::{Authenticated, Failure, PENDING_SECONDS};
use rialto_store_sqlite::{CredentialKind, Outcome};
use serde::{Deserialize, Serialize};

use super::extractors::By;
use super::pages::Page;
use super::problem::{Kind, Problem};
use super::{Host, blocking, cookies, done_or};
use crate::audit::{Actor, AuditedAction, about};
use crate::credentials::Made;
use crate::host::Shared;
use crate::operators::{Caller, Shown};
use crate::sign_in::{Bounded, SignIn};
use crate::words::{instant, plain};

/// Where a browser goes after a sign-in that was not told where.
const HOME: &str = "/session";
/// The longest path to return to, in bytes.
const RETURN_BYTES_MAX: usize = 1024;
/// Seconds after which a browser may try again while the provider is away.
const RETRY_AFTER: HeaderValue = HeaderValue::from_static("5");

/// How long a session that is given for a token lasts at most, in milliseconds. Who has the token can have another one.
const TOKEN_SESSION_MS: u64 = 2 * 3_600_000;

/// Who the caller is.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ShownSession {
    /// The operator's name.
    pub operator: String,
    /// The person's name.
    pub person: String,
    /// The operator's roles, as far as they hold for this request.
    pub roles: Vec<String>,
    /// `file`, `token` or `session`.
    pub kind: String,
    /// The public name of the token or the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// When the token or the session ends; milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<u64>,
}

/// Begin a sign-in: lead the browser to the provider.
pub(super) async fn begin(State(shared): Host, uri: Uri) -> Response {
    let Some(sign_in) = &shared.sign_in else {
        return nobody_signs_in();
    };
    let Some(then) = local(&uri) else {
        let text = "The address to return to is not on this host. Start again without it.";
        return Page::new(StatusCode::BAD_REQUEST, "Not signed in", text)
            .sign_in("Sign in")
            .into_response();
    };
    let mut random = [0; 32];
    shared.access.fill(&mut random);
    let begun = sign_in.provider.begin(&random, seconds(&shared), &then);
    match begun.await {
        Ok(begun) => {
            let secure = sign_in.is_secure;
            let cookie = cookies::set(cookies::SIGN_IN, &begun.cookie, PENDING_SECONDS, secure);
            redirect(StatusCode::FOUND, &begun.location, vec![cookie])
        }
        Err(failure) => failed(&shared, sign_in, &failure),
    }
}

/// The path to return to: `/…` on this host. None if it is something else.
fn local(uri: &Uri) -> Option<String> {
    let Query(asked) = Query::<Vec<(String, String)>>::try_from_uri(uri).ok()?;
    let mut asked = asked.into_iter().filter(|(name, _)| name == "return");
    let Some((_, path)) = asked.next() else {
        return Some(HOME.to_owned());
    };
    let is_plain = |b: u8| b.is_ascii_graphic() && b != b'\\';
    let is_local = path.starts_with('/')
        && !path.starts_with("//")
        && path.len() <= RETURN_BYTES_MAX
        && path.bytes().all(is_plain)
        && asked.next().is_none();
    is_local.then_some(path)
}

/// The browser is back from the provider.
pub(super) async fn callback(State(shared): Host, uri: Uri, headers: HeaderMap) -> Response {
    let Some(sign_in) = &shared.sign_in else {
        return nobody_signs_in();
    };
    let cookie = cookies::read(&headers, cookies::SIGN_IN, sign_in.is_secure);
    let query = uri.query().unwrap_or_default();
    let finished = sign_in.provider.finish(cookie, query, seconds(&shared));
    match finished.await {
        Ok(authenticated) => match open_session(&shared, sign_in, authenticated).await {
            Ok(response) | Err(response) => response,
        },
        Err(failure) => {
            if matches!(failure, Failure::Refused(_) | Failure::Unproven(_)) {
                let words = failure.to_string();
                keep_refused(&shared, &sign_in.unproven, "somebody", &words).await;
            }
            failed(&shared, sign_in, &failure)
        }
    }
}

/// Open a session for the operator with this subject, and lead the browser to where it wanted to go.
async fn open_session(
    shared: &Arc<Shared>,
    sign_in: &SignIn,
    authenticated: Authenticated,
) -> Result<Response, Response> {
    let Authenticated { subject, then } = authenticated;
    let secure = sign_in.is_secure;
    let over = cookies::set(cookies::SIGN_IN, "", 0, secure);
    let Some(caller) = shared.access.operators().of_subject(&subject).cloned() else {
        let words = "no operator of rialto.toml has this subject";
        let who = format!("subject {}", plain(&subject));
        keep_refused(shared, &sign_in.unknown, &who, words).await;
        let text = "The provider knows you. This host does not have you as an operator.";
        let page = Page::new(StatusCode::FORBIDDEN, "You are no operator here", text)
            .paragraph("Ask an administrator of this host to add you, if you should be one.")
            .sign_in("Sign in as somebody else");
        return Err(with_cookies(page.into_response(), vec![over]));
    };
    let expires = shared.access.now() + sign_in.session_ms;
    let host = shared.clone();
    let made = blocking(&shared.changes, move || {
        let who = Actor::from(&caller);
        let audited = AuditedAction::new("sign-in", &caller.name);
        let outcome = |made: &Result<Made, Problem>| match made {
            Ok((session, _)) => Outcome::Done(about(session)),
            Err(problem) => problem.outcome(),
        };
        let make = || {
            let kind = CredentialKind::Session;
            Ok(host.access.make(kind, &caller, "", None, expires)?)
        };
        host.audit.keep(&who, &audited, outcome, make)
    });
    let (_, secret) = made.await.map_err(IntoResponse::into_response)?;
    let session = cookies::set(cookies::SESSION, &secret, sign_in.session_ms / 1000, secure);
    Ok(redirect(StatusCode::SEE_OTHER, &then, vec![session, over]))
}

/// Keep a refused sign-in in the audit log, unless there were too many of them.
async fn keep_refused(shared: &Arc<Shared>, bounded: &Bounded, who: &str, why: &str) {
    let Some(left_out) = bounded.next(shared.access.now()) else {
        return;
    };
    let why = match left_out {
        0 => why.to_owned(),
        more => format!("{why}; {more} more since the entry before this one are not here"),
    };
    let (host, about) = (shared.clone(), who.to_owned());
    let kept = blocking(&shared.changes, move || {
        let who = Actor {
            // Not an operator's name, because those have no blanks.
            person: "nobody who is known".into(),
            operator: "".into(),
            credential: "".into(),
        };
        let audited = AuditedAction::new("sign-in", &about);
        Ok(host.audit.note(&who, &audited, Outcome::Refused(why))?)
    });
    if let Err(problem) = kept.await {
        tracing::error!(
            ?problem,
            "a refused sign-in could not be stored in the audit trail"
        );
    }
}

/// Who the caller is: a page for browsers, and JSON for programs.
pub(super) async fn session(headers: HeaderMap, By(caller): By) -> Response {
    let session = shown(&caller);
    let mut response = if wants_page(&headers) {
        page_of(&session)
    } else {
        Json(session).into_response()
    };
    let headers = response.headers_mut();
    headers.insert(header::VARY, HeaderValue::from_static("Accept, Cookie"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

fn shown(caller: &Caller) -> ShownSession {
    let expiring = caller.shown.expiring();
    ShownSession {
        operator: caller.name.to_string(),
        person: caller.person.to_string(),
        roles: caller.roles.iter().map(|r| r.name().to_owned()).collect(),
        kind: caller.shown.kind().to_owned(),
        id: expiring.map(|expiring| expiring.id.to_string()),
        expires: expiring.map(|expiring| expiring.expires.0),
    }
}

fn page_of(session: &ShownSession) -> Response {
    let roles = session.roles.join(", ");
    let until = session.expires.map(instant);
    let mut rows = vec![
        ("Operator", session.operator.as_str()),
        ("Person", &session.person),
        ("Roles", &roles),
    ];
    if let Some(until) = &until {
        rows.push(("Until", until));
    }
    let page = Page::new(StatusCode::OK, "You are signed in", "").rows(&rows);
    if session.kind == "session" {
        page.sign_out().into_response()
    } else {
        page.into_response()
    }
}

/// Give a browser a session for the token that it shows, so that no page has to keep the token. A page of another origin cannot
/// show one: a browser asks the host before it sends `Authorization` to another origin, and the host allows no origin.
pub(super) async fn exchange(State(shared): Host, By(caller): By) -> Result<Response, Problem> {
    if matches!(caller.shown, Shown::Session(_)) {
        let detail = "a session makes no session: show a token, `Authorization: Bearer …`";
        return Err(Problem::new(Kind::SessionBySession, detail));
    }
    let configured = shared.sign_in.as_ref().map(|sign_in| sign_in.session_ms);
    let lasts = configured.map_or(TOKEN_SESSION_MS, |ms| ms.min(TOKEN_SESSION_MS));
    let (host, who) = (shared.clone(), caller.clone());
    let made = blocking(&shared.changes, move || {
        let audited = AuditedAction::new("sign-in", &who.name);
        let outcome = |made: &Result<Made, Problem>| match made {
            Ok((session, _)) => Outcome::Done(about(session)),
            Err(problem) => problem.outcome(),
        };
        let make = || Ok(host.access.exchange(&who, host.access.now() + lasts)?);
        host.audit.keep(&Actor::from(&who), &audited, outcome, make)
    });
    let (session, secret) = made.await?;
    let is_secure = shared.browsers.is_secure;
    let seconds = session.expires.0.saturating_sub(shared.access.now().0) / 1000;
    let sites = (is_secure, cookies::Sites::Strict);
    let cookie = cookies::set_for(cookies::SESSION, &secret, seconds, sites);
    let Some(given) = shared.access.caller(&session) else {
        return Err(Problem::new(
            Kind::Unauthorized,
            "the session has ended already",
        ));
    };
    let mut response = (StatusCode::CREATED, Json(shown(&given))).into_response();
    let no_store = HeaderValue::from_static("no-store");
    response
        .headers_mut()
        .insert(header::CACHE_CONTROL, no_store);
    Ok(with_cookies(response, vec![cookie]))
}

/// End the session of the browser that asks.
pub(super) async fn sign_out(
    State(shared): Host,
    headers: HeaderMap,
    By(caller): By,
) -> Result<Response, Problem> {
    let Shown::Session(session) = &caller.shown else {
        let detail = "a token is not a session; end a personal token with `DELETE /tokens/{id}`";
        return Err(Problem::new(Kind::NoSession, detail));
    };
    let (host, who, id) = (shared.clone(), Actor::from(&caller), session.id.clone());
    blocking(&shared.changes, move || {
        let Some(session) = host.access.credential(&id) else {
            return Ok(()); // it has ended meanwhile
        };
        let about = about(&session);
        let audited = AuditedAction::new("sign-out", &about);
        let end = || Ok(host.access.end(&session)?);
        host.audit.keep(&who, &audited, done_or, end)
    })
    .await?;
    let is_secure = shared.browsers.is_secure;
    let over = vec![cookies::set(cookies::SESSION, "", 0, is_secure)];
    let response = if wants_page(&headers) {
        let text = "Your session at this host has ended. The provider may still know you.";
        Page::new(StatusCode::OK, "You are signed out", text)
            .sign_in("Sign in again")
            .into_response()
    } else {
        StatusCode::NO_CONTENT.into_response()
    };
    Ok(with_cookies(response, over))
}

/// Whether a request is a browser's, for a page.
pub(super) fn wants_page(headers: &HeaderMap) -> bool {
    let accepts = headers.get_all(header::ACCEPT).iter();
    let mut accepts = accepts.filter_map(|value| value.to_str().ok());
    accepts.any(|value| value.to_ascii_lowercase().contains("text/html"))
}

/// The page of a sign-in that did not succeed. It says nothing of the reason that only the log has.
fn failed(shared: &Shared, sign_in: &SignIn, failure: &Failure) -> Response {
    if let Failure::Foreign(_) = failure {
        tracing::debug!(%failure, "nobody signed in");
    } else if let Some(left_out) = sign_in.logged.next(shared.access.now()) {
        tracing::warn!(%failure, left_out, "nobody signed in");
    }
    let title = "Not signed in";
    let page = match failure {
        Failure::Away(_) => {
            let text = "The provider does not answer. Try again in a moment.";
            let page = Page::new(StatusCode::SERVICE_UNAVAILABLE, title, text);
            let mut response = page.sign_in("Try again").into_response();
            response
                .headers_mut()
                .insert(header::RETRY_AFTER, RETRY_AFTER);
            return response;
        }
        Failure::Foreign(_) => {
            let text = "This browser has not begun this sign-in, or it took too long.";
            Page::new(StatusCode::BAD_REQUEST, title, text)
        }
        Failure::Refused(_) => {
            let text = "The provider did not sign you in.";
            Page::new(StatusCode::FORBIDDEN, title, text)
        }
        Failure::Unproven(_) => {
            let text = "This host does not accept what the provider says of you. Its log says why.";
            Page::new(StatusCode::FORBIDDEN, title, text)
        }
    };
    page.sign_in("Start again").into_response()
}

/// Lead a browser to a sign-in, and then to a path of this host.
pub(super) fn sign_in_for(path: &str) -> Response {
    let then = utf8_percent_encode(path, NON_ALPHANUMERIC);
    let to = format!("/sign-in?return={then}");
    redirect(StatusCode::SEE_OTHER, &to, Vec::new())
}

fn nobody_signs_in() -> Response {
    let text = "Operators of this host have tokens in files: rialto.toml has no [sign-in].";
    Page::new(StatusCode::NOT_FOUND, "Nobody signs in here", text).into_response()
}

fn redirect(status: StatusCode, to: &str, cookies: Vec<HeaderValue>) -> Response {
    let mut response = with_cookies(status.into_response(), cookies);
    let headers = response.headers_mut();
    match HeaderValue::from_str(to) {
        Ok(location) => headers.insert(header::LOCATION, location),
        // Both URLs are of visible ASCII.
        Err(_) => return StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    };
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    let policy = HeaderValue::from_static("same-origin");
    headers.insert(header::REFERRER_POLICY, policy);
    response
}

fn with_cookies(mut response: Response, cookies: Vec<HeaderValue>) -> Response {
    for cookie in cookies {
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
    response
}

/// Seconds since 1970.
fn seconds(shared: &Shared) -> u64 {
    shared.access.now().0 / 1000
}
