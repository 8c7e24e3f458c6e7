//! Hashes of a Merkle tree: SHA-256, for entries and nodes apart (RFC 6962, 2.1).

use std::fmt;

use data_encoding::BASE64;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// The length of a hash, in bytes.
pub const HASH_BYTES: usize = 32;

/// A hash of an entry or of a node. It shows as Base64.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Hash(pub [u8; HASH_BYTES]);

impl Hash {
    /// The root of the tree without entries.
    #[must_use]
    pub fn empty() -> Self {
        Self(Sha256::digest([]).into())
    }

    /// The hash of an entry.
    #[must_use]
    pub fn of_entry(entry: &[u8]) -> Self {
        let hasher = Sha256::new().chain_update([0]).chain_update(entry);
        Self(hasher.finalize().into())
    }

    /// The hash of a node, by those of its two children.
    #[must_use]
    pub fn of_node(left: Self, right: Self) -> Self {
        let hasher = Sha256::new().chain_update([1]);
        let hasher = hasher.chain_update(left.0).chain_update(right.0);
        Self(hasher.finalize().into())
    }

    /// A hash in Base64. None if it is none.
    #[must_use]
    pub fn of_text(text: &str) -> Option<Self> {
        let bytes = BASE64.decode(text.as_bytes()).ok()?;
        Some(Self(bytes.try_into().ok()?))
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&BASE64.encode(&self.0))
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
