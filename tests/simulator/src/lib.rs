//! Simulated FSPs that speak FSPIOP as a real one would, and a load generator over them.
//!
//! - [`fsp`] is the simulated FSP: a server for what a switch sends, a payer side that runs
//!   payments, and a control API by which another process drives it.
//! - [`sink`] is any number of FSPs that only listen.
//! - [`behaviour`] says how an FSP misbehaves: delays, refusals, silence, broken connections.
//! - [`recorder`] keeps the messages, [`transcript`] prints them.
//! - [`mod@bench`] drives payments from another process and measures them; [`cpu`] reads what
//!   processes cost meanwhile.
//! - [`ilp`], [`amount`], [`ids`], [`message`], [`headers`] and [`time`] are the pieces of
//!   FSPIOP that an FSP needs; [`tls`] is its TLS, and [`pki`] an authority that certifies it;
//!   [`secured`] makes a scheme use both. [`softhsm`] is a PKCS #11 token for the host's keys,
//!   [`witness`] a witness of its audit log.
//!
//! Nothing here knows how the switch works inside: this crate depends on no host crate, so that
//! it is an independent judge of the host.

#![forbid(unsafe_code)]

pub mod amount;
pub mod behaviour;
pub mod bench;
pub mod client;
pub mod conformance;
pub mod cpu;
pub mod fsp;
pub mod headers;
pub mod ids;
pub mod ilp;
pub mod jws;
pub mod limits;
pub mod message;
pub mod pki;
pub mod ports;
pub mod put_server;
pub mod recorder;
pub mod secured;
pub mod sink;
pub mod softhsm;
pub mod text;
pub mod time;
pub mod tls;
pub mod transcript;
pub mod witness;

pub use behaviour::Behaviour;
pub use fsp::{Fsp, FspSettings, PaymentOutcome, PaymentRequest};
pub use ids::{FspId, PartyId};
pub use recorder::{Direction, Recorded, Recorder};
