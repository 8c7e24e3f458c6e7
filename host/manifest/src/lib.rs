//! The two documents of a scheme: the operator's `rialto.toml` and the scheme's `scheme.toml`.
//!
//! A scheme is a folder with both documents, the components that they refer to, and
//! `scheme.lock`, which pins the components by their digests. [`Manifest::load`] reads the folder,
//! checks all that can be checked without looking inside a component, and reports every problem it
//! finds with its position and what to do. It does not look into components.
//!
//! Start reading at [`manifest`], then [`scheme`] and [`operator`] (the keys and their meaning),
//! [`shape`] (how a document is compared with its schema) and [`check`] (further checks).

pub mod audit;
pub mod certificates;
pub mod check;
pub mod cluster;
pub mod diagnostics;
pub mod document;
pub mod events;
pub mod facts;
pub mod history;
pub mod keys;
pub mod lock;
pub mod manifest;
pub mod operator;
pub mod passkeys;
mod passwords;
pub mod personal_data;
pub mod releases;
pub mod schema;
pub mod scheme;
pub mod shape;
pub mod sign_in;
pub mod signatures;
pub mod source;
pub mod tls;
pub mod tree;
pub mod values;

pub use check::admit;
pub use diagnostics::{Code, Diagnostics, Problem};
pub use lock::{Digests, Lock, lock};
pub use manifest::{Component, ComponentKind, Manifest};
pub use operator::Operator;
pub use schema::schemas;
pub use scheme::{Scheme, SchemeDocument};
