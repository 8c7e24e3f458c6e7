//! The SQLite store: what every store must do, and what only a file on a disk can.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

mod archive;
mod backup;
mod documents;
mod killed_archiver;
mod killed_writer;
mod power_cut;
mod retention;
mod segments;
mod snapshot;
mod store;
mod written;
