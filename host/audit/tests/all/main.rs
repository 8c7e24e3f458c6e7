//! Tests of the audit log's format and of its check.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

mod checkpoints;
mod checks;
mod support;
mod trees;
mod witnesses;
