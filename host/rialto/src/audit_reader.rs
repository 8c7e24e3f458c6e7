//! The audit log as components read it: entries with the proof that they are those that were signed.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use rialto_audit::proof::{Hashes, is_included};
use rialto_audit::{Checkpoint, Hash, PublicKey, TileId, tree};
use rialto_components::audit_log::{AuditLog, Filter, Page, Proof, StoredEntry};
use rialto_engine::Timestamp;
use rialto_engine::store::StoreError;
use rialto_receipts::log;
use rialto_store::{EntryFilter, HostStore};
use rialto_store_sqlite::retention::ReadArchives as _;
use rialto_store_sqlite::retention::{ArchivedEntries, UnreadArchive};

use crate::personal_data::HostPeople;

/// How many entries one search looks at.
const LOOKED_AT_MAX: u64 = 100_000;
/// How long a turn lasts usually, and a group waits for the disk, in milliseconds.
const SOON_MS: u64 = 10_000;
/// How many entries one step of a search for a single one looks at.
const FOUND_WITHIN: u64 = 4_096;
/// How many entries in archives one search looks at. They are decompressed.
const ARCHIVED_MAX: u64 = 10_000;
/// Entries are in the order of their commit, and have the instants of their turns. This is more than a turn lasts, and more
/// than clocks are set back by: an hour, in milliseconds.
const DISORDER_MS: u64 = 3_600_000;

/// Reads the audit log of a store.
pub struct AuditReader {
    store: Arc<dyn HostStore>,
    /// The keys that sign checkpoints, or have.
    keys: Vec<PublicKey>,
    /// The folder of archives.
    archives: PathBuf,
    /// The keys of people, if entries are encrypted with them.
    people: Option<Arc<HostPeople>>,
}

impl fmt::Debug for AuditReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AuditReader")
    }
}

/// Why a search has no answer.
#[derive(Debug, thiserror::Error)]
enum Unread {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("{0}, or search only what came after them")]
    Archive(UnreadArchive),
}

/// The last checkpoint, if its signature is one of the log's keys.
struct Signed {
    note: String,
    checkpoint: Checkpoint,
}

impl AuditReader {
    /// A reader of a store that this host has recovered.
    #[must_use]
    pub fn new(
        store: Arc<dyn HostStore>,
        keys: Vec<PublicKey>,
        archives: PathBuf,
        people: Option<Arc<HostPeople>>,
    ) -> Self {
        Self {
            store,
            keys,
            archives,
            people,
        }
    }

    /// The last checkpoint. One that no key has signed counts as none.
    fn signed(&self) -> Result<Option<Signed>, StoreError> {
        let Some(last) = self.store.last_audit_checkpoint()? else {
            return Ok(None);
        };
        let keys = self.keys.iter();
        let mut verified = keys.filter_map(|key| Checkpoint::verified(&last.note, key).ok());
        let note = last.note.clone();
        Ok(verified
            .next()
            .map(|checkpoint| Signed { note, checkpoint }))
    }

    /// The earliest index at which an entry can be that a filter wants.
    fn earliest(&self, filter: &Filter) -> Result<u64, StoreError> {
        let Some(since) = filter.since else {
            return Ok(0);
        };
        let since = since.saturating_sub(DISORDER_MS);
        self.store.audit_index_of(Timestamp(since))
    }

    /// What stands in an entry in place of a text that is searched for: the text, or a person's pseudonym. A text is a member
    /// of the entry, as in JSON.
    fn spellings(&self, text: &str) -> Vec<String> {
        let mut spellings = vec![text.to_owned()];
        let person = text.strip_prefix("\"about\":");
        let person: Option<String> = person.and_then(|value| serde_json::from_str(value).ok());
        let pseudonym = person.and_then(|person| self.people.as_ref()?.pseudonym(&person));
        // Digits, letters and a few signs: it has no escapes in JSON.
        spellings.extend(pseudonym.map(|pseudonym| format!("\"about\":\"{pseudonym}\"")));
        spellings
    }

    fn page(&self, filter: &Filter, first: u64, limit: u32) -> Result<Page, Unread> {
        // The checkpoint first, so that it covers no entry that is not there.
        let signed = self.signed()?;
        let size = self.store.audit_size()?;
        let first = first.max(self.earliest(filter)?);
        let end = size.min(first.saturating_add(LOOKED_AT_MAX));
        let mut texts = filter.texts.iter();
        let asks_for_receipts = texts.any(|text| text.contains(log::ACTION));
        let wanted = EntryFilter {
            since: filter.since,
            until: filter.until,
            texts: filter
                .texts
                .iter()
                .map(|text| self.spellings(text))
                .collect(),
            without_head: Some(log::HEAD).filter(|_| !asks_for_receipts),
        };
        let mut archived = ArchivedEntries::new(&self.archives, &[]);
        let most = (limit, ARCHIVED_MAX);
        let searched = self
            .store
            .search_all_audit(&mut archived, &wanted, (first, end), most);
        let (found, next) = searched?;
        // Nobody is to believe that there was nothing.
        if let Some(unread) = archived.take_unread().into_iter().next() {
            return Err(Unread::Archive(unread));
        }
        let mut tiles = Tiles {
            store: &*self.store,
            read: BTreeMap::new(),
            failure: None,
        };
        let mut entries = Vec::with_capacity(found.len());
        for entry in found {
            let checkpoint = signed.as_ref().map(|signed| &signed.checkpoint);
            let (proof, path) = tiles.proof(entry.index, &entry.body, checkpoint)?;
            let people = self.people.as_ref();
            entries.push(StoredEntry {
                index: entry.index,
                opened: people.and_then(|people| people.open_entry(&entry.body)),
                entry: entry.body,
                proof,
                path,
            });
        }
        Ok(Page {
            entries,
            next: (next < size).then_some(next),
            size,
            checkpoint: signed.map(|signed| signed.note),
        })
    }
}

/// An entry that was found by a text in it.
pub struct FoundEntry {
    /// Its place in the log.
    pub index: u64,
    /// Its bytes.
    pub entry: String,
    /// Whether it is the one that was signed.
    pub proof: Proof,
    /// The proof that it is in the log, in Base64.
    pub path: Vec<String>,
    /// The checkpoint; empty without a proof.
    pub checkpoint: String,
}

impl AuditReader {
    /// The entry with a text that was written at an instant (milliseconds since 1970) or soon after it; none if there is
    /// none within an hour. It looks at the entries from then on first, and at those before it only if the clock was set
    /// back.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn find(&self, at: u64, text: &str) -> Result<Option<FoundEntry>, StoreError> {
        // The checkpoint first, so that it covers no entry that is not there.
        let signed = self.signed()?;
        let size = self.store.audit_size()?;
        let soon = Timestamp(at.saturating_sub(SOON_MS));
        // Entries may have come since the size was read.
        let soon = self.store.audit_index_of(soon)?.min(size);
        let before = self
            .store
            .audit_index_of(Timestamp(at.saturating_sub(DISORDER_MS)))?;
        let after = Timestamp(at.saturating_add(DISORDER_MS));
        let end = self.store.audit_index_of(after)?.max(soon).min(size);
        let found = match self.find_between(text, (soon, end))? {
            None => self.find_between(text, (before, soon))?,
            found => found,
        };
        let Some((index, entry)) = found else {
            return Ok(None);
        };
        let mut tiles = Tiles {
            store: &*self.store,
            read: BTreeMap::new(),
            failure: None,
        };
        let checkpoint = signed.as_ref().map(|signed| &signed.checkpoint);
        let (proof, path) = tiles.proof(index, &entry, checkpoint)?;
        Ok(Some(FoundEntry {
            index,
            entry,
            proof,
            path,
            checkpoint: signed.map(|signed| signed.note).unwrap_or_default(),
        }))
    }

    fn find_between(
        &self,
        text: &str,
        (mut first, end): (u64, u64),
    ) -> Result<Option<(u64, String)>, StoreError> {
        let wanted = EntryFilter {
            texts: vec![vec![text.to_owned()]],
            ..EntryFilter::default()
        };
        let mut archived = ArchivedEntries::new(&self.archives, &[]);
        while first < end {
            let to = end.min(first.saturating_add(FOUND_WITHIN));
            let (found, next) = self.store.search_all_audit(
                &mut archived,
                &wanted,
                (first, to),
                (1, ARCHIVED_MAX),
            )?;
            if let Some(found) = found.into_iter().next() {
                return Ok(Some((found.index, found.body)));
            }
            first = next.max(first + 1);
        }
        Ok(None)
    }
}

impl AuditLog for AuditReader {
    fn search(&self, filter: &Filter, first: u64, limit: u32) -> Result<Page, String> {
        let page = self.page(filter, first, limit);
        page.map_err(|error| error.to_string())
    }
}

/// Tiles that a page has read.
struct Tiles<'s> {
    store: &'s dyn HostStore,
    read: BTreeMap<TileId, Option<Vec<Hash>>>,
    failure: Option<StoreError>,
}

impl Tiles<'_> {
    /// Whether an entry is the one that a checkpoint covers, and the proof in Base64.
    fn proof(
        &mut self,
        index: u64,
        entry: &str,
        checkpoint: Option<&Checkpoint>,
    ) -> Result<(Proof, Vec<String>), StoreError> {
        let Some(checkpoint) = checkpoint.filter(|checkpoint| index < checkpoint.size) else {
            return Ok((Proof::Unsigned, Vec::new()));
        };
        let size = checkpoint.size;
        let mut tile = |id| self.tile(id);
        let path = Hashes::new(size, &mut tile).inclusion(index);
        if let Some(error) = self.failure.take() {
            return Err(error);
        }
        let path = path.ok().flatten().unwrap_or_default();
        let hash = Hash::of_entry(entry.as_bytes());
        if !is_included(hash, index, (size, checkpoint.root), &path) {
            return Ok((Proof::Changed, Vec::new()));
        }
        let path = path.iter().map(ToString::to_string).collect();
        Ok((Proof::Verified, path))
    }

    fn tile(&mut self, id: TileId) -> Option<Vec<Hash>> {
        if let Some(read) = self.read.get(&id) {
            return read.clone();
        }
        let hashes = match self.store.audit_tile(id.level, id.index) {
            Ok(bytes) => bytes.and_then(|bytes| tree::hashes_of(&bytes)),
            Err(error) => {
                self.failure = Some(error);
                None
            }
        };
        self.read.insert(id, hashes.clone());
        hashes
    }
}
