//! `application/x-www-form-urlencoded`: queries and bodies.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// What is encoded: all but the unreserved characters of RFC 3986.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');
/// The most parameters that are read.
const PARAMETERS_MAX: usize = 32;

/// One value.
pub(crate) fn encoded(text: &str) -> String {
    utf8_percent_encode(text, ENCODED).to_string()
}

/// Names and values.
pub(crate) fn written(parameters: &[(&str, &str)]) -> String {
    let pairs = parameters
        .iter()
        .map(|(name, value)| format!("{}={}", encoded(name), encoded(value)));
    pairs.collect::<Vec<String>>().join("&")
}

/// The parameters of a query. None if one occurs twice, or is no UTF-8, or there are too many.
pub(crate) fn read(query: &str) -> Option<Vec<(String, String)>> {
    let mut read: Vec<(String, String)> = Vec::new();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let (name, value) = (decoded(name)?, decoded(value)?);
        if read.len() == PARAMETERS_MAX || read.iter().any(|(known, _)| *known == name) {
            return None;
        }
        read.push((name, value));
    }
    Some(read)
}

fn decoded(text: &str) -> Option<String> {
    let spaced = text.replace('+', " ");
    let decoded = percent_decode_str(&spaced).decode_utf8().ok()?;
    Some(decoded.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let all = [("a", "1 + 1 = 2 & \u{e4}"), ("b c", ""), ("~", "-._~")];
        let read = read(&written(&all)).unwrap_or_default();
        let read: Vec<(&str, &str)> = read.iter().map(|(n, v)| (&**n, &**v)).collect();
        assert_eq!(read, all);
    }

    #[test]
    fn ambiguous_queries_are_not_read() {
        assert_eq!(read("a=1&a=2"), None);
        assert_eq!(read("a=1&%61=2"), None);
        assert_eq!(read("a=%ff"), None);
        assert!(read("a=1+2").is_some_and(|read| read[0].1 == "1 2"));
        let many: Vec<String> = (0..=PARAMETERS_MAX).map(|n| format!("p{n}=")).collect();
        assert_eq!(read(&many.join("&")), None);
    }
}
