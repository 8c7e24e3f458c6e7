//! Headers: which of a message go on with it, and which a message of the hub carries.

use crate::media::{Resource, Version, media_type};
use rialto_sdk::messages::filled_header;
use rialto_sdk::time::format_http_date;

/// A header's name in lower case and its value.
pub type Header = (String, String);

/// Headers that go on with a message, beside those of FSPIOP's own. What is not listed here is
/// between one FSP and the hub, or a client's own: the other FSP's servers may believe such headers
/// (who is calling, from where, by which route), so no FSP may set them for another.
const FORWARDED: [&str; 6] = [
    "accept",
    "content-type",
    "date",
    "traceparent",
    "tracestate",
    "x-forwarded-for",
];

/// What begins the names of FSPIOP's own headers: source, destination, signature, uri, http-method,
/// encryption.
const FSPIOP: &str = "fspiop-";

/// The one of FSPIOP's headers that is between one FSP and one hub: through which scheme a message
/// came.
const PROXY: &str = "fspiop-proxy";

/// Keep what goes on with a message. `Accept` has no meaning on a PUT or PATCH.
#[must_use]
pub fn forwardable(mut headers: Vec<Header>, method: &str) -> Vec<Header> {
    let with_accept = !matches!(method, "PUT" | "PATCH");
    headers.retain(|(name, _)| match name.as_str() {
        "accept" => with_accept,
        PROXY => false,
        name => name.starts_with(FSPIOP) || FORWARDED.contains(&name),
    });
    headers
}

/// The destination that the sender named; none when it left it open, in one of three ways.
#[must_use]
pub fn named_destination<'a>(headers: &'a [Header], hub: &str) -> Option<&'a str> {
    filled_header(headers, "fspiop-destination").filter(|destination| *destination != hub)
}

/// The headers of a forwarded message: as received, the destination filled in where it was open.
#[must_use]
pub fn forwarded(mut headers: Vec<Header>, destination: &str, hub: &str) -> Vec<Header> {
    if named_destination(&headers, hub).is_none() {
        headers.retain(|(name, _)| name != "fspiop-destination");
        headers.push(("fspiop-destination".to_owned(), destination.to_owned()));
    }
    headers
}

/// The headers of a message that the hub makes. The trace of its cause goes on.
#[must_use]
pub fn originated(
    resource: Resource,
    version: Version,
    destination: &str,
    hub: &str,
    now: u64,
    cause: &[Header],
) -> Vec<Header> {
    let mut headers = vec![
        ("content-type".to_owned(), media_type(resource, version)),
        ("date".to_owned(), format_http_date(now)),
        ("fspiop-source".to_owned(), hub.to_owned()),
        ("fspiop-destination".to_owned(), destination.to_owned()),
    ];
    let trace = cause
        .iter()
        .filter(|(name, _)| name == "traceparent" || name == "tracestate");
    headers.extend(trace.cloned());
    headers
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(name: &str, value: &str) -> Header {
        (name.to_owned(), value.to_owned())
    }

    #[test]
    fn a_forwarded_message_keeps_the_headers_of_the_api_and_no_others() {
        let received = vec![
            header("host", "hub"),
            header("content-length", "2"),
            header("authorization", "Bearer secret"),
            header("accept", "x"),
            header("date", "Tue, 15 Nov 1994 08:12:31 GMT"),
            header("fspiop-source", "payerfsp"),
            header("fspiop-signature", "{}"),
            header("fspiop-proxy", "otherscheme"),
            header("x-forwarded-for", "192.0.2.1"),
            header("x-forwarded-host", "victim"),
            header("x-original-url", "/admin"),
            header("x-client-id", "payeefsp"),
            header("x-private", "1"),
            header("traceparent", "00-1-2-01"),
        ];
        let names = |method| -> Vec<String> {
            forwardable(received.clone(), method)
                .into_iter()
                .map(|(name, _)| name)
                .collect()
        };
        let always = [
            "date",
            "fspiop-source",
            "fspiop-signature",
            "x-forwarded-for",
            "traceparent",
        ];
        assert_eq!(names("PUT"), always);
        assert_eq!(names("POST")[1..], always);
        assert_eq!(names("POST")[0], "accept");
    }

    #[test]
    fn an_open_destination_is_filled_in_and_a_named_one_is_kept() {
        for open in [None, Some(""), Some("  "), Some("Hub")] {
            let received: Vec<_> = open
                .iter()
                .map(|value| header("fspiop-destination", value))
                .collect();
            let sent = forwarded(received, "payeefsp", "Hub");
            assert_eq!(sent, [header("fspiop-destination", "payeefsp")]);
        }
        let received = vec![header("fspiop-destination", "otherfsp")];
        assert_eq!(forwarded(received.clone(), "payeefsp", "Hub"), received);
    }

    #[test]
    fn a_message_of_the_hub_says_so_and_goes_on_with_the_trace() {
        let cause = [
            header("traceparent", "00-1-2-01"),
            header("fspiop-signature", "{}"),
            header("date", "x"),
        ];
        let sent = originated(
            Resource::Quotes,
            Version::V1_0,
            "payerfsp",
            "Hub",
            784_887_151_000,
            &cause,
        );
        assert_eq!(
            sent,
            [
                header(
                    "content-type",
                    "application/vnd.interoperability.quotes+json;version=1.0"
                ),
                header("date", "Tue, 15 Nov 1994 08:12:31 GMT"),
                header("fspiop-source", "Hub"),
                header("fspiop-destination", "payerfsp"),
                header("traceparent", "00-1-2-01"),
            ]
        );
    }
}
