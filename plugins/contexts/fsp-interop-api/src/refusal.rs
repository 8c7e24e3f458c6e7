//! Synchronous refusals in FSPIOP's shape: an HTTP status, a media type, an error body.

use crate::bindings::exports::rialto::host::http_handler::{
    RequestHead, Response, Violation, ViolationKind,
};
use crate::media::{Resource, Version, media_type, version_for_sender};
use crate::settings::{Deviation, Settings};
use rialto_sdk::bindings::rialto::common::types::ErrorInformation;
use rialto_sdk::errors;
use rialto_sdk::headers::{each, of_list};
use serde::Serialize;

/// The media type of error bodies in the published document.
pub const JSON: &str = "application/json";

/// Seconds after which a client may try again when the host is overloaded.
const RETRY_AFTER_SECONDS: &str = "1";

/// The prefix of a header's place in the host's problems.
const HEADER: &str = "header ";

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ErrorBody<'a> {
    error_information: ErrorInformationBody<'a>,
}

/// FSPIOP's ErrorInformation.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ErrorInformationBody<'a> {
    error_code: &'a str,
    error_description: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    extension_list: Option<ExtensionList<'a>>,
}

impl<'a> From<&'a ErrorInformation> for ErrorInformationBody<'a> {
    fn from(error: &'a ErrorInformation) -> Self {
        Self {
            error_code: &error.code,
            error_description: &error.description,
            extension_list: None,
        }
    }
}

/// FSPIOP's ExtensionList.
#[derive(Debug, Serialize)]
pub struct ExtensionList<'a> {
    /// 1 to 16 of them.
    pub extension: Vec<Extension<'a>>,
}

/// FSPIOP's Extension.
#[derive(Debug, Serialize)]
pub struct Extension<'a> {
    /// 1 to 32 characters.
    pub key: &'a str,
    /// 1 to 128 characters.
    pub value: &'a str,
}

/// The body of an error: of a refusal, or of a PUT …/error.
#[must_use]
pub fn error_body(error: &ErrorInformation) -> String {
    body(error, None)
}

fn body(error: &ErrorInformation, extension_list: Option<ExtensionList<'_>>) -> String {
    let body = ErrorBody {
        error_information: ErrorInformationBody {
            extension_list,
            ..ErrorInformationBody::from(error)
        },
    };
    serde_json::to_string(&body).expect("strings always have a JSON text")
}

/// Refuses a message that fits the OpenAPI document but not the scheme.
#[must_use]
pub fn refuse(content_type: (String, String), error: &ErrorInformation) -> Response {
    Response {
        status: errors::http_status(&error.code),
        headers: vec![content_type],
        body: Some(error_body(error)),
    }
}

/// The first path segments of services of the API definition that this switch lacks, in 1.1 and in the drafts
/// of 2.0.
const NOT_SERVED: [&str; 8] = [
    "authorizations",
    "bulkQuotes",
    "bulkTransfers",
    "fxQuotes",
    "fxTransfers",
    "services",
    "transactionRequests",
    "transactions",
];

/// Whether a path belongs to a service of the API definition that this switch lacks. With a 404, a client would
/// search for a mistake in its own path.
fn is_not_served(path: &str) -> bool {
    let first = path.split('/').nth(1).unwrap_or_default();
    NOT_SERVED.contains(&first)
}

/// Where the host finds a client that may not send from its address.
const CLIENT_ADDRESS: &str = "client address";

/// Words a problem that the host found in a request.
#[must_use]
pub fn word(head: &RequestHead, violation: &Violation, settings: &Settings) -> Response {
    let code = match violation.kind {
        ViolationKind::BodyTooLarge | ViolationKind::HeadersTooLarge => "3104",
        ViolationKind::UnknownPath if is_not_served(&head.path) => "2002",
        ViolationKind::UnknownPath => "3002",
        ViolationKind::MethodNotAllowed => "3000",
        ViolationKind::Missing => "3102",
        // The API has no code for who may not send from where.
        ViolationKind::Malformed if violation.location == CLIENT_ADDRESS => "3000",
        ViolationKind::Malformed | ViolationKind::NotJson => "3101",
        ViolationKind::UnacceptableVersion => "3001",
        ViolationKind::TooManyElements => "3103",
        ViolationKind::Overloaded => "2003",
        ViolationKind::Internal => "2001",
    };
    let error = errors::error(code, &detail(code, violation));
    let serves_2 = settings.resource_version2 == Deviation::Accept;
    let mut headers = vec![typed(&of_list(&head.headers), &head.path, serves_2)];
    let mut status = errors::http_status(code);
    let mut extension_list = None;
    match violation.kind {
        ViolationKind::MethodNotAllowed => {
            status = 405;
            headers.push(("allow".to_owned(), violation.allowed.join(", ")));
        }
        ViolationKind::Overloaded => {
            headers.push(("retry-after".to_owned(), RETRY_AFTER_SECONDS.to_owned()));
        }
        ViolationKind::UnacceptableVersion => extension_list = versions(&violation.allowed),
        ViolationKind::Malformed if violation.location == CLIENT_ADDRESS => status = 403,
        _ => {}
    }
    Response {
        status,
        headers,
        body: Some(body(&error, extension_list)),
    }
}

/// The text for an `Accept` without a served version: the API definition's, which clients compare.
const UNSERVED_ACCEPTED: &str =
    "The Client requested an unsupported version, see extension list for supported version(s).";
/// The same for a `Content-Type`: the text of deployed switches.
const UNSERVED_CONTENT: &str =
    "Client supplied a protocol version which is not supported by the server";

/// Place and problem. Callers get no details of failures inside the host.
fn detail(code: &str, violation: &Violation) -> String {
    let Violation {
        kind,
        location,
        detail,
        ..
    } = violation;
    match (kind, location.as_str(), detail.as_str()) {
        (ViolationKind::Internal, ..) => String::new(),
        (ViolationKind::UnknownPath, ..) if code == "2002" => {
            "this switch does not offer the service".to_owned()
        }
        (ViolationKind::UnacceptableVersion, "header Accept", _) => UNSERVED_ACCEPTED.to_owned(),
        (ViolationKind::UnacceptableVersion, ..) => UNSERVED_CONTENT.to_owned(),
        // The text of deployed switches, with the API definition's spelling of the header.
        (ViolationKind::Missing, location, _) if location.starts_with(HEADER) => {
            format!("{} is required", &location[HEADER.len()..])
        }
        (_, "", detail) => detail.to_owned(),
        (_, location, "") => location.to_owned(),
        (_, location, detail) if detail.starts_with(location) => detail.to_owned(),
        (_, location, detail) => format!("{location}: {detail}"),
    }
}

/// Supported versions as FSPIOP lists them: the major version is the key, the minor the value.
fn versions(supported: &[String]) -> Option<ExtensionList<'_>> {
    let extension: Vec<_> = supported
        .iter()
        .filter_map(|version| version.split_once('.'))
        .map(|(key, value)| Extension { key, value })
        .collect();
    (!extension.is_empty()).then_some(ExtensionList { extension })
}

/// The `Content-Type` of an error body: `application/json`, as in the published document, if the sender accepts
/// it; otherwise that of any answer to the message. A message without `Accept` (a PUT) accepts everything.
#[must_use]
pub fn error_type(headers: &str, path: &str) -> (String, String) {
    typed(headers, path, true)
}

/// The same for a message that was refused before the check of version 2.0.
fn typed(headers: &str, path: &str, serves_2: bool) -> (String, String) {
    if takes_json(headers) {
        ("content-type".to_owned(), JSON.to_owned())
    } else {
        versioned(headers, path, serves_2)
    }
}

/// Whether the sender accepts JSON without a version as an answer.
#[must_use]
pub fn takes_json(headers: &str) -> bool {
    let mut lists = each(headers)
        .filter(|(name, value)| *name == "accept" && !value.trim().is_empty())
        .peekable();
    let is_json = |item: &str| {
        let range = item.split(';').next().unwrap_or_default().trim();
        let ranges = [JSON, "application/*", "*/*"];
        ranges.iter().any(|one| range.eq_ignore_ascii_case(one))
    };
    lists.peek().is_none() || lists.any(|(_, list)| list.split(',').any(is_json))
}

/// The `Content-Type` of an answer to a message.
#[must_use]
pub fn content_type(headers: &str, path: &str) -> (String, String) {
    versioned(headers, path, true)
}

fn versioned(headers: &str, path: &str, serves_2: bool) -> (String, String) {
    let value = match Resource::of_path(path) {
        Some(resource) => {
            let spoken = version_for_sender(headers, resource);
            let is_served = serves_2 || spoken != Version::V2_0;
            media_type(resource, if is_served { spoken } else { Version::UNASKED })
        }
        None => JSON.to_owned(),
    };
    ("content-type".to_owned(), value)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRANSFERS: &str = "application/vnd.interoperability.transfers+json;version=1.1";

    #[test]
    fn a_refusal_is_json_to_whoever_takes_that() {
        for (accept, json) in [
            (&[][..], true),
            (&[""], true),
            (&[TRANSFERS], false),
            (&[TRANSFERS, "application/json"], true),
            (&["application/json;q=0.5 , x/y"], true),
            (&["Application/JSON"], true),
            (&["*/*"], true),
            (&["application/*"], true),
            (&["text/plain, application/jsonp"], false),
        ] {
            let headers = accept.iter().map(|value| format!("accept: {value}\n"));
            let headers: String = headers.collect();
            let (_, found) = error_type(&headers, "/transfers");
            let expected = if json { JSON } else { TRANSFERS };
            assert_eq!(found, expected, "{accept:?}");
            let answer = content_type(&headers, "/transfers").1;
            assert_eq!(
                answer, TRANSFERS,
                "what is no error has its resource's type"
            );
        }
    }

    fn refused(kind: ViolationKind, location: &str, detail: &str, allowed: &[&str]) -> Response {
        let head = RequestHead {
            method: "POST".to_owned(),
            path: "/transfers".to_owned(),
            headers: vec![("accept".to_owned(), TRANSFERS.to_owned())],
        };
        let violation = Violation {
            kind,
            location: location.to_owned(),
            detail: detail.to_owned(),
            allowed: allowed.iter().map(|text| (*text).to_owned()).collect(),
        };
        word(&head, &violation, &Settings::default())
    }

    #[test]
    fn sender_from_a_wrong_address_is_forbidden() {
        let response = refused(ViolationKind::Malformed, "client address", "no", &[]);
        assert_eq!(response.status, 403);
        let body = response.body.unwrap();
        assert!(body.contains(r#""errorCode":"3000""#), "{body}");
    }

    #[test]
    fn every_violation_has_the_status_and_code_of_the_specification() {
        for (kind, status, code) in [
            (ViolationKind::BodyTooLarge, 400, "3104"),
            (ViolationKind::HeadersTooLarge, 400, "3104"),
            (ViolationKind::UnknownPath, 404, "3002"),
            (ViolationKind::MethodNotAllowed, 405, "3000"),
            (ViolationKind::Missing, 400, "3102"),
            (ViolationKind::Malformed, 400, "3101"),
            (ViolationKind::UnacceptableVersion, 406, "3001"),
            (ViolationKind::NotJson, 400, "3101"),
            (ViolationKind::TooManyElements, 400, "3103"),
            (ViolationKind::Overloaded, 503, "2003"),
            (ViolationKind::Internal, 500, "2001"),
        ] {
            let response = refused(kind, "", "", &[]);
            assert_eq!(response.status, status, "{kind:?}");
            let body = response.body.unwrap();
            assert!(body.starts_with(&format!(r#"{{"errorInformation":{{"errorCode":"{code}""#)));
        }
    }

    #[test]
    fn defined_service_that_is_not_offered_is_501() {
        let refused = |path: &str| {
            let head = RequestHead {
                method: "POST".to_owned(),
                path: path.to_owned(),
                headers: Vec::new(),
            };
            let violation = Violation {
                kind: ViolationKind::UnknownPath,
                location: "path".to_owned(),
                detail: "is none of this API's paths".to_owned(),
                allowed: Vec::new(),
            };
            let response = word(&head, &violation, &Settings::default());
            let body = response.body.unwrap_or_default();
            let body: serde_json::Value = serde_json::from_str(&body).unwrap();
            let error = body["errorInformation"]["errorDescription"].clone();
            (
                response.status,
                error.as_str().unwrap_or_default().to_owned(),
            )
        };
        let (status, words) = refused("/bulkQuotes");
        let expected = "Not implemented - this switch does not offer the service";
        assert_eq!((status, words.as_str()), (501, expected));
        for path in [
            "/transactionRequests",
            "/authorizations/1/error",
            "/fxTransfers/1",
        ] {
            assert_eq!(refused(path).0, 501, "{path}");
        }
        for path in [
            "/bulkquotes",
            "/nothing",
            "/",
            "/transfers/1/2/3",
            "/x/bulkQuotes",
        ] {
            assert_eq!(refused(path).0, 404, "{path}");
        }
    }

    #[test]
    fn a_refusal_names_where_and_what() {
        let response = refused(ViolationKind::Malformed, "header Date", "is no date", &[]);
        assert_eq!(
            response.body.unwrap(),
            r#"{"errorInformation":{"errorCode":"3101","errorDescription":"Malformed syntax - header Date: is no date"}}"#
        );
        assert_eq!(
            response.headers,
            [("content-type".to_owned(), TRANSFERS.to_owned())]
        );
    }

    #[test]
    fn the_words_that_clients_compare_are_those_of_the_definition() {
        for (kind, location, words) in [
            (
                ViolationKind::Missing,
                "header Accept",
                "Missing mandatory element - Accept is required",
            ),
            (
                ViolationKind::Missing,
                "header Content-Type",
                "Missing mandatory element - Content-Type is required",
            ),
            (
                ViolationKind::Missing,
                "header FSPIOP-Source",
                "Missing mandatory element - FSPIOP-Source is required",
            ),
            (
                ViolationKind::UnacceptableVersion,
                "header Accept",
                "Unacceptable version requested - The Client requested an unsupported version, see extension list for supported version(s).",
            ),
            (
                ViolationKind::UnacceptableVersion,
                "header Content-Type",
                "Unacceptable version requested - Client supplied a protocol version which is not supported by the server",
            ),
        ] {
            let body = refused(kind, location, "is required", &[]).body.unwrap();
            let body: serde_json::Value = serde_json::from_str(&body).unwrap();
            assert_eq!(body["errorInformation"]["errorDescription"], words);
        }
        let member = refused(ViolationKind::Missing, "body /payeeFsp", "is required", &[]);
        let words = "Missing mandatory element - body /payeeFsp: is required";
        assert!(member.body.unwrap().contains(words));
    }

    #[test]
    fn refusal_is_in_version_2_only_if_served() {
        let served = Settings {
            resource_version2: Deviation::Accept,
            ..Settings::default()
        };
        let item = "application/vnd.interoperability.transfers+json;version=2.0";
        let head = RequestHead {
            method: "POST".to_owned(),
            path: "/transfers".to_owned(),
            headers: ["accept", "content-type"]
                .map(|name| (name.to_owned(), item.to_owned()))
                .into(),
        };
        let violation = Violation {
            kind: ViolationKind::BodyTooLarge,
            location: "body".to_owned(),
            detail: String::new(),
            allowed: Vec::new(),
        };
        for (settings, expected) in [(&served, item), (&Settings::default(), TRANSFERS)] {
            let response = word(&head, &violation, settings);
            assert_eq!(response.headers[0].1, expected);
        }
    }

    #[test]
    fn an_unsupported_version_is_answered_with_the_supported_ones() {
        let response = refused(
            ViolationKind::UnacceptableVersion,
            "header Accept",
            "",
            &["1.0", "1.1"],
        );
        let body = response.body.unwrap();
        assert!(
            body.ends_with(
                r#""extensionList":{"extension":[{"key":"1","value":"0"},{"key":"1","value":"1"}]}}}"#
            ),
            "{body}"
        );
    }

    #[test]
    fn a_refused_method_is_answered_with_those_that_are_allowed() {
        let response = refused(ViolationKind::MethodNotAllowed, "", "", &["GET", "PUT"]);
        assert!(
            response
                .headers
                .contains(&("allow".to_owned(), "GET, PUT".to_owned()))
        );
    }

    #[test]
    fn an_overloaded_host_says_when_to_come_back() {
        let response = refused(ViolationKind::Overloaded, "", "", &[]);
        assert!(
            response
                .headers
                .contains(&("retry-after".to_owned(), "1".to_owned()))
        );
    }

    #[test]
    fn a_failure_inside_is_not_disclosed() {
        let body = refused(ViolationKind::Internal, "x", "trap in secret.rs", &[])
            .body
            .unwrap();
        assert!(!body.contains("secret"), "{body}");
    }
}
