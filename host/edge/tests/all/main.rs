//! The edge towards others: what goes out, and what is exported.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

mod exporter;
mod outbound;
