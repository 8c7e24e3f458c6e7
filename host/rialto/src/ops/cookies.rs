//! The cookies of browsers on the operators' listener: of a session, and of a sign-in that is under way. No component sees
//! or sets them.

use axum::http::{HeaderMap, HeaderValue, header};

/// The prefix by which a browser takes a cookie from this host and from TLS alone.
const HOST: &str = "__Host-";
/// A session.
pub const SESSION: &str = "rialto-session";
/// A sign-in that is under way.
pub const SIGN_IN: &str = "rialto-sign-in";

/// The name of a cookie. Without TLS, browsers take no cookie with the prefix.
fn name(cookie: &str, is_secure: bool) -> String {
    format!("{}{cookie}", if is_secure { HOST } else { "" })
}

/// The value of a cookie. None if there are several, because one of them is of somebody else.
pub fn read<'h>(headers: &'h HeaderMap, cookie: &str, is_secure: bool) -> Option<&'h str> {
    let name = name(cookie, is_secure);
    let all = headers.get_all(header::COOKIE).iter();
    let all = all.filter_map(|value| value.to_str().ok());
    let pairs = all.flat_map(|value| value.split(';'));
    let mut values = pairs.filter_map(|pair| {
        let (known, value) = pair.trim().split_once('=')?;
        (known == name).then_some(value)
    });
    values.next().filter(|_| values.next().is_none())
}

/// Which requests of other sites a browser adds a cookie to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sites {
    /// Those that open a page: a provider leads back to this host.
    Lax,
    /// None.
    Strict,
}

impl Sites {
    const fn word(self) -> &'static str {
        match self {
            Self::Lax => "Lax",
            Self::Strict => "Strict",
        }
    }
}

/// The header that sets a cookie for so many seconds, or removes it (0 seconds). Values are of the characters of base64url
/// and `.`.
pub fn set(cookie: &str, value: &str, seconds: u64, is_secure: bool) -> HeaderValue {
    set_for(cookie, value, seconds, (is_secure, Sites::Lax))
}

/// The same, with the sites whose requests have it.
pub fn set_for(
    cookie: &str,
    value: &str,
    seconds: u64,
    (is_secure, sites): (bool, Sites),
) -> HeaderValue {
    let sites = sites.word();
    let name = name(cookie, is_secure);
    let secure = if is_secure { "; Secure" } else { "" };
    let text =
        format!("{name}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite={sites}{secure}");
    let mut set = HeaderValue::try_from(text).unwrap_or(HeaderValue::from_static(""));
    set.set_sensitive(true);
    set
}

/// Remove from a request's head what a component must not see. Browsers send cookies to all ports of a host, so that also
/// requests to other listeners have them.
pub fn hide(headers: &mut HeaderMap) {
    remove(headers, &header::COOKIE);
}

/// Remove from a component's answer what it must not set.
pub fn keep_own(headers: &mut HeaderMap) {
    remove(headers, &header::SET_COOKIE);
}

/// Remove the values of a header that name one of the host's cookies. Browsers compare names octet by octet, but not those
/// with the prefix.
fn remove(headers: &mut HeaderMap, header: &header::HeaderName) {
    let names_one = |value: &HeaderValue| {
        let text = String::from_utf8_lossy(value.as_bytes()).to_ascii_lowercase();
        text.contains(SESSION) || text.contains(SIGN_IN)
    };
    if !headers.get_all(header).iter().any(names_one) {
        return;
    }
    let kept = headers.get_all(header).iter();
    let kept: Vec<HeaderValue> = kept.filter(|value| !names_one(value)).cloned().collect();
    headers.remove(header);
    for value in kept {
        headers.append(header, value);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

    use super::*;

    fn of(header: &header::HeaderName, values: &[&str]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(header, HeaderValue::from_str(value).unwrap());
        }
        headers
    }

    fn sent(values: &[&str]) -> HeaderMap {
        of(&header::COOKIE, values)
    }

    #[test]
    fn cookie_is_read_if_it_is_the_only_one() {
        let one = sent(&["a=b; rialto-session=x", "c=d"]);
        assert_eq!(read(&one, SESSION, false), Some("x"));
        assert_eq!(read(&one, SESSION, true), None);
        assert_eq!(read(&one, SIGN_IN, false), None);
        let secure = sent(&["__Host-rialto-session=x"]);
        assert_eq!(read(&secure, SESSION, true), Some("x"));
        assert_eq!(read(&secure, SESSION, false), None);
        for two in [
            sent(&["rialto-session=x; rialto-session=y"]),
            sent(&["rialto-session=x", "rialto-session=x"]),
        ] {
            assert_eq!(read(&two, SESSION, false), None);
        }
    }

    #[test]
    fn cookie_is_for_this_host_and_no_script() {
        let set = |is_secure| set(SESSION, "x", 9, is_secure).to_str().unwrap().to_owned();
        let rest = "Path=/; Max-Age=9; HttpOnly; SameSite=Lax";
        assert_eq!(set(false), format!("rialto-session=x; {rest}"));
        assert_eq!(
            set(true),
            format!("__Host-rialto-session=x; {rest}; Secure")
        );
        let strict = set_for(SESSION, "x", 9, (true, Sites::Strict));
        assert_eq!(
            strict.to_str().unwrap(),
            "__Host-rialto-session=x; Path=/; Max-Age=9; HttpOnly; SameSite=Strict; Secure"
        );
    }

    #[test]
    fn components_see_and_set_no_cookie_of_the_host() {
        let mut headers = sent(&["a=b", "c=d; __host-RIALTO-session=x", "rialto-sign-in=y"]);
        hide(&mut headers);
        let left: Vec<_> = headers.get_all(header::COOKIE).iter().collect();
        assert_eq!(left, ["a=b"]);
        let mut headers = of(&header::SET_COOKIE, &["rialto-session=x; Path=/", "a=b"]);
        keep_own(&mut headers);
        let left: Vec<_> = headers.get_all(header::SET_COOKIE).iter().collect();
        assert_eq!(left, ["a=b"]);
    }
}
