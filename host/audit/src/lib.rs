//! The audit log as others can verify it: entries are the leaves of a Merkle tree, and signed checkpoints say its size
//! and its root. Whoever has a checkpoint finds each entry that was changed, removed, inserted or moved before it.
//!
//! | What | Where |
//! |---|---|
//! | hashes of entries and of nodes (RFC 6962, 2.1) | [`hash`] |
//! | the tree that grows, and its root | [`tree`] |
//! | proofs that an entry is in a log, and that a log goes on from another | [`proof`] |
//! | tiles and bundles: the log as files (c2sp.org/tlog-tiles) | [`tile`] |
//! | checkpoints (c2sp.org/tlog-checkpoint, c2sp.org/signed-note) | [`checkpoint`] |
//! | witnesses, who sign checkpoints too (c2sp.org/tlog-witness) | [`witness`] |
//! | what an entry says | [`entry`] |
//! | the log in a folder | [`folder`] |
//! | the check of a log | [`verify`] |
//!
//! This crate reads no store and has no private key. It knows nothing of what entries are about.

pub mod checkpoint;
pub mod entry;
pub mod folder;
pub mod hash;
pub mod proof;
pub mod tile;
pub mod tree;
pub mod verify;
pub mod witness;

pub use checkpoint::{BadCheckpoint, Checkpoint, PublicKey, Unsigned};
pub use entry::{Actor, ActorKind, ENTRY_BYTES_MAX, Entry};
pub use hash::Hash;
pub use tile::TileId;
pub use tree::Tree;
pub use verify::{Finding, Report};
pub use witness::{Cosignature, WitnessKey};
