//! Converts WIT interfaces to protobuf: the calls that components export become messages and services for gRPC clients.
//! Everything is a function of the WIT and the lock. This crate opens no connection and runs no component.
//!
//! | To see | Read |
//! |---|---|
//! | which interfaces are calls | [`wit`] |
//! | which message and which call stands for what | [`derive`](mod@derive), [`model`] |
//! | what becomes of a type | `shapes.rs` |
//! | how numbers stay what they are | [`lock`] |
//! | what would break clients | [`breaks`] |
//! | how bytes become values, and values bytes | [`codec`] |
//! | what a call's bytes are to a component, and its answer to a client | [`call`] |
//! | with which status a refusal is answered | [`status`] |
//! | what is kept beside the WIT | [`checked_in`] |
//! | what a component says of itself | [`component`] |
//! | what the host brings with it | [`own`](mod@own) |
//! | what is written | [`text`], [`descriptors`](mod@descriptors) |

pub mod breaks;
pub mod call;
pub mod checked_in;
pub mod codec;
pub mod component;
pub mod derive;
pub mod descriptors;
pub mod lock;
pub mod model;
mod names;
pub mod own;
mod shapes;
pub mod status;
pub mod text;
pub mod wit;

pub use breaks::Break;
pub use call::Refusal;
pub use codec::{Codec, TypeMismatch};
pub use derive::{Problem, derive};
pub use descriptors::descriptors;
pub use lock::{BadLock, Lock, Locked};
pub use own::own;
pub use text::proto;
