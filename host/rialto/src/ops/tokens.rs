//! Personal tokens and sessions: make, list and end them.

use std::collections::BTreeSet;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use rialto_engine::Timestamp;
use rialto_manifest::operator::Role;
use rialto_store_sqlite::{Credential, CredentialKind, Outcome};
use serde::{Deserialize, Serialize};

use super::extractors::{At, Body, By};
use super::problem::{Kind, Problem};
use super::{Host, blocking, done_or};
use crate::audit::{Actor, AuditedAction, about};
use crate::credentials::Made;
use crate::host::Shared;
use crate::operators::Caller;

/// A day, in milliseconds.
const DAY: u64 = 86_400_000;
/// How long a token holds if its maker does not say it.
const LIFETIME: u64 = 90 * DAY;
/// The longest that a token holds.
const LIFETIME_MAX: u64 = 366 * DAY;

/// A personal token that is wanted.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct NewToken {
    /// What it is for.
    pub label: String,
    /// Its roles, some of the operator's; none for all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub roles: Option<BTreeSet<Role>>,
    /// When it ends; milliseconds since 1970. None for 90 days from now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<u64>,
}

/// A session or a personal token.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ShownCredential {
    /// Its public name.
    pub id: String,
    /// `session` or `token`.
    pub kind: String,
    /// The operator.
    pub operator: String,
    /// The operator's person.
    pub person: String,
    /// What it is for, in its maker's words; empty for a session.
    pub label: String,
    /// The roles that it has now.
    pub roles: Vec<String>,
    /// When it was made; milliseconds since 1970.
    pub made: u64,
    /// When it ends; milliseconds since 1970.
    pub expires: u64,
}

/// A new personal token, with its secret.
#[derive(Serialize, Deserialize)]
pub struct MadeToken {
    /// The token as it is sent: it is shown only now.
    pub token: String,
    /// The rest.
    #[serde(flatten)]
    pub shown: ShownCredential,
}

/// The caller's own; all of them for the role `admin`.
pub(super) async fn list(State(shared): Host, By(caller): By) -> Json<Vec<ShownCredential>> {
    let all = shared.access.credentials();
    let visible = all.iter().filter(|one| sees(&caller, one));
    Json(visible.map(|one| shown(&shared, one)).collect())
}

/// Make a personal token.
pub(super) async fn make(
    State(shared): Host,
    By(caller): By,
    Body(wanted): Body<NewToken>,
) -> Result<Response, Problem> {
    if caller.is_of_token() {
        let detail =
            "a personal token makes no tokens: sign in, or use the operator's token in a file";
        return Err(Problem::new(Kind::TokenByToken, detail));
    }
    let expires = expires(shared.access.now(), wanted.expires)?;
    has_roles(&caller, wanted.roles.as_ref())?;
    if wanted.label.chars().any(char::is_control) {
        let detail = "body /label: has a control character";
        return Err(Problem::new(Kind::Malformed, detail));
    }
    let host = shared.clone();
    let (credential, token) = blocking(&shared.changes, move || {
        let who = Actor::from(&caller);
        let (label, roles) = (wanted.label.as_str(), wanted.roles.as_ref());
        let audited = AuditedAction::new("token-new", label);
        let outcome = |made: &Result<Made, Problem>| match made {
            Ok((token, _)) => Outcome::Done(about(token)),
            Err(problem) => problem.outcome(),
        };
        let make = || {
            let kind = CredentialKind::Token;
            Ok(host.access.make(kind, &caller, label, roles, expires)?)
        };
        host.audit.keep(&who, &audited, outcome, make)
    })
    .await?;
    let made = MadeToken {
        token,
        shown: shown(&shared, &credential),
    };
    let mut response = (StatusCode::CREATED, Json(made)).into_response();
    let no_store = HeaderValue::from_static("no-store");
    response
        .headers_mut()
        .insert(header::CACHE_CONTROL, no_store);
    Ok(response)
}

/// When a new token ends.
fn expires(now: Timestamp, wanted: Option<u64>) -> Result<Timestamp, Problem> {
    let expires = wanted.map_or(now + LIFETIME, Timestamp);
    if expires <= now || expires > now + LIFETIME_MAX {
        let detail = "body /expires: is in the past, or more than 366 days from now";
        return Err(Problem::new(Kind::Malformed, detail));
    }
    Ok(expires)
}

/// A token has no role that its maker has not.
fn has_roles(caller: &Caller, wanted: Option<&BTreeSet<Role>>) -> Result<(), Problem> {
    let mut wanted = wanted.into_iter().flatten();
    match wanted.find(|role| !caller.has(**role)) {
        None => Ok(()),
        Some(role) => {
            let (name, role) = (&caller.name, role.name());
            let detail = format!("the operator `{name}` has no role `{role}` to give to a token");
            Err(Problem::new(Kind::RoleMissing, detail))
        }
    }
}

/// End a session or a personal token at once.
pub(super) async fn end(
    State(shared): Host,
    By(caller): By,
    At(id): At<String>,
) -> Result<StatusCode, Problem> {
    let host = shared.clone();
    blocking(&shared.changes, move || {
        let found = host.access.credential(&id);
        let Some(credential) = found.filter(|one| sees(&caller, one)) else {
            let detail = format!(
                "the operator `{}` has no session or token of this id",
                caller.name
            );
            return Err(Problem::new(Kind::TokenUnknown, detail));
        };
        let (who, about) = (Actor::from(&caller), about(&credential));
        let audited = AuditedAction::new("token-end", &about);
        let end = || {
            let ended = host.access.end(&credential);
            ended.map_err(|error| {
                let detail = format!("it has ended, and may be back after a restart: {error}");
                Problem::new(Kind::Store, detail)
            })
        };
        host.audit.keep(&who, &audited, done_or, end)
    })
    .await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Whether the caller may see a credential, and end it.
fn sees(caller: &Caller, credential: &Credential) -> bool {
    *credential.operator == *caller.name || caller.has(Role::Admin)
}

fn shown(shared: &Shared, credential: &Credential) -> ShownCredential {
    let caller = shared.access.caller(credential);
    let roles = caller.map(|caller| caller.roles).unwrap_or_default();
    ShownCredential {
        id: credential.id.clone(),
        kind: credential.kind.word().to_owned(),
        operator: credential.operator.clone(),
        person: credential.person.clone(),
        label: credential.label.clone(),
        roles: roles.iter().map(|role| role.name().to_owned()).collect(),
        made: credential.made.0,
        expires: credential.expires.0,
    }
}
