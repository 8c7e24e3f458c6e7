//! Tests of outbound requests and of the export of spans.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

mod exporter;
mod outbound;
mod signing;
