//! Where the service is.

use std::net::IpAddr;

use http::Uri;

use crate::configuration::OpenError;

/// The longest name of a region.
const REGION_CHARS_MAX: usize = 32;

/// A service's URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Endpoint {
    pub(crate) uri: Uri,
    /// The header `Host`.
    pub(crate) authority: String,
    pub(crate) host: String,
    pub(crate) port: u16,
}

impl Endpoint {
    /// The endpoint of a region, or the one that the operator names.
    pub(crate) fn of(region: &str, named: Option<&str>) -> Result<Self, OpenError> {
        let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if region.is_empty() || region.len() > REGION_CHARS_MAX || !region.chars().all(is_plain) {
            return Err(OpenError::Region(region.to_owned()));
        }
        let url = named.map_or_else(|| usual(region), str::to_owned);
        match parsed(&url) {
            Ok(endpoint) => Ok(endpoint),
            Err(why) => Err(OpenError::Endpoint { url, why }),
        }
    }
}

/// AWS's own endpoint.
fn usual(region: &str) -> String {
    let china = if region.starts_with("cn-") { ".cn" } else { "" };
    format!("https://kms.{region}.amazonaws.com{china}")
}

fn parsed(url: &str) -> Result<Endpoint, &'static str> {
    let uri: Uri = url.parse().map_err(|_| "it is no URL")?;
    if !matches!(uri.path(), "" | "/") || uri.query().is_some() {
        return Err("it has a path");
    }
    let authority = uri.authority().ok_or("it has no host")?;
    if authority.as_str().contains('@') {
        return Err("credentials do not belong into a URL");
    }
    let host = authority.host().to_owned();
    let is_plain = match uri.scheme_str() {
        Some("https") => false,
        Some("http") if is_loopback(&host) => true,
        Some("http") => {
            return Err("`http` is for addresses of this machine alone, such as 127.0.0.1");
        }
        _ => return Err("it begins with `https://`"),
    };
    Ok(Endpoint {
        port: authority
            .port_u16()
            .unwrap_or(if is_plain { 80 } else { 443 }),
        authority: authority.as_str().to_owned(),
        host,
        uri,
    })
}

/// Whether this is an address of this machine. A name is none: it may lead elsewhere.
fn is_loopback(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    bare.parse::<IpAddr>()
        .is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn region_has_the_endpoint_of_aws() {
        let of = |region| Endpoint::of(region, None).unwrap();
        let endpoint = of("eu-central-1");
        assert_eq!(endpoint.uri, "https://kms.eu-central-1.amazonaws.com/");
        assert_eq!(endpoint.authority, "kms.eu-central-1.amazonaws.com");
        assert_eq!(endpoint.port, 443);
        assert_eq!(of("cn-north-1").host, "kms.cn-north-1.amazonaws.com.cn");
        for region in ["", "EU", "eu central", "eu/1", "a.b", &"a".repeat(33)] {
            let refused = Endpoint::of(region, None);
            assert!(matches!(refused, Err(OpenError::Region(_))), "{region}");
        }
    }

    #[test]
    fn plaintext_is_for_this_machine_alone() {
        let of = |url| Endpoint::of("eu-central-1", Some(url));
        for url in [
            "https://kms.example",
            "https://kms.example:8443/",
            "https://10.1.2.3",
            "http://127.0.0.1:5000",
            "http://127.9.9.9",
            "http://[::1]:5000",
        ] {
            assert!(of(url).is_ok(), "{url}");
        }
        for url in [
            "http://kms.example",
            "http://localhost:5000",
            "http://10.1.2.3",
            "http://0.0.0.0:80",
            "http://127.0.0.1.example",
            "http://user@127.0.0.1",
            "https://user:password@kms.example",
            "https://kms.example/path",
            "https://kms.example/?query",
            "ftp://127.0.0.1",
            "kms.example",
            "/",
            "",
        ] {
            let refused = of(url);
            assert!(
                matches!(refused, Err(OpenError::Endpoint { .. })),
                "{url}: {refused:?}"
            );
        }
    }
}
