//! Where a passed request comes from: the listener, the client's address and its certificate. They go along in header fields
//! that no client can set.

use std::net::IpAddr;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::uri::{Authority, Scheme};
use http::{Request, Uri, Version};
use rialto_edge::PeerAddress;
use rialto_edge::authentication::Certified;

/// What the names of these fields begin with.
const PREFIX: &str = "rialto-relay-";
const LISTENER: HeaderName = HeaderName::from_static("rialto-relay-listener");
const PEER: HeaderName = HeaderName::from_static("rialto-relay-peer");
const CERTIFICATES: HeaderName = HeaderName::from_static("rialto-relay-certificates");
const HOST: HeaderName = HeaderName::from_static("rialto-relay-host");
/// The answer's number, by which the host that passed the request tells that it was written (`written.rs`).
pub(crate) const ANSWER: HeaderName = HeaderName::from_static("rialto-relay-answer");
/// Says of an answer that the host serves nobody now. It has not looked at the request, or the request only asked.
pub(crate) const NOT_MINE: HeaderName = HeaderName::from_static("rialto-relay-not-mine");

/// What HTTP/1.1 says of one connection alone, and HTTP/2 has no place for (RFC 9113, 8.2.2).
const OF_CONNECTION: [HeaderName; 5] = [
    header::CONNECTION,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    header::TRANSFER_ENCODING,
    header::UPGRADE,
];

/// Where a request comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The name of the listener that took it.
    pub listener: String,
    /// The client's address.
    pub peer: IpAddr,
    /// The certificates that the client has shown in its handshake, as DER: its own first. Empty if it has shown none.
    pub certificates: Vec<Vec<u8>>,
}

/// What a passed request says of its origin makes no sense.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the field `{0}` of a passed request is missing or malformed")]
pub struct BadOrigin(&'static str);

impl Origin {
    /// The origin of a request that a listener has taken.
    pub(crate) fn of<B>(listener: &str, request: &Request<B>) -> Self {
        let extensions = request.extensions();
        let certified = extensions.get::<Certified>();
        Self {
            listener: listener.to_owned(),
            peer: PeerAddress::of(extensions).0,
            certificates: certified.map_or_else(Vec::new, |certified| certified.0.chain()),
        }
    }

    /// Make a request's head ready for HTTP/2, and put the origin into it. What the client has said in these fields is gone.
    pub(crate) fn put_into(&self, head: &mut http::request::Parts) {
        let fields = &mut head.headers;
        without_own(fields);
        without_connection(fields);
        if let Some(host) = fields.remove(header::HOST) {
            fields.insert(HOST, host);
        }
        let mut put = |name, text: &str| {
            if let Ok(value) = HeaderValue::from_str(text) {
                fields.insert(name, value);
            }
        };
        put(LISTENER, &self.listener);
        put(PEER, &self.peer.to_string());
        let certificates = self
            .certificates
            .iter()
            .map(|der| URL_SAFE_NO_PAD.encode(der));
        let certificates: Vec<String> = certificates.collect();
        if !certificates.is_empty() {
            put(CERTIFICATES, &certificates.join(","));
        }
        let path = head.uri.path_and_query().cloned();
        let mut uri = http::uri::Parts::default();
        uri.scheme = Some(Scheme::HTTP);
        uri.authority = Some(Authority::from_static("host"));
        uri.path_and_query = path.or_else(|| "/".parse().ok());
        head.uri = Uri::from_parts(uri).unwrap_or_default();
        head.version = Version::HTTP_2;
        // They are of this host.
        head.extensions.clear();
    }

    /// Take the origin out of a passed request's head, and make the head what the listener had.
    pub(crate) fn take_from(head: &mut http::request::Parts) -> Result<Self, BadOrigin> {
        let fields = &mut head.headers;
        let listener = text(fields, &LISTENER).ok_or(BadOrigin("listener"))?;
        let peer = text(fields, &PEER).and_then(|peer| peer.parse().ok());
        let certificates = match text(fields, &CERTIFICATES) {
            None => Vec::new(),
            Some(all) => all
                .split(',')
                .map(|one| URL_SAFE_NO_PAD.decode(one))
                .collect::<Result<_, _>>()
                .map_err(|_| BadOrigin("certificates"))?,
        };
        let origin = Self {
            listener,
            peer: peer.ok_or(BadOrigin("peer"))?,
            certificates,
        };
        let host = fields.remove(HOST);
        without_own(fields);
        if let Some(host) = host {
            fields.insert(header::HOST, host);
        }
        let path = head.uri.path_and_query().cloned();
        head.uri = path.map_or_else(Uri::default, Uri::from);
        head.version = Version::HTTP_11;
        Ok(origin)
    }
}

/// Make an answer's head ready for HTTP/1.1, and take out what only hosts say to each other.
pub(crate) fn answered(head: &mut http::response::Parts) {
    without_own(&mut head.headers);
    head.version = Version::HTTP_11;
    head.extensions.clear();
}

/// Take out what HTTP/2 has no place for.
pub(crate) fn without_connection(fields: &mut HeaderMap) {
    for name in OF_CONNECTION {
        fields.remove(name);
    }
}

/// Take out what only hosts say to each other: whoever it is from, it is not from a host.
pub(crate) fn without_own(fields: &mut HeaderMap) {
    let own: Vec<HeaderName> = fields
        .keys()
        .filter(|name| name.as_str().starts_with(PREFIX))
        .cloned()
        .collect();
    for name in own {
        fields.remove(name);
    }
}

fn text(fields: &HeaderMap, name: &HeaderName) -> Option<String> {
    fields.get(name)?.to_str().ok().map(ToOwned::to_owned)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

    use super::*;

    fn head(fields: &[(&'static str, &'static str)]) -> http::request::Parts {
        let mut request = Request::get("/a/b?c=d");
        for (name, value) in fields {
            request = request.header(*name, *value);
        }
        request.body(()).unwrap().into_parts().0
    }

    fn origin() -> Origin {
        Origin {
            listener: "clients".into(),
            peer: "192.0.2.7".parse().unwrap(),
            certificates: vec![vec![1, 2, 3], vec![255; 300]],
        }
    }

    #[test]
    fn a_request_is_the_same_on_the_other_side() {
        let mut head = head(&[
            ("host", "hub.example"),
            ("date", "today"),
            ("connection", "close"),
        ]);
        origin().put_into(&mut head);
        assert_eq!(head.headers.get(header::HOST), None);
        assert_eq!(head.headers.get(header::CONNECTION), None);
        let taken = Origin::take_from(&mut head).unwrap();
        assert_eq!(taken, origin());
        assert_eq!(head.uri, "/a/b?c=d");
        assert_eq!(head.version, Version::HTTP_11);
        let mut left: Vec<_> = head.headers.keys().map(HeaderName::as_str).collect();
        left.sort_unstable();
        assert_eq!(left, ["date", "host"]);
        assert_eq!(head.headers[header::HOST], "hub.example");
    }

    #[test]
    fn a_client_cannot_say_where_it_comes_from() {
        let mut head = head(&[
            ("rialto-relay-peer", "10.0.0.1"),
            ("rialto-relay-certificates", "AAAA"),
            ("rialto-relay-listener", "operators"),
            ("rialto-relay-answer", "1"),
        ]);
        let plain = Origin {
            certificates: Vec::new(),
            ..origin()
        };
        plain.put_into(&mut head);
        assert_eq!(Origin::take_from(&mut head).unwrap(), plain);
        assert!(head.headers.is_empty(), "{:?}", head.headers);
    }

    #[test]
    fn a_request_without_a_sensible_origin_is_refused() {
        for (fields, missing) in [
            (&[][..], "listener"),
            (&[("rialto-relay-listener", "a")], "peer"),
            (
                &[
                    ("rialto-relay-listener", "a"),
                    ("rialto-relay-peer", "nowhere"),
                ],
                "peer",
            ),
            (
                &[
                    ("rialto-relay-listener", "a"),
                    ("rialto-relay-peer", "::1"),
                    ("rialto-relay-certificates", "not base64!"),
                ],
                "certificates",
            ),
        ] {
            let taken = Origin::take_from(&mut head(fields));
            assert_eq!(taken, Err(BadOrigin(missing)), "{fields:?}");
        }
    }
}
