//! The way in: what the edge does with an HTTP request, but for HTTP itself. It is judged as the edge
//! judges it, by the component's document; what fits becomes a request to the engine.

use rialto_components::http::Request;
use rialto_edge::Api;
use rialto_engine::Name;
use rialto_openapi::{Kind, Violation, head, validate};

use crate::saying::Message;

/// Validates a message. Returns its component, and the request as the component gets it.
///
/// # Errors
/// The first thing that is wrong with it.
pub fn judge(api: &Api, message: &Message) -> Result<(Name, Request), Violation> {
    let none = || Violation::new(Kind::UnknownPath, "path", "is none of this API's paths");
    let (served, found) = api.find(&message.path).ok_or_else(none)?;
    let built = http::Request::builder()
        .method(message.method)
        .uri(&message.path)
        .body(());
    let (mut parts, ()) = built.map_err(|_| none())?.into_parts();
    parts.headers = message.headers();
    let judged = head::judge(found, &parts, served.document.header_bytes_max)?;
    let request = Request {
        operation_id: judged.operation.id.clone(),
        method: message.method.to_owned(),
        path: message.path.clone(),
        path_parameters: judged.path_parameters,
        query_parameters: judged.query_parameters,
        headers: head::texts(&parts.headers),
        body: validate::body(&judged.operation, message.body.as_bytes())?,
        caller: None,
    };
    Ok((served.component.clone(), request))
}
