//! Origins and URLs of requests, and patterns of allowed origins.

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use super::{Invalid, text_value};

/// The scheme of a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum UrlScheme {
    /// Without TLS.
    Http,
    /// Over TLS.
    Https,
}

impl UrlScheme {
    /// The port when none is written.
    #[must_use]
    pub const fn default_port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
        }
    }
}

impl fmt::Display for UrlScheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Http => "http",
            Self::Https => "https",
        })
    }
}

/// Scheme, host and port of a URL.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Origin {
    /// `http` or `https`.
    pub scheme: UrlScheme,
    /// In lower case; IPv6 addresses in brackets.
    pub host: String,
    /// The port, also when it is the scheme's own.
    pub port: u16,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", self.scheme, self.host)?;
        if self.port == self.scheme.default_port() {
            Ok(())
        } else {
            write!(f, ":{}", self.port)
        }
    }
}

/// Origins that a grant covers: one, `https://fsp.example`, or any port of a host,
/// `http://127.0.0.1:*`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OriginPattern {
    /// `http` or `https`.
    pub scheme: UrlScheme,
    /// In lower case; IPv6 addresses in brackets.
    pub host: String,
    /// The port; none for any.
    pub port: Option<u16>,
}

text_value!(
    OriginPattern,
    "origin",
    "an origin",
    "http://127.0.0.1:*",
    r"^https?://([A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(:([1-9][0-9]{0,4}|\*))?$"
);

impl OriginPattern {
    /// Whether requests to that origin are covered.
    #[must_use]
    pub fn covers(&self, origin: &Origin) -> bool {
        self.scheme == origin.scheme
            && self.host == origin.host
            && self.port.is_none_or(|port| port == origin.port)
    }

    /// Whether this covers each origin that the other pattern covers.
    #[must_use]
    pub fn covers_pattern(&self, other: &Self) -> bool {
        self.scheme == other.scheme
            && self.host == other.host
            && (self.port.is_none() || self.port == other.port)
    }
}

impl fmt::Display for OriginPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", self.scheme, self.host)?;
        match self.port {
            None => f.write_str(":*"),
            Some(port) if port == self.scheme.default_port() => Ok(()),
            Some(port) => write!(f, ":{port}"),
        }
    }
}

impl FromStr for OriginPattern {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let (scheme, authority) = scheme_of(text)?;
        if authority.contains(['/', '?', '#']) {
            return Err(Invalid::new(
                "an origin ends after its host and port; leave out the path",
            ));
        }
        if let Some(host) = authority.strip_suffix(":*") {
            let host = parse_host(host)?;
            return Ok(Self {
                scheme,
                host,
                port: None,
            });
        }
        let (host, port) = host_and_port(scheme, authority)?;
        Ok(Self {
            scheme,
            host,
            port: Some(port),
        })
    }
}

/// An absolute http or https URL to which paths are appended: no query, no fragment, no final `/`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BaseUrl {
    origin: Origin,
    /// Empty, or `/` and more.
    path: String,
}

text_value!(
    BaseUrl,
    "base-url",
    "a URL",
    "https://fsp.example/fspiop",
    r"^https?://[^/?#@]+(/[^?#]*)?$"
);

impl BaseUrl {
    /// Its origin.
    #[must_use]
    pub const fn origin(&self) -> &Origin {
        &self.origin
    }
}

impl fmt::Display for BaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.origin, self.path)
    }
}

impl FromStr for BaseUrl {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let (scheme, rest) = scheme_of(text)?;
        if rest.contains(['?', '#']) {
            return Err(Invalid::new("a base URL has neither query nor fragment"));
        }
        let (authority, path) = match rest.find('/') {
            Some(slash) => rest.split_at(slash),
            None => (rest, ""),
        };
        let (host, port) = host_and_port(scheme, authority)?;
        Ok(Self {
            origin: Origin { scheme, host, port },
            path: parse_path(path)?,
        })
    }
}

fn scheme_of(text: &str) -> Result<(UrlScheme, &str), Invalid> {
    if let Some(rest) = text.strip_prefix("https://") {
        Ok((UrlScheme::Https, rest))
    } else if let Some(rest) = text.strip_prefix("http://") {
        Ok((UrlScheme::Http, rest))
    } else {
        Err(Invalid::new("it begins with `https://` or `http://`"))
    }
}

fn host_and_port(scheme: UrlScheme, authority: &str) -> Result<(String, u16), Invalid> {
    // The colon of a port comes after the brackets of an IPv6 address.
    let port_at = match authority.rfind(']') {
        Some(bracket) => authority[bracket..].find(':').map(|colon| bracket + colon),
        None => authority.find(':'),
    };
    let Some(colon) = port_at else {
        return Ok((parse_host(authority)?, scheme.default_port()));
    };
    let digits = &authority[colon + 1..];
    let port = digits
        .bytes()
        .all(|b| b.is_ascii_digit())
        .then(|| digits.parse().ok())
        .flatten()
        .filter(|port| *port != 0 && !digits.starts_with('0'))
        .ok_or_else(|| Invalid::new("a port is a number from 1 to 65535"))?;
    Ok((parse_host(&authority[..colon])?, port))
}

fn parse_host(text: &str) -> Result<String, Invalid> {
    let malformed = || Invalid::new("the host is a DNS name, an IPv4 address or `[IPv6 address]`");
    if let Some(inner) = text.strip_prefix('[') {
        let inner = inner.strip_suffix(']').ok_or_else(malformed)?;
        let address: Ipv6Addr = inner.parse().map_err(|_| malformed())?;
        return Ok(format!("[{address}]"));
    }
    let label = |label: &str| {
        (1..=63).contains(&label.len())
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b == b'-')
    };
    if text.len() > 253 || !text.split('.').all(label) {
        return Err(malformed());
    }
    let last = text.rsplit('.').next().unwrap_or(text);
    if last.bytes().all(|b| b.is_ascii_digit()) {
        let address: Ipv4Addr = text.parse().map_err(|_| malformed())?;
        return Ok(address.to_string());
    }
    Ok(text.to_ascii_lowercase())
}

fn parse_path(path: &str) -> Result<String, Invalid> {
    let path = path.strip_suffix('/').unwrap_or(path);
    let allowed = |b: u8| b.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@%/".contains(&b);
    if !path.bytes().all(allowed) {
        return Err(Invalid::new(
            "the path has a character that must be percent-encoded",
        ));
    }
    let hexadecimal = |tail: &str| {
        let digits = tail.as_bytes();
        digits.len() >= 2 && digits[..2].iter().all(u8::is_ascii_hexdigit)
    };
    if !path.split('%').skip(1).all(hexadecimal) {
        return Err(Invalid::new(
            "`%` in a path is followed by two hexadecimal digits",
        ));
    }
    let plain = |part: &str| !matches!(part, "" | "." | "..");
    if !path.split('/').skip(1).all(plain) {
        return Err(Invalid::new("a path has no empty, `.` or `..` parts"));
    }
    Ok(path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn pattern(text: &str) -> OriginPattern {
        text.parse().unwrap()
    }

    fn origin(text: &str) -> Origin {
        text.parse::<BaseUrl>().unwrap().origin().clone()
    }

    #[test]
    fn a_pattern_covers_its_origin_or_any_port() {
        let any = pattern("http://127.0.0.1:*");
        assert!(any.covers(&origin("http://127.0.0.1:4101/x")));
        assert!(any.covers(&origin("http://127.0.0.1")));
        assert!(!any.covers(&origin("https://127.0.0.1:4101")));
        assert!(!any.covers(&origin("http://127.0.0.1.evil.example:4101")));
        let one = pattern("https://FSP.example");
        assert!(one.covers(&origin("https://fsp.example:443/callbacks")));
        assert!(!one.covers(&origin("https://fsp.example:8443")));
        assert!(any.covers_pattern(&pattern("http://127.0.0.1:1")));
        assert!(any.covers_pattern(&any));
        assert!(!pattern("http://127.0.0.1:1").covers_pattern(&any));
    }

    #[test]
    fn what_is_not_an_origin_is_refused() {
        for bad in [
            "",
            "*",
            "ftp://a",
            "http://",
            "http://a/",
            "http://a:0",
            "http://a:65536",
            "http://a:+1",
            "http://a:",
            "http://u@a",
            "http://a b",
            "http://256.1.1.1",
            "http://1.2.3",
            "http://[::1",
            "http://[::g]",
            "http://-a",
            "http://a..b",
            "http://*.a",
            "http://a:**",
            "HTTP://a",
            "http://a?x",
            "http://é",
        ] {
            assert!(bad.parse::<OriginPattern>().is_err(), "{bad}");
        }
    }

    #[test]
    fn base_urls_are_written_in_one_way() {
        for (text, written) in [
            ("http://127.0.0.1:4101", "http://127.0.0.1:4101"),
            ("https://FSP.example:443/a/", "https://fsp.example/a"),
            ("http://[0:0::1]:80/", "http://[::1]"),
            ("https://a/b%20c/d", "https://a/b%20c/d"),
        ] {
            assert_eq!(text.parse::<BaseUrl>().unwrap().to_string(), written);
        }
        for bad in [
            "http://a?x=1",
            "http://a/#f",
            "http://a/b c",
            "http://a/%2",
            "http://a/%zz",
            "http://a//b",
            "http://a/../b",
            "http://u:p@a/",
            "//a",
            "http:/a",
            "http://a/%é1",
        ] {
            assert!(bad.parse::<BaseUrl>().is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "(https?://)?[ -~é]{0,40}") {
            if let Ok(url) = text.parse::<BaseUrl>() {
                prop_assert_eq!(url.to_string().parse(), Ok(url));
            }
            if let Ok(pattern) = text.parse::<OriginPattern>() {
                prop_assert_eq!(pattern.to_string().parse(), Ok(pattern));
            }
        }
    }
}
