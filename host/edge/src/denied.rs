//! Refusals of requests whose sender has not proven who they are, or may not do what they want, for the audit log.

use std::io;

use http::Method;
use http::request::Parts;
use rialto_components::denials::{ActorKind, Denial, Denials};
use rialto_components::http as wit;

use crate::authentication::RefusalStatus;
use crate::peers::{Client, PeerAddress};
use crate::spans::trace_of;

/// The action of who has not proven who they are.
pub const AUTHENTICATION: &str = "authentication.refused";
/// The action of who may not do what they want.
pub const AUTHORIZATION: &str = "authorization.refused";
/// The action of who has named a confirmation that does not hold.
const CONFIRMATION: &str = "confirmation.refused";
/// The action of who may not send from an address.
const ADDRESS: &str = "address.refused";
/// Who refuses.
const HOST: &str = "host";
/// What is wanted by who connects.
const HANDSHAKE: &str = "TLS handshake";

/// A client that has not proven who it is.
#[must_use]
pub fn unproven(client: &Client, about: String, why: String) -> Denial {
    Denial {
        action: AUTHENTICATION.to_owned(),
        kind: ActorKind::Client,
        source: client.0.to_string(),
        about,
        why,
        writer: HOST.to_owned(),
        trace: String::new(),
    }
}

/// An operator who may not do what they want.
#[must_use]
pub fn not_allowed(operator: &str, about: String, why: String) -> Denial {
    Denial {
        action: AUTHORIZATION.to_owned(),
        kind: ActorKind::Operator,
        source: operator.to_owned(),
        about,
        why,
        writer: HOST.to_owned(),
        trace: String::new(),
    }
}

/// What a request wants: the method, and the path as the API's document has it, such as `/parties/{Type}/{ID}`. What stands
/// for the names in braces may be a person's number, and the audit log keeps it for ever. Of a path that no document has, only
/// the beginning.
#[must_use]
pub fn about(method: &Method, path: &str, route: Option<&str>) -> String {
    let first = path.trim_start_matches('/').split('/').next();
    match route {
        Some(route) => format!("{method} {route}"),
        None => format!("{method} /{}", first.unwrap_or_default()),
    }
}

/// The denial of a request, if it was refused for who has sent it.
pub(crate) fn of_request(
    head: &Parts,
    (operator, route): (Option<&wit::Caller>, Option<&str>),
    status: &RefusalStatus,
    why: &str,
) -> Option<Denial> {
    let (about, why) = (about(&head.method, head.uri.path(), route), why.to_owned());
    let denial = match (status, operator) {
        (RefusalStatus::OfTheComponent, _) => return None,
        (RefusalStatus::Forbidden, Some(operator)) => not_allowed(&operator.name, about, why),
        (RefusalStatus::Unconfirmed, Some(operator)) => Denial {
            action: CONFIRMATION.to_owned(),
            ..not_allowed(&operator.name, about, why)
        },
        (RefusalStatus::ForbiddenAddress, _) => Denial {
            action: ADDRESS.to_owned(),
            ..unproven(&client_of(head), about, why)
        },
        (RefusalStatus::Unauthorized(_) | RefusalStatus::Forbidden, _)
        | (RefusalStatus::Unconfirmed, None) => unproven(&client_of(head), about, why),
    };
    Some(traced(denial, head))
}

/// The denial of an operator's request that a component has refused with 403, for who has sent it. Only of one that has no
/// entry of its own: it reads, or its document says so (`is_audited`).
pub(crate) fn by_component(
    head: &Parts,
    (operator, route): (Option<&wit::Caller>, Option<&str>),
    component: &str,
    is_audited: bool,
) -> Option<Denial> {
    let operator = operator?;
    if is_audited && ![Method::GET, Method::HEAD].contains(&head.method) {
        return None;
    }
    let why = "the component has refused it".to_owned();
    let denial = Denial {
        writer: component.to_owned(),
        ..not_allowed(
            &operator.name,
            about(&head.method, head.uri.path(), route),
            why,
        )
    };
    Some(traced(denial, head))
}

/// Keep that a client's certificate was refused in the handshake. Other failures prove nothing of anybody: a scanner or a
/// broken connection.
pub(crate) fn in_handshake(denials: &dyn Denials, client: &Client, error: &io::Error) {
    if let Some(why) = rialto_tls::listener::refused_certificate(error) {
        denials.keep(unproven(client, HANDSHAKE.to_owned(), why));
    }
}

fn traced(denial: Denial, head: &Parts) -> Denial {
    let trace = trace_of(&head.headers);
    let known = (trace.id != 0).then(|| trace.to_string());
    Denial {
        trace: known.unwrap_or_default(),
        ..denial
    }
}

/// The client of a request's connection.
#[must_use]
pub fn client_of(head: &Parts) -> Client {
    PeerAddress::of(&head.extensions).client()
}
