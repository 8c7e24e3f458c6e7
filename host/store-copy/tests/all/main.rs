//! Tests of copies between stores, with a PostgreSQL server of their own.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

mod copies;
mod filled;
mod places;
mod refusals;
