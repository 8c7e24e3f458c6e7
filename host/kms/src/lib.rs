//! A provider of keys that are in AWS KMS.
//!
//! The service generates keys, signs and makes codes; keys cannot be extracted. A key's reference has the key's ARN,
//! and the public key of a pair. Signatures are verified in this process, with the public key. Encryption uses a data
//! key for each message (envelope encryption): the service wraps and unwraps the data key, this process encrypts.
//!
//! Calls are requests of HTTPS, signed with Signature Version 4. A thread of the provider sends them, and callers wait
//! for a bounded time. A call that fails in passing is repeated a few times within that time. The generation of a key
//! is repeated only if it surely did not happen.
//!
//! | To see | Read |
//! |---|---|
//! | what the operator says of the service | [`configuration`] |
//! | what the provider can do | [`provider`] |
//! | how callers wait, and for how long | `worker` |
//! | what is tried again | `service` |
//! | how a request is sent and signed | `transport`, `sign`, `credentials` |
//! | the messages of the protocol | `wire` |
//! | which failure means what | `failure` |
//! | how a key is found again | `material` |
//! | generating, using and destroying keys | `generate`, `key`, `destroy` |
//! | the form of ciphertexts | `envelope` |
//!
//! Credentials of an instance's metadata service, of a container or of a role are not asked for. A program that has
//! such credentials can write them into the file of credentials. HTTP proxies are not used.

pub mod configuration;
mod credentials;
mod destroy;
mod ecdsa;
mod endpoint;
mod envelope;
mod failure;
mod generate;
mod key;
mod material;
pub mod provider;
mod service;
mod sign;
mod transport;
mod wire;
mod worker;

pub use configuration::{Configuration, CredentialsSource, OpenError};
pub use provider::{Kms, ServiceView};
