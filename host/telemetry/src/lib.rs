//! Logs, spans and metrics.

pub mod lines;
pub mod logs;
pub mod metrics;
pub mod otlp;
pub mod queue;
pub mod records;
pub mod spans;
pub mod tap;

pub use lines::Lines;
pub use metrics::Metrics;
pub use records::Records;
pub use spans::Spans;
pub use tap::LogTap;
