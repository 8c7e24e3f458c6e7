//! Tests of the SQLite store: the suite of every store, and tests of its files.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

mod archive;
mod audit;
mod audit_archives;
mod backup;
mod compressed;
mod documents;
mod journal;
mod killed_archiver;
mod killed_writer;
mod power_cut;
mod publications;
mod receipts;
mod retention;
mod segments;
mod snapshot;
mod store;
mod written;
