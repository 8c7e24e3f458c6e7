//! The OpenAPI document of the operators' API. It is served like the components' documents and lists every kind of
//! problem. Bodies are validated against it.

use std::fmt::Write as _;
use std::sync::{Arc, LazyLock};

use axum::http::{HeaderMap, Method};
use rialto_edge::Served;
use rialto_openapi::{Operation, validate};

use super::problem::{Kind, Problem};

/// The document's name: `GET /openapi/host`. It goes before a component of this name.
const NAME: &str = "host";
/// The document without the problems.
const DOCUMENT: &str = include_str!("openapi.yaml");

/// The document, with its problems, its validators and its page.
static OWN: LazyLock<Arc<Served>> = LazyLock::new(|| {
    // It is constant, and a test reads it.
    Served::own(NAME, &text()).expect("the host's own document can be used")
});

/// The document, ready to be served.
pub(super) fn document() -> Arc<Served> {
    OWN.clone()
}

/// The document with a table of problems.
fn text() -> String {
    let mut text = format!("{}x-rialto-errors:\n", DOCUMENT);
    for kind in Kind::ALL {
        let (status, when) = (kind.status(), kind.when());
        let _ = writeln!(
            text,
            "  - {{code: {}, name: '{status}', when: {when:?}}}",
            kind.name()
        );
    }
    text
}

/// The operation of a request, if the document has it.
fn operation(method: &Method, path: &str) -> Option<Arc<Operation>> {
    let found = OWN.document.find(path)?;
    found.operations.get(method.as_str()).cloned()
}

/// Check that the operation accepts a body's media type.
///
/// # Errors
/// The problem.
pub(super) fn media_type(method: &Method, path: &str, headers: &HeaderMap) -> Result<(), Problem> {
    match operation(method, path) {
        Some(operation) => validate::media_type(&operation, headers).map_err(another_media_type),
        None => Ok(()),
    }
}

/// The problem of a body with another media type than these, or with none.
pub(super) fn another_media_type(taken: &[String]) -> Problem {
    let detail = format!(
        "the body must be {}; say so with `Content-Type`",
        taken.join(" or ")
    );
    Problem::new(Kind::MediaType, detail)
}

/// Validate a JSON body.
///
/// # Errors
/// The problem: all missing members, or the first other violation.
pub(super) fn judge(method: &Method, path: &str, body: &[u8]) -> Result<(), Problem> {
    let Some(operation) = operation(method, path) else {
        return Ok(());
    };
    let judged = validate::body(&operation, body);
    judged.map(drop).map_err(|violation| {
        let detail = format!("{}: {}", violation.location, violation.detail);
        Problem::new(Kind::Malformed, detail)
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

    use std::collections::BTreeSet;

    use super::*;
    use crate::operators::role_for;
    use crate::ops::{CLOSED, OPEN, OWN as SEGMENTS};

    /// The methods and paths of the document, with the text about the role.
    fn documented() -> Vec<(Method, String, String)> {
        let paths = OWN.document.root["paths"].as_object().unwrap();
        let operations = paths.iter().flat_map(|(path, item)| {
            let methods = item.as_object().unwrap().iter();
            methods.map(move |(method, operation)| {
                let method = Method::from_bytes(method.to_uppercase().as_bytes()).unwrap();
                let description = operation["description"].as_str().unwrap_or_default();
                (method, path.clone(), description.to_owned())
            })
        });
        operations.collect()
    }

    #[test]
    fn the_document_has_exactly_the_served_routes() {
        let documented: BTreeSet<_> = documented()
            .into_iter()
            .map(|(method, path, _)| (method.to_string(), path))
            .collect();
        let served: BTreeSet<_> = OPEN
            .iter()
            .chain(CLOSED)
            .map(|(path, method)| (method.to_uppercase(), (*path).to_owned()))
            .collect();
        assert_eq!(documented, served);
    }

    #[test]
    fn the_document_names_the_role_that_each_operation_needs() {
        for (method, path, description) in documented() {
            if OPEN.iter().any(|(open, _)| *open == path) {
                continue;
            }
            let role = match role_for(&method, &path) {
                Some(role) => format!("Role `{}`", role.name()),
                None => "Every operator".to_owned(),
            };
            assert!(
                description.starts_with(&role),
                "{method} {path}: {description}"
            );
        }
    }

    #[test]
    fn no_component_may_have_a_path_of_the_hosts() {
        for (_, path, _) in documented() {
            let first = path.split('/').nth(1).unwrap();
            assert!(SEGMENTS.contains(&first), "{path}");
        }
    }

    #[test]
    fn the_page_tells_every_kind_of_problem() {
        for kind in Kind::ALL {
            let row = format!(
                "<code>{}</code></td><td>{}</td>",
                kind.name(),
                kind.status()
            );
            assert!(OWN.page.contains(&row), "{row}");
        }
    }

    #[test]
    fn a_body_is_judged_by_the_document() {
        let judged = |body: &str| {
            let path = "/rules/amount-limits/swap";
            judge(&Method::POST, path, body.as_bytes()).map_err(|p| format!("{:?}", p.outcome()))
        };
        let says = |body: &str, what: &str| {
            let refused = judged(body).unwrap_err();
            assert!(refused.contains(what), "{refused}");
        };
        says("", "body: is required");
        says("{}", "body /digest: is required");
        says(
            r#"{"digest":"x"}"#,
            "body /digest: does not have the required form",
        );
        let digest = format!("sha256:{}", "0".repeat(64));
        assert_eq!(judged(&format!(r#"{{"digest":"{digest}"}}"#)), Ok(()));
        says(
            &format!(r#"{{"digest":"{digest}","more":1}}"#),
            "unknown member",
        );
    }
}
