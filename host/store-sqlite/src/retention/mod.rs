//! What goes when its period is over: whole segments of the history and of receipts, each to an archive file.
//!
//! A segment is written to a file, the file is synced, read again and compared, then named in the table
//! `archives`; only then does what it has leave the tables, a little at a time, so that groups go on
//! between. Whoever looks reads the tables first and archives then, so that nothing is missed, and an item
//! that is in both is shown once. A crash leaves at most a file that nobody names, or a segment that is in
//! both: the next pass goes on with it.
//!
//! The pages that become free in the database are used again for what comes; the file does not shrink.

mod contents;
mod documents;
mod look;
mod source;
mod take;

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use rialto_archive::ArchiveError;
use rialto_engine::Timestamp;
use rialto_engine::store::StoreError;

use crate::slices::Slices;
use crate::{Inner, SqliteStore};

pub(crate) use contents::{Added, note};
pub use contents::{Contents, Kept, Sizes};
pub use documents::{
    ArchivedDocument, Bundle, Looked, Taken, documents_about, visit_archived_documents,
};
pub use look::Archived;
pub use take::Archive;
pub(crate) use take::{archives, is_plain_name};

/// Parts of the shortest period after which a segment ends although it is not full: so late is the last of
/// a segment behind the first.
const SEGMENTS_OF_A_PERIOD: u64 = 16;
/// Bytes of a segment's history after which it ends although it is not full: what one pass writes to a file.
const HISTORY_BYTES: u64 = 256 << 20;

/// What is kept for good, and may be archived.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// What happened, turn by turn.
    History,
    /// Verdicts.
    Receipts,
    /// Documents that are over, as their component says. It takes them out of the tables itself.
    Documents,
}

impl Class {
    /// Those that go with their segment, whole, and are counted.
    pub const WHOLE: [Self; 2] = [Self::History, Self::Receipts];

    /// As the store and the operator name it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::History => "history",
            Self::Receipts => "receipts",
            Self::Documents => "documents",
        }
    }

    fn of(name: &str) -> Option<Self> {
        let all = [Self::History, Self::Receipts, Self::Documents];
        all.into_iter().find(|class| class.name() == name)
    }
}

/// How long what is kept for good stays in the store, in milliseconds: none is for ever.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Keep {
    /// What happened.
    pub history: Option<u64>,
    /// Verdicts.
    pub receipts: Option<u64>,
    /// The shortest period of documents.
    pub documents: Option<u64>,
}

impl Keep {
    /// The period of a class.
    pub const fn of(&self, class: Class) -> Option<u64> {
        match class {
            Class::History => self.history,
            Class::Receipts => self.receipts,
            Class::Documents => self.documents,
        }
    }

    /// The shortest period; none if everything is kept.
    pub fn shortest(&self) -> Option<u64> {
        let all = [self.history, self.receipts, self.documents];
        all.into_iter().flatten().min()
    }

    /// How old a segment becomes before it ends although it is not full, in milliseconds.
    pub fn segment_age_max(&self) -> Option<u64> {
        Some((self.shortest()? / SEGMENTS_OF_A_PERIOD).max(1))
    }
}

/// Why nothing was archived, or an archive cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum RetentionError {
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The file.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// The folder is not the host's alone, or a file in it cannot be made.
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
    /// What was written is not what is on the disk.
    #[error("{path} was written and is not on the disk as it was written: nothing was removed")]
    NotKept {
        /// The file.
        path: PathBuf,
    },
    /// A file that is named in the store is not there or is another one, and the tables have only a part
    /// of what it should have.
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
    /// End the newest segment if it is old, and archive every segment whose period is over at `now`, oldest first.
    /// Ends early when `is_enough`, which is asked between steps. Returns what was archived.
    ///
    /// # Errors
    /// When the store or the folder of archives cannot be used: what is in the tables stays there.
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
        Ok(archived)
    }

    /// All archives, by class and segment.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn archives(&self) -> Result<Vec<Archive>, StoreError> {
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

    fn slices(&self) -> Slices<'_> {
        let fence = self.fence.load(Ordering::Acquire);
        Slices::new(&self.runtime, &self.writer, fence)
    }

    /// The oldest segment of a class, if it is full and everything in it is from before `until`.
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

    /// End the newest segment when it is old, so that segments become due; or when it has much of the history,
    /// whatever is kept: an archive is made of a whole segment at a time.
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
            self.row_ids.end_segment();
            self.keep_full_segments(&mut self.slices())?;
            let next = self.row_ids.open_segment()?;
            assert!(
                next == open + 1,
                "segment {open} has ended, and segment {next} takes new documents"
            );
            tracing::debug!(
                segment = open,
                "a segment of the store has ended by its age"
            );
        }
        Ok(())
    }
}
