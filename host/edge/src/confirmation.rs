//! Whether an operator has confirmed what they approve, by something that they have besides their token or session.
//! Somebody else knows that; the edge asks before the request's turn, when its body is known.

use http::request::Parts;
use http::{HeaderName, HeaderValue, Method};
use rialto_components::http::ViolationKind;
use rialto_openapi::Operation;

use crate::authentication::{Refusal, RefusalStatus};
use crate::violation::violation;

/// The header with the id of a confirmation. No component sees it.
pub const CONFIRMATION: HeaderName = HeaderName::from_static("x-rialto-confirmation");
/// The role of who approves.
const CHECKER: &str = "checker";

/// A request that must be confirmed.
#[derive(Clone, Copy, Debug)]
pub struct Approval<'r> {
    /// Who sends it: the operator's person.
    pub person: &'r str,
    /// The id of the confirmation; none if the request names none, or several.
    pub confirmation: Option<&'r str>,
    /// Its method.
    pub method: &'r str,
    /// Its path and query.
    pub target: &'r str,
    /// Its body.
    pub body: &'r [u8],
}

/// A request was not confirmed: why, and what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NotConfirmed(pub String);

/// Who knows what operators have confirmed.
pub trait Confirmations: Send + Sync + 'static {
    /// Use up the confirmation of a request. A confirmation is of one request of one person, and is used once.
    ///
    /// # Errors
    /// When there is no such confirmation.
    fn take(&self, approval: Approval<'_>) -> Result<(), NotConfirmed>;
}

/// The id of the confirmation that a request names. An extension of its head.
#[derive(Clone)]
pub(crate) struct Named(Option<HeaderValue>);

/// A request was confirmed. An extension of its head, because another release may judge it again.
#[derive(Clone)]
struct Confirmed;

impl Named {
    /// Take the id out of a request's head, and keep it as an extension.
    pub fn take(head: &mut Parts) {
        let mut values = head.headers.get_all(CONFIRMATION).iter();
        let only = values.next().filter(|_| values.next().is_none());
        let named = Self(only.cloned());
        head.headers.remove(CONFIRMATION);
        head.extensions.insert(named);
    }
}

/// Whether a request names a confirmation.
pub(crate) fn is_named(head: &Parts) -> bool {
    let named = head.extensions.get::<Named>();
    named.is_some_and(|Named(value)| value.is_some())
}

/// Whether a request must be confirmed: one that changes something, and that the document gives to who approves alone. What
/// a maker may send too, such as the end of a stolen credential, is urgent.
#[must_use]
pub fn is_needed(method: &Method, operation: &Operation) -> bool {
    let is_safe = [Method::GET, Method::HEAD].contains(method);
    !is_safe && operation.roles == [CHECKER]
}

/// Use up the confirmation of a request, if it must be confirmed and was not yet.
pub(crate) fn confirmed(
    confirmations: &dyn Confirmations,
    head: &mut Parts,
    operation: &Operation,
    person: &str,
    body: &[u8],
) -> Result<(), Refusal> {
    let is_confirmed = head.extensions.get::<Confirmed>().is_some();
    if is_confirmed || !is_needed(&head.method, operation) {
        return Ok(());
    }
    let named = head.extensions.get::<Named>();
    let named = named.and_then(|Named(value)| value.as_ref()?.to_str().ok());
    let target = head.uri.path_and_query();
    let approval = Approval {
        person,
        confirmation: named,
        method: head.method.as_str(),
        target: target.map_or(head.uri.path(), |target| target.as_str()),
        body,
    };
    confirmations.take(approval).map_err(|why| Refusal {
        violation: violation(
            ViolationKind::Malformed,
            "header X-Rialto-Confirmation",
            why.0,
        ),
        status: RefusalStatus::Unconfirmed,
    })?;
    head.extensions.insert(Confirmed);
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    const DOCUMENT: &str = "openapi: 3.1.0\npaths:\n  /a:\n    get: {operationId: a, x-rialto-roles: [checker]}\n    \
                            post: {operationId: b, x-rialto-roles: [checker]}\n    \
                            put: {operationId: c, x-rialto-roles: [maker, checker]}\n    \
                            delete: {operationId: d}\n";

    /// Takes one confirmation of one request, once.
    #[derive(Default)]
    struct Once(AtomicU32);

    impl Confirmations for Once {
        fn take(&self, approval: Approval<'_>) -> Result<(), NotConfirmed> {
            let Approval {
                person,
                confirmation,
                method,
                target,
                body,
            } = approval;
            assert_eq!((person, method, target), ("ben", "POST", "/a?b=c"));
            assert_eq!(body, b"{}");
            let is_first = self.0.fetch_add(1, Ordering::Relaxed) == 0;
            if is_first && confirmation == Some("7") {
                return Ok(());
            }
            Err(NotConfirmed("no".to_owned()))
        }
    }

    fn head(method: &str, named: &[&str]) -> Parts {
        let mut request = http::Request::builder().method(method).uri("/a?b=c");
        for named in named {
            request = request.header("X-Rialto-Confirmation", *named);
        }
        let (mut head, ()) = request.body(()).unwrap().into_parts();
        Named::take(&mut head);
        assert!(head.headers.is_empty(), "a component would see it");
        head
    }

    fn asked(confirmations: &Once, head: &mut Parts) -> Result<(), String> {
        let document = rialto_openapi::Document::parse(DOCUMENT).unwrap();
        let found = document.find("/a").unwrap();
        let operation = &found.operations[head.method.as_str()];
        confirmed(confirmations, head, operation, "ben", b"{}").map_err(|refusal| {
            assert!(matches!(refusal.status, RefusalStatus::Unconfirmed));
            refusal.violation.detail
        })
    }

    #[test]
    fn what_only_approvers_send_must_be_confirmed() {
        for method in ["GET", "PUT", "DELETE"] {
            let never = Once(AtomicU32::new(1));
            assert_eq!(asked(&never, &mut head(method, &[])), Ok(()), "{method}");
        }
        for named in [&[][..], &["8"], &["7", "7"], &["\u{e4}"]] {
            let refused = asked(&Once::default(), &mut head("POST", named));
            assert_eq!(refused, Err("no".to_owned()), "{named:?}");
        }
    }

    #[test]
    fn confirmation_is_used_once_for_each_request() {
        let (once, mut first) = (Once::default(), head("POST", &["7"]));
        assert_eq!(asked(&once, &mut first), Ok(()));
        // Another release judges the same request again.
        assert_eq!(asked(&once, &mut first), Ok(()));
        let again = asked(&once, &mut head("POST", &["7"]));
        assert_eq!(again, Err("no".to_owned()));
    }
}
