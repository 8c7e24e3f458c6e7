//! Archive files: compressed lines of JSON with an index and checksums.
//!
//! A file is a sequence of gzip members (RFC 1952), so `zcat` shows the whole file as lines of JSON:
//!
//! 1. a member with the head, one line: [`Head`];
//! 2. members with the items, one *block* each: 256 KiB of lines, and the rest of the last line. An item is an
//!    object with `about` (the subjects by which it is found), `at` (its time in milliseconds since 1970), and
//!    the members of its class;
//! 3. members with the index: a line for each subject, in byte order, with the blocks that have items
//!    about it: `["invoice:17",[[0,2],[4,1]]]` is two items in block 0 and one in block 4;
//! 4. a member with the tail, one line: [`Tail`];
//! 5. an empty member whose extra field `RA` has the offset of the tail's member in the file, in eight bytes,
//!    little-endian.
//!
//! The same items in the same order make the same file, byte for byte.

#![forbid(unsafe_code)]

mod index;
mod read;
mod verify;
mod write;

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

pub use read::{Reader, lines};
pub use verify::{Verified, verify};
pub use write::{Writer, Written};

/// The layout of new files.
pub const LAYOUT: u32 = 1;

/// The first line of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Head {
    /// The layout's number, [`LAYOUT`].
    pub rialto_archive: u32,
    /// The store of the items: 16 hexadecimal digits.
    pub store: String,
    /// The class of the items: `history`, for example.
    pub class: String,
    /// Their segment in the store.
    #[serde(rename = "era")]
    pub segment: u32,
    /// For documents: their component.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub component: Option<String>,
    /// For documents: their name in the operator's `keep`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<String>,
}

/// The last line of a file: counts, times, digest and offsets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Tail {
    /// How many items.
    pub items: u64,
    /// The earliest time of an item, in milliseconds since 1970; 0 if there is none.
    pub from: u64,
    /// The latest.
    pub to: u64,
    /// Bytes of the head's and the items' lines, before compression.
    pub bytes: u64,
    /// SHA-256 over these bytes, in hexadecimal digits.
    pub sha256: String,
    /// The offsets of the members of items in the file, and the end of the last one.
    pub blocks: Vec<u64>,
    /// The offsets of the index's members in the file, each with its first subject.
    pub index: Vec<(String, u64)>,
}

/// Why writing or reading an archive failed.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// The system refused.
    #[error("{path} cannot be used")]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The file is damaged.
    #[error("{path} is damaged or no archive: {what}")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong, and where.
        what: String,
    },
    /// The value is not an item.
    #[error("an item cannot be archived: {0}")]
    Item(String),
}
