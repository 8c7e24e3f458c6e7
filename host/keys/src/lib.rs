//! Keys that never leave their provider.
//!
//! A component keeps *references* of its keys. A reference is a text under the seal of the host's master key: it says
//! whose the key is, what it is for, until when, and how its provider finds it. So keys lie in the component's own
//! documents, appear and vanish with its turns, and are of no use to whoever reads a store, a backup or a log.
//!
//! | To see | Read |
//! |---|---|
//! | what is said of a key | [`attributes`] |
//! | who may use a key, and for what | [`keys`] |
//! | what a provider must do | [`provider`] |
//! | the threads that call remote providers | `callers` |
//! | a panic in a call | [`contained`] |
//! | a master key that a provider encrypts | `sealed_master` |
//! | the provider in software | [`software`] |
//! | the seal | [`master`] |
//! | memory that is not swapped out | `locked` |
//! | the host's own keys | [`own`] |
//! | key pairs for somebody else | [`handed_out`] |
//! | PIN blocks | [`pin`] |
//!
//! Detached signatures of messages and folders of public keys are `rialto-signatures`.

pub mod attributes;
mod callers;
pub mod contained;
pub mod error;
pub mod handed_out;
pub mod keys;
mod locked;
pub mod master;
pub mod own;
pub mod pin;
pub mod provider;
mod sealed_master;
pub mod software;

pub use attributes::{Algorithm, Attributes, Purpose};
pub use error::KeyError;
pub use handed_out::HandedOut;
pub use keys::{Hash, Keys, NewKey, PinSide, ProviderView, hash};
pub use master::{MasterError, MasterKeys, MasterSource};
pub use own::{AUDIT, HOST, OFFICER, OwnKey, TLS};
pub use provider::{Key, Made, Material, OnlyUnwraps, Provider, Unwrapping};
pub use sealed_master::SealedBy;
pub use software::{PublicKey, Software, random};
