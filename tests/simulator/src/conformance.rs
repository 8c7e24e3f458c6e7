//! The problems of a switch's message, by the letter of the API definition.
//!
//! An FSP in the field takes most of this without complaint; tests should not.

use http::header::{ACCEPT, CONTENT_LENGTH, CONTENT_TYPE, DATE};
use http::{HeaderMap, Method};
use serde_json::Value;

use crate::headers::{DESTINATION, SOURCE};
use crate::ids::FspId;
use crate::message::{Resource, Route};

/// The hub's id in this repository's schemes.
const HUB: &str = "Hub";

/// The complaints about a message to this FSP; none if it is as it should be.
pub fn complaints(
    fsp: &FspId,
    method: &Method,
    path: &str,
    headers: &HeaderMap,
    body: &[u8],
) -> Vec<String> {
    let mut found = Vec::new();
    let Some(route) = Route::of(path) else {
        return vec![format!("{path} is no path of an FSP")];
    };
    if !allowed(method, route) {
        found.push(format!("{method} {path} is never sent to an FSP"));
    }
    let text = |name: &http::HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    match text(&SOURCE) {
        None => found.push("FSPIOP-Source is missing".to_owned()),
        Some("") => found.push("FSPIOP-Source is empty".to_owned()),
        Some(_) => {}
    }
    match text(&DESTINATION) {
        None => found.push("FSPIOP-Destination is missing".to_owned()),
        Some(destination) if destination != fsp.as_str() => {
            found.push(format!("FSPIOP-Destination is {destination}, not {fsp}"));
        }
        Some(_) => {}
    }
    match text(&DATE).map(httpdate::parse_http_date) {
        None => found.push("Date is missing".to_owned()),
        Some(Err(_)) => found.push("Date is no HTTP date".to_owned()),
        Some(Ok(_)) => {}
    }
    let callback = matches!(*method, Method::PUT | Method::PATCH);
    match text(&CONTENT_TYPE) {
        None => found.push("Content-Type is missing".to_owned()),
        Some(media) if !fits_resource(media, route.resource, true) => {
            found.push(format!("Content-Type is {media}"));
        }
        Some(_) => {}
    }
    match text(&ACCEPT) {
        Some(_) if callback => found.push(format!("Accept on a {method}")),
        None if !callback => found.push("Accept is missing".to_owned()),
        Some(media) => {
            let mut items = media.split(',').map(str::trim);
            if !items.all(|item| fits_resource(item, route.resource, false)) {
                found.push(format!("Accept is {media}"));
            }
        }
        None => {}
    }
    if headers.get_all(CONTENT_LENGTH).iter().count() > 1 {
        found.push("Content-Length is repeated".to_owned());
    }
    let has_body = *method != Method::GET;
    if has_body && serde_json::from_slice::<serde::de::IgnoredAny>(body).is_err() {
        found.push("the body is not JSON".to_owned());
    }
    if !has_body && !body.is_empty() {
        found.push("a body on a GET".to_owned());
    }
    if text(&SOURCE) == Some(HUB) && !is_in_order(body) {
        found.push("the hub's body is not as a validator writes it again".to_owned());
    }
    found
}

/// Whether a body is unchanged if a validator sorts its members before it verifies the signature. A body that
/// is not JSON is another complaint.
fn is_in_order(body: &[u8]) -> bool {
    let Ok(mut value) = serde_json::from_slice::<Value>(body) else {
        return true;
    };
    value.sort_all_objects();
    value.to_string().as_bytes() == body
}

/// Which messages a switch sends to an FSP.
fn allowed(method: &Method, route: Route<'_>) -> bool {
    let keyed = !route.key.is_empty();
    match (method.as_str(), route.resource) {
        ("PUT", _) => keyed,
        ("GET", Resource::Parties) => !route.error,
        ("POST", Resource::Quotes | Resource::Transfers) => !keyed && !route.error,
        ("PATCH", Resource::Transfers) => keyed,
        _ => false,
    }
}

/// True for `application/vnd.interoperability.<resource>+json`, with a version where one must
/// be.
fn fits_resource(media: &str, resource: Resource, versioned: bool) -> bool {
    let (media, version) = match media.split_once(';') {
        Some((media, version)) => (media.trim_end(), Some(version.trim_start())),
        None => (media, None),
    };
    let named = media
        .strip_prefix("application/vnd.interoperability.")
        .and_then(|rest| rest.strip_suffix("+json"));
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    let sound = match version.map(|version| version.strip_prefix("version=")) {
        None => !versioned,
        Some(None) => false,
        Some(Some(number)) => match number.split_once('.') {
            Some((major, minor)) => digits(major) && digits(minor),
            None => !versioned && digits(number),
        },
    };
    named == Some(resource.name()) && sound
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::headers::{Kind, Letterhead};
    use crate::message::Version;
    use http::HeaderValue;

    fn sound() -> (FspId, HeaderMap) {
        let hub = "Hub".parse().expect("an id");
        let headers = Letterhead::new(&hub, Version::V1_1).headers(
            Kind::Callback,
            Resource::Transfers,
            Some(HeaderValue::from_static("payerfsp")),
            HeaderValue::from_static("x"),
        );
        ("payerfsp".parse().expect("an id"), headers)
    }

    #[test]
    fn a_sound_message_gives_no_cause_for_complaint() {
        let (fsp, headers) = sound();
        let found = complaints(&fsp, &Method::PUT, "/transfers/1", &headers, b"{}");
        assert_eq!(found, Vec::<String>::new());
    }

    #[test]
    fn each_fault_is_named() {
        let (fsp, headers) = sound();
        let fault = |change: &dyn Fn(&mut HeaderMap)| {
            let mut headers = headers.clone();
            change(&mut headers);
            complaints(&fsp, &Method::PUT, "/transfers/1", &headers, b"{}").join("; ")
        };
        assert_eq!(
            fault(&|h| drop(h.remove(SOURCE))),
            "FSPIOP-Source is missing"
        );
        assert_eq!(fault(&|h| drop(h.remove(DATE))), "Date is missing");
        let other = HeaderValue::from_static("other");
        assert_eq!(
            fault(&|h| drop(h.insert(DESTINATION, other.clone()))),
            "FSPIOP-Destination is other, not payerfsp"
        );
        assert_eq!(
            fault(&|h| drop(h.insert(ACCEPT, other.clone()))),
            "Accept on a PUT"
        );
        assert_eq!(
            fault(&|h| drop(h.insert(CONTENT_TYPE, other.clone()))),
            "Content-Type is other"
        );
        let patch = complaints(&fsp, &Method::POST, "/transfers/1", &headers, b"nonsense");
        assert!(
            patch.iter().any(|c| c.contains("never sent to an FSP")),
            "{patch:?}"
        );
        assert!(
            patch.iter().any(|c| c == "the body is not JSON"),
            "{patch:?}"
        );
    }

    #[test]
    fn hub_body_members_are_ordered_at_every_level() {
        let (fsp, headers) = sound();
        let complaints = |source: &'static str, body: &str| {
            let mut headers = headers.clone();
            headers.insert(SOURCE, HeaderValue::from_static(source));
            complaints(
                &fsp,
                &Method::PUT,
                "/transfers/1",
                &headers,
                body.as_bytes(),
            )
        };
        let wrong = "the hub's body is not as a validator writes it again";
        for body in [
            r#"{"b":1,"a":2}"#,
            r#"{"a":[{"d":1,"c":2}]}"#,
            r#"{"a":{"d":1,"c":2}}"#,
            r#"{ "a":1}"#,
        ] {
            assert_eq!(complaints(HUB, body), [wrong], "{body}");
            assert_eq!(complaints("payeefsp", body), [""; 0], "{body}");
        }
        assert_eq!(
            complaints(HUB, r#"{"a":[{"c":"\n","d":1}],"b":{}}"#),
            [""; 0]
        );
    }

    #[test]
    fn media_types_need_a_full_version_where_content_is_described() {
        let media = "application/vnd.interoperability.quotes+json";
        assert!(fits_resource(
            &format!("{media};version=1.1"),
            Resource::Quotes,
            true
        ));
        assert!(fits_resource(
            &format!("{media}; version=1.1"),
            Resource::Quotes,
            true
        ));
        assert!(fits_resource(media, Resource::Quotes, false));
        assert!(fits_resource(
            &format!("{media};version=1"),
            Resource::Quotes,
            false
        ));
        assert!(!fits_resource(
            &format!("{media};version=1"),
            Resource::Quotes,
            true
        ));
        assert!(!fits_resource(
            &format!("{media};version=1.1"),
            Resource::Transfers,
            true
        ));
    }
}
