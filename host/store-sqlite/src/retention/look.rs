//! Reads what archives have: about a subject, and of the audit log.

use std::path::Path;

use rialto_archive::{ArchiveError, Reader};
use rialto_engine::Timestamp;
use rialto_engine::history::Record;
use rialto_engine::store::{Receipt, StoreError};
use rialto_store::{ArchiveStore, AuditStore, EntryFilter, StoredEntry};

use super::source::{Turn, Verdict};
use super::{Archive, ArchivedEntries, Class, RetentionError};

/// The result of a search in archives.
#[derive(Clone, Debug, PartialEq)]
pub struct Archived<T> {
    /// The items, oldest first.
    pub found: Vec<T>,
    /// How many earlier ones there are.
    pub earlier: usize,
    /// Files that are missing in the folder of archives. They may have more items.
    pub missing: Vec<String>,
}

impl<T> Default for Archived<T> {
    fn default() -> Self {
        Self {
            found: Vec::new(),
            earlier: 0,
            missing: Vec::new(),
        }
    }
}

/// Reads what a store has together with what has moved into its archives.
pub trait ReadArchives: ArchiveStore + AuditStore {
    /// The last turns about a subject that are in archives, in log order, at most `most`. Call it after
    /// `last_of_history`, and leave out turns that are in both: they are being archived.
    ///
    /// # Errors
    /// When the store, or an archive that is there, cannot be read.
    fn archived_history(
        &self,
        folder: &Path,
        subject: &str,
        most: usize,
    ) -> Result<Archived<Record>, RetentionError> {
        let mut archived = Archived::default();
        // Of one archive each, the newest first.
        let mut parts: Vec<Vec<Record>> = Vec::new();
        let mut left = most;
        each(
            self,
            folder,
            Class::History,
            &mut archived.missing,
            |reader| {
                let count = usize::try_from(reader.count(subject)?).unwrap_or(usize::MAX);
                if left == 0 || count == 0 {
                    archived.earlier += count;
                    return Ok(());
                }
                let mut turns: Vec<Turn> = reader.items(subject)?;
                turns.sort_by_key(|turn| turn.order);
                let before = turns.len().saturating_sub(left);
                left -= turns.len() - before;
                archived.earlier += before;
                let records = turns.into_iter().skip(before).map(|turn| turn.turn);
                parts.push(records.collect());
                Ok(())
            },
        )?;
        archived.found = parts.into_iter().rev().flatten().collect();
        assert!(
            archived.found.len() <= most,
            "{} turns are found in archives and {most} were asked for",
            archived.found.len()
        );
        Ok(archived)
    }

    /// The receipts about a subject that are in archives, oldest first. Call it after `receipts`, and leave out
    /// those that are in both.
    ///
    /// # Errors
    /// When the store, or an archive that is there, cannot be read.
    fn archived_receipts(
        &self,
        folder: &Path,
        subject: &str,
    ) -> Result<Archived<Receipt>, RetentionError> {
        let mut archived = Archived::default();
        each(
            self,
            folder,
            Class::Receipts,
            &mut archived.missing,
            |reader| {
                for verdict in reader.items::<Verdict>(subject)? {
                    archived.found.push(Receipt {
                        id: verdict.id,
                        subject: subject.into(),
                        at: Timestamp(verdict.at),
                        body: verdict.receipt.get().into(),
                    });
                }
                Ok(())
            },
        )?;
        archived.found.sort_by_key(|receipt| receipt.id);
        Ok(archived)
    }

    /// Entries of the audit log from this index on, in order, at most `limit` of them, from the tables or from archives.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn all_audit_entries(
        &self,
        archived: &mut ArchivedEntries,
        first: u64,
        limit: u32,
    ) -> Result<Vec<StoredEntry>, StoreError> {
        // Entries leave the tables after they are in an archive.
        let in_tables = self.audit_entries(first, limit)?;
        if in_tables.first().is_some_and(|entry| entry.index == first) {
            return Ok(in_tables);
        }
        archived.renew(&self.archives()?);
        Ok(archived.complete(first, in_tables, limit))
    }

    /// Entries of the audit log that a filter wants, in order, at most `limit` of them, from one index to another, which is
    /// not included, from the tables and from archives. Looks at most at so many entries of archives. Returns the index to go
    /// on from too.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn search_all_audit(
        &self,
        archived: &mut ArchivedEntries,
        filter: &EntryFilter,
        (first, end): (u64, u64),
        (limit, archived_max): (u32, u64),
    ) -> Result<(Vec<StoredEntry>, u64), StoreError> {
        loop {
            let begins = self.first_audit_entry()?.unwrap_or(end);
            if first < begins {
                archived.renew(&self.archives()?);
                // Behind the last archive there is a gap at most.
                let end = end.min(begins).min(first.saturating_add(archived_max));
                return Ok(archived.search(filter, (first, end), limit));
            }
            let found = self.search_audit(filter, (first, end), limit)?;
            // Otherwise some of them were archived meanwhile.
            if self.first_audit_entry()?.is_none_or(|now| now <= first) {
                let is_full = u32::try_from(found.len()) == Ok(limit);
                let last = found.last().map(|entry| entry.index + 1);
                return Ok((found, last.filter(|_| is_full).unwrap_or(end)));
            }
        }
    }
}

impl<T: ArchiveStore + AuditStore + ?Sized> ReadArchives for T {}

/// Open each archive of a class, the newest first.
fn each(
    store: &(impl ArchiveStore + ?Sized),
    folder: &Path,
    class: Class,
    missing: &mut Vec<String>,
    mut look: impl FnMut(&mut Reader) -> Result<(), ArchiveError>,
) -> Result<(), RetentionError> {
    let archives = store.archives()?;
    let of_class = |archive: &&Archive| archive.class == class;
    for archive in archives.iter().rev().filter(of_class) {
        if let Some(mut reader) = open(folder, archive, missing)? {
            look(&mut reader)?;
        }
    }
    Ok(())
}

/// Open an archive, or note that its file is missing.
pub(super) fn open(
    folder: &Path,
    archive: &Archive,
    missing: &mut Vec<String>,
) -> Result<Option<Reader>, ArchiveError> {
    match Reader::open(&folder.join(&archive.file)) {
        Ok(reader) => Ok(Some(reader)),
        Err(ArchiveError::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
            missing.push(archive.file.clone());
            Ok(None)
        }
        Err(error) => Err(error),
    }
}
