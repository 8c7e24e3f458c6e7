//! The audit log: its entries, the tiles of its tree, and its checkpoints.

use rialto_engine::Timestamp;
use rialto_engine::store::StoreError;

use crate::Archive;

/// An entry, with its index in the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredEntry {
    /// Counts up from 0.
    pub index: u64,
    /// When, as its writer says.
    pub at: Timestamp,
    /// JSON. These bytes are hashed.
    pub body: String,
}

/// A tile of the tree's hashes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredTile {
    /// Its level; 0 for hashes of entries.
    pub level: u8,
    /// Its index within the level.
    pub index: u64,
    /// The hashes, one behind the other.
    pub hashes: Vec<u8>,
}

/// A signed checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredCheckpoint {
    /// How many entries it covers.
    pub size: u64,
    /// When it was signed.
    pub at: Timestamp,
    /// Its text.
    pub note: String,
}

/// Which entries are wanted. All conditions hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EntryFilter {
    /// Entries of this instant or later: milliseconds since 1970.
    pub since: Option<u64>,
    /// Entries before this instant.
    pub until: Option<u64>,
    /// Texts that stand in the entry: of each list, one of its spellings.
    pub texts: Vec<Vec<String>>,
    /// Entries with this text within their first 32 bytes are not wanted.
    pub without_head: Option<&'static str>,
}

/// Where a text of [`EntryFilter::without_head`] begins at most.
pub const HEAD_BYTES: usize = 32;

impl EntryFilter {
    /// Whether it wants an entry.
    #[must_use]
    pub fn wants(&self, entry: &StoredEntry) -> bool {
        let at = entry.at.0;
        self.since.is_none_or(|since| at >= since)
            && self.until.is_none_or(|until| at < until)
            && self.texts.iter().all(|spellings| {
                let mut spellings = spellings.iter();
                spellings.any(|text| entry.body.contains(text))
            })
            && self
                .without_head
                .is_none_or(|text| entry.body.find(text).is_none_or(|at| at >= HEAD_BYTES))
    }
}

/// The audit log as of one commit, read beside the host.
pub trait AuditSnapshot {
    /// How many entries of the audit log there are, by the store's own counter.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn audit_size(&mut self) -> Result<u64, StoreError>;
    /// Entries of the audit log in the tables from this index on, in order, at most `limit` of them. Some may be missing.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn audit_entries(&mut self, first: u64, limit: u32) -> Result<Vec<StoredEntry>, StoreError>;
    /// A tile of the audit log's tree; none if it is not stored.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn audit_tile(&mut self, level: u8, index: u64) -> Result<Option<Vec<u8>>, StoreError>;
    /// The checkpoints of the audit log, the newest first, at most `limit` of them.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn audit_checkpoints(&mut self, limit: u32) -> Result<Vec<StoredCheckpoint>, StoreError>;
    /// The archives that have entries of the audit log; other archives may be among them.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn audit_archives(&mut self) -> Result<Vec<Archive>, StoreError>;
}

/// Keeps the audit log: its entries, the tiles of its tree, and its checkpoints.
pub trait AuditStore {
    /// Entries of the audit log that a filter wants, in order, at most `limit` of them, from one index to another, which is
    /// not included.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn search_audit(
        &self,
        filter: &EntryFilter,
        range: (u64, u64),
        limit: u32,
    ) -> Result<Vec<StoredEntry>, StoreError>;
    /// How many entries of the audit log are in the tables. The next entry has this index.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn audit_size(&self) -> Result<u64, StoreError>;
    /// Whether all entries of the audit log are in the tables, and none is in the journal alone.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn audit_is_flushed(&self) -> Result<bool, StoreError>;
    /// The index of the first entry of this instant or later, if entries are in the order of their instants; the index of the
    /// next entry if there is none. It looks at some 20 entries of a million.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn audit_index_of(&self, at: Timestamp) -> Result<u64, StoreError>;
    /// Entries of the audit log from this index on, in order, at most `limit` of them.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn audit_entries(&self, first: u64, limit: u32) -> Result<Vec<StoredEntry>, StoreError>;
    /// A tile of the audit log's tree; none if it is not stored.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn audit_tile(&self, level: u8, index: u64) -> Result<Option<Vec<u8>>, StoreError>;
    /// The newest checkpoint of the audit log; none before the first.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn last_audit_checkpoint(&self) -> Result<Option<StoredCheckpoint>, StoreError>;
    /// Store a checkpoint of the audit log, with the tiles that have changed since the last one. `replaces` is the size of
    /// the checkpoint whose place it takes.
    ///
    /// # Errors
    /// When the store cannot write or belongs to a newer host.
    fn add_audit_checkpoint(
        &self,
        checkpoint: &StoredCheckpoint,
        tiles: &[StoredTile],
        replaces: Option<u64>,
    ) -> Result<(), StoreError>;
    /// The index of the first entry of the audit log that is yet to be sent to the collector; 0 if none was sent.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn audit_sent(&self) -> Result<u64, StoreError>;
    /// The index of the first entry of the audit log in the tables; none without entries.
    fn first_audit_entry(&self) -> Result<Option<u64>, StoreError>;
    /// Store the index of the first entry of the audit log that is yet to be sent to the collector.
    ///
    /// # Errors
    /// When the store cannot write or belongs to a newer host.
    fn set_audit_sent(&self, next: u64) -> Result<(), StoreError>;
}
