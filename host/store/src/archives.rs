//! Archives: the files into which old items have moved, as the store names them.

use rialto_archive::Verified;
use rialto_engine::Timestamp;
use rialto_engine::store::StoreError;

/// The classes of items that are kept permanently and may be archived.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// The history.
    History,
    /// Receipts.
    Receipts,
    /// Documents that their component calls finished. It removes them from the tables itself.
    Documents,
    /// Entries of the audit log, the oldest first.
    Audit,
}

impl Class {
    /// The classes that are archived by whole segments.
    pub const WHOLE: [Self; 2] = [Self::History, Self::Receipts];

    /// The name in the store and for operators.
    pub const fn name(self) -> &'static str {
        match self {
            Self::History => "history",
            Self::Receipts => "receipts",
            Self::Documents => "documents",
            Self::Audit => "audit",
        }
    }

    /// The class with this name.
    #[must_use]
    pub fn of(name: &str) -> Option<Self> {
        let all = [Self::History, Self::Receipts, Self::Documents, Self::Audit];
        all.into_iter().find(|class| class.name() == name)
    }
}

/// An archive, as in the store's table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Archive {
    /// The class of its items.
    pub class: Class,
    /// Its segment.
    pub segment: u32,
    /// Its file's name in the folder of archives.
    pub file: String,
    /// The SHA-256 of the file, in hexadecimal digits.
    pub sha256: String,
    /// A signature of the digest; always none, because archives are not signed yet.
    pub signature: Option<String>,
    /// How many items.
    pub items: u64,
    /// Bytes of the file.
    pub bytes: u64,
    /// Bytes before compression.
    pub plain_bytes: u64,
    /// The earliest instant of an item, milliseconds since 1970.
    pub from: Timestamp,
    /// The latest.
    pub to: Timestamp,
    /// When it was made.
    pub archived_at: Timestamp,
    /// Whether all its items were removed from the tables.
    pub done: bool,
}

impl Archive {
    /// Whether a file is this archive.
    #[must_use]
    pub fn is(&self, verified: &Verified) -> bool {
        verified.written.sha256 == self.sha256
    }
}

/// Names the archives.
pub trait ArchiveStore {
    /// All archives, by class and segment. None of a store that moves nothing into archives.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn archives(&self) -> Result<Vec<Archive>, StoreError>;
}
