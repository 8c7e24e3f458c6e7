//! Requests as seeds write them: a line `METHOD /path`, lines of headers, an empty line, the body.

use http::request::Parts;
use http::{HeaderName, HeaderValue, Method, Request, Uri};

/// A request that HTTP can carry.
#[derive(Debug)]
pub struct Sent {
    /// Its head.
    pub head: Parts,
    /// Its body.
    pub body: Vec<u8>,
}

impl Sent {
    /// Read a request; none if no server would take it from the wire.
    #[must_use]
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let (head, body) = match bytes.windows(2).position(|two| two == b"\n\n") {
            Some(end) => (&bytes[..end], &bytes[end + 2..]),
            None => (bytes, &[][..]),
        };
        let mut lines = head.split(|byte| *byte == b'\n');
        let mut words = lines.next()?.splitn(2, |byte| *byte == b' ');
        let method = Method::from_bytes(words.next()?).ok()?;
        let uri = Uri::try_from(words.next()?).ok()?;
        // What is no path is not for an origin server.
        uri.path_and_query().filter(|_| uri.host().is_none())?;
        let mut request = Request::builder().method(method).uri(uri);
        for line in lines {
            let (name, value) = header(line)?;
            request = request.header(name, value);
        }
        let (head, ()) = request.body(()).ok()?.into_parts();
        let body = body.to_vec();
        Some(Self { head, body })
    }
}

/// A line `name: value`.
#[must_use]
pub fn header(line: &[u8]) -> Option<(HeaderName, HeaderValue)> {
    let colon = line.iter().position(|byte| *byte == b':')?;
    let name = HeaderName::from_bytes(&line[..colon]).ok()?;
    let value = HeaderValue::from_bytes(line[colon + 1..].trim_ascii()).ok()?;
    Some((name, value))
}
