//! A folder of keys: a file `<signer>.pem` for each signer, with one or several keys.
//!
//! The files may change while the host runs; the next look reads them again. A file that cannot be read leaves its
//! signer's keys as they were. So a mistake of the operator neither stops messages nor lets anybody send unsigned ones.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use aws_lc_rs::digest::{SHA256, digest};
use data_encoding::HEXLOWER;

use crate::key::PublicKey;
use crate::keyring::PublicKeys;

/// The longest file that is read, in bytes: room for dozens of keys.
const FILE_BYTES_MAX: u64 = 256 << 10;
/// How the names of files of keys end.
const SUFFIX: &str = ".pem";

/// A change that a new look at the folder has found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// A signer's keys were read.
    Taken {
        /// The signer.
        signer: String,
        /// Its keys.
        keys: usize,
        /// The SHA-256 of their file, in hexadecimal digits.
        sha256: String,
    },
    /// A signer's file is gone, and its keys with it.
    Gone {
        /// The signer.
        signer: String,
    },
    /// A file, or the folder, cannot be read; the keys from before stay.
    Broken {
        /// Which.
        path: PathBuf,
        /// Why.
        reason: String,
    },
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Taken {
                signer, keys: 1, ..
            } => write!(f, "{signer} has one key"),
            Self::Taken { signer, keys, .. } => write!(f, "{signer} has {keys} keys"),
            Self::Gone { signer } => write!(f, "{signer} has no key in the folder any more"),
            Self::Broken { path, reason } => write!(f, "{}: {reason}", path.display()),
        }
    }
}

/// The folder cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.join("\n"))]
pub struct FolderError(pub Vec<String>);

/// See the module's documentation.
#[derive(Debug)]
pub struct KeyFolder {
    path: PathBuf,
    files: BTreeMap<String, File>,
    /// Why the folder itself could not be read at the last look.
    unreadable: Option<String>,
}

#[derive(Debug, Default)]
struct File {
    /// The file's stamp when it was last read without an error.
    stamp: Option<Stamp>,
    keys: Vec<PublicKey>,
    /// What was wrong with it at the last look.
    broken: Option<String>,
}

/// Facts about a file that change when it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    modified: SystemTime,
    changed: (i64, i64),
    bytes: u64,
    inode: u64,
}

impl KeyFolder {
    /// Read a folder for the first time. There are no keys from before, so nothing may be broken: who
    /// has a broken file would be taken for one without a key.
    ///
    /// # Errors
    /// When the folder, or a file in it, cannot be read.
    pub fn open(path: &Path) -> Result<Self, FolderError> {
        let mut folder = Self {
            path: path.to_owned(),
            files: BTreeMap::new(),
            unreadable: None,
        };
        let changes = folder.look();
        let broken = changes.iter().filter_map(|change| match change {
            Change::Broken { .. } => Some(change.to_string()),
            _ => None,
        });
        let broken: Vec<_> = broken.collect();
        if broken.is_empty() {
            Ok(folder)
        } else {
            Err(FolderError(broken))
        }
    }

    /// Looks again. Returns the changes since the last look.
    pub fn look(&mut self) -> Vec<Change> {
        let names = match names(&self.path) {
            Ok(names) => names,
            Err(error) => {
                let reason = error.to_string();
                let known = self.unreadable.replace(reason.clone());
                let news = known.as_ref() != Some(&reason);
                let path = self.path.clone();
                return Vec::from_iter(news.then_some(Change::Broken { path, reason }));
            }
        };
        self.unreadable = None;
        let mut changes = Vec::new();
        self.files.retain(|signer, file| {
            let stays = names.contains(signer);
            if !stays && !file.keys.is_empty() {
                let signer = signer.clone();
                changes.push(Change::Gone { signer });
            }
            stays
        });
        for signer in names {
            let path = self.path.join(format!("{signer}{SUFFIX}"));
            let file = self.files.entry(signer.clone()).or_default();
            changes.extend(file.look(signer, path));
        }
        changes
    }

    /// The keys as they were found last.
    #[must_use]
    pub fn keys(&self) -> PublicKeys {
        let mut keys = PublicKeys::default();
        for (signer, file) in &self.files {
            keys.add(signer, file.keys.iter().cloned());
        }
        keys
    }
}

impl File {
    fn look(&mut self, signer: String, path: PathBuf) -> Option<Change> {
        match self.read(&path) {
            Ok(None) => None,
            Ok(Some(sha256)) => {
                self.broken = None;
                let keys = self.keys.len();
                Some(Change::Taken {
                    signer,
                    keys,
                    sha256,
                })
            }
            Err(reason) => {
                let known = self.broken.replace(reason.clone());
                (known.as_ref() != Some(&reason)).then_some(Change::Broken { path, reason })
            }
        }
    }

    /// Reads the file if it has changed. Returns its SHA-256 if it was read.
    fn read(&mut self, path: &Path) -> Result<Option<String>, String> {
        let words = |error: io::Error| error.to_string();
        let stamp = Stamp::of(path).map_err(words)?;
        if self.stamp == Some(stamp) {
            // Back to what it was before it was broken, perhaps.
            self.broken = None;
            return Ok(None);
        }
        if stamp.bytes > FILE_BYTES_MAX {
            return Err(format!(
                "{} bytes, and a file of keys has {FILE_BYTES_MAX} at most",
                stamp.bytes
            ));
        }
        let text = fs::read_to_string(path).map_err(words)?;
        self.keys = PublicKey::all_of_pem(&text).map_err(|error| error.to_string())?;
        // The stamp from before the reading: what is written meanwhile is seen at the next look.
        self.stamp = Some(stamp);
        let digest = digest(&SHA256, text.as_bytes());
        Ok(Some(HEXLOWER.encode(digest.as_ref())))
    }
}

impl Stamp {
    fn of(path: &Path) -> io::Result<Self> {
        let found = fs::metadata(path)?;
        Ok(Self {
            modified: found.modified()?,
            changed: (found.ctime(), found.ctime_nsec()),
            bytes: found.len(),
            inode: found.ino(),
        })
    }
}

/// The signers that have a file.
fn names(folder: &Path) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name();
        let signer = name.to_str().and_then(|name| name.strip_suffix(SUFFIX));
        names.extend(
            signer
                .filter(|signer| !signer.is_empty() && !signer.starts_with('.'))
                .map(str::to_owned),
        );
    }
    names.sort();
    Ok(names)
}
