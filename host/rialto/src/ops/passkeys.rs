//! Passkeys, and confirmations of requests with them.

use axum::Json;
use axum::body::{Body as Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use rialto_edge::confirmation::{Approval, CONFIRMATION, Confirmations as _};
use rialto_manifest::operator::Role;
use rialto_store_sqlite::{Outcome, Passkey};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::extractors::{At, Body, By};
use super::problem::{Kind, Problem};
use super::sign_in::wants_page;
use super::{Host, blocking, passkey_pages};
use crate::audit::{Actor, AuditedAction};
use crate::host::Shared;
use crate::operators::Caller;
use crate::passkeys::confirmations::{Request as Wanted, View};
use crate::passkeys::{Begun, Passkeys};

/// The longest body of a request of the host's own API that must be confirmed, in bytes.
const BODY_BYTES_MAX: usize = 64 << 10;

/// A registration or a confirmation that was begun.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ShownBegun {
    /// The id with which it is finished.
    pub id: String,
    /// Options for the browser's `navigator.credentials`.
    pub public_key: Value,
    /// When its time is over; milliseconds since 1970.
    pub expires: u64,
    /// The page where a person confirms; none of a registration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page: Option<String>,
}

/// A registration that is finished.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewPasskey {
    id: String,
    label: String,
    credential: Value,
}

/// A passkey.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ShownPasskey {
    /// Its public name.
    pub id: String,
    /// Whose it is.
    pub person: String,
    /// What its owner calls it.
    pub label: String,
    /// `WAITING` for an approval, `APPROVED` or `ENDED`.
    pub state: String,
    /// Whether it may be copied to its owner's other devices.
    pub is_backup_eligible: bool,
    /// When it was registered; milliseconds since 1970.
    pub registered: u64,
    /// Who has approved it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approved_by: Option<String>,
    /// When it was approved; milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approved: Option<u64>,
    /// Who has ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_by: Option<String>,
    /// When it was ended; milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<u64>,
    /// When it was last used; milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used: Option<u64>,
}

/// A request that is to be confirmed.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Confirming {
    /// Its method.
    pub method: String,
    /// Its path and query.
    pub target: String,
    /// Its body, octet by octet as it is sent.
    #[serde(default)]
    pub body: String,
}

/// A confirmation.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ShownConfirmation {
    /// Its id.
    pub id: String,
    /// `WAITING` for the passkey, or `CONFIRMED`.
    pub state: String,
    /// What is confirmed.
    #[serde(flatten)]
    pub request: Confirming,
    /// When its time is over; milliseconds since 1970.
    pub expires: u64,
}

/// The browser's response to the options.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Responded {
    credential: Value,
}

/// The passkeys, which `rialto.toml` may not have.
fn passkeys(shared: &Shared) -> Result<&Passkeys, Problem> {
    let detail = "rialto.toml has no [passkeys]: an approval needs no confirmation";
    let passkeys = shared.passkeys.as_deref();
    passkeys.ok_or_else(|| Problem::new(Kind::PasskeysNotSet, detail))
}

/// The caller's own; all of them for the roles `checker` and `admin`. A page for browsers, and JSON for programs.
pub(super) async fn list(
    State(shared): Host,
    headers: HeaderMap,
    By(caller): By,
) -> Result<Response, Problem> {
    let all = passkeys(&shared)?.all();
    let visible = all.iter().filter(|one| sees(&caller, one));
    let visible: Vec<ShownPasskey> = visible.map(|one| shown(one)).collect();
    Ok(paged(
        &headers,
        || passkey_pages::list(&caller, &visible),
        &visible,
    ))
}

/// Begin to register a passkey.
pub(super) async fn begin_registration(
    State(shared): Host,
    By(caller): By,
) -> Result<Response, Problem> {
    let passkeys = passkeys(&shared)?;
    registers(&caller)?;
    let begun = passkeys.begin_registration(&caller)?;
    Ok(created(&shown_begun(begun, None)))
}

/// Finish the registration of a passkey.
pub(super) async fn register(
    State(shared): Host,
    By(caller): By,
    Body(wanted): Body<NewPasskey>,
) -> Result<Response, Problem> {
    registers(&caller)?;
    if wanted.label.trim().is_empty() || wanted.label.chars().any(char::is_control) {
        let detail = "body /label: is blank, or has a control character";
        return Err(Problem::new(Kind::Malformed, detail));
    }
    let host = shared.clone();
    let made = blocking(&shared.changes, move || {
        let passkeys = passkeys(&host)?;
        let NewPasskey {
            id,
            label,
            credential,
        } = &wanted;
        audited(&host, &caller, "passkey-register", label, || {
            Ok(passkeys.register(&caller, id, label, &credential.to_string())?)
        })
    });
    Ok(created(&shown(&*made.await?)))
}

/// A personal token is for scripts: it registers nothing by which a person confirms.
fn registers(caller: &Caller) -> Result<(), Problem> {
    if caller.is_of_token() {
        let detail = "a personal token registers no passkeys: sign in";
        return Err(Problem::new(Kind::PasskeyByToken, detail));
    }
    Ok(())
}

/// Approve the passkey of another person.
pub(super) async fn approve(
    State(shared): Host,
    By(caller): By,
    At(id): At<String>,
) -> Result<Json<ShownPasskey>, Problem> {
    let host = shared.clone();
    let approved = blocking(&shared.changes, move || {
        let passkeys = passkeys(&host)?;
        let all = passkeys.all();
        let found = all.iter().find(|one| one.id == id);
        let about = found.map_or_else(|| id.clone(), |one| about(one));
        audited(&host, &caller, "passkey-approve", &about, || {
            Ok(passkeys.approve(&caller, &id)?)
        })
    });
    Ok(Json(shown(&*approved.await?)))
}

/// End a passkey at once.
pub(super) async fn end(
    State(shared): Host,
    By(caller): By,
    At(id): At<String>,
) -> Result<StatusCode, Problem> {
    let host = shared.clone();
    blocking(&shared.changes, move || {
        let passkeys = passkeys(&host)?;
        let all = passkeys.all();
        let mut visible = all.iter().filter(|one| sees(&caller, one));
        let found = visible.find(|one| one.id == id);
        let Some(found) = found else {
            let detail = format!("there is no passkey `{id}` that you may end");
            return Err(Problem::new(Kind::PasskeyUnknown, detail));
        };
        audited(&host, &caller, "passkey-end", &about(found), || {
            Ok(passkeys.end(&caller, &id)?)
        })
    })
    .await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Begin to confirm a request.
pub(super) async fn begin_confirmation(
    State(shared): Host,
    By(caller): By,
    Body(wanted): Body<Confirming>,
) -> Result<Response, Problem> {
    let passkeys = passkeys(&shared)?;
    let request = Wanted {
        method: wanted.method,
        target: wanted.target,
        body: wanted.body,
    };
    let begun = passkeys.begin_confirmation(&caller, request)?;
    let page = format!("{}/confirmations/{}", passkeys.origin(), begun.id);
    Ok(created(&shown_begun(begun, Some(page))))
}

/// A confirmation of the caller: a page for browsers, and JSON for programs.
pub(super) async fn confirmation(
    State(shared): Host,
    headers: HeaderMap,
    By(caller): By,
    At(id): At<String>,
) -> Result<Response, Problem> {
    let found = passkeys(&shared)?.confirmation(&caller, &id);
    let view = match found {
        Err(refused) if wants_page(&headers) => {
            return Ok(passkey_pages::nothing_waits(&refused.to_string()).into_response());
        }
        other => other?,
    };
    let shown = shown_confirmation(id, &view);
    let page = || passkey_pages::confirmation(&caller, &shown, view.public_key.as_ref());
    Ok(paged(&headers, page, &shown))
}

/// Confirm a request by the browser's response.
pub(super) async fn confirm(
    State(shared): Host,
    By(caller): By,
    At(id): At<String>,
    Body(responded): Body<Responded>,
) -> Result<Json<ShownConfirmation>, Problem> {
    let host = shared.clone();
    let confirmed = blocking(&shared.changes, move || {
        let passkeys = passkeys(&host)?;
        let request = passkeys.confirmation(&caller, &id)?.request;
        let about = format!("{} {}", request.method, request.target);
        audited(&host, &caller, "confirm", &about, || {
            passkeys.confirm(&caller, &id, &responded.credential.to_string())?;
            Ok(passkeys.confirmation(&caller, &id)?)
        })
        .map(|view| shown_confirmation(id, &view))
    });
    Ok(Json(confirmed.await?))
}

/// Check that a request to the host's own API was confirmed, if an approval needs that.
///
/// # Errors
/// The problem.
pub(super) async fn confirmed(
    shared: &Shared,
    caller: &Caller,
    request: Request,
) -> Result<Request, Problem> {
    let Some(passkeys) = shared.passkeys.as_deref() else {
        return Ok(request);
    };
    let (head, body) = request.into_parts();
    let body = to_bytes(body, BODY_BYTES_MAX).await.map_err(|error| {
        let detail = format!("the body could not be read, or is too long: {error}");
        Problem::new(Kind::TooLarge, detail)
    })?;
    let mut named = head.headers.get_all(CONFIRMATION).iter();
    let only = named.next().filter(|_| named.next().is_none());
    let target = head.uri.path_and_query();
    let taken = passkeys.take(Approval {
        person: &caller.person,
        confirmation: only.and_then(|value| value.to_str().ok()),
        method: head.method.as_str(),
        target: target.map_or("", |target| target.as_str()),
        body: &body,
    });
    taken.map_err(|why| Problem::new(Kind::ConfirmationRequired, why.to_string()))?;
    Ok(Request::from_parts(head, Bytes::from(body)))
}

/// Do something, with an entry in the audit log.
fn audited<T>(
    shared: &Shared,
    caller: &Caller,
    action: &str,
    about: &str,
    run: impl FnOnce() -> Result<T, Problem>,
) -> Result<T, Problem> {
    let audited = AuditedAction::new(action, about);
    let outcome = |ran: &Result<T, Problem>| match ran {
        Ok(_) => Outcome::Done(String::new()),
        Err(problem) => problem.outcome(),
    };
    shared
        .audit
        .keep(&Actor::from(caller), &audited, outcome, run)
}

/// Whether the caller may see a passkey, and end it.
fn sees(caller: &Caller, passkey: &Passkey) -> bool {
    *passkey.person == *caller.person || caller.has(Role::Checker) || caller.has(Role::Admin)
}

fn about(passkey: &Passkey) -> String {
    format!("{} of {}: {}", passkey.id, passkey.person, passkey.label)
}

fn shown(passkey: &Passkey) -> ShownPasskey {
    let state = match (&passkey.approved, &passkey.ended) {
        (_, Some(_)) => "ENDED",
        (Some(_), None) => "APPROVED",
        (None, None) => "WAITING",
    };
    let (approved, ended) = (passkey.approved.clone(), passkey.ended.clone());
    let (approved_by, approved) = approved.map(|act| (act.by, act.at.0)).unzip();
    let (ended_by, ended) = ended.map(|act| (act.by, act.at.0)).unzip();
    ShownPasskey {
        id: passkey.id.clone(),
        person: passkey.person.clone(),
        label: passkey.label.clone(),
        state: state.to_owned(),
        is_backup_eligible: passkey.is_backup_eligible,
        registered: passkey.registered.0,
        approved_by,
        approved,
        ended_by,
        ended,
        used: passkey.used.map(|used| used.0),
    }
}

fn shown_begun(begun: Begun, page: Option<String>) -> ShownBegun {
    ShownBegun {
        id: begun.id,
        public_key: begun.public_key,
        expires: begun.expires.0,
        page,
    }
}

fn shown_confirmation(id: String, view: &View) -> ShownConfirmation {
    let state = if view.is_confirmed {
        "CONFIRMED"
    } else {
        "WAITING"
    };
    let Wanted {
        method,
        target,
        body,
    } = view.request.clone();
    ShownConfirmation {
        id,
        state: state.to_owned(),
        request: Confirming {
            method,
            target,
            body,
        },
        expires: view.expires.0,
    }
}

fn created(what: &impl Serialize) -> Response {
    let mut response = (StatusCode::CREATED, Json(what)).into_response();
    not_stored(&mut response);
    response
}

/// A page for browsers, and JSON for programs.
fn paged<P: IntoResponse>(
    headers: &HeaderMap,
    page: impl FnOnce() -> P,
    json: &impl Serialize,
) -> Response {
    let mut response = if wants_page(headers) {
        page().into_response()
    } else {
        Json(json).into_response()
    };
    let vary = HeaderValue::from_static("Accept, Cookie");
    response.headers_mut().insert(header::VARY, vary);
    not_stored(&mut response);
    response
}

fn not_stored(response: &mut Response) {
    let no_store = HeaderValue::from_static("no-store");
    response
        .headers_mut()
        .insert(header::CACHE_CONTROL, no_store);
}
