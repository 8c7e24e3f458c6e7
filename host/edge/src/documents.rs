//! What an API says of itself: `GET /openapi/<component>.yaml` is the document of a component that
//! serves on this listener, `GET /openapi/<component>` the same as a page for people.

use bytes::Bytes;
use http::request::Parts;
use http::{HeaderName, HeaderValue, Method, Response, StatusCode, header};
use http_body_util::Full;

use crate::Api;
use crate::service::plain;

/// The page brings its own style, and nothing else is loaded or run.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'";

/// A document or its page, if the path is of one.
pub(crate) fn serve(api: &Api, head: &Parts) -> Option<Response<Full<Bytes>>> {
    let file = head.uri.path().strip_prefix("/openapi/")?;
    let name = file.strip_suffix(".yaml");
    let served = api
        .served
        .iter()
        .find(|s| *s.component == *name.unwrap_or(file))?;
    if head.method != Method::GET {
        let mut refused = plain(StatusCode::METHOD_NOT_ALLOWED, "GET only");
        let allowed = HeaderValue::from_static("GET");
        refused.headers_mut().insert(header::ALLOW, allowed);
        return Some(refused);
    }
    let (text, headers): (&str, &[(HeaderName, &'static str)]) = match name {
        Some(_) => (&served.text, &[(header::CONTENT_TYPE, "application/yaml")]),
        None => (
            &served.page,
            &[
                (header::CONTENT_TYPE, "text/html; charset=utf-8"),
                (header::CONTENT_SECURITY_POLICY, POLICY),
            ],
        ),
    };
    let mut response = Response::new(Full::new(Bytes::copy_from_slice(text.as_bytes())));
    for (name, value) in headers {
        let value = HeaderValue::from_static(value);
        response.headers_mut().insert(name.clone(), value);
    }
    Some(response)
}
