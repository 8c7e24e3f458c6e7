//! The whole scheme in simulated time, from a seed: the real components on the real engine and the
//! embedded store, two hundred transfers, FSPs that repeat, refuse, are late, wrong or deaf, and a host
//! that ends again and again. Whatever happens when, what must always hold is held against it.
//!
//! - [`host`] puts a host together, [`sim`] lets everything happen in an order drawn from the seed,
//!   [`script`] draws what FSPs do, [`saying`] is what they say;
//! - [`door`], [`wire`], [`store`] and [`time`] stand where a host has HTTP, its network, its disk and its
//!   clock;
//! - [`journal`] reads along what becomes durable, and at each commit [`audit`] looks at it;
//! - [`evidence`] is what can be seen of a run, and [`judgement`] what is wrong with it: [`model`] is a
//!   second reading of what must come of each message ([`known`] is what it knows), with which [`state`]
//!   compares documents and ledger, and [`notices`] what FSPs are told ([`told`]); [`grants`] is what
//!   components may do; [`outside`] is what FSPs can judge by themselves; [`quotes`] are judged too, though
//!   they are agreed before trouble begins.
//!
//! What is judged is transfers, with the quotes, the ledger and the settlement records that belong to them, and
//! the reports of deliveries. What is not: lookups of parties and their associations, settlements (batches are
//! filled, and none is settled), what operators ask and decide, participants that come or go, releases, calls by
//! gRPC, and quotes in trouble. HTTP itself, real time and threads are not here either. For all of these there
//! are the conformance suite and `tests/e2e`.

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
