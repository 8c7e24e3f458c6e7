//! What the operator's document says of sizes and speeds, in the types of what keeps to it.

use std::time::Duration;

use rialto_edge::{BreakerPolicy, OutboundLimits, Pace, ServerLimits};
use rialto_engine::Limits;
use rialto_manifest::Operator;
use rialto_manifest::values::Size;

/// The default number of worker threads for each core. A turn that waits for a lock, reads from the disk or
/// runs a slow component blocks its thread, and with one thread for each core the cores would idle. As many
/// turns run at once as there are cores, and one more for each slow one; more would only compete for the
/// caches. The schema of rialto.toml says the same.
const WORKERS_PER_CORE: usize = 4;
/// How long a client may take to send a request's head.
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);
/// The timeout for making a connection to a destination.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);

pub(crate) fn limits(operator: &Operator) -> Limits {
    let engine = &operator.engine;
    let weights = engine.client_weights.iter();
    let weights = weights.map(|(client, weight)| (client.as_str().into(), weight.0));
    Limits {
        turns_waiting_max: engine.turns_waiting_max as usize,
        turns_waiting_per_client_max: engine.per_client() as usize,
        client_weights: weights.collect(),
        attempts_max: engine.turn_attempts_max,
        retry_for_ms: engine.retry_for.millis(),
        pause_subjects: engine.pause_subjects as usize,
        pause_senders: engine.pause_senders as usize,
        probe_initial_ms: engine.probe_initial.millis(),
        probe_max_ms: engine.probe_max.millis(),
        deliveries_waiting_in_memory_max: engine.deliveries_in_memory_max as usize,
        retry_initial_ms: engine.retry_initial.millis(),
        retry_max_ms: engine.retry_max.millis(),
        requests_waiting_max: operator.outbound.requests_waiting_max as usize,
        requests_waiting_per_destination_max: operator.outbound.per_destination() as usize,
        message_bytes_max: usize::try_from(operator.history.message_bytes()).unwrap_or(usize::MAX),
        ..Limits::default()
    }
}

pub(crate) fn server_limits(operator: &Operator) -> ServerLimits {
    let http = &operator.http;
    ServerLimits {
        connections_max: http.connections_max as usize,
        connections_per_peer_max: http.connections_per_peer_max as usize,
        header_bytes_max: bytes(http.headers_max),
        head_timeout: HEAD_TIMEOUT,
        pace: pace(operator),
    }
}

/// The slowest pace of a client.
pub(crate) fn pace(operator: &Operator) -> Pace {
    Pace {
        bytes_per_second: operator.http.rate_min.bytes(),
        grace: operator.http.rate_grace.into(),
    }
}

pub(crate) fn bytes(size: Size) -> usize {
    usize::try_from(size.bytes()).unwrap_or(usize::MAX)
}

pub(crate) fn workers(operator: &Operator) -> usize {
    match operator.engine.workers {
        Some(workers) => workers as usize,
        None => cores() * WORKERS_PER_CORE,
    }
}

/// How many turns run at once while none of them is slow.
pub(crate) fn turns_at_once(operator: &Operator) -> usize {
    match operator.engine.workers {
        Some(workers) => workers as usize,
        None => cores().max(2),
    }
}

pub(crate) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

pub(crate) fn outbound_limits(operator: &Operator) -> OutboundLimits {
    OutboundLimits {
        connections_per_destination: operator.outbound.connections_per_destination as usize,
        connect_timeout: CONNECT_TIMEOUT,
        private_ranges: {
            let ranges = operator.outbound.private_ranges.iter();
            ranges.map(|range| range.network()).collect()
        },
        breaker: BreakerPolicy {
            failures: operator.outbound.breaker_failures,
            pause: operator.outbound.breaker_pause.into(),
            pause_max: operator.outbound.breaker_pause_max.into(),
        },
    }
}
