//! Reads what archives have about a subject.

use std::path::Path;

use rialto_archive::{ArchiveError, Reader};
use rialto_engine::Timestamp;
use rialto_engine::history::Record;
use rialto_engine::store::Receipt;

use super::source::{Turn, Verdict};
use super::{Archive, Class, RetentionError};
use crate::SqliteStore;

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

impl SqliteStore {
    /// The last turns about a subject that are in archives, in log order, at most `most`. Call it after
    /// `last_of_history`, and leave out turns that are in both: they are being archived.
    ///
    /// # Errors
    /// When the store, or an archive that is there, cannot be read.
    pub fn archived_history(
        &self,
        folder: &Path,
        subject: &str,
        most: usize,
    ) -> Result<Archived<Record>, RetentionError> {
        let mut archived = Archived::default();
        // Of one archive each, the newest first.
        let mut parts: Vec<Vec<Record>> = Vec::new();
        let mut left = most;
        self.each(folder, Class::History, &mut archived.missing, |reader| {
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
        })?;
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
    pub fn archived_receipts(
        &self,
        folder: &Path,
        subject: &str,
    ) -> Result<Archived<Receipt>, RetentionError> {
        let mut archived = Archived::default();
        self.each(folder, Class::Receipts, &mut archived.missing, |reader| {
            for verdict in reader.items::<Verdict>(subject)? {
                archived.found.push(Receipt {
                    id: verdict.id,
                    subject: subject.into(),
                    at: Timestamp(verdict.at),
                    body: verdict.receipt.get().into(),
                });
            }
            Ok(())
        })?;
        archived.found.sort_by_key(|receipt| receipt.id);
        Ok(archived)
    }

    /// Open each archive of a class, the newest first.
    fn each(
        &self,
        folder: &Path,
        class: Class,
        missing: &mut Vec<String>,
        mut look: impl FnMut(&mut Reader) -> Result<(), ArchiveError>,
    ) -> Result<(), RetentionError> {
        let archives = self.archives()?;
        let of_class = |archive: &&Archive| archive.class == class;
        for archive in archives.iter().rev().filter(of_class) {
            if let Some(mut reader) = open(folder, archive, missing)? {
                look(&mut reader)?;
            }
        }
        Ok(())
    }
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
