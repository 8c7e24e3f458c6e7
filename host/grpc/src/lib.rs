//! The gRPC server. Clients that were built from `.proto` files call functions that components export.
//!
//! The contracts are read from the components of the release ([`rialto_proto`]). A call becomes a turn, and its answer
//! is sent after the commit. This crate knows no payments, and messages have no generated code. TLS is that of
//! [`rialto_tls`].
//!
//! | To see | Read |
//! |---|---|
//! | which methods a release serves | [`calls`] |
//! | how a call becomes a turn, and its answer bytes | `service.rs`, `turn.rs` |
//! | the statuses of answers | `answer.rs` |
//! | the bounds for a client | `body.rs`, [`deadline`], [`server`] |

mod answer;
pub mod authorization;
mod body;
pub mod calls;
mod codec;
pub mod deadline;
mod health;
pub mod server;
mod service;
mod turn;

pub use answer::unanswered;
pub use authorization::{Authorizer, Client, Denied, Permission};
pub use calls::{Calls, OfferedApis, Unserved};
pub use server::{Answers, Server};
pub use service::{Limits, Service, streams};
pub use tonic::body::Body as AnswerBody;
