//! The headers that components set, and those that only the host sets.

/// Headers of the connection, of the message's framing, and of the trace. A component that could set one could
/// smuggle a second request, or change a message's receiver.
const OF_THE_HOST: [&str; 11] = [
    "connection",
    "content-length",
    "expect",
    "host",
    "http2-settings",
    "keep-alive",
    "te",
    "traceparent",
    "trailer",
    "transfer-encoding",
    "upgrade",
];
/// The prefix of further headers that only the host sets.
const OF_PROXIES: &str = "proxy-";

/// Whether only the host sets this header. Ignores case.
#[must_use]
pub fn is_the_hosts(name: &str) -> bool {
    let prefix = name.as_bytes().get(..OF_PROXIES.len());
    OF_THE_HOST.iter().any(|own| own.eq_ignore_ascii_case(name))
        || prefix.is_some_and(|prefix| prefix.eq_ignore_ascii_case(OF_PROXIES.as_bytes()))
}

/// A component's headers as they are sent: names in lower case, without those that only the host sets.
#[must_use]
pub fn sendable(mut headers: Vec<(String, String)>) -> Vec<(String, String)> {
    headers.retain(|(name, _)| !is_the_hosts(name));
    for (name, _) in &mut headers {
        name.make_ascii_lowercase();
    }
    headers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connection_headers_are_the_hosts_in_any_case() {
        for name in [
            "host",
            "Host",
            "HOST",
            "hOsT",
            "Content-Length",
            "Transfer-Encoding",
            "CONNECTION",
            "Keep-Alive",
            "TE",
            "Trailer",
            "Upgrade",
            "Proxy-Authorization",
            "proxy-connection",
            "TraceParent",
        ] {
            assert!(is_the_hosts(name), "{name}");
        }
        for name in ["fspiop-source", "Date", "x-host", "content-type", "hosts"] {
            assert!(!is_the_hosts(name), "{name}");
        }
    }

    #[test]
    fn other_headers_are_sent_in_lower_case_in_order() {
        let given = [("Date", "a"), ("Host", "b"), ("X-Two", "c"), ("x-two", "D")];
        let given = given.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let sent = sendable(given.to_vec());
        let sent: Vec<_> = sent.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
        assert_eq!(sent, [("date", "a"), ("x-two", "c"), ("x-two", "D")]);
    }
}
