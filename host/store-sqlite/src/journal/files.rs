//! Writes the files of the journal.
//!
//! A file has its whole length from its beginning, filled with zeros, so that a sync has nothing to write but the record.
//! When it is full, the next one follows; when all of its groups are in the tables, it is used again from its beginning.
//! Only the newest fencing token acknowledges: its number is in the file `head`, at which a writer looks after each sync.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use rialto_engine::store::StoreError;
use rialto_files::{FileError, Owner};

use super::entry::{Encoder, Entry, KEPT_BYTES};
use super::record::{self, Writer};
use super::{ENDING, FOLDER, HEAD};

/// The length of the first file. Each later one is as long as all before it, up to [`LONGEST`].
const SHORTEST: u64 = 1 << 20;
/// The length of a file, unless one group takes more.
const LONGEST: u64 = 4 << 20;
/// Lengths are multiples of this.
const PAGE: usize = 4 << 10;
/// How many files wait for their next use. Others are removed.
const FREE_MAX: usize = 2;

/// How groups are synced. A new file always is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Syncing {
    /// After each group.
    Each,
    /// Never, to show that a test would notice.
    Never,
}

/// The files, for their one writer.
pub(crate) struct Files {
    folder: PathBuf,
    head: File,
    writer: Writer,
    syncing: Syncing,
    current: Option<Open>,
    full: VecDeque<Full>,
    free: Vec<OneFile>,
    /// Those of earlier writers, whose groups are all in the tables.
    earlier: Vec<PathBuf>,
    /// How many have been made.
    made: u64,
    encoder: Encoder,
    /// The record that is written; kept for its room.
    record: Vec<u8>,
    /// Why nothing is written any more: another writer has taken over, or a write has failed, after which nobody knows what
    /// is on the disk.
    ended: Option<StoreError>,
}

/// A file that is to be made.
pub(crate) struct NewFile {
    path: PathBuf,
    bytes: u64,
}

/// One file.
pub(crate) struct OneFile {
    file: File,
    path: PathBuf,
    bytes: u64,
}

/// The file that is written.
struct Open {
    one: OneFile,
    /// Where the next record begins.
    at: u64,
    /// The last number in it; none if it has none.
    last: Option<u64>,
}

/// A file that has no more room.
struct Full {
    one: OneFile,
    last: u64,
}

/// Check that only this user can access the files in this store's folder. Makes their folder if it does not exist.
///
/// # Errors
/// When others can, or the system refuses.
pub(crate) fn accept(store: &Path, owner: Owner) -> Result<(), FileError> {
    let folder = store.join(FOLDER);
    rialto_files::folder(&folder)?;
    rialto_files::create_if_missing(&folder.join(HEAD), owner)?;
    for path in existing(&folder).map_err(|source| FileError::Io {
        path: folder.clone(),
        source,
    })? {
        rialto_files::accept(&path, owner)?;
    }
    Ok(())
}

/// Keep writers with earlier fencing tokens from acknowledging anything from now on.
///
/// # Errors
/// When the system refuses.
pub(crate) fn fence_off(store: &Path, fence: u64) -> Result<(), StoreError> {
    let path = store.join(FOLDER).join(HEAD);
    let head = File::options().write(true).open(&path);
    let written = head.and_then(|head| head.write_all_at(&fence.to_le_bytes(), 0));
    written.map_err(failed(&path))
}

/// The paths of the files in a folder.
pub(super) fn existing(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.to_string_lossy().ends_with(ENDING) {
            found.push(path);
        }
    }
    Ok(found)
}

fn failed(path: &Path) -> impl Fn(io::Error) -> StoreError {
    let path = path.display().to_string();
    move |error| StoreError::Failed(format!("{path}: {error}"))
}

impl Files {
    /// Begin with new files, and remove those of earlier writers, whose groups are all in the tables.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn begin(
        store: &Path,
        database: u64,
        fence: u64,
        syncing: Syncing,
    ) -> Result<Self, StoreError> {
        let folder = store.join(FOLDER);
        let path = folder.join(HEAD);
        let head = File::options().read(true).write(true).open(&path);
        let head = head.map_err(failed(&path))?;
        let earlier = existing(&folder).map_err(failed(&folder))?;
        let mut files = Self {
            folder,
            head,
            writer: Writer { database, fence },
            syncing,
            current: None,
            full: VecDeque::new(),
            free: Vec::new(),
            earlier,
            made: 0,
            encoder: Encoder::default(),
            record: Vec::new(),
            ended: None,
        };
        files.remove_earlier()?;
        if let Some(spare) = files.spare() {
            files.free.push(spare.make()?);
        }
        Ok(files)
    }

    /// Remove the files of earlier writers. While somebody reads they stay; then the next flush removes them.
    fn remove_earlier(&mut self) -> Result<(), StoreError> {
        if self.earlier.is_empty() {
            return Ok(());
        }
        self.alone(|files| {
            for path in files.earlier.drain(..) {
                std::fs::remove_file(&path).map_err(failed(&path))?;
            }
            Ok(())
        })
    }

    /// A file that should be made, so that a commit need not wait for it; none if one is free.
    pub fn spare(&mut self) -> Option<NewFile> {
        self.free.is_empty().then(|| self.next_file(0))
    }

    /// Take a file that was made.
    pub fn take(&mut self, one: OneFile) {
        self.free.push(one);
    }

    /// Append an entry durably. Returns its size in memory, roughly.
    ///
    /// # Errors
    /// When it cannot be written, or another writer has taken over: then it counts as not written.
    pub fn append(&mut self, entry: &Entry) -> Result<usize, StoreError> {
        if let Some(ended) = &self.ended {
            return Err(ended.clone());
        }
        let mut record = std::mem::take(&mut self.record);
        let mut bytes = self.encode(entry, &mut record)?;
        if !self.has_room_for(record.len() as u64) {
            // The first entry of a file refers to none before it, so it may be longer.
            self.encoder.begin_file();
            bytes = self.encode(entry, &mut record)?;
            self.next_with_room_for(record.len() as u64)?;
        }
        self.write(entry.seq, &record)?;
        if record.capacity() <= KEPT_BYTES {
            self.record = record;
        }
        Ok(bytes)
    }

    /// Make an entry's record for the current file. Returns the entry's size in memory, roughly.
    fn encode(&mut self, entry: &Entry, record: &mut Vec<u8>) -> Result<usize, StoreError> {
        record::begin(record);
        let bytes = self.encoder.append(entry, record);
        let bytes = bytes.and_then(|bytes| {
            record::end(self.writer, entry.seq, record)?;
            Ok(bytes)
        });
        // What was encoded and is not in the file must not be referred to.
        self.ended = bytes.as_ref().err().cloned();
        bytes
    }

    /// Write a record into the current file, which has room.
    fn write(&mut self, seq: u64, record: &[u8]) -> Result<(), StoreError> {
        if let Err(error) = self.still_writes() {
            self.ended = Some(error.clone());
            return Err(error);
        }
        let Some(open) = &mut self.current else {
            return Err(StoreError::Failed("the journal has no file".into()));
        };
        assert!(
            open.last.is_none_or(|last| seq == last + 1),
            "number {seq} of the journal comes after number {:?}",
            open.last
        );
        let written = open.one.file.write_all_at(record, open.at);
        let written = written.and_then(|()| match self.syncing {
            Syncing::Each => open.one.file.sync_data(),
            Syncing::Never => Ok(()),
        });
        let written = written.map_err(failed(&open.one.path));
        open.at += record.len() as u64;
        open.last = Some(seq);
        let written = written.and_then(|()| self.still_writes());
        self.ended = written.clone().err();
        written
    }

    /// Check that no other writer has taken over.
    fn still_writes(&self) -> Result<(), StoreError> {
        let mut fence = [0; 8];
        let looked = self.head.read_exact_at(&mut fence, 0);
        looked.map_err(failed(&self.folder.join(HEAD)))?;
        if u64::from_le_bytes(fence) == self.writer.fence {
            Ok(())
        } else {
            Err(StoreError::Fenced)
        }
    }

    /// Whether the current file has room for so many bytes.
    fn has_room_for(&self, bytes: u64) -> bool {
        let open = self.current.as_ref();
        open.is_some_and(|open| open.at + bytes <= open.one.bytes)
    }

    /// Make another file the current one, which has room for so many bytes.
    fn next_with_room_for(&mut self, bytes: u64) -> Result<(), StoreError> {
        let fits = self.free.iter().position(|one| one.bytes >= bytes);
        let one = match fits {
            Some(at) => self.free.swap_remove(at),
            None => self.next_file(bytes).make()?,
        };
        let open = Open {
            one,
            at: 0,
            last: None,
        };
        if let Some(Open { one, last, .. }) = self.current.replace(open) {
            match last {
                Some(last) => self.full.push_back(Full { one, last }),
                None => self.free.push(one),
            }
        }
        Ok(())
    }

    /// The next file, with room for so many bytes at least.
    fn next_file(&mut self, bytes: u64) -> NewFile {
        let current = self.current.iter().map(|open| open.one.bytes);
        let full = self.full.iter().map(|full| full.one.bytes);
        let all: u64 = current.chain(full).sum();
        let bytes = all.clamp(SHORTEST, LONGEST).max(bytes);
        self.made += 1;
        let name = format!("{}-{}{ENDING}", self.writer.fence, self.made);
        NewFile {
            path: self.folder.join(name),
            bytes: bytes.next_multiple_of(PAGE as u64),
        }
    }

    /// Free the files of groups up to this number, which are in the tables for good. While somebody reads they stay; then
    /// the next call frees them.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn flushed(&mut self, through: u64) -> Result<(), StoreError> {
        self.remove_earlier()?;
        if self.full.front().is_none_or(|full| full.last > through) {
            return Ok(());
        }
        self.alone(|files| {
            while let Some(full) = files.full.pop_front_if(|full| full.last <= through) {
                if files.free.len() < FREE_MAX && full.one.bytes <= LONGEST {
                    files.free.push(full.one);
                    continue;
                }
                let path = full.one.path;
                std::fs::remove_file(&path).map_err(failed(&path))?;
            }
            Ok(())
        })
    }

    /// Remove all files. All of their groups are in the tables for good.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn remove(mut self) -> Result<(), StoreError> {
        self.alone(|files| {
            let current = files.current.take().map(|open| open.one);
            let full = files.full.drain(..).map(|full| full.one);
            let all = current.into_iter().chain(full).chain(files.free.drain(..));
            for path in all.map(|one| one.path).chain(files.earlier.drain(..)) {
                std::fs::remove_file(&path).map_err(failed(&path))?;
            }
            Ok(())
        })
    }

    /// Remove files, or use them again, while nobody reads; do nothing if somebody does. Whoever takes over has the lock of
    /// readers meanwhile, so a writer that was replaced changes nothing.
    fn alone(
        &mut self,
        change: impl FnOnce(&mut Self) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let path = self.folder.join(HEAD);
        match self.head.try_lock() {
            Ok(()) => {}
            Err(std::fs::TryLockError::WouldBlock) => return Ok(()),
            Err(std::fs::TryLockError::Error(error)) => return Err(failed(&path)(error)),
        }
        let changed = self.still_writes().and_then(|()| change(self));
        self.head.unlock().map_err(failed(&path))?;
        changed
    }
}

impl NewFile {
    /// Make it.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn make(self) -> Result<OneFile, StoreError> {
        let Self { path, bytes } = self;
        let refused = |error: FileError| StoreError::Failed(error.to_string());
        let file = rialto_files::create(&path).map_err(refused)?;
        let filled = fill(&file, bytes).and_then(|()| file.sync_all());
        if let Err(error) = filled {
            // Its name is never used again, and its room may be what is missing.
            let _ = std::fs::remove_file(&path);
            return Err(failed(&path)(error));
        }
        let folder = path.parent().unwrap_or(Path::new("."));
        rialto_files::sync_folder(folder).map_err(refused)?;
        Ok(OneFile { file, path, bytes })
    }
}

/// Fill a new file with zeros, a page at a time: the system keeps in its cache as one piece what was written at once, and
/// counts all of that as written when a byte of it changes.
fn fill(file: &File, bytes: u64) -> io::Result<()> {
    let page = [0; PAGE];
    for at in (0..bytes).step_by(PAGE) {
        file.write_all_at(&page, at)?;
    }
    Ok(())
}
