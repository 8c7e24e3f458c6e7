//! Moves the oldest entries of the audit log to archives, whole bundles of 256 at a time, so that the tables have the log's
//! end and archives its begin.

use rialto_archive::ArchiveError;
use rialto_engine::Timestamp;
use rialto_engine::store::StoreError;
use rialto_store::StoredEntry;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{Archive, Class, RetentionError, source, take};
use crate::audit::{checkpoints, entries, span};
use crate::slices::counter;
use crate::{Inner, failed};

/// Entries of a bundle, as in the log's tree. An archive has whole bundles, and its index finds them.
pub(super) const BUNDLE: u64 = 256;
/// Entries of one archive at most: some 130 MB before compression.
const ENTRIES_MAX: u64 = 1 << 18;
/// Entries that are read in one transaction.
const ENTRIES_AT_ONCE: u32 = 256;

/// Which entries of the audit log are archived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AuditKeep {
    /// The age at which they are, in milliseconds.
    pub period: u64,
    /// Only those that a checkpoint covers.
    pub only_signed: bool,
    /// Only those that were sent to the collector.
    pub only_sent: bool,
}

impl AuditKeep {
    /// The part of the period whose entries are in one archive, as of a segment, in milliseconds.
    #[must_use]
    pub fn part(&self) -> u64 {
        (self.period / super::SEGMENTS_OF_A_PERIOD).max(1)
    }
}

/// An entry in an archive.
#[derive(Serialize, Deserialize)]
pub(super) struct Item {
    /// Its bundle, and what the entry is about.
    about: Vec<String>,
    pub at: u64,
    pub index: u64,
    /// The entry's bytes, which are JSON in one line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    entry: Option<Box<RawValue>>,
    /// The entry's bytes, if they are anything else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<String>,
}

/// What is read of an entry.
#[derive(Deserialize)]
struct About {
    #[serde(default)]
    about: String,
}

impl Item {
    fn of(stored: StoredEntry) -> Self {
        let mut about = vec![subject(stored.index / BUNDLE)];
        let read: Option<About> = serde_json::from_str(&stored.body).ok();
        about.extend(read.map(|read| read.about).filter(|text| !text.is_empty()));
        let raw: Option<Box<RawValue>> = serde_json::from_str(&stored.body).ok();
        // The bytes are what is proven, and must be the same when they are read.
        let is_same = |raw: &RawValue| raw.get() == stored.body && !raw.get().contains('\n');
        let entry = raw.filter(|raw| is_same(raw));
        Self {
            about,
            at: stored.at.0,
            index: stored.index,
            text: entry.is_none().then_some(stored.body),
            entry,
        }
    }

    pub fn stored(self) -> StoredEntry {
        let entry = self.entry.map(|raw| raw.get().to_owned());
        StoredEntry {
            index: self.index,
            at: Timestamp(self.at),
            body: entry.or(self.text).unwrap_or_default(),
        }
    }
}

/// The subject by which a bundle is found.
pub(super) fn subject(bundle: u64) -> String {
    format!("bundle:{bundle}")
}

/// The index of the first entry in an archive.
pub(super) fn first_of(archive: &Archive) -> u64 {
    u64::from(archive.segment) * BUNDLE
}

/// The index after the last entry in an archive.
pub(super) fn end_of(archive: &Archive) -> u64 {
    first_of(archive) + archive.items
}

/// Delete the entries from one index to another, some at a time.
const ENTRIES_OUT: &str = "DELETE FROM audit_entries WHERE place >= ?1 AND place < min(?2, ?3 + (
    SELECT min(place) FROM audit_entries WHERE place >= ?1))";

impl Inner {
    /// Archive entries that are old enough, the oldest first.
    pub(super) fn archive_entries(
        &self,
        keep: &AuditKeep,
        folder: &std::path::Path,
        now: Timestamp,
        is_enough: &dyn Fn() -> bool,
    ) -> Result<Vec<Archive>, RetentionError> {
        let mut archived = Vec::new();
        while !is_enough() {
            let Some((first, end)) = self.due_entries(keep, now)? else {
                break;
            };
            let bundle = first / BUNDLE;
            let segment = u32::try_from(bundle).map_err(|_| {
                ArchiveError::Item(format!("entry {first} is behind the last archive's"))
            })?;
            let head = self.head(Class::Audit, segment)?;
            let file = self.write_file(&head, 0, folder, |out| {
                let mut at = first;
                while at < end {
                    if is_enough() {
                        return Ok(false);
                    }
                    let found = self.entries_from(at)?;
                    for entry in found.into_iter().take_while(|entry| entry.index < end) {
                        if entry.index != at {
                            return Err(RetentionError::EntryMissing { index: at });
                        }
                        at += 1;
                        let item = Item::of(entry);
                        let about: Vec<&str> = item.about.iter().map(String::as_str).collect();
                        out.item(&item, &about, item.at)?;
                    }
                }
                Ok(true)
            })?;
            let Some((file, written)) = file else { break };
            assert!(
                written.items == end - first,
                "{} entries are archived from {first} to {end}",
                written.items
            );
            let archive = self.name_archive(Class::Audit, segment, file, written, now)?;
            let done = self.finish_entries(&archive, is_enough)?;
            archived.push(Archive { done, ..archive });
        }
        Ok(archived)
    }

    /// Remove an archive's entries from the table, then mark it as done. Returns whether it is done.
    pub(super) fn finish_entries(
        &self,
        archive: &Archive,
        is_enough: &dyn Fn() -> bool,
    ) -> Result<bool, StoreError> {
        let bound = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
        let values = [
            bound(first_of(archive)),
            bound(end_of(archive)),
            i64::from(ENTRIES_AT_ONCE),
        ];
        if !source::remove_rows(self, ENTRIES_OUT, &values, is_enough)? {
            return Ok(false);
        }
        let mut slices = self.slices();
        take::is_done(&mut slices, archive)?;
        slices.finish()?;
        Ok(true)
    }

    /// The entries that are archived next, from one index to another. The same ones again after a crash.
    fn due_entries(
        &self,
        keep: &AuditKeep,
        now: Timestamp,
    ) -> Result<Option<(u64, u64)>, RetentionError> {
        let archives = self.archives()?;
        let before = archives.iter().filter(|one| one.class == Class::Audit);
        let first = before.map(end_of).max().unwrap_or(0);
        let until = now.0.saturating_sub(keep.period);
        let limit = self.archivable(keep)?;
        let at = |index: u64| -> Result<Option<u64>, RetentionError> {
            // Nothing is read of what may not be archived.
            if index >= limit {
                return Ok(None);
            }
            match self.entries_from_at(index, 1)?.pop() {
                Some(entry) if entry.index == index => Ok(Some(entry.at.0)),
                _ => Err(RetentionError::EntryMissing { index }),
            }
        };
        let Some(oldest) = at(first)? else {
            return Ok(None);
        };
        let part_end = oldest.saturating_add(keep.part());
        let is_old = |at: Option<u64>| at.is_some_and(|at| at <= until);
        if part_end > until && !is_old(at(first + ENTRIES_MAX - 1)?) {
            return Ok(None);
        }
        let mut end = first;
        while end - first < ENTRIES_MAX {
            let last = at(end + BUNDLE - 1)?;
            // A part of a bundle waits for the rest of it.
            let is_in_part = end == first || last.is_some_and(|last| last < part_end);
            if !is_old(last) || !is_in_part {
                break;
            }
            end += BUNDLE;
        }
        if end == first {
            return Ok(None);
        }
        // None is missing, and none is younger: instants are only nearly in order.
        let (count, latest) = self.read(async |reader| span(reader, (first, end)).await)?;
        if count != end - first {
            return Err(RetentionError::EntryMissing { index: first });
        }
        Ok((latest <= until).then_some((first, end)))
    }

    /// The index of the first entry that must stay in the table.
    fn archivable(&self, keep: &AuditKeep) -> Result<u64, StoreError> {
        self.read(async |reader| {
            let mut limit = counter(reader, "audit").await?;
            if keep.only_signed {
                let newest = checkpoints(reader, 1).await?.pop();
                limit = limit.min(newest.map_or(0, |newest| newest.size));
            }
            if keep.only_sent {
                limit = limit.min(counter(reader, "audit_sent").await?);
            }
            Ok(limit)
        })
    }

    fn entries_from(&self, first: u64) -> Result<Vec<StoredEntry>, RetentionError> {
        let found = self.entries_from_at(first, ENTRIES_AT_ONCE)?;
        if found.first().is_none_or(|entry| entry.index != first) {
            return Err(RetentionError::EntryMissing { index: first });
        }
        Ok(found)
    }

    fn entries_from_at(&self, first: u64, limit: u32) -> Result<Vec<StoredEntry>, StoreError> {
        self.read(async |reader| entries(reader, first, limit).await)
    }

    fn read<T>(
        &self,
        read: impl AsyncFnOnce(&mut sqlx::SqliteConnection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.runtime.block_on(async {
            let mut reader = self.readers.acquire().await.map_err(failed)?;
            read(&mut reader).await
        })
    }
}
