//! Metrics in the OpenMetrics text form. Their names are a contract: a test compares the list.

use std::sync::Mutex;
use std::sync::atomic::AtomicU64;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;

/// Labels of an inbound request.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct RequestLabels {
    /// The `operationId`; empty for a path that there is not.
    pub operation: String,
    /// The status that was answered.
    pub status: u16,
}

/// Labels of a call from outside.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct CallLabels {
    /// Service and method; empty for a method that there is not.
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

/// The host's own metrics; whatever else is to be shown registers itself as a collector.
pub struct Metrics {
    registry: Mutex<Registry>,
    /// Inbound requests.
    pub requests: Family<RequestLabels, Counter>,
    /// Seconds from an inbound request's head to its answer.
    pub request_seconds: Histogram,
    /// Nanoseconds spent on parsing and judging bodies.
    pub json_nanoseconds: Counter<u64, AtomicU64>,
    /// Calls by gRPC.
    pub calls: Family<CallLabels, Counter>,
    /// Seconds from a call's head to its answer.
    pub call_seconds: Histogram,
    /// Outbound requests that have ended.
    pub deliveries: Family<DeliveryLabels, Counter>,
    /// Seconds from an outbound request's first attempt to its end.
    pub delivery_seconds: Histogram,
}

impl Default for Metrics {
    fn default() -> Self {
        let seconds = || Histogram::new(exponential_buckets(0.000_5, 2.0, 16));
        let metrics = Self {
            registry: Mutex::new(Registry::with_prefix("rialto")),
            requests: Family::default(),
            request_seconds: seconds(),
            json_nanoseconds: Counter::default(),
            calls: Family::default(),
            call_seconds: seconds(),
            deliveries: Family::default(),
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
                "From an inbound request to its answer",
                metrics.request_seconds.clone(),
            );
            registry.register(
                "http_json_nanoseconds",
                "Parsing and judging request bodies",
                metrics.json_nanoseconds.clone(),
            );
            registry.register(
                "grpc_calls",
                "Calls by gRPC, by method and status",
                metrics.calls.clone(),
            );
            registry.register(
                "grpc_call_seconds",
                "From a call by gRPC to its answer",
                metrics.call_seconds.clone(),
            );
            registry.register(
                "deliveries",
                "Outbound requests that have ended, by destination and outcome",
                metrics.deliveries.clone(),
            );
            registry.register(
                "delivery_seconds",
                "From an outbound request's first attempt to its end",
                metrics.delivery_seconds.clone(),
            );
        });
        metrics
    }
}

impl Metrics {
    fn register(&self, add: impl FnOnce(&mut Registry)) {
        let mut registry = self
            .registry
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        add(&mut registry);
    }

    /// Count spans: only a host that exports them has these two.
    pub(crate) fn add_span_counters(&self, exported: &Counter, lost: &Counter) {
        self.register(|registry| {
            registry.register(
                "spans_exported",
                "Spans that the collector took",
                exported.clone(),
            );
            registry.register(
                "spans_lost",
                "Spans that the collector did not take, or for which there was no room",
                lost.clone(),
            );
        });
    }

    /// Show a collector's metrics too.
    pub fn add_collector(&self, collector: Box<dyn Collector>) {
        self.register(|registry| registry.register_collector(collector));
    }

    /// The text that `/metrics` answers.
    pub fn render(&self) -> String {
        let mut text = String::new();
        self.register(|registry| {
            // Writing to a String does not fail.
            let _ = prometheus_client::encoding::text::encode(&mut text, registry);
        });
        text
    }
}
