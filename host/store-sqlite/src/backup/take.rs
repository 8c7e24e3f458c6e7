//! Takes a backup: copies one commit in one read transaction, then checks the copy. A running host continues;
//! only its write-ahead log grows meanwhile.

use std::fs::File;
use std::path::Path;
use std::time::Duration;

use sqlx::sqlite::SqliteJournalMode;
use sqlx::{ConnectOptions as _, Connection as _, Executor as _, SqliteConnection};

use super::{
    BackupError, BackupFile, DATABASE, FORMAT, MANIFEST, Manifest, Release, Step, archives,
    counter_if_there, hashed, io_of, is_empty_but, last_turn, runtime, sqlite_of, to_read,
};
use crate::failed;
use crate::journal::{self, Purpose, Reading};
use crate::retention::Archive;
use crate::rows::unsigned;
use crate::slices::counter;

/// The time between two reports of progress.
const TOLD_EVERY: Duration = Duration::from_millis(250);

/// Copy the store in a folder into another folder, which is empty or does not exist, whether a host runs or not.
/// Archives are copied too, unless their folder is none. When this returns, the copy has been checked and is on
/// the disk.
///
/// # Errors
/// When there is no store, the folder is not empty, or anything cannot be read or written. Nothing of the copy is
/// left then.
pub fn take(
    store: &Path,
    archives_from: Option<&Path>,
    to: &Path,
    tell: &mut dyn FnMut(Step),
) -> Result<Manifest, BackupError> {
    if !store.join(DATABASE).is_file() {
        return Err(BackupError::NoStore(store.to_owned()));
    }
    rialto_files::folder(to)?;
    if !is_empty_but(to, &[])? {
        return Err(BackupError::NotEmpty(to.to_owned()));
    }
    let taken = copied(store, archives_from, to, tell);
    if taken.is_err() {
        let _ = std::fs::remove_dir_all(to.join(archives::FOLDER));
        for file in [DATABASE, "rialto.db-journal", MANIFEST] {
            let _ = std::fs::remove_file(to.join(file));
        }
    }
    taken
}

fn copied(
    store: &Path,
    archives_from: Option<&Path>,
    to: &Path,
    tell: &mut dyn FnMut(Step),
) -> Result<Manifest, BackupError> {
    let (from, copy) = (store.join(DATABASE), to.join(DATABASE));
    // SQLite fills this empty file, which no other user can read.
    let file = rialto_files::create(&copy)?;
    let runtime = runtime(&copy)?;
    let taken = jiff::Timestamp::now();
    // Before the reading of the database begins, so that no group of it leaves the journal's files meanwhile.
    let journal = Reading::begin(store, Purpose::Look).map_err(io_of(store))?;
    let before = runtime.block_on(last_group(&journal, &from))?;
    runtime.block_on(copy_one_commit(&from, &copy, tell))?;
    runtime.block_on(add_journal(&journal, before, &copy))?;
    drop(journal);
    tell(Step::Checking);
    let head = runtime.block_on(checked(&copy))?;
    let whole = file.metadata().map_err(io_of(&copy))?.len();
    let mut told = |done| tell(Step::Hashing { done, of: whole });
    let (bytes, sha256) = hashed(&copy, None, &mut told)?;
    file.sync_all().map_err(io_of(&copy))?;
    let (archives, archives_elsewhere) = archives::take(&head.archives, archives_from, to, tell)?;
    let manifest = Manifest {
        format: FORMAT,
        rialto: env!("CARGO_PKG_VERSION").to_owned(),
        taken,
        lsn: head.lsn,
        release: head.release,
        layout: head.layout,
        restored: head.restored,
        database: BackupFile {
            file: DATABASE.to_owned(),
            bytes,
            sha256,
        },
        archives,
        archives_elsewhere,
    };
    let path = to.join(MANIFEST);
    let text = serde_json::to_string_pretty(&manifest).map_err(|source| BackupError::Manifest {
        path: path.clone(),
        source,
    })?;
    rialto_files::write(&path, &[text.as_bytes(), b"\n"])?;
    Ok(manifest)
}

/// Copy all pages in use as of one moment. The host continues; what it writes is not in the copy and stays in
/// its write-ahead log.
async fn copy_one_commit(
    from: &Path,
    to: &Path,
    tell: &mut dyn FnMut(Step),
) -> Result<(), BackupError> {
    let sqlite = sqlite_of(from);
    let mut connection = to_read(from).connect().await.map_err(&sqlite)?;
    let of = database_bytes(&mut connection).await.map_err(&sqlite)?;
    {
        let copying = sqlx::query("VACUUM INTO ?").bind(to.to_string_lossy().into_owned());
        let copying = copying.execute(&mut connection);
        let mut copying = std::pin::pin!(copying);
        loop {
            let file = File::open(to).and_then(|file| file.metadata());
            let done = file.map_or(0, |found| found.len());
            tell(Step::Copying { done, of });
            tokio::select! {
                copied = &mut copying => {
                    copied.map_err(&sqlite)?;
                    break;
                }
                () = tokio::time::sleep(TOLD_EVERY) => {}
            }
        }
    }
    connection.close().await.map_err(sqlite)
}

/// The last group of a store.
async fn last_group(journal: &Reading, from: &Path) -> Result<u64, BackupError> {
    let sqlite = sqlite_of(from);
    let mut connection = to_read(from).connect().await.map_err(&sqlite)?;
    connection
        .execute("BEGIN DEFERRED")
        .await
        .map_err(&sqlite)?;
    let last = journal.last(&mut connection).await;
    let last = last.map_err(|source| BackupError::Unreadable {
        path: from.to_owned(),
        source,
    })?;
    connection.close().await.map_err(sqlite)?;
    Ok(last)
}

/// Write into a copy's own journal what its tables lack: the groups up to `before`, and those of a flush that had begun.
async fn add_journal(journal: &Reading, before: u64, copy: &Path) -> Result<(), BackupError> {
    let sqlite = sqlite_of(copy);
    let unreadable = |source| BackupError::Unreadable {
        path: copy.to_owned(),
        source,
    };
    let options = to_read(copy).read_only(false);
    let options = options.journal_mode(SqliteJournalMode::Delete);
    let mut connection = options.connect().await.map_err(&sqlite)?;
    let added = async {
        let flushed = counter(&mut connection, "folded").await?;
        let through = counter(&mut connection, "folding").await?.max(before);
        let entries = journal.encoded(&mut connection, flushed, through).await?;
        connection
            .execute("BEGIN IMMEDIATE")
            .await
            .map_err(failed)?;
        journal::put_in_table(&mut connection, &entries).await?;
        connection.execute("COMMIT").await.map_err(failed)?;
        Ok(())
    };
    added.await.map_err(unreadable)?;
    connection.close().await.map_err(sqlite)
}

async fn database_bytes(connection: &mut SqliteConnection) -> Result<u64, sqlx::Error> {
    let pages: i64 = sqlx::query_scalar("PRAGMA page_count")
        .fetch_one(&mut *connection)
        .await?;
    let size: i64 = sqlx::query_scalar("PRAGMA page_size")
        .fetch_one(connection)
        .await?;
    Ok(u64::try_from(pages.saturating_mul(size)).unwrap_or(0))
}

/// The data of the database for the manifest.
struct Head {
    lsn: u64,
    release: Option<Release>,
    layout: i64,
    restored: u64,
    archives: Vec<Archive>,
}

/// Check the whole copy: its trees and indexes are intact and agree, and the journal can be read.
async fn checked(copy: &Path) -> Result<Head, BackupError> {
    let sqlite = sqlite_of(copy);
    let mut connection = to_read(copy).connect().await.map_err(&sqlite)?;
    let found: Vec<String> = sqlx::query_scalar("PRAGMA integrity_check")
        .fetch_all(&mut connection)
        .await
        .map_err(&sqlite)?;
    if found != ["ok"] {
        return Err(BackupError::Damaged {
            path: copy.to_owned(),
            what: found.join("; "),
        });
    }
    let unreadable = |source| BackupError::Unreadable {
        path: copy.to_owned(),
        source,
    };
    let layout = sqlx::query_scalar("SELECT coalesce(max(version), 0) FROM _sqlx_migrations")
        .fetch_one(&mut connection)
        .await
        .map_err(&sqlite)?;
    let release: Option<(i64, String)> = sqlx::query_as(
        "SELECT number, digest FROM releases
         WHERE number = (SELECT value FROM meta WHERE key = 'release')",
    )
    .fetch_optional(&mut connection)
    .await
    .map_err(&sqlite)?;
    let release = release.map(|(number, digest)| {
        let number = unsigned(number).map_err(unreadable)?;
        Ok::<_, BackupError>(Release { number, digest })
    });
    let restored = counter_if_there(&mut connection, "restored").await;
    let restored = unsigned(restored.map_err(unreadable)?.unwrap_or(0)).map_err(unreadable)?;
    let lsn = last_turn(&mut connection).await.map_err(unreadable)?;
    let archives = crate::retention::archives(&mut connection).await;
    let archives = archives.map_err(unreadable)?;
    connection.close().await.map_err(sqlite)?;
    Ok(Head {
        lsn,
        release: release.transpose()?,
        layout,
        restored,
        archives,
    })
}
