//! The spans of HTTP: one for each request, each external call, and each outbound request with all its
//! attempts. Without an exporter, no span is made.

use std::time::{Instant, SystemTime};

use http::HeaderMap;
use rialto_engine::Trace;
use rialto_engine::network::{OutboundRequest, Outcome, Report};
use rialto_telemetry::Spans;
use rialto_telemetry::spans::{Kind, Span, Value};

use crate::outbound::destination;

/// The trace context of a request. Without a readable one, the id is 0.
pub fn trace_of(headers: &HeaderMap) -> Trace {
    headers
        .get("traceparent")
        .and_then(|value| Trace::parse(value.to_str().ok()?))
        .unwrap_or_default()
}

/// As [`trace_of`], but with a new id where there is none.
pub fn begun_by(headers: &HeaderMap) -> Trace {
    let mut trace = trace_of(headers);
    if trace.id == 0 {
        trace.id = rand::random::<u128>().max(1);
    }
    trace
}

/// The span of a request that is under way.
pub struct Open<'s> {
    spans: &'s Spans,
    /// The parent span; 0 for none.
    parent: u64,
    began: SystemTime,
    started: Instant,
    /// The trace context for its effects: the trace, with this span as the parent.
    pub trace: Trace,
}

impl<'s> Open<'s> {
    /// Begin the span of a client's request: in the client's trace, or in a new one.
    pub fn inbound(spans: &'s Spans, headers: &HeaderMap) -> Self {
        let mut cause = begun_by(headers);
        // The client's flag only says what the client records.
        cause.sampled = spans.records(cause.id);
        Self::begin(spans, cause)
    }

    /// Begin the span of an outbound request, if its trace is recorded.
    pub(crate) fn outbound(spans: &'s Spans, request: &OutboundRequest) -> Option<Self> {
        let cause = Trace::parse(&request.traceparent).filter(|trace| trace.sampled)?;
        Some(Self::begin(spans, cause))
    }

    fn begin(spans: &'s Spans, cause: Trace) -> Self {
        Self {
            spans,
            parent: cause.parent,
            began: SystemTime::now(),
            started: Instant::now(),
            trace: Trace {
                parent: rand::random::<u64>().max(1),
                ..cause
            },
        }
    }

    fn end(
        self,
        name: String,
        kind: Kind,
        attributes: Vec<(&'static str, Value)>,
        error: Option<String>,
    ) {
        self.spans.add(Span {
            trace: self.trace.id,
            id: self.trace.parent,
            parent: self.parent,
            name,
            kind,
            began: self.began,
            took: self.started.elapsed(),
            attributes,
            error,
        });
    }

    /// End the span of a client's request. `route` is the path template of the API.
    pub(crate) fn answered(self, head: &http::request::Parts, route: Option<&str>, status: u16) {
        if !self.trace.sampled {
            return;
        }
        let method = head.method.as_str();
        let mut attributes = vec![
            ("http.request.method", method.into()),
            ("http.response.status_code", u64::from(status).into()),
        ];
        if self.spans.has_paths() {
            attributes.push(("url.path", head.uri.path().into()));
        }
        attributes.extend(route.map(|route| ("http.route", route.into())));
        let name = route.map_or_else(|| method.to_owned(), |route| format!("{method} {route}"));
        let error = (status >= 500).then(|| format!("answered {status}"));
        self.end(name, Kind::Server, attributes, error);
    }

    /// End the span of an external call, with its service, its method and its gRPC status.
    pub fn called(self, service: &str, method: &str, status: i32) {
        if !self.trace.sampled {
            return;
        }
        let attributes = vec![
            ("rpc.system", "grpc".into()),
            ("rpc.service", service.into()),
            ("rpc.method", method.into()),
            (
                "rpc.grpc.status_code",
                u64::from(status.unsigned_abs()).into(),
            ),
        ];
        // The statuses that OpenTelemetry counts as errors of a server.
        let error = matches!(status, 2 | 4 | 12..=15).then(|| format!("answered {status}"));
        let name = format!("{service}/{method}");
        self.end(name, Kind::Server, attributes, error);
    }

    /// End the span of an outbound request.
    pub(crate) fn reported(self, request: &OutboundRequest, report: &Report) {
        let server = destination(&request.url);
        let (address, port) = address_and_port(server, &request.url);
        let mut attributes: Vec<(&'static str, Value)> = vec![
            ("http.request.method", request.method.as_str().into()),
            ("server.address", address.into()),
            ("rialto.request", request.id.into()),
            ("rialto.component", request.component.clone().into()),
            ("rialto.attempts", u64::from(report.attempts).into()),
        ];
        if self.spans.has_paths() {
            attributes.push(("url.full", request.url.as_str().into()));
            let subjects = Value::Texts(request.subjects.clone());
            attributes.push(("rialto.subjects", subjects));
        }
        attributes.extend(port.map(|port| ("server.port", u64::from(port).into())));
        let (response, error) = match &report.outcome {
            Outcome::Delivered(response) => (Some(response), None),
            Outcome::Failed {
                reason, response, ..
            } => (response.as_ref(), Some(reason.clone())),
        };
        let status = response.map(|response| u64::from(response.status));
        attributes.extend(status.map(|status| ("http.response.status_code", status.into())));
        let name = format!("{} {server}", request.method);
        self.end(name, Kind::Client, attributes, error);
    }
}

/// The host of a destination, without the brackets of an IPv6 address, and its port or the URL scheme's
/// default port.
fn address_and_port<'a>(destination: &'a str, url: &str) -> (&'a str, Option<u16>) {
    let bare = |host: &'a str| {
        let inside = host
            .strip_prefix('[')
            .and_then(|host| host.strip_suffix(']'));
        inside.unwrap_or(host)
    };
    let usual = if url.starts_with("https:") { 443 } else { 80 };
    match destination.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (bare(host), port.parse().ok()),
        _ => (bare(destination), Some(usual)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_an_address_and_a_port() {
        for (url, expected) in [
            ("http://fsp.example:4100/x", ("fsp.example", Some(4100))),
            ("http://fsp.example/x", ("fsp.example", Some(80))),
            ("https://fsp.example", ("fsp.example", Some(443))),
            ("http://[2001:db8::1]:4100/x", ("2001:db8::1", Some(4100))),
            ("http://[2001:db8::1]/x", ("2001:db8::1", Some(80))),
            ("http://fsp:port/x", ("fsp", None)),
        ] {
            assert_eq!(address_and_port(destination(url), url), expected, "{url}");
        }
    }
}
