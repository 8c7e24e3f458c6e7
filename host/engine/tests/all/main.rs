//! Tests of the engine through its public interface, in one binary, so that it is linked once.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

mod after_commit;
mod answers;
mod arrivals;
mod bounds;
mod expiry;
mod fairness;
mod memory_store;
mod observing;
mod outbound_queues;
mod outside;
mod panics;
mod simulation;
mod spans;
mod subscribers;
mod threads;
mod throughput;
mod turns;
mod world;
