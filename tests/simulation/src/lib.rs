//! The whole scheme in simulated time, from a seed: the real components on the real engine and the embedded
//! store, two hundred transfers, FSPs that repeat, refuse, are late, wrong or silent, and a host that is
//! restarted again and again, or replaced by another one while it still runs. The invariants are checked at all times.
//!
//! - [`host`] builds a host, [`sim`] runs all events in an order drawn from the seed, [`script`] draws the
//!   FSPs' actions, [`saying`] their messages;
//! - [`door`], [`wire`], [`store`] and [`time`] stand where a host has HTTP, its network, its disk and its
//!   clock;
//! - [`journal`] reads along what becomes durable, and at each commit [`audit`] looks at it;
//! - [`evidence`] has the observations of a run, and [`judgement`] checks them: [`model`] is an independent
//!   implementation of the transfer rules ([`known`] is its state); [`state`] compares it with documents and
//!   ledger, [`notices`] with the messages to FSPs ([`told`]); [`grants`] checks the components' actions;
//!   [`outside`] checks what FSPs can see by themselves; [`quotes`] checks quotes, which are agreed before the
//!   trouble begins.
//!
//! It covers transfers, with their quotes, ledger entries and settlement records, and delivery reports. It does
//! not cover party lookups and associations, settlements (batches are filled, but not settled), operators'
//! requests, new participants, releases, calls by gRPC, quotes in trouble, HTTP, real time and threads. A host that is
//! replaced has no clock by which it would notice: that it then answers and sends nothing is tried where listeners and
//! outbound requests are (`host/relay`, `host/edge`), and leases in `host/store-postgres`. The conformance suite and
//! `tests/e2e` cover the rest.

#![forbid(unsafe_code)]

pub mod audit;
pub mod door;
pub mod evidence;
pub mod grants;
pub mod host;
pub mod journal;
pub mod judgement;
pub mod known;
pub mod model;
pub mod notices;
pub mod outside;
pub mod problem;
pub mod quotes;
pub mod saying;
pub mod script;
pub mod sim;
pub mod state;
pub mod store;
pub mod time;
pub mod told;
pub mod wire;

pub use evidence::Evidence;
pub use host::Stage;
pub use sim::Sim;
