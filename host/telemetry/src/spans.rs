//! The queue of spans for export, and the sampling of traces.
//!
//! Code that ends a span adds it here and continues; nothing waits for the collector (see [`Queue`]).
//!
//! **Sampling.** The last seven bytes of a trace's id decide (OpenTelemetry's consistent probability sampling). Hosts
//! with the same ratio record the same traces. A client's own flag does not count, because the operator pays for the
//! collector.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde::{Serialize, Serializer};

use crate::Metrics;
use crate::queue::Queue;

/// Spans that wait for the exporter: two seconds' worth of a very busy host, some 20 MB.
const WAITING_MAX: usize = 32_768;
/// The bits of a trace's id that are random by its definition.
const RANDOM_BITS: u32 = 56;

/// The kind of a span, with OTLP's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Something inside the host.
    Internal = 1,
    /// A request of a client.
    Server = 2,
    /// An outbound request.
    Client = 3,
}

/// The value of an attribute.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub enum Value {
    /// A text.
    #[serde(rename = "stringValue")]
    Text(Arc<str>),
    /// A number; OTLP's JSON writes 64 bits as text.
    #[serde(rename = "intValue", serialize_with = "as_text")]
    Number(u64),
    /// Texts.
    #[serde(rename = "arrayValue", serialize_with = "as_array")]
    Texts(Vec<Arc<str>>),
}

impl From<Arc<str>> for Value {
    fn from(text: Arc<str>) -> Self {
        Self::Text(text)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.into())
    }
}

impl From<u64> for Value {
    fn from(number: u64) -> Self {
        Self::Number(number)
    }
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
fn as_text<S: Serializer>(number: &u64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(number)
}

fn as_array<S: Serializer>(texts: &[Arc<str>], serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Values {
        values: Vec<Value>,
    }
    let values = texts.iter().cloned().map(Value::Text).collect();
    Values { values }.serialize(serializer)
}

/// A finished span.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// The trace.
    pub trace: u128,
    /// Unique in the trace.
    pub id: u64,
    /// The span that caused it; 0 for none.
    pub parent: u64,
    /// Its name, without ids, so that there are few different names.
    pub name: String,
    /// Its kind.
    pub kind: Kind,
    /// When it began.
    pub began: SystemTime,
    /// How long it took.
    pub took: Duration,
    /// What is known about it.
    pub attributes: Vec<(&'static str, Value)>,
    /// What went wrong, if something did.
    pub error: Option<String>,
}

/// See the module's documentation. A clone is another handle.
#[derive(Clone, Debug)]
pub struct Spans {
    /// A trace is recorded if its random bits are at least this.
    threshold: u64,
    /// Whether spans of HTTP have what may name people.
    has_paths: bool,
    queue: Queue<Span>,
}

impl Spans {
    /// Records this part of all traces, from 0 to 1, and counts spans in these metrics.
    #[must_use]
    pub fn new(ratio: f64, metrics: &Metrics) -> Self {
        let queue = Queue::new(WAITING_MAX);
        metrics.add_span_counters(queue.counters());
        Self {
            threshold: threshold(ratio),
            has_paths: true,
            queue,
        }
    }

    /// From now on, spans of HTTP have no paths, URLs and subjects, because these may name people.
    #[must_use]
    pub fn without_paths(self) -> Self {
        Self {
            has_paths: false,
            ..self
        }
    }

    /// Whether spans of HTTP have paths, URLs and subjects.
    #[must_use]
    pub const fn has_paths(&self) -> bool {
        self.has_paths
    }

    /// Whether a trace is recorded.
    #[must_use]
    pub fn records(&self, trace: u128) -> bool {
        let low = u64::try_from(trace & u128::from(u64::MAX)).unwrap_or(0);
        low & ((1 << RANDOM_BITS) - 1) >= self.threshold
    }

    /// Queues a span for the exporter.
    pub fn add(&self, span: Span) {
        self.queue.add(span);
    }

    /// The queue, for the exporter.
    #[must_use]
    pub const fn queue(&self) -> &Queue<Span> {
        &self.queue
    }
}

/// The least random bits of a trace that is recorded.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a part of 2^56, to the precision that a ratio has"
)]
fn threshold(ratio: f64) -> u64 {
    let all = (1_u64 << RANDOM_BITS) as f64;
    ((1.0 - ratio.clamp(0.0, 1.0)) * all) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_of_a_trace_decides_whether_it_is_recorded() {
        let records = |ratio, trace: u128| Spans::new(ratio, &Metrics::default()).records(trace);
        let (least, most) = (u128::MAX << RANDOM_BITS, (1_u128 << RANDOM_BITS) - 1);
        assert!(records(1.0, least) && records(1.0, most));
        assert!(!records(0.0, least) && !records(0.0, most));
        // A quarter is recorded: those above three quarters.
        let three_quarters = 3_u128 << (RANDOM_BITS - 2);
        assert!(records(0.25, three_quarters) && records(0.25, most));
        assert!(!records(0.25, three_quarters - 1) && !records(0.25, least));
    }
}
