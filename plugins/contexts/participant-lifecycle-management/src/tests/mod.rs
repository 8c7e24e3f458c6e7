//! Tests of the whole way of requests, over a world that a test may look into.

mod activation;
pub mod fake;
mod rollback;
mod ways;
