//! Requests that one host takes and another one answers, over real connections.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

mod client;
mod cut;
mod hosts;
mod lease;
mod passing;
mod proof;
