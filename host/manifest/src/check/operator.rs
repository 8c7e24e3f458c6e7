//! What must hold in `rialto.toml` by itself.

use crate::diagnostics::{Code, Diagnostics};
use crate::document::Document;
use crate::operator::OperatorFile;
use crate::values::UrlScheme;

/// Check the operator's document by itself.
pub(crate) fn operator(document: &Document<OperatorFile>, problems: &mut Diagnostics) {
    let file = &document.value;
    let mut seen = Vec::new();
    for (name, listener) in &file.listeners {
        let address = listener.address;
        // Port 0 is another port each time.
        if address.socket().port() != 0
            && let Some((other, _)) = seen.iter().find(|(_, taken)| *taken == address)
        {
            document.problem(
                problems,
                &format!("listeners/{name}/address"),
                Code::Duplicate,
                format!("the address `{address}` belongs to listener `{other}` already"),
                "Give each listener an address of its own.",
            );
        }
        seen.push((name, address));
    }
    let http = &file.http;
    if http.bodies_max < http.body_max {
        document.problem(
            problems,
            "http/bodies-max",
            Code::Contradiction,
            format!(
                "`bodies-max` is {}, less than `body-max`, {}",
                http.bodies_max, http.body_max
            ),
            "All bodies together need room for the longest one.",
        );
    }
    let outbound = &file.outbound;
    if outbound.per_destination() > outbound.requests_waiting_max {
        document.problem(
            problems,
            "outbound/requests-waiting-per-destination-max",
            Code::Contradiction,
            format!(
                "`requests-waiting-per-destination-max` is {}, more than `requests-waiting-max`, {}",
                outbound.per_destination(),
                outbound.requests_waiting_max
            ),
            "One destination has a part of what all have.",
        );
    }
    let engine = &file.engine;
    if engine.retry_initial > engine.retry_max {
        document.problem(
            problems,
            "engine/retry-initial",
            Code::Contradiction,
            format!(
                "`retry-initial` is {}, longer than `retry-max`, {}",
                engine.retry_initial, engine.retry_max
            ),
            "The first pause between attempts is the shortest.",
        );
    }
    if let Some(telemetry) = &file.telemetry
        && telemetry.endpoint.origin().scheme == UrlScheme::Https
    {
        document.problem(
            problems,
            "telemetry/endpoint",
            Code::BadValue,
            format!(
                "`{}` is https, and the host has no TLS",
                telemetry.endpoint
            ),
            "Name a collector beside the host, such as `http://127.0.0.1:4318`; it sends on over TLS.",
        );
    }
}
