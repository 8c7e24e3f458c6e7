//! The APIs of a listener, loaded once for each request. Another release may become current at any moment. All
//! questions about a request (is it for a document, who may send it, which component serves it) must be answered
//! by the same release, until its turn meets another one and the request is judged again. Otherwise one release could let a request pass that only the other one serves.

use std::sync::Arc;

use arc_swap::ArcSwap;
use bytes::Bytes;
use http::Response;
use http::request::Parts;
use http_body_util::Full;
use rialto_openapi::validate;

use crate::api::{Api, Served};
use crate::documents;

/// See the module's documentation.
pub struct FoundApis {
    api: Arc<Api>,
    own: Option<Arc<Served>>,
}

impl FoundApis {
    /// Those that are there now, with the one that somebody else handles.
    pub(crate) fn of(api: &ArcSwap<Api>, own: Option<&Arc<Served>>) -> Self {
        Self {
            api: api.load_full(),
            own: own.cloned(),
        }
    }

    /// Whether the document of an API, its page or the list of them is at this path: for anybody.
    pub fn has_document(&self, path: &str) -> bool {
        documents::is_at(&self.api, self.own.as_deref(), path)
    }

    /// A document, its page or the list, if the path is of one.
    pub(crate) fn document(&self, head: &Parts) -> Option<Response<Full<Bytes>>> {
        documents::serve(&self.api, self.own.as_deref(), head)
    }

    /// Which media types the component takes that this head is meant for, if its body is said to be of
    /// another one or of none.
    pub fn other_media_type(&self, head: &Parts) -> Option<Vec<String>> {
        let (_, found) = self.api.find(head.uri.path())?;
        let operation = found?.operations.get(head.method.as_str())?;
        let taken = validate::media_type(operation, &head.headers).err()?;
        Some(taken.to_vec())
    }

    /// Whether a request to this path is for a component.
    pub fn serves(&self, path: &str) -> bool {
        self.api.serves(path)
    }

    /// Those of components.
    pub(crate) fn into_api(self) -> Arc<Api> {
        self.api
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

    use super::*;
    use crate::authentication::Authentication;

    /// A release with one component, which has one path.
    fn release(number: u64, component: &str, path: &str) -> Arc<Api> {
        let text = format!(
            "openapi: 3.1.0\ninfo: {{title: t, version: '1'}}\npaths:\n  {path}: {{get: {{operationId: a}}}}\n"
        );
        Arc::new(Api {
            release: number,
            served: vec![Served::own(component, &text).unwrap()],
            authentication: Authentication::None,
        })
    }

    fn get(path: &str) -> Parts {
        let request = http::Request::get(path).body(()).unwrap();
        request.into_parts().0
    }

    #[test]
    fn a_request_is_answered_by_the_apis_it_found() {
        // What is a document for anybody in one release is for a component's callers in the next.
        let (first, second) = (
            release(1, "thing", "/things"),
            release(2, "other", "/openapi/thing"),
        );
        let current = ArcSwap::new(first);
        let path = "/openapi/thing";
        let before = FoundApis::of(&current, None);
        assert!(before.has_document(path));
        current.store(second);
        assert!(before.has_document(path));
        assert_eq!(before.document(&get(path)).unwrap().status(), 200);
        assert!(before.serves("/things"));
        assert_eq!(before.into_api().release, 1);
        let after = FoundApis::of(&current, None);
        assert!(!after.has_document(path));
        assert!(after.document(&get(path)).is_none());
        assert!(after.serves(path));
        assert_eq!(after.into_api().release, 2);
    }
}
