//! Which URLs of a provider are used.

use std::net::IpAddr;

use http::Uri;

/// A URL of the provider.
///
/// # Errors
/// What is wrong with it. Plaintext is for addresses of this machine, and only if `plain` allows it.
pub(crate) fn url(text: &str, plain: bool) -> Result<Uri, &'static str> {
    if text.contains('#') {
        return Err("it has a fragment");
    }
    let uri: Uri = text.parse().map_err(|_| "it is no URL")?;
    let authority = uri.authority().ok_or("it has no host")?;
    if authority.as_str().contains('@') {
        return Err("credentials do not belong into a URL");
    }
    match uri.scheme_str() {
        Some("https") => Ok(uri),
        Some("http") if plain && is_loopback(authority.host()) => Ok(uri),
        Some("http") if plain => {
            Err("`http` is for addresses of this machine alone, such as 127.0.0.1")
        }
        _ => Err("it does not begin with `https://`"),
    }
}

/// Whether a URL is without TLS.
pub(crate) fn is_plain(uri: &Uri) -> bool {
    uri.scheme_str() == Some("http")
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
    fn plaintext_is_for_this_machine_and_plaintext_issuers() {
        for good in ["https://a.example/x?y", "https://10.1.2.3:8443/"] {
            assert!(url(good, false).is_ok(), "{good}");
        }
        for loopback in ["http://127.0.0.1:80/x", "http://[::1]:9/"] {
            assert!(url(loopback, true).is_ok(), "{loopback}");
            assert!(url(loopback, false).is_err(), "{loopback}");
        }
        for bad in [
            "http://a.example/",
            "http://localhost:1/",
            "http://127.0.0.1.example/",
            "https://user@a.example/",
            "https://a.example/#f",
            "ftp://127.0.0.1/",
            "/path",
            "",
        ] {
            assert!(url(bad, true).is_err(), "{bad}");
        }
    }
}
