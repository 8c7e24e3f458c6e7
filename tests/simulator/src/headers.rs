//! The headers that an FSP's messages carry, written as rarely as possible.

use http::header::{ACCEPT, CONTENT_TYPE, DATE, HeaderMap, HeaderName, HeaderValue};

use crate::ids::FspId;
use crate::message::{Resource, Version, media_type};
use crate::time::DateHeader;

/// Who a message is from.
pub const SOURCE: HeaderName = HeaderName::from_static("fspiop-source");
/// Who a message is for.
pub const DESTINATION: HeaderName = HeaderName::from_static("fspiop-destination");
/// The W3C trace context.
pub const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");

/// What an FSP's headers have in common. A value is written once and shared afterwards.
#[derive(Debug)]
pub struct Letterhead {
    source: HeaderValue,
    date: DateHeader,
    content_types: [HeaderValue; 4],
    accepts: [HeaderValue; 4],
}

/// What the answer may be, and therefore whether `Accept` is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// GET, POST, DELETE: a callback will follow, `Accept` says in which version.
    Request,
    /// PUT, PATCH: nothing follows, no `Accept`.
    Callback,
}

impl Letterhead {
    /// The headers of this FSP at this version.
    pub fn new(source: &FspId, version: Version) -> Self {
        let media = |resource: Resource, version: &str| {
            HeaderValue::try_from(media_type(resource.name(), version))
                .expect("a media type consists of visible ASCII characters")
        };
        Self {
            source: source.header(),
            date: DateHeader::default(),
            content_types: Resource::ALL.map(|resource| media(resource, version.text())),
            accepts: Resource::ALL.map(|resource| media(resource, "1")),
        }
    }

    /// The headers of one message. `destination` is left out where it is not known.
    pub fn headers(
        &self,
        kind: Kind,
        resource: Resource,
        destination: Option<HeaderValue>,
        traceparent: HeaderValue,
    ) -> HeaderMap {
        let place = resource as usize;
        let mut headers = HeaderMap::with_capacity(8);
        if kind == Kind::Request {
            headers.insert(ACCEPT, self.accepts[place].clone());
        }
        headers.insert(CONTENT_TYPE, self.content_types[place].clone());
        headers.insert(DATE, self.date.value());
        headers.insert(SOURCE, self.source.clone());
        if let Some(destination) = destination {
            headers.insert(DESTINATION, destination);
        }
        headers.insert(TRACEPARENT, traceparent);
        headers
    }

    /// `Date` of a message that is made now.
    pub fn date(&self) -> HeaderValue {
        self.date.value()
    }

    /// The content type of an answer to a message of this resource.
    pub fn content_type(&self, resource: Resource) -> HeaderValue {
        self.content_types[resource as usize].clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_and_callbacks_carry_what_the_api_demands() {
        let letterhead = Letterhead::new(&"payerfsp".parse().expect("an id"), Version::V1_1);
        let trace = HeaderValue::from_static("00-1-1-01");
        let request = letterhead.headers(Kind::Request, Resource::Quotes, None, trace.clone());
        let media = "application/vnd.interoperability.quotes+json;version=";
        assert_eq!(request[ACCEPT], format!("{media}1"));
        assert_eq!(request[CONTENT_TYPE], format!("{media}1.1"));
        assert_eq!(request[SOURCE], "payerfsp");
        assert!(request.contains_key(DATE) && request.contains_key(TRACEPARENT));
        assert!(!request.contains_key(DESTINATION));

        let to = HeaderValue::from_static("payeefsp");
        let callback = letterhead.headers(Kind::Callback, Resource::Transfers, Some(to), trace);
        assert!(!callback.contains_key(ACCEPT));
        assert_eq!(callback[DESTINATION], "payeefsp");
    }
}
