//! Tests of signatures and keys against other implementations.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

mod folder;
mod signatures;
