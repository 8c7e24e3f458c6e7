//! The conformance suite: every path, state and refusal of the FSP interoperability API, seen from outside. One
//! host serves all cases. FSPs of the simulator send the exact bytes of a case, and do not answer by
//! themselves.
//!
//! - [`suite`] runs the cases, [`mod@case`] says what a case is, [`cases`] are they;
//! - [`stage`] is the host with its FSPs: expected and unexpected messages; [`ask`] builds requests;
//! - [`payment`] is one payment with its messages, [`compare`] compares JSON;
//! - [`tally`] is what a case expects, and compares it with what came; [`facts`] compare what each event
//!   says, as a consumer got it;
//! - [`history`] reads the events of a subject, [`interfaces`] lists the rows of the interface catalogue that
//!   were seen to work, [`codes`] the error codes that were not seen.
//!
//! A case compares what goes in, the answer, the messages that go out with headers and bodies, the
//! ledger's entries and the state afterwards, and the events. It ends when the host has nothing left to
//! do, and fails if there is a message, an event, an entry or a turn that it has not expected.

#![forbid(unsafe_code)]

pub mod ask;
pub mod case;
pub mod cases;
pub mod codes;
pub mod compare;
pub mod facts;
pub mod history;
pub mod interfaces;
mod keys;
pub mod payment;
pub mod stage;
pub mod suite;
pub mod tally;
