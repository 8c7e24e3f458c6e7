//! Logs, spans and metrics.

pub mod logs;
pub mod metrics;

pub use metrics::Metrics;
