//! Requests that one host takes and another one answers.
//!
//! Several hosts share a store, and one of them serves. The others take requests too: they pass each one to the host that
//! serves, over one connection of HTTP/2 with mutual TLS, and pass the answer back. What a client has proven goes along as its
//! certificate, which the host that serves verifies again by its own files. This crate knows no store and no lease: who serves
//! is told to it.
//!
//! | To see | Read |
//! |---|---|
//! | which host answers a request of a listener | [`door`] |
//! | how a request is passed, and what is tried again | [`link`] |
//! | how a passed request is taken | [`server`] |
//! | what goes along with a request | [`origin`] |

pub mod door;
mod gathered;
pub mod link;
pub mod origin;
pub mod server;
mod written;

use bytes::Bytes;
use http::Response;
use http_body_util::combinators::UnsyncBoxBody;

pub use door::{Door, DoorSettings, Handler, Holds};
pub use link::{Link, LinkSettings, Passing, Refusal};
pub use origin::Origin;
pub use server::Server;

/// Why a body ended early.
pub type BodyError = Box<dyn std::error::Error + Send + Sync>;
/// A body of any kind.
pub type AnyBody = UnsyncBoxBody<Bytes, BodyError>;
/// An answer, whoever has given it.
pub type Answer = Response<AnyBody>;

/// A body as one of any kind.
pub fn any_body<B>(body: B) -> AnyBody
where
    B: hyper::body::Body<Data = Bytes, Error: Into<BodyError>> + Send + 'static,
{
    use http_body_util::BodyExt as _;
    body.map_err(Into::into).boxed_unsync()
}
