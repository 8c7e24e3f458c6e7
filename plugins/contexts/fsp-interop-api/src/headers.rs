//! Headers of forwarded messages and of the hub's own messages.

use crate::media::{Resource, Version, media_type};
use rialto_sdk::headers::{filled, kept, push};
use rialto_sdk::time::format_http_date;

/// Headers that are forwarded, besides FSPIOP's own. All others are dropped: the other FSP's servers may trust
/// them (who is calling, from where, by which route), so no FSP may set them for another.
const FORWARDED: [&str; 6] = [
    "accept",
    "content-type",
    "date",
    "traceparent",
    "tracestate",
    "x-forwarded-for",
];

/// The prefix of FSPIOP's own headers: source, destination, signature, uri, http-method, encryption.
const FSPIOP: &str = "fspiop-";

const DESTINATION: &str = "fspiop-destination";

/// The FSPIOP header that is not forwarded: it names the scheme a message came through.
const PROXY: &str = "fspiop-proxy";

/// The API definition's spelling of its headers.
const SPELT: [&str; 10] = [
    "Accept",
    "Content-Type",
    "Date",
    "FSPIOP-Source",
    "FSPIOP-Destination",
    "FSPIOP-Encryption",
    "FSPIOP-Signature",
    "FSPIOP-URI",
    "FSPIOP-HTTP-Method",
    "X-Forwarded-For",
];

/// A header's name as the API definition spells it, for error texts; another name as it is.
#[must_use]
pub fn spelt(name: &str) -> &str {
    let mut known = SPELT.into_iter();
    known
        .find(|known| known.eq_ignore_ascii_case(name))
        .unwrap_or(name)
}

/// Whether a header is forwarded. `Accept` has no meaning on a PUT or PATCH.
#[must_use]
pub fn forwardable(headers: &str, method: &str) -> String {
    let with_accept = !matches!(method, "PUT" | "PATCH");
    kept(headers, |name| match name {
        "accept" => with_accept,
        PROXY => false,
        name => name.starts_with(FSPIOP) || FORWARDED.contains(&name),
    })
}

/// The destination that the sender named; none if it left it open, in one of three ways.
#[must_use]
pub fn named_destination<'a>(headers: &'a str, hub: &str) -> Option<&'a str> {
    filled(headers, DESTINATION).filter(|destination| *destination != hub)
}

/// The headers of a forwarded message: as received, with a missing destination added.
#[must_use]
pub fn forwarded(headers: String, destination: &str, hub: &str) -> String {
    if named_destination(&headers, hub).is_some() {
        return headers;
    }
    let mut headers = kept(&headers, |name| name != DESTINATION);
    push(&mut headers, DESTINATION, destination);
    headers
}

/// The headers of a message of the hub. It continues the trace of its cause.
#[must_use]
pub fn originated(
    resource: Resource,
    version: Version,
    destination: &str,
    hub: &str,
    now: u64,
    cause: &str,
) -> String {
    let mut headers = String::new();
    push(&mut headers, "content-type", &media_type(resource, version));
    push(&mut headers, "date", &format_http_date(now));
    push(&mut headers, "fspiop-source", hub);
    push(&mut headers, DESTINATION, destination);
    headers.push_str(&kept(cause, |name| {
        name == "traceparent" || name == "tracestate"
    }));
    headers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forwarded_message_keeps_only_headers_of_the_api() {
        let received = "host: hub\n\
            content-length: 2\n\
            authorization: Bearer secret\n\
            accept: x\n\
            date: Tue, 15 Nov 1994 08:12:31 GMT\n\
            fspiop-source: payerfsp\n\
            fspiop-signature: {}\n\
            fspiop-proxy: otherscheme\n\
            x-forwarded-for: 192.0.2.1\n\
            x-forwarded-host: victim\n\
            x-original-url: /admin\n\
            x-client-id: payeefsp\n\
            x-private: 1\n\
            traceparent: 00-1-2-01\n";
        let always = "date: Tue, 15 Nov 1994 08:12:31 GMT\n\
            fspiop-source: payerfsp\n\
            fspiop-signature: {}\n\
            x-forwarded-for: 192.0.2.1\n\
            traceparent: 00-1-2-01\n";
        assert_eq!(forwardable(received, "PUT"), always);
        assert_eq!(
            forwardable(received, "POST"),
            format!("accept: x\n{always}")
        );
    }

    #[test]
    fn error_texts_spell_headers_as_the_definition_does() {
        assert_eq!(spelt("fspiop-http-method"), "FSPIOP-HTTP-Method");
        assert_eq!(spelt("FSPIOP-URI"), "FSPIOP-URI");
        assert_eq!(spelt("x-private"), "x-private");
    }

    #[test]
    fn missing_destination_is_added_and_a_given_one_kept() {
        for open in [
            "",
            "fspiop-destination: \n",
            "fspiop-destination:   \n",
            "fspiop-destination: Hub\n",
        ] {
            let sent = forwarded(format!("{open}date: x\n"), "payeefsp", "Hub");
            assert_eq!(sent, "date: x\nfspiop-destination: payeefsp\n");
        }
        let received = "fspiop-destination: otherfsp\ndate: x\n";
        assert_eq!(forwarded(received.to_owned(), "payeefsp", "Hub"), received);
    }

    #[test]
    fn hub_message_names_the_hub_and_continues_the_trace() {
        let cause = "traceparent: 00-1-2-01\nfspiop-signature: {}\ndate: x\n";
        let sent = originated(
            Resource::Quotes,
            Version::V1_0,
            "payerfsp",
            "Hub",
            784_887_151_000,
            cause,
        );
        assert_eq!(
            sent,
            "content-type: application/vnd.interoperability.quotes+json;version=1.0\n\
             date: Tue, 15 Nov 1994 08:12:31 GMT\n\
             fspiop-source: Hub\n\
             fspiop-destination: payerfsp\n\
             traceparent: 00-1-2-01\n"
        );
    }
}
