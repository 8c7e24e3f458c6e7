//! Metrics in the OpenMetrics text form. Their names are a contract: a test compares the list.

use std::collections::HashSet;
use std::sync::atomic::AtomicU64;
use std::sync::{Mutex, MutexGuard};

use prometheus_client::collector::Collector;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::{encode_eof, encode_registry};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;

/// The prefix of all names.
const PREFIX: &str = "rialto";
/// Outbound requests that have ended.
const DELIVERIES: &str = "deliveries";

/// Labels of an inbound request.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct RequestLabels {
    /// The `operationId`; empty for an unknown path.
    pub operation: String,
    /// The status of the answer.
    pub status: u16,
}

/// The label of an operation.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct OperationLabels {
    /// The `operationId`; empty for an unknown path.
    pub operation: String,
}

/// Labels of an external call.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct CallLabels {
    /// Service and method; empty for an unknown method.
    pub method: String,
    /// gRPC's status, in its words: `OK`, `NOT_FOUND`.
    pub status: &'static str,
}

/// Labels of an outbound request's end.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct DeliveryLabels {
    /// Host and port.
    pub destination: String,
    /// `delivered`, `unreachable`, `timed-out`, `refused`, `broken`, `not-allowed`.
    pub outcome: &'static str,
}

/// The same without the destination's name.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OutcomeLabels {
    outcome: &'static str,
}

/// The host's own metrics. Other metrics are added by collectors.
pub struct Metrics {
    registry: Mutex<Registry>,
    /// What names destinations and rules, and deliveries without destinations. Only one of the two is shown.
    named: Mutex<Registry>,
    nameless: Registry,
    /// Inbound requests.
    pub requests: Family<RequestLabels, Counter>,
    /// Seconds from an inbound request's head to its answer, by operation.
    pub request_seconds: Family<OperationLabels, Histogram, fn() -> Histogram>,
    /// Nanoseconds spent on parsing and validating bodies.
    pub json_nanoseconds: Counter<u64, AtomicU64>,
    /// Calls by gRPC.
    pub calls: Family<CallLabels, Counter>,
    /// Seconds from a call's head to its answer.
    pub call_seconds: Histogram,
    deliveries: Family<DeliveryLabels, Counter>,
    deliveries_by_outcome: Family<OutcomeLabels, Counter>,
    /// Seconds from an outbound request's first attempt to its end.
    pub delivery_seconds: Histogram,
}

impl Default for Metrics {
    fn default() -> Self {
        let seconds: fn() -> Histogram = || Histogram::new(exponential_buckets(0.000_5, 2.0, 16));
        let mut metrics = Self {
            registry: Mutex::new(Registry::with_prefix(PREFIX)),
            named: Mutex::new(Registry::with_prefix(PREFIX)),
            nameless: Registry::with_prefix(PREFIX),
            requests: Family::default(),
            request_seconds: Family::new_with_constructor(seconds),
            json_nanoseconds: Counter::default(),
            calls: Family::default(),
            call_seconds: seconds(),
            deliveries: Family::default(),
            deliveries_by_outcome: Family::default(),
            delivery_seconds: seconds(),
        };
        metrics.register(|registry| {
            registry.register(
                "http_requests",
                "Inbound requests by operation and status",
                metrics.requests.clone(),
            );
            registry.register(
                "http_request_seconds",
                "Seconds from an inbound request to its answer, by operation",
                metrics.request_seconds.clone(),
            );
            registry.register(
                "http_json_nanoseconds",
                "Nanoseconds spent on parsing and validating request bodies",
                metrics.json_nanoseconds.clone(),
            );
            registry.register(
                "grpc_calls",
                "gRPC calls by method and status",
                metrics.calls.clone(),
            );
            registry.register(
                "grpc_call_seconds",
                "Seconds from a gRPC call to its answer",
                metrics.call_seconds.clone(),
            );
            registry.register(
                "delivery_seconds",
                "Seconds from an outbound request's first attempt to its end",
                metrics.delivery_seconds.clone(),
            );
        });
        metrics.register_named(|registry| {
            registry.register(
                DELIVERIES,
                "Outbound requests that have ended, by destination and outcome",
                metrics.deliveries.clone(),
            );
        });
        metrics.nameless.register(
            DELIVERIES,
            "Outbound requests that have ended, by outcome",
            metrics.deliveries_by_outcome.clone(),
        );
        metrics
    }
}

impl Metrics {
    fn register(&self, add: impl FnOnce(&mut Registry)) {
        add(&mut locked(&self.registry));
    }

    fn register_named(&self, add: impl FnOnce(&mut Registry)) {
        add(&mut locked(&self.named));
    }

    /// Count spans: only a host that exports them has these two.
    pub(crate) fn add_span_counters(&self, counters: (&Counter, &Counter)) {
        self.add_counters(
            counters,
            ("spans_exported", "Spans that the collector accepted"),
            (
                "spans_lost",
                "Spans that the collector refused, or for which there was no room",
            ),
        );
    }

    /// Count log records: only a host that exports them has these two.
    pub(crate) fn add_record_counters(&self, counters: (&Counter, &Counter)) {
        self.add_counters(
            counters,
            (
                "log_records_exported",
                "Log records that the collector accepted",
            ),
            (
                "log_records_lost",
                "Log records that the collector refused, or for which there was no room",
            ),
        );
    }

    /// Count log lines for the component that keeps them.
    pub(crate) fn add_line_counters(&self, counters: (&Counter, &Counter)) {
        self.add_counters(
            counters,
            (
                "log_lines_delivered",
                "Log lines that the component that keeps them has taken",
            ),
            (
                "log_lines_lost",
                "Log lines that the component that keeps them did not take, or for which there was no room",
            ),
        );
    }

    fn add_counters(
        &self,
        (accepted, lost): (&Counter, &Counter),
        of_accepted: (&str, &str),
        of_lost: (&str, &str),
    ) {
        self.register(|registry| {
            registry.register(of_accepted.0, of_accepted.1, accepted.clone());
            registry.register(of_lost.0, of_lost.1, lost.clone());
        });
    }

    /// Show a collector's metrics too.
    pub fn add_collector(&self, collector: Box<dyn Collector>) {
        self.register(|registry| registry.register_collector(collector));
    }

    /// Show a collector's metrics too, to those who may see names.
    pub fn add_named_collector(&self, collector: Box<dyn Collector>) {
        self.register_named(|registry| registry.register_collector(collector));
    }

    /// Count an outbound request that has ended.
    pub fn delivered(&self, labels: &DeliveryLabels) {
        let outcome = labels.outcome;
        self.deliveries.get_or_create(labels).inc();
        let all = OutcomeLabels { outcome };
        self.deliveries_by_outcome.get_or_create(&all).inc();
    }

    /// The text of `/metrics`, with or without the names of destinations and rules.
    pub fn render(&self, named: bool) -> String {
        let mut text = String::new();
        self.render_into(&mut text, named);
        text
    }

    /// The same, behind what is in a buffer that is used again.
    pub fn render_into(&self, text: &mut String, named: bool) {
        // Writing to a String does not fail.
        self.register(|registry| {
            let _ = encode_registry(text, registry);
        });
        if named {
            self.register_named(|registry| {
                let _ = encode_registry(text, registry);
            });
        } else {
            let _ = encode_registry(text, &self.nameless);
        }
        let _ = encode_eof(text);
    }
}

fn locked(registry: &Mutex<Registry>) -> MutexGuard<'_, Registry> {
    registry
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// The same in Prometheus' text format, for readers that know no other. In it a counter has the name of its
/// samples, and there is no end mark.
pub fn in_text_format(openmetrics: &str) -> String {
    let lines: Vec<&str> = openmetrics.lines().collect();
    let counters: HashSet<&str> = lines
        .iter()
        .filter_map(|line| line.strip_prefix("# TYPE ")?.strip_suffix(" counter"))
        .collect();
    let mut text = String::with_capacity(openmetrics.len());
    for line in lines {
        if line == "# EOF" || line.starts_with("# UNIT ") {
            continue;
        }
        let about = ["# HELP ", "# TYPE "]
            .into_iter()
            .find_map(|mark| Some((mark, line.strip_prefix(mark)?.split_once(' ')?)));
        match about {
            Some((mark, (name, rest))) if counters.contains(name) => {
                text.extend([mark, name, "_total ", rest]);
            }
            _ => text.push_str(line),
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_has_its_samples_name_as_text() {
        let openmetrics = "# HELP a_things Things.\n# TYPE a_things counter\na_things_total{b=\"c\"} 1\n\
                           # HELP a_depth Depth.\n# TYPE a_depth gauge\n# UNIT a_depth bytes\na_depth 2\n# EOF\n";
        let expected = "# HELP a_things_total Things.\n# TYPE a_things_total counter\na_things_total{b=\"c\"} 1\n\
                        # HELP a_depth Depth.\n# TYPE a_depth gauge\na_depth 2\n";
        assert_eq!(in_text_format(openmetrics), expected);
        let all = in_text_format(&Metrics::default().render(true));
        assert!(
            all.lines()
                .all(|line| !line.ends_with(" counter") || line.ends_with("_total counter")),
            "{all}"
        );
        assert!(!all.contains("# EOF"));
    }

    #[test]
    fn destinations_are_named_only_to_whom_they_may_be() {
        let metrics = Metrics::default();
        for (destination, outcome) in [("a.example:1", "delivered"), ("b.example:2", "delivered")] {
            metrics.delivered(&DeliveryLabels {
                destination: destination.to_owned(),
                outcome,
            });
        }
        let named = metrics.render(true);
        assert!(
            named.contains(
                "rialto_deliveries_total{destination=\"a.example:1\",outcome=\"delivered\"} 1"
            ),
            "{named}"
        );
        let nameless = metrics.render(false);
        assert!(!nameless.contains("example"), "{nameless}");
        assert!(
            nameless.contains("rialto_deliveries_total{outcome=\"delivered\"} 2"),
            "{nameless}"
        );
        for text in [named, nameless] {
            assert_eq!(text.matches("# EOF").count(), 1, "{text}");
            assert!(text.ends_with("# EOF\n"), "{text}");
            assert_eq!(
                text.matches("# TYPE rialto_deliveries ").count(),
                1,
                "{text}"
            );
        }
    }
}
