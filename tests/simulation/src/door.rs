//! The way in: what the edge does with an HTTP request, but for HTTP itself. The edge's own validators
//! judge it by the component's document; what fits becomes a request to the engine.

use rialto_components::http::{Request, Violation, ViolationKind};
use rialto_edge::{Api, validate};
use rialto_engine::Name;

use crate::saying::Message;

/// Judge a message. Answers who serves it, and the request as the component gets it.
///
/// # Errors
/// The first thing that is wrong with it.
pub fn judge(api: &Api, message: &Message) -> Result<(Name, Request), Violation> {
    let unknown = || {
        let detail = "is none of this API's paths and methods".to_owned();
        validate::violation(ViolationKind::UnknownPath, "path", detail)
    };
    let (served, found) = api.find(&message.path).ok_or_else(unknown)?;
    let found = found.ok_or_else(unknown)?;
    let operation = found.operations.get(message.method).ok_or_else(unknown)?;
    let headers = message.headers();
    validate::headers(operation, &headers)?;
    validate::encodings(&headers)?;
    let texts = headers.iter().map(|(name, value)| {
        let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
        (name.as_str().to_owned(), value)
    });
    let request = Request {
        operation_id: operation.id.clone(),
        method: message.method.to_owned(),
        path: message.path.clone(),
        path_parameters: validate::path(operation, &found.parameters)?,
        query_parameters: validate::query(operation, None)?,
        headers: texts.collect(),
        body: validate::body(operation, message.body.as_bytes())?,
    };
    Ok((served.component.clone(), request))
}
