//! Compares what this crate reads and writes with wasmtime's own trees.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

mod component;
mod garbage;
mod passing;
mod types;
