//! The rialto host: it assembles store, engine, components and edges, and has the operators' API and the command
//! line.
//!
//! Start reading at [`host::Host::start`], then [`releases`] (how a release becomes current) and [`cli`].

// Only the module `out` writes to these streams. It handles a reader that closes the pipe.
#![deny(clippy::print_stdout, clippy::print_stderr)]

pub mod access;
pub mod allocations;
pub mod archiver;
pub mod asking;
pub mod audit;
mod audit_check;
mod audit_export;
pub mod audit_key;
mod audit_lines;
pub mod audit_reader;
pub mod audit_verification;
pub mod authority;
pub mod authorization;
pub mod backtest;
pub mod bodies;
pub mod books;
pub mod browsers;
pub mod bundles;
pub mod calls;
pub mod canaries;
pub mod checkpoints;
pub mod cli;
pub mod client;
pub mod clients;
pub mod cluster;
pub mod configuration;
pub mod coverage;
pub mod credentials;
pub mod denials;
pub mod disk;
mod doors;
pub mod drafts;
mod dumps;
pub mod events_outside;
mod exporting;
pub mod fitting;
pub mod host;
#[cfg(test)]
mod host_ends;
pub mod hub_key;
pub mod keys;
pub mod kit;
mod limits;
pub mod live;
pub mod located;
pub mod log_lines;
pub mod metrics;
mod one_metric;
mod opened;
pub mod operators;
pub mod ops;
pub mod out;
pub mod own_signer;
pub mod passkeys;
pub mod personal_data;
pub mod plan;
pub mod plans;
pub mod quarantines;
pub mod receipt_log;
pub mod receipt_proofs;
pub mod refusals;
pub mod releases;
pub mod replay;
pub mod revocations;
pub mod rule_states;
mod scheduling;
mod sender;
pub mod shadow;
mod shares;
pub mod sign_in;
pub mod signatures;
pub mod signers;
pub mod sources;
pub mod spans;
pub mod spec;
mod standby;
pub mod starting;
pub mod store_copy;
pub mod store_metrics;
pub mod stored;
pub mod suspensions;
mod swap;
pub mod tls;
pub(crate) mod tls_changes;
pub mod tls_keys;
pub mod tokens;
pub mod words;
