//! The file of keys: all that is secret here. Whoever destroys a key writes the file anew, without it.
//!
//! | Part | Bytes |
//! |---|---|
//! | `rialto personal data` and a line break | 21 |
//! | the form, 1 | 1 |
//! | the file's id, random | 16 |
//! | how often keys were destroyed, big-endian | 8 |
//! | the key of pseudonyms | 32 |
//! | for each node of the tree: its first leaf, its depth, its seed | 12 + 1 + 32 each |
//! | SHA-256 of all before | 32 |
//!
//! A host remembers the id and the count in its store, and refuses another file and an older one: with an older file,
//! destroyed keys would be back.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use aws_lc_rs::digest::{SHA256, digest};
use rialto_files::FileError;
use zeroize::Zeroizing;

use crate::pseudonym::{LEAF_BYTES, Leaf};
use crate::tree::{Node, SEED_BYTES, Seed, Tree};

const BEGIN: &[u8; 21] = b"rialto personal data\n";
const FORM: u8 = 1;
const ID_BYTES: usize = 16;
const HEAD_BYTES: usize = BEGIN.len() + 1 + ID_BYTES + 8 + SEED_BYTES;
const NODE_BYTES: usize = LEAF_BYTES + 1 + SEED_BYTES;
const DIGEST_BYTES: usize = 32;

/// The id of a file of keys. It stays when keys are destroyed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct FileId(pub [u8; ID_BYTES]);

impl fmt::Display for FileId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", data_encoding::HEXLOWER.encode(&self.0))
    }
}

impl fmt::Debug for FileId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Why a file of keys cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum KeysError {
    /// The system refuses.
    #[error(transparent)]
    File(#[from] FileError),
    /// It has another form, or is damaged.
    #[error(
        "{path} is no file of people's keys, or is damaged: bring back its last copy",
        path = .0.display()
    )]
    Damaged(PathBuf),
    /// It exists already.
    #[error("{path} exists already, so no new keys of people are written there", path = .0.display())]
    Exists(PathBuf),
    /// The keys are destroyed, and it is not known whether that is on the disk.
    #[error(
        "the keys are destroyed in the file, and the system could not say that it is on the disk ({0}): after a power cut they may be back; destroy them again then"
    )]
    NotSynced(FileError),
    /// The system gives no randomness.
    #[error("the system gives no randomness for a key")]
    NoRandomness,
}

/// Write zeros over a file's content.
fn overwrite(mut file: File) -> std::io::Result<()> {
    let length = usize::try_from(file.metadata()?.len()).unwrap_or(0);
    file.write_all(&vec![0; length])?;
    file.sync_all()
}

/// Overwrite and remove what a killed process has left beside the file: a whole copy of keys, some of which may have been
/// destroyed since.
pub(crate) fn remove_unfinished(path: &Path) {
    let removed = rialto_files::unfinished(path).and_then(|left| {
        for file in left {
            overwrite(OpenOptions::new().write(true).open(&file)?)?;
            std::fs::remove_file(&file)?;
            tracing::warn!(path = %file.display(), "an unfinished file of people's keys was removed");
        }
        Ok(())
    });
    if let Err(error) = removed {
        tracing::error!(
            path = %path.display(),
            %error,
            "unfinished copies beside the file of people's keys (their names end in `.new`) could not be removed: overwrite and remove them"
        );
    }
}

/// The content of a file.
#[derive(Clone)]
pub(crate) struct Keys {
    pub(crate) id: FileId,
    /// How often keys were destroyed.
    pub(crate) shreddings: u64,
    /// The key of pseudonyms.
    pub(crate) pseudonyms: Seed,
    pub(crate) tree: Tree,
}

impl Keys {
    /// New keys.
    pub(crate) fn draw() -> Result<Self, KeysError> {
        let mut id = [0; ID_BYTES];
        fill(&mut id)?;
        let mut pseudonyms = Zeroizing::new([0; SEED_BYTES]);
        fill(&mut *pseudonyms)?;
        let mut root = Zeroizing::new([0; SEED_BYTES]);
        fill(&mut *root)?;
        Ok(Self {
            id: FileId(id),
            shreddings: 0,
            pseudonyms,
            tree: Tree::new(root),
        })
    }

    /// Read a file; none if it does not exist.
    pub(crate) fn read(path: &Path) -> Result<Option<Self>, KeysError> {
        let bytes = match std::fs::read(path) {
            Ok(bytes) => Zeroizing::new(bytes),
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(io(path)(source)),
        };
        let keys = Self::of(&bytes).ok_or_else(|| KeysError::Damaged(path.to_owned()))?;
        Ok(Some(keys))
    }

    /// Write the file. It is on the disk, whole, when this returns. What it said before is overwritten, as far as the file
    /// system and the disk do that, and so are unfinished files of earlier writes.
    ///
    /// # Errors
    /// `NotSynced` if the file has changed all the same.
    pub(crate) fn write(&self, path: &Path) -> Result<(), KeysError> {
        let before = OpenOptions::new().write(true).open(path);
        let bytes = self.bytes();
        let written = rialto_files::write(path, &[&bytes]);
        if let Err(error) = written {
            let is_new = std::fs::read(path).is_ok_and(|found| found == **bytes);
            return Err(if is_new {
                KeysError::NotSynced(error)
            } else {
                error.into()
            });
        }
        if let Err(error) = before.and_then(overwrite) {
            tracing::warn!(
                %error,
                "the earlier file of people's keys is removed, and its blocks on the disk could not be overwritten"
            );
        }
        remove_unfinished(path);
        Ok(())
    }

    /// Create the file. Returns whether there was none.
    pub(crate) fn create(&self, path: &Path) -> Result<bool, KeysError> {
        Ok(rialto_files::make_once(path, &[&self.bytes()])?)
    }

    fn bytes(&self) -> Zeroizing<Vec<u8>> {
        let nodes = self.tree.nodes();
        let length = HEAD_BYTES + nodes.len() * NODE_BYTES + DIGEST_BYTES;
        // It must not grow: what it grew out of would stay in memory.
        let mut bytes = Zeroizing::new(Vec::with_capacity(length));
        bytes.extend_from_slice(BEGIN);
        bytes.push(FORM);
        bytes.extend_from_slice(&self.id.0);
        bytes.extend_from_slice(&self.shreddings.to_be_bytes());
        bytes.extend_from_slice(&*self.pseudonyms);
        for (&first, node) in nodes {
            bytes.extend_from_slice(&Leaf::of_number(first).0);
            bytes.push(node.depth);
            bytes.extend_from_slice(&*node.seed);
        }
        let digest = digest(&SHA256, &bytes);
        bytes.extend_from_slice(digest.as_ref());
        bytes
    }

    fn of(bytes: &[u8]) -> Option<Self> {
        let (content, sum) = bytes.split_at_checked(bytes.len().checked_sub(DIGEST_BYTES)?)?;
        if digest(&SHA256, content).as_ref() != sum {
            return None;
        }
        let content = content.strip_prefix(BEGIN)?.strip_prefix(&[FORM])?;
        let (id, content) = content.split_first_chunk::<ID_BYTES>()?;
        let (shreddings, content) = content.split_first_chunk::<8>()?;
        let (pseudonyms, content) = content.split_first_chunk::<SEED_BYTES>()?;
        let (each, []) = content.as_chunks::<NODE_BYTES>() else {
            return None;
        };
        let mut nodes = BTreeMap::new();
        for node in each {
            let (first, node) = node.split_first_chunk::<LEAF_BYTES>()?;
            let (&depth, seed) = node.split_first()?;
            let seed = Zeroizing::new(seed.try_into().ok()?);
            let known = nodes.insert(Leaf(*first).number(), Node { depth, seed });
            if known.is_some() {
                return None;
            }
        }
        Some(Self {
            id: FileId(*id),
            shreddings: u64::from_be_bytes(*shreddings),
            pseudonyms: Zeroizing::new(*pseudonyms),
            tree: Tree::of(nodes)?,
        })
    }
}

fn fill(bytes: &mut [u8]) -> Result<(), KeysError> {
    aws_lc_rs::rand::fill(bytes).map_err(|_| KeysError::NoRandomness)
}

fn io(path: &Path) -> impl FnOnce(std::io::Error) -> KeysError {
    let path = path.to_owned();
    move |source| KeysError::File(FileError::Io { path, source })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

    use super::*;

    #[test]
    fn a_file_is_read_back_and_each_bit_counts() {
        let mut keys = Keys::draw().unwrap();
        keys.tree.forget(Leaf([5; LEAF_BYTES]));
        keys.shreddings = 3;
        let bytes = keys.bytes();
        let again = Keys::of(&bytes).unwrap();
        assert_eq!((again.id, again.shreddings), (keys.id, 3));
        assert_eq!(*again.bytes(), *bytes);
        for at in (0..bytes.len()).step_by(7).chain([bytes.len() - 1]) {
            let mut wrong = bytes.to_vec();
            wrong[at] ^= 0x10;
            assert!(Keys::of(&wrong).is_none(), "byte {at}");
            assert!(Keys::of(&bytes[..at]).is_none(), "{at} bytes");
        }
    }
}
