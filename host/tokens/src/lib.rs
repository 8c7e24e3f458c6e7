//! Verifies access tokens: JSON Web Tokens (RFC 7519, 9068) in compact form, signed by ES256. It knows neither HTTP
//! nor who issues tokens: rules, the state of clients and the time are passed in.
//!
//! | To see | Read |
//! |---|---|
//! | why a token is refused | [`invalid`] |
//! | which texts are tokens, and what they say | [`token`], `strict.rs` |
//! | whose tokens are valid | [`rules`] |
//! | how a token that was verified before is verified again | [`verifier`], `cache.rs` |
//!
//! A token is a secret. This crate keeps only its SHA-256. No error and no `Debug` shows a part of it.

mod cache;
pub mod invalid;
pub mod rules;
mod strict;
pub mod token;
pub mod verifier;

pub use invalid::Invalid;
pub use rules::{BadRules, Rules};
pub use token::{Claims, Client, Thumbprint};
pub use verifier::Verifier;
