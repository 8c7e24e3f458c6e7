//! Backups of a store, taken beside a running host, and their restore.
//!
//! A backup is a folder with
//! - `rialto.db`: one commit of the store with all acknowledged groups, those in the journal included;
//! - `archives`: the archives of this commit;
//! - `backup.json`: the manifest. It is written last; a folder without it is not a backup.
//!
//! Commands can read a backup in place, like a store.

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
/// The manifest format of this version.
const FORMAT: u32 = 1;
/// Bytes that are copied or hashed at a time.
const CHUNK: usize = 1 << 20;

/// The manifest of a backup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Manifest {
    /// The form of this manifest.
    pub format: u32,
    /// The version of the host's program that took it.
    pub rialto: String,
    /// When it began. All groups that were acknowledged before are in it.
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
    pub database: BackupFile,
    /// The archives that are in the backup, by the names that the database has for them.
    pub archives: Vec<BackupFile>,
    /// Archives of the database that are not in the backup: they were left out or missing.
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
pub struct BackupFile {
    /// Its name in its folder.
    pub file: String,
    /// Its length.
    pub bytes: u64,
    /// The SHA-256 of its bytes, as `sha256sum` prints it.
    pub sha256: String,
}

/// The progress of a backup or a restore. Bytes are of one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The file is copied. `of` is an upper bound, because unused pages are left out.
    Copying {
        /// Bytes so far.
        done: u64,
        /// Bytes of all.
        of: u64,
    },
    /// The copy is checked.
    Checking,
    /// Its digest is computed.
    Hashing {
        /// Bytes so far.
        done: u64,
        /// Bytes of all.
        of: u64,
    },
}

/// Why a backup or a restore failed.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// The folder has no store.
    #[error(
        "there is no store in {0}; give the scheme's folder with --at, or the store's own with --state"
    )]
    NoStore(PathBuf),
    /// The target folder is not empty.
    #[error(
        "{0} is not empty, and nothing is ever overwritten: name a folder that is empty or not there"
    )]
    NotEmpty(PathBuf),
    /// A host is using the target store.
    #[error("{0} is in use by a host: stop it, and name a folder that is empty or not there")]
    InUse(PathBuf),
    /// There is no manifest.
    #[error("{0} holds no backup: it has no backup.json, which is written when a backup is whole")]
    NoBackup(PathBuf),
    /// The manifest is malformed.
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
    /// A file is damaged.
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
    /// The error for a file whose bytes have changed.
    fn differs(path: &Path, (bytes, sha256): (u64, &str), written: &BackupFile) -> Self {
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

/// The members of every manifest format.
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

/// Whether a folder has only entries with these names.
fn is_empty_but(folder: &Path, names: &[&str]) -> Result<bool, BackupError> {
    for entry in std::fs::read_dir(folder).map_err(io_of(folder))? {
        let name = entry.map_err(io_of(folder))?.file_name();
        if !names.iter().any(|allowed| name == *allowed) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The last turn in a database, its journal included.
async fn last_turn(connection: &mut SqliteConnection) -> Result<u64, StoreError> {
    let flushed = counter(connection, "lsn").await?;
    let entries = journal::in_table(connection).await?;
    Ok(entries
        .iter()
        .map(|(entry, _)| entry.lsn)
        .fold(flushed, u64::max))
}

/// A counter of `meta`; 0 if it does not exist yet.
async fn counter_if_there(
    connection: &mut SqliteConnection,
    key: &str,
) -> Result<Option<i64>, StoreError> {
    let value = sqlx::query_scalar("SELECT value FROM meta WHERE key = ?").bind(key);
    value.fetch_optional(connection).await.map_err(failed)
}

/// Read a file to its end and pass on each piece. Returns its length and digest.
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
