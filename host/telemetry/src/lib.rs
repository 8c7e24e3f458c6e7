//! Logs, spans and metrics.

pub mod logs;
pub mod metrics;
pub mod otlp;
pub mod spans;

pub use metrics::Metrics;
pub use spans::Spans;
