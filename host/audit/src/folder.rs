//! A log in a folder, as the public format lays it out: `checkpoint`, `tile/<level>/<index>`, `tile/entries/<index>`. A
//! web server that serves the folder is a log that monitors and witnesses can read. `checkpoints/<size>` has earlier
//! checkpoints, which the format does not ask for.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::checkpoint::Checkpoint;
use crate::hash::Hash;
use crate::tile::{TILE_WIDTH, TileId, add_to_bundle, bundle_path, entries_of};
use crate::tree::{Tree, bytes_of, hashes_of};
use crate::verify::Log;

/// The file of the newest checkpoint.
const CHECKPOINT: &str = "checkpoint";
/// The folder of earlier checkpoints.
const CHECKPOINTS: &str = "checkpoints";

/// Why a folder cannot be written or read.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// A file or a folder cannot be used.
    #[error("{0} cannot be used")]
    Io(PathBuf, #[source] io::Error),
    /// An entry is longer than the format allows.
    #[error("entry {0} is too long for the format")]
    TooLong(u64),
    /// A file is none of the format.
    #[error("{0} is damaged: {1}")]
    Damaged(PathBuf, &'static str),
}

/// Writes a log into a folder.
#[derive(Debug)]
pub struct Writer {
    folder: PathBuf,
    tree: Tree,
    /// The entries of the bundle that is not full.
    bundle: Vec<u8>,
}

impl Writer {
    /// Begin. The folder is made if it is missing.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn new(folder: &Path) -> Result<Self, FolderError> {
        make(folder)?;
        Ok(Self {
            folder: folder.to_owned(),
            tree: Tree::default(),
            bundle: Vec::new(),
        })
    }

    /// How many entries were written.
    #[must_use]
    pub const fn size(&self) -> u64 {
        self.tree.size()
    }

    /// Write the next entry.
    ///
    /// # Errors
    /// When it is too long, or a file cannot be written.
    pub fn entry(&mut self, entry: &[u8]) -> Result<(), FolderError> {
        let at = self.tree.size();
        add_to_bundle(&mut self.bundle, entry).ok_or(FolderError::TooLong(at))?;
        let mut full = Vec::new();
        let hash = Hash::of_entry(entry);
        self.tree
            .append_with(hash, |id, hashes| full.push((id, bytes_of(hashes))));
        for (id, hashes) in full {
            self.write(&id.path(TILE_WIDTH), &hashes)?;
            if id.level == 0 {
                let bundle = std::mem::take(&mut self.bundle);
                self.write(&bundle_path(id.index, TILE_WIDTH), &bundle)?;
            }
        }
        Ok(())
    }

    /// Write what is left: the tiles and the bundle that are not full.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn finish(&self) -> Result<(), FolderError> {
        for (id, hashes) in self.tree.partial() {
            self.write(&id.path(hashes.len()), &bytes_of(hashes))?;
            if id.level == 0 {
                self.write(&bundle_path(id.index, hashes.len()), &self.bundle)?;
            }
        }
        Ok(())
    }

    /// Write an earlier checkpoint.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn earlier(&self, size: u64, note: &str) -> Result<(), FolderError> {
        self.write(&format!("{CHECKPOINTS}/{size}"), note.as_bytes())
    }

    /// Write the newest checkpoint.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn checkpoint(&self, note: &str) -> Result<(), FolderError> {
        self.write(CHECKPOINT, note.as_bytes())
    }

    fn write(&self, path: &str, bytes: &[u8]) -> Result<(), FolderError> {
        let path = self.folder.join(path);
        if let Some(folder) = path.parent() {
            make(folder)?;
        }
        fs::write(&path, bytes).map_err(|error| FolderError::Io(path, error))
    }
}

fn make(folder: &Path) -> Result<(), FolderError> {
    fs::create_dir_all(folder).map_err(|error| FolderError::Io(folder.to_owned(), error))
}

/// Reads a log in a folder.
#[derive(Debug)]
pub struct Reader {
    folder: PathBuf,
    size: u64,
}

impl Reader {
    /// Read a log of this size. The size says how many entries the last files have.
    #[must_use]
    pub fn new(folder: &Path, size: u64) -> Self {
        Self {
            folder: folder.to_owned(),
            size,
        }
    }

    /// The checkpoints of a folder, as text, each with its file: the newest one, and earlier ones.
    ///
    /// # Errors
    /// When a file cannot be read.
    pub fn checkpoints(folder: &Path) -> Result<Vec<(PathBuf, String)>, FolderError> {
        let newest = folder.join(CHECKPOINT);
        let mut files = vec![newest];
        let earlier = folder.join(CHECKPOINTS);
        match fs::read_dir(&earlier) {
            Ok(all) => {
                for file in all {
                    let file = file.map_err(|error| FolderError::Io(earlier.clone(), error))?;
                    files.push(file.path());
                }
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(FolderError::Io(earlier, error)),
        }
        let read = |path: PathBuf| match fs::read_to_string(&path) {
            Ok(text) => Ok((path, text)),
            Err(error) => Err(FolderError::Io(path, error)),
        };
        files.into_iter().map(read).collect()
    }

    /// The width of a file of this index at level 0.
    fn width(&self, index: u64) -> usize {
        let width = TILE_WIDTH as u64;
        let rest = self.size.saturating_sub(index.saturating_mul(width));
        usize::try_from(rest.min(width)).unwrap_or(TILE_WIDTH)
    }

    fn read(&self, path: &str) -> Result<Option<(PathBuf, Vec<u8>)>, FolderError> {
        let path = self.folder.join(path);
        match fs::read(&path) {
            Ok(bytes) => Ok(Some((path, bytes))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(FolderError::Io(path, error)),
        }
    }
}

impl Log for Reader {
    type Error = FolderError;

    fn entries(&mut self, first: u64) -> Result<Vec<(u64, Vec<u8>)>, FolderError> {
        let width = TILE_WIDTH as u64;
        let mut index = first / width;
        // A bundle that is missing is passed over: its entries are missing.
        while index.saturating_mul(width) < self.size {
            let path = bundle_path(index, self.width(index));
            let Some((path, bytes)) = self.read(&path)? else {
                index += 1;
                continue;
            };
            let Some(entries) = entries_of(&bytes) else {
                return Err(FolderError::Damaged(path, "its last entry is cut"));
            };
            let numbered = (index * width..).zip(entries);
            let wanted = numbered.filter(|(at, _)| *at >= first);
            let found: Vec<_> = wanted.map(|(at, entry)| (at, entry.to_vec())).collect();
            if !found.is_empty() {
                return Ok(found);
            }
            index += 1;
        }
        Ok(Vec::new())
    }

    fn hashes(&mut self, tile: u64) -> Result<Option<Vec<Hash>>, FolderError> {
        let id = TileId {
            level: 0,
            index: tile,
        };
        let Some((path, bytes)) = self.read(&id.path(self.width(tile)))? else {
            return Ok(None);
        };
        let hashes = hashes_of(&bytes);
        hashes.map(Some).ok_or(FolderError::Damaged(
            path,
            "its length is not that of hashes",
        ))
    }
}

/// The largest size of these checkpoints: that of the log in a folder.
#[must_use]
pub fn size_of(checkpoints: &[Checkpoint]) -> u64 {
    checkpoints.iter().map(|one| one.size).max().unwrap_or(0)
}
