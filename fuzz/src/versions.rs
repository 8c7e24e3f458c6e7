//! Versions: what is asked for is read a second time, letter by letter, and both the host and the
//! component must have understood the same.

use fsp_interop_api::bindings::exports::rialto::host::http_handler::ViolationKind;
use fsp_interop_api::media::{Resource, version_for_sender};
use http::{HeaderValue, Request};
use rialto_openapi::head::texts;
use rialto_sdk::headers::of_list;

use crate::messages::request_of;
use crate::request::Sent;

const ID: &str = "b51ec534-ee48-4575-b6a9-ead2955b8069";

/// What stands for any minor version.
const ANY_MINOR: &str = "1";

/// Lines: a resource, GET or PUT, an Accept, a Content-Type. What is missing is not sent.
pub fn judge(bytes: &[u8]) {
    let mut lines = bytes.split(|byte| *byte == b'\n');
    let (resource, path) = match lines.next() {
        Some(b"participants") => (Resource::Participants, "/participants/MSISDN/1".to_owned()),
        Some(b"parties") => (Resource::Parties, "/parties/MSISDN/1/error".to_owned()),
        Some(b"quotes") => (Resource::Quotes, format!("/quotes/{ID}")),
        _ => (Resource::Transfers, format!("/transfers/{ID}")),
    };
    let is_query = lines.next() != Some(b"PUT") || resource == Resource::Participants;
    let path = match is_query {
        true => path.trim_end_matches("/error").to_owned(),
        false if path.ends_with("/error") => path,
        false => format!("{path}/error"),
    };
    let mut value = || {
        lines
            .next()
            .and_then(|line| HeaderValue::from_bytes(line).ok())
    };
    let (accept, content_type) = (value(), value());
    let sent = sent(is_query, &path, accept.as_ref(), content_type.as_ref());
    let headers = of_list(&texts(&sent.head.headers));
    let spoken = version_for_sender(&headers, resource);

    // As the document lists them: Accept, of queries only, before Content-Type.
    let accepted = is_query.then(|| Asked::of(accept.as_ref(), resource, true));
    let content = Asked::of(content_type.as_ref(), resource, false);
    let decisive = match accepted {
        Some(asked) if !matches!(asked, Asked::Served(_)) => asked,
        _ => content,
    };
    let expected = match decisive {
        Asked::Served(_) => None,
        Asked::Nothing => Some(ViolationKind::Missing),
        Asked::Nonsense => Some(ViolationKind::Malformed),
        Asked::Other => Some(ViolationKind::UnacceptableVersion),
    };
    let found = request_of(&sent);
    let kind = found.as_ref().err().map(|violation| violation.kind);
    assert_eq!(kind, expected, "{accept:?} {content_type:?}: {found:?}");
    if let Err(violation) = &found
        && violation.kind == ViolationKind::UnacceptableVersion
    {
        let served = resource.versions().iter().map(|version| version.text());
        assert!(violation.allowed.iter().map(String::as_str).eq(served));
    }
    let wanted = match (accepted, content) {
        // Who takes any minor version is spoken to in its own.
        (Some(Asked::Served(ANY_MINOR)), Asked::Served(own)) => own,
        (Some(Asked::Served(version)), _) | (None, Asked::Served(version)) => version,
        _ => return,
    };
    if found.is_err() {
        return;
    }
    // 2.0 is not: this is the document of the defaults.
    assert!(
        resource.versions().contains(&spoken),
        "{spoken:?} is not served"
    );
    // A PUT has no Accept; one that has is spoken to in what it accepts, if that is anything.
    if is_query || accept.is_none() {
        assert_eq!(spoken.text(), wanted, "{accept:?} {content_type:?}");
    }
}

fn sent(
    is_query: bool,
    path: &str,
    accept: Option<&HeaderValue>,
    content_type: Option<&HeaderValue>,
) -> Sent {
    let mut request = Request::builder()
        .method(if is_query { "GET" } else { "PUT" })
        .uri(path)
        .header("date", "Tue, 15 Nov 1994 08:12:31 GMT")
        .header("fspiop-source", "payerfsp");
    for (name, value) in [("accept", accept), ("content-type", content_type)] {
        if let Some(value) = value {
            request = request.header(name, value);
        }
    }
    let (head, ()) = request.body(()).expect("its parts are sound").into_parts();
    let error = r#"{"errorInformation":{"errorCode":"5100","errorDescription":"no"}}"#;
    let body = if is_query { Vec::new() } else { error.into() };
    Sent { head, body }
}

/// What a header asks for.
#[derive(Clone, Copy, Debug)]
enum Asked {
    /// It is not there.
    Nothing,
    /// Nothing of this API.
    Nonsense,
    /// Versions that are not served.
    Other,
    /// This one.
    Served(&'static str),
}

impl Asked {
    fn of(value: Option<&HeaderValue>, resource: Resource, is_list: bool) -> Self {
        let Some(value) = value else {
            return Self::Nothing;
        };
        let Ok(text) = value.to_str() else {
            return Self::Nonsense;
        };
        let items: Vec<&str> = if is_list {
            text.split(',').collect()
        } else {
            vec![text]
        };
        let mut asked = Self::Nonsense;
        for item in items {
            match Self::item(item.trim_matches([' ', '\t']), resource, is_list) {
                Self::Nonsense => {}
                Self::Served(version) => return Self::Served(version),
                other => asked = other,
            }
        }
        asked
    }

    /// One media type: a version is `1.0`, in Accept also `1` or none.
    fn item(item: &str, resource: Resource, is_accept: bool) -> Self {
        let prefix = format!("application/vnd.interoperability.{}+json", resource.name());
        let Some(rest) = item.strip_prefix(prefix.as_str()) else {
            return Self::Nonsense;
        };
        let newest = resource
            .versions()
            .last()
            .map_or("", |version| version.text());
        if rest.is_empty() {
            return if is_accept {
                Self::Served(newest)
            } else {
                Self::Nonsense
            };
        }
        let blank = |text: &str| text.strip_prefix([' ', '\t']).unwrap_or(text).to_owned();
        let rest = blank(rest);
        let Some(rest) = rest.strip_prefix(';') else {
            return Self::Nonsense;
        };
        let rest = blank(rest);
        let Some(version) = rest.strip_prefix("version=") else {
            return Self::Nonsense;
        };
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        match version.split_once('.') {
            None if is_accept && is_number(version) => match version {
                "1" => Self::Served(ANY_MINOR),
                _ => Self::Other,
            },
            Some((major, minor)) if is_number(major) && is_number(minor) => {
                let mut served = resource.versions().iter().map(|served| served.text());
                served
                    .find(|served| *served == version)
                    .map_or(Self::Other, Self::Served)
            }
            _ => Self::Nonsense,
        }
    }
}
