//! Validates a request's head, before a byte of its body is read: its length, the path, the method, the headers in the
//! order of the document, the parameters of path and query.

use std::sync::Arc;

use http::request::Parts;
use http::{HeaderMap, HeaderValue};

use crate::document::{Found, Operation};
use crate::validate::{self, Pairs};
use crate::violation::{Kind, Violation};

/// A valid head, with the parameters of its path and query.
#[derive(Debug)]
pub struct Head {
    /// The operation.
    pub operation: Arc<Operation>,
    /// By name, decoded.
    pub path_parameters: Pairs,
    /// By name, decoded. Parameters that the document does not know are among them.
    pub query_parameters: Pairs,
}

/// Validates a head against the operation of its path and method.
///
/// # Errors
/// The first violation.
pub fn judge(
    found: Option<Found<'_>>,
    head: &Parts,
    header_bytes_max: usize,
) -> Result<Head, Violation> {
    if header_bytes(&head.headers) > header_bytes_max {
        let detail = format!("are longer than {header_bytes_max} bytes");
        return Err(Violation::new(Kind::HeadersTooLarge, "headers", detail));
    }
    let Some(found) = found else {
        let detail = "is none of this API's paths";
        return Err(Violation::new(Kind::UnknownPath, "path", detail));
    };
    let Some(operation) = found.operations.get(head.method.as_str()) else {
        return Err(not_allowed(&found));
    };
    validate::headers(operation, &head.headers)?;
    validate::encodings(&head.headers)?;
    Ok(Head {
        path_parameters: validate::path(operation, &found.parameters)?,
        query_parameters: validate::query(operation, head.uri.query())?,
        operation: operation.clone(),
    })
}

/// Headers with their values as text. Bytes beyond ASCII are read as Latin-1, as in older HTTP.
#[must_use]
pub fn texts(headers: &HeaderMap) -> Vec<(String, String)> {
    let text = |value: &HeaderValue| match value.to_str() {
        Ok(text) => text.to_owned(),
        Err(_) => value.as_bytes().iter().map(|&b| char::from(b)).collect(),
    };
    headers
        .iter()
        .map(|(name, value)| (name.as_str().to_owned(), text(value)))
        .collect()
}

/// The bytes of a header section as HTTP/1.1 writes it.
fn header_bytes(headers: &HeaderMap) -> usize {
    let lines = headers.iter();
    lines.map(|(n, v)| n.as_str().len() + v.len() + 4).sum()
}

fn not_allowed(found: &Found<'_>) -> Violation {
    let mut allowed: Vec<String> = found.operations.keys().cloned().collect();
    allowed.sort();
    let detail = if allowed.is_empty() {
        "this path is of messages that the switch sends; it takes none".to_owned()
    } else {
        format!("this path takes {}", allowed.join(", "))
    };
    Violation {
        allowed,
        ..Violation::new(Kind::MethodNotAllowed, "method", detail)
    }
}
