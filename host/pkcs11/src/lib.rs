//! A provider of keys that are in a PKCS #11 token: a hardware module, or SoftHSM.
//!
//! The token generates keys, and they cannot be extracted. A key's reference says in which token it is and by which
//! id, and has the public key of a pair. Wrapped keys are unwrapped inside the token. Signatures are verified in this
//! process, with the public key.
//!
//! A call of a PKCS #11 module cannot be cancelled. So a fixed number of threads call the module, each with a session
//! of its own, and a caller waits for a bounded time. A lost session is opened again; a token that is removed and put
//! back works again without a restart.
//!
//! | To see | Read |
//! |---|---|
//! | what the operator says of a token | [`configuration`] |
//! | what the provider can do | [`provider`] |
//! | how calls wait, and for how long | `pool` |
//! | sessions, logging in, and what is tried again | `connection` |
//! | which failure means what | `failure` |
//! | what each algorithm needs of a token | `mechanisms`, `templates` |
//! | how a key is found again | `material` |
//! | generating, unwrapping, using and destroying keys | `generate`, `load`, `key`, `objects` |

pub mod configuration;
mod connection;
mod failure;
mod generate;
mod key;
mod load;
mod material;
mod mechanisms;
mod module;
mod objects;
mod pool;
pub mod provider;
mod public_key;
mod templates;

pub use configuration::{Configuration, OpenError, PinSource};
pub use provider::{Pkcs11, TokenView};
