//! Who sends a request to the operators' listener.
//!
//! A request with `Authorization` is judged by that alone. Otherwise the cookie of a session counts. A browser sends it
//! with every page's requests, so a request that may change something must come from a page of this host.

use axum::extract::Request;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, Method, header};
use axum::response::{IntoResponse, Response};

use rialto_components::denials::Denials as _;
use rialto_edge::denied;

use super::cookies;
use super::problem::{Kind, Problem};
use super::sign_in::{sign_in_for, wants_page};
use crate::host::Shared;
use crate::operators::Caller;
use crate::sign_in::SignIn;

/// Where a browser says what kind of page sends a request.
const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

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
    headers: &HeaderMap,
) -> Result<Caller, NoCaller> {
    if headers.contains_key(header::AUTHORIZATION) {
        let shown = only(headers, &header::AUTHORIZATION);
        return shared.access.caller_of(shown).ok_or(NoCaller::Unknown);
    }
    let sign_in = shared.sign_in.as_ref().ok_or(NoCaller::Unknown)?;
    let secret = session(sign_in, headers).ok_or(NoCaller::Unknown)?;
    let caller = shared.access.caller_of_session(secret);
    let caller = caller.ok_or(NoCaller::Unknown)?;
    let is_safe = [Method::GET, Method::HEAD, Method::OPTIONS].contains(method);
    if is_safe || is_of_this_origin(headers, &sign_in.address) {
        Ok(caller)
    } else {
        Err(NoCaller::Foreign)
    }
}

/// The secret of the session that a request has.
fn session<'h>(sign_in: &SignIn, headers: &'h HeaderMap) -> Option<&'h str> {
    cookies::read(headers, cookies::SESSION, sign_in.is_secure)
}

/// The value of a header that occurs once.
fn only<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Option<&'h str> {
    let mut given = headers.get_all(name).iter();
    let only = given.next().filter(|_| given.next().is_none());
    only.and_then(|value| value.to_str().ok())
}

/// Whether the browser says that a page of this origin sends the request. `Origin` counts if it is there.
fn is_of_this_origin(headers: &HeaderMap, address: &str) -> bool {
    if headers.contains_key(header::ORIGIN) {
        only(headers, &header::ORIGIN) == Some(address)
    } else {
        only(headers, &FETCH_SITE) == Some("same-origin")
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
                let detail = "with a session, send `Origin` with the address of [sign-in] in rialto.toml: a page of another origin may have sent this";
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

    use super::*;

    #[test]
    fn origin_counts_before_the_kind_of_page() {
        let is_ours = |headers: &[(&'static str, &'static str)]| {
            let pairs = headers.iter().map(|(name, value)| {
                let value = header::HeaderValue::from_static(value);
                (HeaderName::from_static(name), value)
            });
            is_of_this_origin(&pairs.collect(), "https://hub.example")
        };
        let ours = ("origin", "https://hub.example");
        let same = ("sec-fetch-site", "same-origin");
        assert!(is_ours(&[ours]));
        assert!(is_ours(&[same]));
        assert!(is_ours(&[ours, ("sec-fetch-site", "cross-site")]));
        for other in [
            "null",
            "",
            "http://hub.example",
            "https://hub.example:444",
            "https://hub.example.other",
            "https://other.example",
        ] {
            assert!(!is_ours(&[("origin", other)]), "{other}");
            assert!(!is_ours(&[("origin", other), same]), "{other}");
        }
        for site in ["same-site", "cross-site", "none"] {
            assert!(!is_ours(&[("sec-fetch-site", site)]), "{site}");
        }
        assert!(!is_ours(&[]));
    }
}
