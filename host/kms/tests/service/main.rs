//! AWS KMS by moto's server, which verifies the signature of each request. Between it and the provider there is a
//! proxy that fails on request.

#![allow(
    clippy::unwrap_used,
    reason = "a failed unwrap in a test is a failed test"
)]

mod algorithms;
mod answers;
mod faults;
mod logs;
mod making;
mod messages;
mod proxy;
mod server;
mod trust;
mod world;
