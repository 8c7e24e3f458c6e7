//! gRPC in: what components export is called by clients that were built from their `.proto` files. The
//! contracts are read from the components of the release ([`rialto_proto`]); a call becomes a turn, and its
//! answer waits for the commit. No payment word is known here, and no message has code of its own.
//!
//! | To see | Read |
//! |---|---|
//! | which methods a release serves | [`calls`] |
//! | how a call becomes a turn, and its answer bytes | `service.rs`, `turn.rs` |
//! | with which status what is answered | `answer.rs` |
//! | what a client may take of the host | `body.rs`, [`deadline`], [`server`] |
//! | TLS | [`tls`] |

mod answer;
pub mod authorization;
mod body;
pub mod calls;
mod codec;
pub mod deadline;
mod health;
pub mod server;
mod service;
pub mod tls;
mod turn;

pub use authorization::{Authorizer, Denied, Permission};
pub use calls::{Calls, Offer, Unserved};
pub use server::Server;
pub use service::{Limits, Service};
pub use tls::{Files, Tls};
