//! Violations of requests, in the type that components use.

use rialto_components::http::{Violation, ViolationKind};
use rialto_openapi::Kind;

/// A violation that the edge itself has found.
pub(crate) fn violation(kind: ViolationKind, location: &str, detail: String) -> Violation {
    Violation {
        kind,
        location: location.to_owned(),
        detail,
        allowed: Vec::new(),
    }
}

/// A violation of an OpenAPI document.
pub(crate) fn found(violation: rialto_openapi::Violation) -> Violation {
    let kind = match violation.kind {
        Kind::HeadersTooLarge => ViolationKind::HeadersTooLarge,
        Kind::UnknownPath => ViolationKind::UnknownPath,
        Kind::MethodNotAllowed => ViolationKind::MethodNotAllowed,
        Kind::Missing => ViolationKind::Missing,
        Kind::Malformed => ViolationKind::Malformed,
        Kind::UnacceptableVersion => ViolationKind::UnacceptableVersion,
        Kind::NotJson => ViolationKind::NotJson,
        Kind::TooManyElements => ViolationKind::TooManyElements,
    };
    Violation {
        kind,
        location: violation.location,
        detail: violation.detail,
        allowed: violation.allowed,
    }
}
