//! Sends events to NATS JetStream as CloudEvents 1.0. Only this crate uses async-nats. It knows neither the store nor the
//! engine: who uses it keeps the events and remembers what was acknowledged.
//!
//! A message has the event's attributes in its headers and the event's data as its payload (the binary mode of CloudEvents'
//! binding to NATS). Its id is made of the store, the partition and the event's number, so JetStream takes a message once that is
//! sent twice within the stream's window for duplicates.

mod connection;
mod event;
mod failure;
mod settings;
mod stream;

pub use connection::{Connection, Stopped};
pub use event::{Content, Event, Log};
pub use failure::{Failure, Refusal};
pub use settings::{Settings, SignIn};
