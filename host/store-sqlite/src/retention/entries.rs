//! Reads entries of the audit log from the tables and from archives, as one log.

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};

use rialto_archive::{ArchiveError, Reader};
use rialto_engine::store::StoreError;
use rialto_store::{AuditSnapshot, EntryFilter, StoredEntry};

use super::audit::{BUNDLE, Item, end_of, first_of, subject};
use super::{Archive, Class};

/// Entries that cannot be read from their archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnreadArchive {
    /// The file's name.
    pub file: String,
    /// The index of its first entry.
    pub first: u64,
    /// The index of its last entry.
    pub last: u64,
    /// Why.
    pub why: String,
}

impl fmt::Display for UnreadArchive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            file,
            first,
            last,
            why,
        } = self;
        write!(
            f,
            "entries {first} to {last} of the audit log are in the archive {file}, and {why}"
        )
    }
}

/// The archives of the audit log. Entries of a file that is missing or damaged are left out, and said.
#[derive(Debug, Default)]
pub struct ArchivedEntries {
    folder: PathBuf,
    /// In the log's order.
    archives: Vec<Archive>,
    /// The file that was read last.
    open: Option<(String, Reader)>,
    unread: Vec<UnreadArchive>,
    told: BTreeSet<String>,
}

impl ArchivedEntries {
    /// Those among a store's archives, whose files are in this folder.
    #[must_use]
    pub fn new(folder: &Path, archives: &[Archive]) -> Self {
        let mut new = Self {
            folder: folder.to_owned(),
            ..Self::default()
        };
        new.renew(archives);
        new
    }

    /// The store's archives may be more by now.
    pub(super) fn renew(&mut self, archives: &[Archive]) {
        let mine = archives.iter().filter(|one| one.class == Class::Audit);
        self.archives = mine.cloned().collect();
        self.archives.sort_by_key(|one| one.segment);
    }

    /// The archives, in the log's order.
    #[must_use]
    pub fn archives(&self) -> &[Archive] {
        &self.archives
    }

    /// Entries of a snapshot's audit log from this index on, in order, at most `limit` of them, from its tables or from
    /// archives.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn all_entries(
        &mut self,
        snapshot: &mut dyn AuditSnapshot,
        first: u64,
        limit: u32,
    ) -> Result<Vec<StoredEntry>, StoreError> {
        let in_tables = snapshot.audit_entries(first, limit)?;
        self.renew(&snapshot.audit_archives()?);
        Ok(self.complete(first, in_tables, limit))
    }

    /// How many entries they have.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.archives.iter().map(|one| one.items).sum()
    }

    /// The archives that could not be read since the last call, each once.
    pub fn take_unread(&mut self) -> Vec<UnreadArchive> {
        std::mem::take(&mut self.unread)
    }

    /// Entries from this index on, in order: what the tables have, or what archives have before that. None only at the end.
    pub fn complete(
        &mut self,
        first: u64,
        in_tables: Vec<StoredEntry>,
        limit: u32,
    ) -> Vec<StoredEntry> {
        let begins = in_tables.first().map_or(u64::MAX, |entry| entry.index);
        if begins <= first {
            return in_tables;
        }
        let mut found = self.from(first, begins);
        if found.is_empty() {
            return in_tables;
        }
        found.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
        found
    }

    /// Entries of the first bundle that has some, from one index on, and before another one.
    fn from(&mut self, first: u64, end: u64) -> Vec<StoredEntry> {
        for n in 0..self.archives.len() {
            let mut at = first.max(first_of(&self.archives[n]));
            let behind = end.min(end_of(&self.archives[n]));
            while at < behind {
                // An entry may be about something that has the name of another bundle.
                let behind = behind.min((at / BUNDLE + 1) * BUNDLE);
                match self.bundle(n, at / BUNDLE) {
                    Ok(found) => {
                        let mut found: Vec<StoredEntry> = found
                            .into_iter()
                            .filter(|entry| (at..behind).contains(&entry.index))
                            .collect();
                        // As the log has them, whatever was done to the file.
                        found.sort_by_key(|entry| entry.index);
                        found.dedup_by_key(|entry| entry.index);
                        if !found.is_empty() {
                            return found;
                        }
                    }
                    Err(error) => {
                        self.tell(n, &error);
                        break;
                    }
                }
                at = (at / BUNDLE + 1) * BUNDLE;
            }
        }
        Vec::new()
    }

    fn bundle(&mut self, n: usize, bundle: u64) -> Result<Vec<StoredEntry>, ArchiveError> {
        let archive = &self.archives[n];
        let is_open = self.open.as_ref().is_some_and(|(f, _)| *f == archive.file);
        if !is_open {
            let reader = Reader::open(&self.folder.join(&archive.file))?;
            self.open = Some((archive.file.clone(), reader));
        }
        let Some((_, reader)) = &mut self.open else {
            return Ok(Vec::new());
        };
        let items: Vec<Item> = reader.items(&subject(bundle))?;
        Ok(items.into_iter().map(Item::stored).collect())
    }

    fn tell(&mut self, n: usize, error: &ArchiveError) {
        let archive = &self.archives[n];
        if !self.told.insert(archive.file.clone()) {
            return;
        }
        let why = match error {
            ArchiveError::Io { source, .. } if source.kind() == std::io::ErrorKind::NotFound => {
                "it is missing in the folder of archives: put it back".to_owned()
            }
            ArchiveError::Io { source, .. } => format!("it cannot be read: {source}"),
            other => format!("it cannot be read: {other}"),
        };
        self.unread.push(UnreadArchive {
            file: archive.file.clone(),
            first: first_of(archive),
            last: end_of(archive).saturating_sub(1),
            why,
        });
    }

    /// Entries that a filter wants, from one index to another, which is not included, and the index to go on from.
    pub(super) fn search(
        &mut self,
        filter: &EntryFilter,
        (first, end): (u64, u64),
        limit: u32,
    ) -> (Vec<StoredEntry>, u64) {
        let mut wanted = Vec::new();
        let mut at = first;
        while at < end {
            if let Some(behind) = self.without(filter, at) {
                at = behind.min(end);
                continue;
            }
            let found = self.from(at, end);
            let Some(last) = found.last() else { break };
            let next = last.index + 1;
            for entry in found.into_iter().filter(|entry| filter.wants(entry)) {
                let index = entry.index;
                wanted.push(entry);
                if u32::try_from(wanted.len()) == Ok(limit) {
                    return (wanted, index + 1);
                }
            }
            at = next;
        }
        (wanted, end)
    }

    /// If the archive with this entry has none of the instants of a filter: the index behind it.
    fn without(&self, filter: &EntryFilter, index: u64) -> Option<u64> {
        let of = |one: &&Archive| (first_of(one)..end_of(one)).contains(&index);
        let archive = self.archives.iter().find(of)?;
        let is_before = filter.since.is_some_and(|since| archive.to.0 < since);
        let is_after = filter.until.is_some_and(|until| archive.from.0 >= until);
        (is_before || is_after).then(|| end_of(archive))
    }
}
