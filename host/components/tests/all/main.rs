//! Tests of the crate on real components, in one binary, so that it is linked once.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

mod cache;
mod containment;
mod counters;
mod external_calls;
mod failures;
mod foreign;
mod in_flight;
mod judges;
mod keys;
mod last_good;
mod limits;
mod next_release;
mod refusals;
mod remembered;
mod rollback;
mod surfaces;
mod values;
mod wasi;
mod world;
