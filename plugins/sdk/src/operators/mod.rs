//! Shared code of operators' HTTP APIs: problems of stable kinds, callers and roles, pages, versions, and
//! repeated requests.
//!
//! | Module | Holds |
//! |---|---|
//! | [`amount`] | amounts as operators write them |
//! | [`problem`] | every kind of problem, and how it is worded (RFC 9457) |
//! | [`caller`] | who asks, and roles |
//! | [`paging`] | which page a query asks for, and how a filtered one is filled |
//! | [`fido`] | how errors of FIDO2 are worded |
//! | [`idempotency`] | `Idempotency-Key`: what is sent again is done once |
//! | [`version`] | `ETag`, `If-Match`, `If-None-Match` |
//!
//! The operations themselves do not belong here.

pub mod amount;
pub mod caller;
pub mod fido;
pub mod idempotency;
pub mod paging;
pub mod problem;
pub mod version;

pub use amount::Amount;
pub use caller::{Caller, Role};
pub use paging::Paging;
pub use problem::{Kind, Problem, with_problems};

use serde::Serialize;

/// An answer to an operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// HTTP's status.
    pub status: u16,
    /// Header names, in lower case, and values.
    pub headers: Vec<(String, String)>,
    /// The body, if any.
    pub body: Option<String>,
}

impl Answer {
    /// A JSON body.
    ///
    /// # Panics
    /// If the body has no JSON form: a map with keys that are no texts.
    #[must_use]
    pub fn json(status: u16, body: &impl Serialize) -> Self {
        Self::of("application/json", status, body)
    }

    /// Adds a header.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers.push((name.to_owned(), value.into()));
        self
    }

    fn of(media_type: &str, status: u16, body: &impl Serialize) -> Self {
        let body = serde_json::to_string(body);
        Self {
            status,
            headers: vec![("content-type".to_owned(), media_type.to_owned())],
            body: Some(body.expect("texts, numbers and lists always have a JSON text")),
        }
    }
}

/// The value of a header, whose name is in lower case.
#[must_use]
pub fn header<'a>(headers: &'a [(String, String)], name: &str) -> Option<&'a str> {
    let found = headers.iter().find(|(given, _)| given == name);
    found.map(|(_, value)| value.as_str())
}

/// The value of a parameter.
#[must_use]
pub fn parameter<'a>(parameters: &'a [(String, String)], name: &str) -> Option<&'a str> {
    header(parameters, name)
}

/// Conversions between this module's types and those of a component's bindings: `$handler` is `http_handler` of
/// its exports. Defines the functions `told`, `worded` and `caller_of`.
///
/// With the component, its OpenAPI document (a path relative to the caller's file) and a function that answers
/// requests, it implements the whole export.
#[macro_export]
macro_rules! serves_operators {
    ($handler:ident for $component:ident, $document:literal, |$request:ident, $caller:ident| $answer:expr) => {
        $crate::serves_operators!($handler);

        impl $handler::Guest for $component {
            fn openapi() -> String {
                $crate::operators::with_problems(include_str!($document))
            }

            fn handle($request: $handler::Request) -> $handler::Response {
                let $caller = caller_of($request.caller.as_ref());
                told($answer)
            }

            fn refuse(
                _: $handler::RequestHead,
                violation: $handler::Violation,
            ) -> $handler::Response {
                worded(violation)
            }
        }
    };
    ($handler:ident) => {
        fn told(answer: $crate::operators::Answer) -> $handler::Response {
            $handler::Response {
                status: answer.status,
                headers: answer.headers,
                body: answer.body,
            }
        }

        fn worded(violation: $handler::Violation) -> $handler::Response {
            use $crate::operators::Kind;
            let kind = match violation.kind {
                $handler::ViolationKind::UnknownPath => Kind::NotFound,
                $handler::ViolationKind::MethodNotAllowed => Kind::MethodNotAllowed,
                $handler::ViolationKind::BodyTooLarge => Kind::BodyTooLarge,
                $handler::ViolationKind::HeadersTooLarge => Kind::HeadersTooLarge,
                $handler::ViolationKind::Overloaded => Kind::Overloaded,
                $handler::ViolationKind::Internal => Kind::Internal,
                _ => Kind::Malformed,
            };
            let detail = format!("{}: {}", violation.location, violation.detail);
            let answer = $crate::operators::Problem::new(kind, detail).answer();
            told(match kind {
                Kind::MethodNotAllowed => answer.with("allow", violation.allowed.join(", ")),
                Kind::Overloaded => answer.with("retry-after", "1"),
                _ => answer,
            })
        }

        fn caller_of(caller: Option<&$handler::Caller>) -> $crate::operators::Caller {
            $crate::operators::Caller::of(
                caller.map(|caller| (caller.name.as_str(), caller.roles.as_slice())),
            )
        }
    };
}
