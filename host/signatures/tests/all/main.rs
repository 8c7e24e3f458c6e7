//! Signatures and keys, as other implementations make them.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

mod folder;
mod signatures;
