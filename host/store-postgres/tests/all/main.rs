//! Tests of the PostgreSQL store, on a server of their own.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

mod beside;
mod database;
mod hosts;
mod journal;
mod killed_server;
mod known_ids;
mod leases;
mod openings;
mod order;
mod publications;
mod store;
mod written;
