//! Tests of what gRPC clients rely on, in one binary, so that it is linked once.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

mod call;
mod codec;
mod component;
mod contracts;
mod histories;
mod stability;
mod support;
mod types;
