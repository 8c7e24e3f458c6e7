//! Bundles: a release's files as one OCI artifact, in a plain file or in a registry.
//!
//! A bundle has the files of a scheme or of one rule: its documents, components, their worlds, golden cases, and a
//! plan with its signatures. [`Bundle`] has them in memory. The artifact is a manifest, a configuration that says what
//! each file is, and a blob for each file ([`manifest`], [`content`]). The plain file is that artifact as an OCI image
//! layout in a tar archive ([`layout`]).
//!
//! One content has one form. Entries are sorted, and there are no times, users, or paths of a machine. A reader packs
//! what it has read again and compares all bytes. So a changed byte anywhere is found, and a bundle that went through
//! a registry ([`registry`]) is the same file as before.
//!
//! The crate does not know what the files mean: `rialto` chooses and judges them.

pub mod bundle;
pub mod content;
pub mod digest;
pub mod error;
pub mod layout;
pub mod manifest;
pub mod path;
pub mod registry;
mod tar;

pub use bundle::{Bundle, File};
pub use content::{About, Component, ComponentKind, Content, Kind, Limits};
pub use digest::Digest;
pub use error::BundleError;
pub use path::BundlePath;

/// The most bytes of one file in a bundle. A host takes no longer component.
pub const FILE_BYTES_MAX: u64 = 64 << 20;
/// The most bytes of all files of a bundle.
pub const ALL_BYTES_MAX: u64 = 256 << 20;
/// The most files in a bundle.
pub const FILES_MAX: usize = 4096;
/// The most bytes of the manifest, and of the configuration. Registries take no longer manifest.
pub const MANIFEST_BYTES_MAX: u64 = 4 << 20;
