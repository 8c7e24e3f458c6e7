//! Turns: handlers run as transactions, ordered per document, committed in groups.
//!
//! A *turn* is one run of a handler. The store commits everything that a turn wrote, published,
//! scheduled and sent in one transaction, or nothing of it. Answers, events and outbound requests
//! go out only after that commit is synced to disk.
//!
//! This crate knows neither WebAssembly nor HTTP nor SQL. Handlers, the store, the network, the
//! clock and randomness are traits. So a test can run the engine in simulated time, with faults
//! drawn from a seed.
//!
//! Start reading at [`engine::Engine`]. Then read [`turn::Turn`] (what a handler may do) and
//! [`commit`] (how executed turns reach the disk).

mod answers;
mod budget;
mod clients;
mod collections;
pub mod commit;
pub mod documents;
pub mod engine;
mod failing;
pub mod history;
pub mod ids;
#[cfg(test)]
mod interleavings;
pub mod limits;
mod lock_set;
mod merging;
pub mod messages;
pub mod network;
mod observing;
pub mod operate;
mod origin;
mod outbound_queues;
mod outputs;
pub mod outside;
mod pending;
pub mod personal_data;
mod poison;
pub mod publications;
pub mod queue;
mod receipts;
mod reminder_check;
pub mod reminders;
mod run;
pub mod scan;
pub mod spans;
pub mod stimulus;
pub mod store;
mod subscriber;
mod sync;
pub mod threads;
pub mod time;
pub mod turn;
mod validate;
mod waiting;
mod workers;

pub use answers::Answering;
pub use clients::Priority;
pub use engine::{Busy, Engine, Environment, Handled, Handler, Recovery, Requester};
pub use ids::{CollectionId, DocumentKey, Lsn, Name, TurnId};
pub use limits::Limits;
pub use observing::CommitObserver;
pub use operate::{Counters, DECISIONS_MAX, Decision, DecisionOutcome, LetterFilter, Load};
pub use origin::Origin;
pub use pending::Earlier;
pub use publications::{Publication, Publications, Selected};
pub use receipts::{ReceiptHash, ReceiptLog, ReceiptObserver};
pub use rialto_fatal as fatal;
pub use spans::{Spans, TurnSpan};
pub use stimulus::{Cause, Delivery, Failure, Payload, Reply, Stimulus, Trace};
pub use subscriber::Paused;
pub use time::{Clock, Entropy, Timestamp};
pub use turn::{Interrupt, Turn};
