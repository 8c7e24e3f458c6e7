//! Retention: segments of the history and of receipts move to archive files when their period is over.
//!
//! 1. The segment is written to a file. The file is synced, read again and compared.
//! 2. The file is added to the table `archives`.
//! 3. The segment's items are removed from the tables, a few at a time, so that groups are committed between.
//!
//! A reader reads the tables first and the archives then, so that nothing is missed. It shows an item that is
//! in both once. A crash leaves at most an unnamed file, or a segment that is in both; the next pass continues.
//! Pages that become free in the database are used again; the file does not shrink.

mod audit;
mod contents;
mod documents;
mod entries;
mod look;
mod source;
mod take;

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use rialto_archive::ArchiveError;
use rialto_engine::Timestamp;
use rialto_engine::store::StoreError;
use rialto_store::ArchiveStore;

use crate::slices::Slices;
use crate::{Inner, SqliteStore};

pub use audit::AuditKeep;
pub(crate) use contents::{Added, note};
pub use contents::{ClassContents, Contents, Sizes};
pub use documents::{
    ArchiveVisit, ArchivedBundle, ArchivedDocument, Bundle, BundleKey, DocumentCipher, NoCipher,
    Sealing, documents_about, visit_archived_documents,
};
pub use entries::{ArchivedEntries, UnreadArchive};
pub use look::{Archived, ReadArchives};
pub use rialto_store::{Archive, Class};
pub(crate) use source::archived_receipt;
pub(crate) use take::{archives, is_plain_name};

/// A segment ends after this fraction of the shortest period, although it is not full. So its last item is at
/// most this much younger than its first.
const SEGMENTS_OF_A_PERIOD: u64 = 16;
/// Bytes of a segment's history after which it ends although it is not full. One pass writes this to a file.
const HISTORY_BYTES: u64 = 256 << 20;

/// How long items stay in the store before they are archived, in milliseconds; none for ever.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Keep {
    /// The history's period.
    pub history: Option<u64>,
    /// Verdicts.
    pub receipts: Option<u64>,
    /// The shortest period of documents.
    pub documents: Option<u64>,
    /// The audit log.
    pub audit: Option<AuditKeep>,
}

impl Keep {
    /// The period of a class of segments.
    pub const fn of(&self, class: Class) -> Option<u64> {
        match class {
            Class::History => self.history,
            Class::Receipts => self.receipts,
            Class::Documents => self.documents,
            Class::Audit => None,
        }
    }

    /// The shortest period of segments; none if all of them are kept.
    pub fn shortest(&self) -> Option<u64> {
        let all = [self.history, self.receipts, self.documents];
        all.into_iter().flatten().min()
    }

    /// The age at which a segment ends although it is not full, in milliseconds.
    pub fn segment_age_max(&self) -> Option<u64> {
        Some((self.shortest()? / SEGMENTS_OF_A_PERIOD).max(1))
    }
}

/// Why archiving, or reading an archive, failed.
#[derive(Debug, thiserror::Error)]
pub enum RetentionError {
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The file.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// Other users can access the folder, or a file in it cannot be created.
    #[error(transparent)]
    File(#[from] rialto_files::FileError),
    /// The folder, or another file in it.
    #[error("{path} cannot be used")]
    Io {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The file on disk differs from what was written.
    #[error("{path} was written and is not on the disk as it was written: nothing was removed")]
    NotKept {
        /// The file.
        path: PathBuf,
    },
    /// An entry of the audit log that is to be archived is missing.
    #[error(
        "entry {index} of the audit log, or one behind it, is missing in the store: no more entries are archived, and `rialto audit verify` names what is missing"
    )]
    EntryMissing {
        /// Its index.
        index: u64,
    },
    /// A file that the store names is missing or different, and the tables have only a part of its items.
    #[error(
        "{path} must be there, with the SHA-256 {sha256}, to go on removing what it has: put it back, from a backup if need be"
    )]
    Lost {
        /// The file.
        path: PathBuf,
        /// Its digest.
        sha256: String,
    },
}

impl RetentionError {
    fn io(path: &Path) -> impl FnOnce(std::io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| Self::Io { path, source }
    }
}

impl SqliteStore {
    /// End the newest segment if it is old, and archive each segment whose period is over at `now`, oldest first.
    /// Stops early when `is_enough`, which is called between steps. Returns the new archives.
    ///
    /// # Errors
    /// When the store or the folder of archives cannot be used. The tables are unchanged then.
    pub fn archive(
        &self,
        keep: &Keep,
        folder: &Path,
        now: Timestamp,
        is_enough: &dyn Fn() -> bool,
    ) -> Result<Vec<Archive>, RetentionError> {
        let inner = &*self.inner;
        let _alone = inner.archiving.lock();
        let mut archived = Vec::new();
        inner.forget_partial(folder)?;
        inner.finish_archives(folder, is_enough)?;
        inner.end_old_segment(keep, now)?;
        for class in Class::WHOLE {
            let Some(period) = keep.of(class) else {
                continue;
            };
            while !is_enough() {
                let Some(due) = inner.due(class, now.0.saturating_sub(period))? else {
                    break;
                };
                archived.extend(inner.take(&due, folder, now, is_enough)?);
            }
        }
        if let Some(keep) = &keep.audit {
            archived.extend(inner.archive_entries(keep, folder, now, is_enough)?);
        }
        Ok(archived)
    }
}

impl ArchiveStore for SqliteStore {
    fn archives(&self) -> Result<Vec<Archive>, StoreError> {
        self.inner.archives()
    }
}

impl Inner {
    fn archives(&self) -> Result<Vec<Archive>, StoreError> {
        self.runtime.block_on(async {
            let mut reader = self.readers.acquire().await.map_err(crate::failed)?;
            archives(&mut reader).await
        })
    }

    /// Slices of the newest writer, each on the disk when it is committed.
    pub(crate) fn slices(&self) -> Slices<'_> {
        let fence = self.fence.load(Ordering::Acquire);
        Slices::new(&self.runtime, &self.writer, fence)
    }

    /// The oldest segment of a class, if it is full and all its items are from before `until`.
    fn due(&self, class: Class, until: u64) -> Result<Option<Contents>, StoreError> {
        let open = self.row_ids.open_segment()?;
        let Some(oldest) = self.oldest(class)? else {
            return Ok(None);
        };
        if oldest.segment >= open {
            return Ok(None);
        }
        let oldest = self.with_times(oldest)?;
        Ok(oldest.is_before(until).then_some(oldest))
    }

    /// End the newest segment if it is old, so that it becomes due, or if its history is large, because an archive
    /// is made of a whole segment at a time.
    fn end_old_segment(&self, keep: &Keep, now: Timestamp) -> Result<(), StoreError> {
        let until = keep.segment_age_max().map(|age| now.0.saturating_sub(age));
        // No flush gives out row ids meanwhile.
        let _still = self.flushing.lock();
        let open = self.row_ids.open_segment()?;
        let mut is_old = false;
        for contents in self.contents_of(open)? {
            is_old |= contents.class == Class::History && contents.bytes >= HISTORY_BYTES;
            if let Some(until) = until {
                is_old |= self.with_times(contents)?.is_since(until);
            }
        }
        if is_old {
            self.row_ids.end_segment()?;
            self.keep_full_segments(&mut self.slices())?;
            let next = self.row_ids.open_segment()?;
            assert!(
                next == open + 1,
                "segment {open} has ended, and segment {next} takes new documents"
            );
            tracing::debug!(
                segment = open,
                "a segment of the store was closed because of its age or size"
            );
        }
        Ok(())
    }
}
