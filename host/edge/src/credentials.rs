//! The credentials in a request's head, and which of them a component sees.
//!
//! | Header | Of a client's request | For a component |
//! | --- | --- | --- |
//! | `Authorization` | read here | removed. An open operation gets it if it is HTTP Basic: the component that issues tokens checks passwords itself |
//! | `X-Rialto-Client-Certificate` | removed | of an open operation, where certificates are needed: the thumbprint of the connection's certificate (`x5t#S256`) |
//! | `X-Rialto-Client-Address` | removed | of an open operation: the IP address of the connection, so that the component can slow down who guesses |
//!
//! An open operation is one that needs no credential: `security: []` in the component's document.

use std::net::IpAddr;

use http::header::AUTHORIZATION;
use http::request::Parts;
use http::{HeaderName, HeaderValue};
use rialto_tokens::{Invalid, Thumbprint};

/// The header that tells a component the thumbprint of the connection's certificate.
const CERTIFICATE: HeaderName = HeaderName::from_static("x-rialto-client-certificate");

/// The header that tells a component the address of the connection.
const ADDRESS: HeaderName = HeaderName::from_static("x-rialto-client-address");

/// The values of `Authorization` of a request. An extension of its head.
#[derive(Clone)]
pub(crate) struct Presented(Vec<HeaderValue>);

impl Presented {
    /// Take the credentials out of a request's head, and keep them as an extension.
    pub fn take(head: &mut Parts) {
        head.headers.remove(CERTIFICATE);
        head.headers.remove(ADDRESS);
        let values = head.headers.get_all(AUTHORIZATION).iter().cloned();
        let mut values: Vec<HeaderValue> = values.collect();
        head.headers.remove(AUTHORIZATION);
        for value in &mut values {
            value.set_sensitive(true);
        }
        head.extensions.insert(Self(values));
    }

    /// The access token; none if there is no credential, or one of another scheme.
    pub fn token(&self) -> Result<Option<&str>, Invalid> {
        match self.0.as_slice() {
            [] => Ok(None),
            [only] => {
                let text = only.to_str();
                let text = text.map_err(|_| Invalid::Malformed("it is not plain ASCII"))?;
                Ok(credential(text, "Bearer"))
            }
            _ => Err(Invalid::Malformed("there is more than one credential")),
        }
    }

    /// The password of HTTP Basic, if it is the one credential.
    fn password(&self) -> Option<&HeaderValue> {
        let [only] = self.0.as_slice() else {
            return None;
        };
        credential(only.to_str().ok()?, "Basic")?;
        Some(only)
    }
}

/// The credential of a scheme. The scheme's name is not case-sensitive.
fn credential<'v>(value: &'v str, scheme: &str) -> Option<&'v str> {
    let (name, rest) = value.split_once(' ').unwrap_or((value, ""));
    let rest = rest.trim_matches(' ');
    name.eq_ignore_ascii_case(scheme).then_some(rest)
}

/// Put into the head what the component of an open operation sees of the credentials.
pub(crate) fn show(head: &mut Parts, certificate: Option<&Thumbprint>, address: IpAddr) {
    let presented: Option<&Presented> = head.extensions.get();
    let password = presented.and_then(Presented::password).cloned();
    if let Some(password) = password {
        head.headers.insert(AUTHORIZATION, password);
    }
    let thumbprint = certificate.map(|certificate| HeaderValue::from_str(&certificate.to_string()));
    if let Some(Ok(thumbprint)) = thumbprint {
        head.headers.insert(CERTIFICATE, thumbprint);
    }
    if let Ok(address) = HeaderValue::from_str(&address.to_canonical().to_string()) {
        head.headers.insert(ADDRESS, address);
    }
}

/// Remove from the head what `show` has put there.
pub(crate) fn hide(head: &mut Parts) {
    head.headers.remove(AUTHORIZATION);
    head.headers.remove(CERTIFICATE);
    head.headers.remove(ADDRESS);
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

    use super::*;

    fn taken(headers: &[(&str, &str)]) -> Parts {
        let mut request = http::Request::get("/a");
        for (name, value) in headers {
            let value = HeaderValue::from_bytes(value.as_bytes()).unwrap();
            request = request.header(*name, value);
        }
        let (mut head, ()) = request.body(()).unwrap().into_parts();
        Presented::take(&mut head);
        head
    }

    #[test]
    fn components_see_no_credentials() {
        let head = taken(&[
            ("Authorization", "Bearer a.b.c"),
            ("authorization", "Basic YTpi"),
            ("X-RIALTO-Client-Certificate", "forged"),
            ("x-rialto-client-certificate", "forged"),
            ("x-rialto-client-address", "192.0.2.1"),
            ("accept", "a"),
        ]);
        assert_eq!(head.headers.len(), 1);
        assert!(!format!("{:?}", head.extensions).contains("a.b.c"));
        let presented: &Presented = head.extensions.get().unwrap();
        assert!(!format!("{:?}", presented.0).contains("a.b.c"));
    }

    #[test]
    fn open_operations_see_passwords_and_no_tokens() {
        let shown = |headers: &[(&str, &str)]| {
            let mut head = taken(headers);
            let address = IpAddr::from([192, 0, 2, 7]);
            show(&mut head, Some(&Thumbprint([0; 32])), address);
            assert_eq!(head.headers[ADDRESS], "192.0.2.7");
            let text = |name| {
                head.headers
                    .get(name)
                    .map(|v: &HeaderValue| v.to_str().unwrap().to_owned())
            };
            let seen = (text(AUTHORIZATION), text(CERTIFICATE).unwrap());
            hide(&mut head);
            assert!(head.headers.is_empty());
            seen
        };
        let thumbprint = "A".repeat(43);
        let own = ("x-rialto-client-certificate", "forged");
        let basic = ("authorization", "basic YTpi");
        assert_eq!(
            shown(&[own, basic]),
            (Some("basic YTpi".to_owned()), thumbprint.clone())
        );
        for other in [
            "Bearer a.b.c",
            "bearer a.b.c",
            "BEARER",
            "Token a",
            "Basicx",
            "\u{a0}Basic a",
        ] {
            assert_eq!(
                shown(&[("authorization", other)]),
                (None, thumbprint.clone())
            );
        }
        assert_eq!(shown(&[basic, basic]).0, None);
    }

    #[test]
    fn tokens_are_read_from_one_header() {
        let token = |headers: &[(&str, &str)]| {
            let head = taken(headers);
            let presented: &Presented = head.extensions.get().unwrap();
            presented.token().map(|token| token.map(str::to_owned))
        };
        let a = Ok(Some("a.b.c".to_owned()));
        assert_eq!(token(&[("authorization", "Bearer a.b.c")]), a);
        assert_eq!(token(&[("authorization", "bEARER  a.b.c")]), a);
        assert_eq!(
            token(&[("authorization", "Bearer")]),
            Ok(Some(String::new()))
        );
        for none in ["", "Basic YTpi", "Bearera.b.c", "a.b.c"] {
            assert_eq!(token(&[("authorization", none)]), Ok(None), "{none}");
        }
        assert_eq!(token(&[]), Ok(None));
        let twice = [
            ("authorization", "Bearer a.b.c"),
            ("authorization", "Bearer a.b.c"),
        ];
        assert!(token(&twice).is_err());
        assert!(token(&[("authorization", "Bearer \u{e4}")]).is_err());
    }
}
