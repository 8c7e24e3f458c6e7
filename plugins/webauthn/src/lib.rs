//! The relying party of W3C Web Authentication (FIDO2): what browsers are given, and whether their responses hold.
//!
//! The crate keeps nothing, and has no clock, no random numbers and no cryptography of its own. Who uses it gives out
//! challenges, keeps credentials, and hashes and verifies ([`Cryptography`]). Two do: the component `security-crypto`, for the
//! users of participants and programs, and the host, for its operators.
//!
//! | Module | Holds |
//! |---|---|
//! | [`registration`], [`assertion`] | the steps of the specification's sections 7.1 and 7.2 |
//! | [`response`] | the browser's JSON, read |
//! | [`client_data`], [`authenticator_data`], [`public_key`], [`cbor`] | the parts of a response |
//! | [`options`] | what the browser is given |
//! | [`relying_party`] | the relying party |
//! | `authenticator` | for tests, with the feature of this name: an authenticator in software |
//!
//! # Why no other library verifies
//!
//! `webauthn-rs-core` is not used: a registration asks the operating system for the time, and a challenge for random
//! numbers. A component has neither, and the functions take none from outside. It also links OpenSSL. So the steps are here,
//! each with its number. CBOR is read by `ciborium`.
//!
//! # What is not offered
//!
//! ES256 is the one algorithm. Attestation is not asked for. Origins are those of web pages, not of Android apps.

pub mod assertion;
#[cfg(feature = "authenticator")]
pub mod authenticator;
pub mod authenticator_data;
pub mod cbor;
pub mod client_data;
pub mod options;
pub mod public_key;
pub mod registration;
pub mod relying_party;
pub mod response;

pub use relying_party::RelyingParty;

/// Why a response is not accepted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// It cannot be read, for this reason.
    #[error("{0}")]
    Malformed(String),
    /// It can be read, and does not hold, for this reason.
    #[error("{0}")]
    Refused(String),
    /// Its signature could not be verified, for a cause that is not the authenticator's.
    #[error("the signature could not be verified: {0}")]
    NotVerified(String),
}

/// Why a signature could not be verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotVerified {
    /// The public key is none: its point is not on the curve.
    NoKey,
    /// Another cause, in words for who runs the program.
    Failed(String),
}

/// Hashes, and verifies signatures.
pub trait Cryptography {
    /// The SHA-256 of a message: 32 bytes.
    fn sha256(&mut self, message: &[u8]) -> Vec<u8>;

    /// Whether a signature of ES256 (two numbers of 32 bytes) is of a public key (SubjectPublicKeyInfo, PEM).
    ///
    /// # Errors
    /// When it cannot be known.
    fn verifies(
        &mut self,
        public_key: &str,
        message: &[u8],
        signature: &[u8],
    ) -> Result<bool, NotVerified>;
}

fn refused(why: impl Into<String>) -> Failure {
    Failure::Refused(why.into())
}
