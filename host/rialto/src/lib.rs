//! The rialto host: assembly of store, engine, components and edges, the operators' API, and the
//! command line.
//!
//! Start reading at [`host::Host::start`], then [`releases`] (how what runs is changed) and
//! [`cli`].

pub mod cli;
pub mod client;
pub mod host;
pub mod metrics;
pub mod ops;
pub mod plan;
pub mod releases;
pub mod replay;
pub mod spans;
pub mod spec;
pub mod words;
