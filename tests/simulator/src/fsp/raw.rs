//! Raw access for tests: any request with any headers, and waiting for any message.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Method};

use super::{Fsp, Outgoing};
use crate::client::{Answer, SendError};
use crate::headers::{DESTINATION, Kind};
use crate::jws::Signer;
use crate::message::{Resource, Route};
use crate::recorder::{NotReceived, Recorded};
use crate::text::decoded;

/// A request in the making. It begins with the headers that a sound one has.
#[derive(Debug)]
pub struct RawRequest<'a> {
    fsp: &'a Fsp,
    message: Outgoing,
    problem: Option<String>,
}

impl Fsp {
    /// Begins a request to a path of the switch, with the headers of a sound one.
    pub fn raw(&self, method: Method, path: &str) -> RawRequest<'_> {
        let route = Route::of(path.split('?').next().unwrap_or_default());
        let resource = route.map_or(Resource::Transfers, |route| route.resource);
        let kind = match method {
            Method::PUT | Method::PATCH => Kind::Callback,
            _ => Kind::Request,
        };
        let traceparent = self.inner.mint.traceparent(self.inner.mint.trace());
        let message = Outgoing {
            headers: self
                .inner
                .letterhead
                .headers(kind, resource, None, traceparent),
            method,
            path: path.to_owned(),
            body: Bytes::new(),
        };
        RawRequest {
            fsp: self,
            message,
            problem: None,
        }
    }

    /// What its messages have as `Date` now.
    pub fn date(&self) -> String {
        let date = self.inner.letterhead.date();
        date.to_str().unwrap_or_default().to_owned()
    }

    /// Waits for a message with this method and path, at most this long. Percent-encoding does
    /// not matter. A recorded message that nobody has claimed yet counts.
    pub async fn expect_callback(
        &self,
        method: Method,
        path: &str,
        timeout: Duration,
    ) -> Result<Recorded, NotReceived> {
        let path = decoded(path).into_owned();
        self.inner
            .recorder
            .expect(move |message| message.method == method && decoded(&message.path) == path)
            .within(timeout)
            .await
    }
}

impl RawRequest<'_> {
    /// Sets a header, in place of the one that is there.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        match (name.parse::<HeaderName>(), HeaderValue::from_str(value)) {
            (Ok(name), Ok(value)) => drop(self.message.headers.insert(name, value)),
            _ => self.problem = Some(format!("`{name}: {value}` is no HTTP header")),
        }
        self
    }

    /// Adds a line of a header to those that are there.
    #[must_use]
    pub fn and_header(mut self, name: &str, value: &str) -> Self {
        match (name.parse::<HeaderName>(), HeaderValue::from_str(value)) {
            (Ok(name), Ok(value)) => drop(self.message.headers.append(name, value)),
            _ => self.problem = Some(format!("`{name}: {value}` is no HTTP header")),
        }
        self
    }

    /// Leaves a header out.
    #[must_use]
    pub fn without(mut self, name: &str) -> Self {
        self.message.headers.remove(name);
        self
    }

    /// The current value of a header, if it exists and is text.
    #[must_use]
    pub fn value_of(&self, name: &str) -> Option<&str> {
        self.message.headers.get(name)?.to_str().ok()
    }

    /// Says whom it is for.
    #[must_use]
    pub fn to(self, destination: &str) -> Self {
        self.header(DESTINATION.as_str(), destination)
    }

    /// Sets the body, valid or not.
    #[must_use]
    pub fn body(mut self, body: impl Into<Bytes>) -> Self {
        self.message.body = body.into();
        self
    }

    /// Sends it to another path than it was made for; all else stays as it is.
    #[must_use]
    pub fn onto(mut self, path: &str) -> Self {
        path.clone_into(&mut self.message.path);
        self
    }

    /// Signs it in its current form. Later changes break the signature.
    #[must_use]
    pub fn signed_by(mut self, signer: &Signer) -> Self {
        self.message.sign(signer);
        self
    }

    /// Sends it, once, and gives the HTTP answer. It is not signed, unless it was.
    pub async fn send(self) -> Result<Answer, SendError> {
        match self.problem {
            Some(problem) => Err(SendError::Invalid(problem)),
            None => self.fsp.inner.send_as_it_is(self.message).await,
        }
    }
}
