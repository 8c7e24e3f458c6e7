//! What a browser's requests must say of the page that sends them: a browser adds the session's cookie to requests of all pages.

use axum::http::uri::{Authority, Scheme};
use axum::http::{HeaderMap, HeaderName, Uri, header};

use crate::sign_in::SignIn;

/// Where a browser says what kind of page sends a request.
const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// How browsers reach the operators' listener.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Browsers {
    /// The origin of the host's own pages; none if the operator's document does not say it. Then it is the one to which a
    /// request was sent.
    origin: Option<String>,
    /// Whether browsers reach it by TLS.
    pub is_secure: bool,
}

impl Browsers {
    /// As the sign-in says, or else as the listener is.
    #[must_use]
    pub fn of(sign_in: Option<&SignIn>, has_tls: bool) -> Self {
        Self {
            origin: sign_in.map(|sign_in| sign_in.address.clone()),
            is_secure: sign_in.map_or(has_tls, |sign_in| sign_in.is_secure),
        }
    }

    /// Whether the browser says that a page of this host sends the request. `Origin` counts if it is there.
    #[must_use]
    pub fn is_own_page(&self, uri: &Uri, headers: &HeaderMap) -> bool {
        if !headers.contains_key(header::ORIGIN) {
            return only(headers, &FETCH_SITE) == Some("same-origin");
        }
        let Some(origin) = only(headers, &header::ORIGIN) else {
            return false;
        };
        match &self.origin {
            Some(own) => own == origin,
            None => self.is_sent_to(origin, uri, headers),
        }
    }

    /// Whether the request was sent to this origin. A page under another name of this host has no cookie of this name.
    fn is_sent_to(&self, origin: &str, uri: &Uri, headers: &HeaderMap) -> bool {
        let Ok(origin) = origin.parse::<Uri>() else {
            return false;
        };
        let takes = |scheme: &Scheme| {
            *scheme == Scheme::HTTPS || (!self.is_secure && *scheme == Scheme::HTTP)
        };
        let host = match uri.authority() {
            Some(authority) => Some(authority.clone()),
            None => only(headers, &header::HOST).and_then(|host| host.parse().ok()),
        };
        let is_same = |host: Authority| origin.authority() == Some(&host);
        origin.scheme().is_some_and(takes) && host.is_some_and(is_same)
    }
}

/// The value of a header that occurs once.
pub fn only<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Option<&'h str> {
    let mut given = headers.get_all(name).iter();
    let only = given.next().filter(|_| given.next().is_none());
    only.and_then(|value| value.to_str().ok())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

    use super::*;

    type Said = [(&'static str, &'static str)];

    fn is_own(browsers: &Browsers, headers: &Said) -> bool {
        let pairs = headers.iter().map(|(name, value)| {
            let value = header::HeaderValue::from_static(value);
            (HeaderName::from_static(name), value)
        });
        let mut headers: HeaderMap = pairs.collect();
        headers.insert(header::HOST, "hub.example:4002".parse().unwrap());
        browsers.is_own_page(&"/tokens".parse().unwrap(), &headers)
    }

    fn browsers(origin: Option<&str>, is_secure: bool) -> Browsers {
        Browsers {
            origin: origin.map(str::to_owned),
            is_secure,
        }
    }

    #[test]
    fn origin_counts_before_the_kind_of_page() {
        let named = browsers(Some("https://hub.example"), true);
        let ours = ("origin", "https://hub.example");
        let same = ("sec-fetch-site", "same-origin");
        assert!(is_own(&named, &[ours]));
        assert!(is_own(&named, &[same]));
        assert!(is_own(&named, &[ours, ("sec-fetch-site", "cross-site")]));
        for other in [
            "null",
            "",
            "http://hub.example",
            "https://hub.example:444",
            "https://hub.example.other",
            "https://other.example",
        ] {
            assert!(!is_own(&named, &[("origin", other)]), "{other}");
            assert!(!is_own(&named, &[("origin", other), same]), "{other}");
        }
        for site in ["same-site", "cross-site", "none"] {
            assert!(!is_own(&named, &[("sec-fetch-site", site)]), "{site}");
        }
        assert!(!is_own(&named, &[]));
    }

    #[test]
    fn without_a_named_address_the_page_is_of_the_host_that_was_asked() {
        let (plain, secure) = (browsers(None, false), browsers(None, true));
        let (http, https) = ("http://hub.example:4002", "https://hub.example:4002");
        assert!(is_own(&plain, &[("origin", http)]));
        // A proxy before the host may have TLS.
        assert!(is_own(&plain, &[("origin", https)]));
        assert!(is_own(&secure, &[("origin", https)]));
        assert!(!is_own(&secure, &[("origin", http)]));
        for other in [
            "null",
            "",
            "hub.example:4002",
            "//hub.example:4002",
            "ftp://hub.example:4002",
            "http://hub.example",
            "http://hub.example:4003",
            "http://other.example:4002",
        ] {
            let said = [("origin", other), ("sec-fetch-site", "same-origin")];
            assert!(!is_own(&plain, &said), "{other}");
        }
        assert!(is_own(&plain, &[("sec-fetch-site", "same-origin")]));
        assert!(!is_own(&plain, &[]));
    }
}
