//! Checks of FSPIOP-URI: it must name the path and the query of the request.
//!
//! The host gives the query decoded. So the signed query is decoded in the same way, and both are compared
//! parameter by parameter.

use crate::bindings::exports::rialto::host::http_handler::Request;
use crate::settings::Settings;
use crate::usual;

/// Whether a signed FSPIOP-URI has the request's path and query, with the parameters in the same order. The
/// path is compared octet by octet. If the settings ignore a slash at its end, it is ignored on both sides: an
/// HTTP library may add one to the path that the client signs, or remove one.
#[must_use]
pub fn is_of(uri: &str, request: &Request, settings: &Settings) -> bool {
    let (path, query) = uri.split_once('?').unwrap_or((uri, ""));
    usual::path(path, settings) == usual::path(&request.path, settings)
        && parameters(query) == request.query_parameters
}

/// The parameters of a query, decoded.
fn parameters(query: &str) -> Vec<(String, String)> {
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    let decode = |pair: &str| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        (decoded(name), decoded(value))
    };
    pairs.map(decode).collect()
}

/// Decodes a name or a value like the host: `+` is a blank, `%` with two hexadecimal digits is an octet, and
/// invalid UTF-8 is replaced.
fn decoded(text: &str) -> String {
    let mut rest = text.as_bytes();
    let mut octets = Vec::with_capacity(rest.len());
    while let [first, behind @ ..] = rest {
        let escaped = match (first, behind) {
            (b'%', [high, low, ..]) => hex(*high).zip(hex(*low)),
            _ => None,
        };
        rest = behind;
        match (escaped, first) {
            (Some((high, low)), _) => {
                octets.push(high << 4 | low);
                rest = &behind[2..];
            }
            (None, b'+') => octets.push(b' '),
            (None, other) => octets.push(*other),
        }
    }
    String::from_utf8_lossy(&octets).into_owned()
}

fn hex(digit: u8) -> Option<u8> {
    let value = char::from(digit).to_digit(16)?;
    u8::try_from(value).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Deviation;

    fn request(path: &str, query: &[(&str, &str)]) -> Request {
        let query = query.iter();
        Request {
            operation_id: String::new(),
            method: "DELETE".to_owned(),
            path: path.to_owned(),
            path_parameters: Vec::new(),
            query_parameters: query
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect(),
            headers: Vec::new(),
            body: None,
            caller: None,
        }
    }

    #[test]
    fn path_and_query_are_those_of_the_request() {
        let path = "/participants/MSISDN/1";
        let is_of = |uri: &str, request: &Request| is_of(uri, request, &Settings::default());
        let bare = request(path, &[]);
        assert!(is_of(path, &bare));
        assert!(is_of("/participants/MSISDN/1?", &bare));
        assert!(!is_of("/participants/MSISDN/1?currency=USD", &bare));
        assert!(!is_of("/participants/MSISDN/1/", &bare));
        assert!(!is_of("/participants/MSISDN/%31", &bare));
        let asks = request(path, &[("currency", "USD"), ("x", "a b")]);
        for uri in ["?currency=USD&x=a+b", "?currency=%55SD&x=a%20b&"] {
            assert!(is_of(&format!("{path}{uri}"), &asks), "{uri}");
        }
        for uri in [
            "",
            "?currency=USD",
            "?x=a+b&currency=USD",
            "?currency=RWF&x=a+b",
            "?currency=USD&x=a+b&y",
            "?currency=USD&x=a%2Bb",
        ] {
            assert!(!is_of(&format!("{path}{uri}"), &asks), "{uri}");
        }
    }

    #[test]
    fn trailing_slash_setting_ignores_it_on_both_sides() {
        let lenient = Settings {
            trailing_slash: Deviation::Accept,
            ..Settings::default()
        };
        let (bare, with_slash) = ("/participants/MSISDN/1", "/participants/MSISDN/1/");
        for sent in [bare, with_slash] {
            for signed in [bare, with_slash] {
                let plain = request(sent, &[]);
                let asks = request(sent, &[("currency", "USD")]);
                let signed_query = format!("{signed}?currency=USD");
                assert!(is_of(signed, &plain, &lenient), "{sent} {signed}");
                assert!(is_of(&signed_query, &asks, &lenient), "{sent} {signed}");
                assert!(!is_of(signed, &asks, &lenient), "{sent} {signed}");
                assert!(!is_of(&signed_query, &plain, &lenient), "{sent} {signed}");
                let strict = is_of(signed, &plain, &Settings::default());
                assert_eq!(strict, sent == signed, "{sent} {signed}");
            }
            for other in ["/participants/MSISDN", "/participants/MSISDN/1//", "/", ""] {
                assert!(
                    !is_of(other, &request(sent, &[]), &lenient),
                    "{sent} {other}"
                );
            }
        }
    }

    #[test]
    fn what_is_no_escape_is_itself() {
        for (text, expected) in [
            ("%", "%"),
            ("%4", "%4"),
            ("%zz%41", "%zzA"),
            ("%%41", "%A"),
            ("%C3%BC", "ü"),
            ("%ff", "\u{fffd}"),
        ] {
            assert_eq!(decoded(text), expected, "{text}");
        }
    }
}
