//! Keys as a component sees them.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

mod handed_out;
mod keys;
mod loading;
mod remote;
mod sealed_master;
mod support;
