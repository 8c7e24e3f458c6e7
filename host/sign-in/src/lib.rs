//! Sign-in with an OpenID provider: the authorization code flow with PKCE (OpenID Connect Core 1.0, RFC 6749, RFC 7636,
//! RFC 9207).
//!
//! - [`Provider`] is the provider of a configuration. [`Provider::begin`] leads a browser to it, [`Provider::finish`] takes
//!   the browser back and returns the subject whom the provider has authenticated.
//! - `pending` binds a sign-in to its browser: by a cookie, and nothing in memory.
//! - `discovery` reads the provider's metadata and keys, `id_token` verifies what it signs, `transport` sends requests with
//!   bounded answers and times.
//!
//! The crate knows the protocol. Who a subject is, and what they may do, is the caller's.

#![forbid(unsafe_code)]

mod configuration;
mod discovery;
mod endpoint;
mod failure;
mod form;
mod id_token;
mod keys;
mod pending;
mod provider;
mod transport;

pub use configuration::{Configuration, OpenError, SecretSource};
pub use failure::Failure;
pub use provider::{Authenticated, Begun, PENDING_SECONDS, Provider};
