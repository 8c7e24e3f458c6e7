//! Keys and detached signatures: JSON Web Signatures with detached payload (RFC 7515, appendix F).
//!
//! This crate has the cryptography and the sources of keys. Components decide which messages must be signed and what a
//! header must say. They use the surface `crypto` and never see a key.
//!
//! | To see | Read |
//! |---|---|
//! | which keys are accepted, and how one verifies or signs | [`key`] |
//! | how a file of keys is read | [`pem`] |
//! | what is signed | [`jws`] |
//! | who has which keys now | [`keyring`] |
//! | a folder of keys that may change at any time | [`folder`] |
//! | message authentication codes, and comparing secrets | [`secrets`] |
//! | what people sign with keys of their own | [`statement`] |

pub mod folder;
pub mod jws;
pub mod key;
pub mod keyring;
pub mod pem;
pub mod secrets;
pub mod statement;

pub use folder::KeyFolder;
pub use jws::Signed;
pub use key::{Algorithm, KeyError, PrivateKey, PublicKey};
pub use keyring::{Keyring, PublicKeys, Signers, Verdict};
pub use statement::{PersonKey, PersonSigner};
