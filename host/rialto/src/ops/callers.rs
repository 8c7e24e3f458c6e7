//! Who sends a request to the operators' listener.
//!
//! A request with `Authorization` is judged by that alone. Otherwise the cookie of a session counts. A browser sends it
//! with every page's requests, so a request that may change something must come from a page of this host.

use axum::extract::Request;
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, Uri, header};
use axum::response::{IntoResponse, Response};

use rialto_components::denials::Denials as _;
use rialto_edge::denied;

use super::cookies;
use super::problem::{Kind, Problem};
use super::sign_in::{sign_in_for, wants_page};
use crate::browsers::only;
use crate::host::Shared;
use crate::operators::Caller;

/// The answer to a request of which no operator is known.
pub(super) enum NoCaller {
    /// It shows nothing that counts.
    Unknown,
    /// It has a session, and a page of another origin may have sent it.
    Foreign,
}

/// The caller of a request.
pub(super) fn caller_of(
    shared: &Shared,
    method: &Method,
    uri: &Uri,
    headers: &HeaderMap,
) -> Result<Caller, NoCaller> {
    if headers.contains_key(header::AUTHORIZATION) {
        let shown = only(headers, &header::AUTHORIZATION);
        return shared.access.caller_of(shown).ok_or(NoCaller::Unknown);
    }
    let browsers = &shared.browsers;
    let secret = cookies::read(headers, cookies::SESSION, browsers.is_secure);
    let caller = secret.and_then(|secret| shared.access.caller_of_session(secret));
    let caller = caller.ok_or(NoCaller::Unknown)?;
    let is_safe = [Method::GET, Method::HEAD, Method::OPTIONS].contains(method);
    if is_safe || browsers.is_own_page(uri, headers) {
        Ok(caller)
    } else {
        Err(NoCaller::Foreign)
    }
}

impl NoCaller {
    /// Keep for the audit log that a request was refused. Not if it only leads to a sign-in.
    pub fn keep(&self, shared: &Shared, head: &Parts) {
        let why = match self {
            Self::Unknown => "no operator's token or session",
            Self::Foreign => "a session, and a page of another origin may have sent it",
        };
        let client = denied::client_of(head);
        let denial = denied::unproven(
            &client,
            denied::about(&head.method, head.uri.path(), None),
            why.to_owned(),
        );
        shared.denials.keep(denial);
    }

    /// The answer to a request that may be a browser's for a page: that leads to a sign-in, and back.
    pub fn of_page(self, shared: &Shared, request: Request) -> Response {
        let is_page = matches!(self, Self::Unknown)
            && request.method() == Method::GET
            && shared.sign_in.is_some()
            && wants_page(request.headers());
        if is_page {
            return sign_in_for(request.uri().path());
        }
        let (head, _) = request.into_parts();
        self.keep(shared, &head);
        self.into_response()
    }
}

impl IntoResponse for NoCaller {
    fn into_response(self) -> Response {
        let detail = match self {
            Self::Unknown => {
                "show a token of the store's folder, `operator.token` or `operators/NAME.token`, or a personal one: `Authorization: Bearer …`; or sign in at `/sign-in`, if rialto.toml has [sign-in]"
            }
            Self::Foreign => {
                let detail = "with a session, send `Origin` with the address of this host: that of [sign-in] in rialto.toml, or else the one that the request is sent to. A page of another origin may have sent this";
                return Problem::new(Kind::ForeignOrigin, detail).into_response();
            }
        };
        let mut refused = Problem::new(Kind::Unauthorized, detail).into_response();
        refused.headers_mut().insert(
            header::WWW_AUTHENTICATE,
            header::HeaderValue::from_static("Bearer"),
        );
        refused
    }
}
