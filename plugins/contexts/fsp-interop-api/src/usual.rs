//! Brings messages that deviate from the API definition, and that the settings admit, into the definition's
//! form. So they are read and forwarded like any other, and no receiver has to accept deviations. Protected
//! headers are an exception: the hub and the receiver verify them as they were sent, so they are forwarded
//! unchanged.

use crate::settings::{Deviation, Settings};
use rialto_sdk::headers::{each, push};

/// A message's header section without charsets in its media types; none if nothing changes. Headers for which
/// `stays` holds do not change.
#[must_use]
pub fn headers(section: &str, settings: &Settings, stays: impl Fn(&str) -> bool) -> Option<String> {
    if settings.charset_parameter == Deviation::Refuse {
        return None;
    }
    let has_any =
        each(section).any(|(name, value)| is_media_type(name) && without_charset(value) != value);
    has_any.then(|| {
        let mut usual = String::with_capacity(section.len());
        for (name, value) in each(section) {
            if is_media_type(name) && !stays(name) {
                push(&mut usual, name, &without_charset(value));
            } else {
                push(&mut usual, name, value);
            }
        }
        usual
    })
}

/// A path without a slash at its end, if the settings ignore the slash.
#[must_use]
pub fn path<'a>(path: &'a str, settings: &Settings) -> &'a str {
    match path.strip_suffix('/') {
        Some(usual) if !usual.is_empty() && settings.trailing_slash == Deviation::Accept => usual,
        _ => path,
    }
}

fn is_media_type(name: &str) -> bool {
    matches!(name, "accept" | "content-type")
}

/// A media type, or a list of them, without `charset=utf-8`.
fn without_charset(value: &str) -> String {
    let parts = value.split(',').map(|item| {
        let parameters = item.split(';').filter(|part| !is_charset(part.trim()));
        parameters.collect::<Vec<_>>().join(";")
    });
    parts.collect::<Vec<_>>().join(",")
}

fn is_charset(parameter: &str) -> bool {
    let Some((name, value)) = parameter.split_once('=') else {
        return false;
    };
    let value = value.strip_prefix('"').unwrap_or(value);
    let value = value.strip_suffix('"').unwrap_or(value);
    name.eq_ignore_ascii_case("charset") && value.eq_ignore_ascii_case("utf-8")
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEDIA: &str = "application/vnd.interoperability.transfers+json";

    fn lenient() -> Settings {
        Settings {
            charset_parameter: Deviation::Accept,
            trailing_slash: Deviation::Accept,
            ..Settings::default()
        }
    }

    #[test]
    fn charset_is_removed_from_media_types_only() {
        let usual = |value: &str| {
            let section = format!("date: a;charset=utf-8\naccept: {value}\n");
            headers(&section, &lenient(), |_| false)
                .unwrap_or(section)
                .strip_prefix("date: a;charset=utf-8\naccept: ")
                .map(|value| value.trim_end_matches('\n').to_owned())
        };
        for (sent, expected) in [
            (";version=1.1;charset=utf-8", ";version=1.1"),
            (";version=1.1; charset=\"UTF-8\"", ";version=1.1"),
            ("; Charset=utf-8; version=1.1", "; version=1.1"),
            (";charset=utf-8", ""),
            (";version=1.1;charset=latin1", ";version=1.1;charset=latin1"),
            (" ; version=1.1", " ; version=1.1"),
        ] {
            let (sent, expected) = (format!("{MEDIA}{sent}"), format!("{MEDIA}{expected}"));
            assert_eq!(usual(&sent), Some(expected.clone()));
            let twice = usual(&format!("{sent}, {sent}"));
            assert_eq!(twice, Some(format!("{expected}, {expected}")));
        }
    }

    #[test]
    fn without_the_settings_a_message_stays_as_it_is() {
        let section = format!("accept: {MEDIA};charset=utf-8\n");
        let strict = Settings::default();
        assert_eq!(headers(&section, &strict, |_| false), None);
        let usual = format!("accept: {MEDIA}\n");
        assert_eq!(headers(&usual, &lenient(), |_| false), None);
        assert_eq!(path("/quotes/", &strict), "/quotes/");
    }

    #[test]
    fn what_must_stay_as_it_was_sent_stays() {
        let section =
            format!("accept: {MEDIA};charset=utf-8\ncontent-type: {MEDIA};charset=utf-8\n");
        let usual = headers(&section, &lenient(), |name| name == "content-type");
        let expected = format!("accept: {MEDIA}\ncontent-type: {MEDIA};charset=utf-8\n");
        assert_eq!(usual, Some(expected));
    }

    #[test]
    fn one_slash_at_the_end_is_taken_off() {
        for (sent, expected) in [
            ("/quotes/", "/quotes"),
            ("/quotes", "/quotes"),
            ("/quotes//", "/quotes/"),
            ("/", "/"),
        ] {
            assert_eq!(path(sent, &lenient()), expected);
        }
    }
}
