//! The documents of a listener's APIs.
//!
//! - `GET /openapi`: the list of APIs.
//! - `GET /openapi/<component>.yaml`: a component's OpenAPI document.
//! - `GET /openapi/<component>`: the same as a page for people.
//!
//! No token is needed, because a browser has none and the documents have no data.

use bytes::Bytes;
use http::request::Parts;
use http::{HeaderName, HeaderValue, Method, Response, StatusCode, header};
use http_body_util::Full;

use crate::Api;
use crate::api::Served;
use crate::page;
use crate::service::plain;

/// The path of all documents.
const PLACE: &str = "/openapi";
/// The page has its style inline. The browser loads and runs nothing else.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'";
const HTML: &[(HeaderName, &str)] = &[
    (header::CONTENT_TYPE, "text/html; charset=utf-8"),
    (header::CONTENT_SECURITY_POLICY, POLICY),
];
const YAML: &[(HeaderName, &str)] = &[(header::CONTENT_TYPE, "application/yaml")];

/// What is at a path below `/openapi`.
enum Shown<'a> {
    /// The list of all.
    List,
    /// A page.
    Page(&'a Served),
    /// A document.
    Document(&'a Served),
}

/// All documents of a listener: the host's own API, if it is there, and the components'.
fn all<'a>(api: &'a Api, own: Option<&'a Served>) -> impl Iterator<Item = &'a Served> {
    let components = api.served.iter().map(|served| &**served);
    own.into_iter().chain(components)
}

/// What is at a path. A component's own path goes before the list.
fn find<'a>(api: &'a Api, own: Option<&'a Served>, path: &str) -> Option<Shown<'a>> {
    let rest = path.strip_prefix(PLACE)?;
    if matches!(rest, "" | "/") {
        let taken = api.served.iter().any(|s| s.document.find(path).is_some());
        let has_any = all(api, own).next().is_some();
        return (has_any && !taken).then_some(Shown::List);
    }
    let file = rest.strip_prefix('/')?;
    let name = file.strip_suffix(".yaml");
    let served = all(api, own).find(|s| *s.component == *name.unwrap_or(file))?;
    Some(match name {
        Some(_) => Shown::Document(served),
        None => Shown::Page(served),
    })
}

/// Whether a document, a page or their list is at this path.
pub(crate) fn is_at(api: &Api, own: Option<&Served>, path: &str) -> bool {
    find(api, own, path).is_some()
}

/// A document, its page or the list, if the path is of one.
pub(crate) fn serve(
    api: &Api,
    own: Option<&Served>,
    head: &Parts,
) -> Option<Response<Full<Bytes>>> {
    let shown = find(api, own, head.uri.path())?;
    if head.method != Method::GET {
        let mut refused = plain(StatusCode::METHOD_NOT_ALLOWED, "GET only");
        let allowed = HeaderValue::from_static("GET");
        refused.headers_mut().insert(header::ALLOW, allowed);
        return Some(refused);
    }
    let bytes = |text: &str| Bytes::copy_from_slice(text.as_bytes());
    let (body, headers) = match shown {
        Shown::List => {
            let named = all(api, own).map(|s| (&*s.component, &*s.document.title));
            (page::list(PLACE, named).into(), HTML)
        }
        Shown::Page(served) => (bytes(&served.page), HTML),
        Shown::Document(served) => (bytes(&served.text), YAML),
    };
    let mut response = Response::new(Full::new(body));
    for (name, value) in headers {
        let value = HeaderValue::from_static(value);
        response.headers_mut().insert(name.clone(), value);
    }
    Some(response)
}
