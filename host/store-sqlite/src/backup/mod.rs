//! Copies of a store, taken beside a running host, and what they are restored from.
//!
//! A copy is a folder: `rialto.db`, one commit of the store with all that was acknowledged by then, also
//! what was only in the journal; `archives`, the archives that this commit names; and `backup.json`, the
//! manifest, which is written last: a folder without it is no backup. The copy is a store of its own that
//! can be read where it is.

mod archives;
mod restore;
mod take;

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use rialto_engine::store::StoreError;
use rialto_files::FileError;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions as _, SqliteConnection};

use crate::retention::is_plain_name;
use crate::slices::counter;
use crate::{failed, journal};

pub use restore::{Origin, UNFINISHED, restore};
pub use take::take;

/// The manifest's file.
pub const MANIFEST: &str = "backup.json";
/// The database's file, as in a store.
pub const DATABASE: &str = "rialto.db";
/// The form of manifests that this version writes and reads.
const FORMAT: u32 = 1;
/// Bytes that are copied or hashed at a time.
const CHUNK: usize = 1 << 20;

/// What a backup is of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Manifest {
    /// The form of this manifest.
    pub format: u32,
    /// The version of the host's program that took it.
    pub rialto: String,
    /// When it was begun; what was acknowledged before is in it.
    pub taken: jiff::Timestamp,
    /// The last turn that is in it.
    pub lsn: u64,
    /// The release that was current; none before the first.
    pub release: Option<Release>,
    /// The number of the database's layout.
    pub layout: i64,
    /// How often this store was restored from a backup before.
    pub restored: u64,
    /// The database.
    pub database: Copied,
    /// The archives that are in the backup, by the names that the database has for them.
    pub archives: Vec<Copied>,
    /// Archives that the database names and the backup has not: they were left out, or were not there.
    pub archives_elsewhere: Vec<String>,
}

/// A release in a backup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Release {
    /// Its number.
    pub number: u64,
    /// Its document's digest.
    pub digest: String,
}

/// A file of a backup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Copied {
    /// Its name in its folder.
    pub file: String,
    /// Its length.
    pub bytes: u64,
    /// Of its bytes, as `sha256sum` prints it.
    pub sha256: String,
}

/// What is being done, for who waits for it. Bytes are of one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// It is copied. The whole is what it has at most: what is not in use is left out.
    Copying {
        /// Bytes so far.
        done: u64,
        /// Bytes of all.
        of: u64,
    },
    /// The copy is looked through.
    Checking,
    /// Its digest is computed.
    Hashing {
        /// Bytes so far.
        done: u64,
        /// Bytes of all.
        of: u64,
    },
}

/// Why there is no backup, or none could be restored.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// There is nothing to back up.
    #[error(
        "there is no store in {0}; give the scheme's folder with --at, or the store's own with --state"
    )]
    NoStore(PathBuf),
    /// There is something in the way.
    #[error(
        "{0} is not empty, and nothing is ever overwritten: name a folder that is empty or not there"
    )]
    NotEmpty(PathBuf),
    /// A host has the store to restore to.
    #[error("{0} is in use by a host: stop it, and name a folder that is empty or not there")]
    InUse(PathBuf),
    /// There is no manifest.
    #[error("{0} holds no backup: it has no backup.json, which is written when a backup is whole")]
    NoBackup(PathBuf),
    /// The manifest says nothing that can be read.
    #[error("{path} is no manifest of a backup")]
    Manifest {
        /// The manifest.
        path: PathBuf,
        /// Why.
        source: serde_json::Error,
    },
    /// A later version took it.
    #[error(
        "{path} was taken by rialto {rialto}, a later version than this: restore it with that one"
    )]
    Newer {
        /// The backup.
        path: PathBuf,
        /// The version that took it.
        rialto: String,
    },
    /// It is not what was written.
    #[error("{path} is damaged: {what}; take another backup")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// Another file has the name of an archive.
    #[error("{0} is not the archive of this name that the backup has: move it away")]
    InTheWay(PathBuf),
    /// A file or a folder cannot be used.
    #[error(transparent)]
    File(#[from] FileError),
    /// The system refused.
    #[error("{path} cannot be used")]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// SQLite refused.
    #[error("{path} cannot be read or copied")]
    Sqlite {
        /// The database.
        path: PathBuf,
        /// Why.
        source: sqlx::Error,
    },
    /// What is in it cannot be read.
    #[error("{path} cannot be read")]
    Unreadable {
        /// The database.
        path: PathBuf,
        /// Why.
        source: StoreError,
    },
}

impl BackupError {
    /// A file has other bytes than it was written with.
    fn differs(path: &Path, (bytes, sha256): (u64, &str), written: &Copied) -> Self {
        let (then, digest) = (written.bytes, &written.sha256);
        Self::Damaged {
            path: path.to_owned(),
            what: format!(
                "it has {bytes} bytes with the digest {sha256}, and was written with {then} and {digest}"
            ),
        }
    }
}

/// The manifest of the backup in this folder.
///
/// # Errors
/// When there is none that this version can read.
pub fn manifest(backup: &Path) -> Result<Manifest, BackupError> {
    let path = backup.join(MANIFEST);
    let text = match std::fs::read(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(BackupError::NoBackup(backup.to_owned()));
        }
        Err(error) => return Err(io_of(&path)(error)),
    };
    let read = |source| BackupError::Manifest {
        path: path.clone(),
        source,
    };
    let head: Head = serde_json::from_slice(&text).map_err(read)?;
    if head.format > FORMAT {
        return Err(BackupError::Newer {
            path: backup.to_owned(),
            rialto: head.rialto,
        });
    }
    let manifest: Manifest = serde_json::from_slice(&text).map_err(read)?;
    let mut names = manifest.archives.iter().map(|archive| &archive.file);
    match names.find(|name| !is_plain_name(name)) {
        None => Ok(manifest),
        Some(name) => Err(BackupError::Damaged {
            path,
            what: format!("{name:?} is no name of an archive"),
        }),
    }
}

/// What every form of a manifest has.
#[derive(Deserialize)]
struct Head {
    format: u32,
    rialto: String,
}

fn io_of(path: &Path) -> impl Fn(io::Error) -> BackupError {
    let path = path.to_owned();
    move |source| BackupError::Io {
        path: path.clone(),
        source,
    }
}

fn sqlite_of(path: &Path) -> impl Fn(sqlx::Error) -> BackupError {
    let path = path.to_owned();
    move |source| BackupError::Sqlite {
        path: path.clone(),
        source,
    }
}

fn runtime(path: &Path) -> Result<tokio::runtime::Runtime, BackupError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime.map_err(io_of(path))
}

fn to_read(path: &Path) -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .filename(path)
        .read_only(true)
        .create_if_missing(false)
        .disable_statement_logging()
}

/// Whether a folder has nothing in it but what is named.
fn is_empty_but(folder: &Path, names: &[&str]) -> Result<bool, BackupError> {
    for entry in std::fs::read_dir(folder).map_err(io_of(folder))? {
        let name = entry.map_err(io_of(folder))?.file_name();
        if !names.iter().any(|allowed| name == *allowed) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The last turn in a database, also one that is only in its journal.
async fn last_turn(connection: &mut SqliteConnection) -> Result<u64, StoreError> {
    let flushed = counter(connection, "lsn").await?;
    let entries = journal::read(connection).await?;
    Ok(entries
        .iter()
        .map(|(entry, _)| entry.lsn)
        .fold(flushed, u64::max))
}

/// A counter of `meta` that is not there before it is first needed.
async fn counter_if_there(
    connection: &mut SqliteConnection,
    key: &str,
) -> Result<Option<i64>, StoreError> {
    let value = sqlx::query_scalar("SELECT value FROM meta WHERE key = ?").bind(key);
    value.fetch_optional(connection).await.map_err(failed)
}

/// Read a file to its end, hand each piece on, and answer its length and digest.
fn hashed(
    path: &Path,
    to: Option<(&Path, &mut File)>,
    tell: &mut dyn FnMut(u64),
) -> Result<(u64, String), BackupError> {
    let mut from = File::open(path).map_err(io_of(path))?;
    let mut to = to;
    let mut chunk = vec![0; CHUNK];
    let mut hash = Sha256::new();
    let mut bytes = 0;
    loop {
        let read = from.read(&mut chunk).map_err(io_of(path))?;
        if read == 0 {
            break;
        }
        hash.update(&chunk[..read]);
        if let Some((path, file)) = &mut to {
            file.write_all(&chunk[..read]).map_err(io_of(path))?;
        }
        bytes += read as u64;
        tell(bytes);
    }
    let digest = hash.finalize();
    let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok((bytes, hex))
}
