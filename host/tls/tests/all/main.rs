//! Tests of TLS over handshakes in memory.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

mod place;
mod proof;
mod remote;
