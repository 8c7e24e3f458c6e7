//! Restores a backup into an empty folder. The restored store is marked, because the original store may have
//! committed more groups since the backup.

use std::fs::File;
use std::path::Path;

use rialto_engine::store::StoreError;
use sqlx::sqlite::{SqliteJournalMode, SqliteSynchronous};
use sqlx::{ConnectOptions as _, Connection as _, SqliteConnection};

use super::{
    BackupError, DATABASE, Manifest, Step, archives, counter_if_there, hashed, io_of, is_empty_but,
    last_turn, manifest, runtime, sqlite_of, to_read,
};
use crate::journal::{Purpose, Reading};
use crate::rows::{signed, unsigned};
use crate::slices::counter;
use crate::{SqliteStore, in_use, journal, snapshot, unreadable};

/// The name of the database until it is complete and marked. No host serves a folder with this file.
pub const UNFINISHED: &str = "rialto.db.restoring";
/// How many ids a restored store skips. The original store may have given them to turns, receipts and requests
/// since the backup, and here they must not mean anything else.
const NUMBERS_LEFT_OUT: u64 = 1 << 32;

/// Restore a backup into a folder that is empty or does not exist, and its archives into the folder of archives,
/// where existing ones stay. When this returns, the store is on the disk.
///
/// # Errors
/// When there is no backup, it is damaged, or the folder has anything but archives. Nothing is overwritten.
pub fn restore(
    backup: &Path,
    to: &Path,
    archives_to: &Path,
    tell: &mut dyn FnMut(Step),
) -> Result<Manifest, BackupError> {
    let of = manifest(backup)?;
    if of.layout > snapshot::newest_layout() {
        return Err(BackupError::Newer {
            path: backup.to_owned(),
            rialto: of.rialto,
        });
    }
    let owner = rialto_files::folder(to)?;
    // The remains of an interrupted restore are allowed. Archives are compared one by one.
    let left = [
        "lock",
        UNFINISHED,
        "rialto.db.restoring-journal",
        archives::FOLDER,
    ];
    if !is_empty_but(to, &left)? {
        return Err(BackupError::NotEmpty(to.to_owned()));
    }
    archives::nothing_in_the_way(&of.archives, archives_to, tell)?;
    let lock = in_use::lock_file(to, owner)?;
    in_use::locked(&lock).map_err(|()| BackupError::InUse(to.to_owned()))?;
    let unfinished = to.join(UNFINISHED);
    let restored = bring(&of, backup, &unfinished, tell);
    let restored = restored.and_then(|()| {
        archives::restore(&of.archives, backup, archives_to, tell)?;
        let path = to.join(DATABASE);
        std::fs::rename(&unfinished, &path).map_err(io_of(&path))?;
        Ok(rialto_files::sync_folder(to)?)
    });
    if restored.is_err() && unfinished.exists() {
        // This frees its space. The empty file keeps a host from making a new store here.
        let _ = File::create(&unfinished);
    }
    restored.map(|()| of)
}

/// Copy the database, compare it with the manifest, and mark it.
fn bring(
    of: &Manifest,
    backup: &Path,
    to: &Path,
    tell: &mut dyn FnMut(Step),
) -> Result<(), BackupError> {
    let journal = to.with_extension("restoring-journal");
    for left in [to, journal.as_path()] {
        match std::fs::remove_file(left) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(io_of(left)(error));
            }
            _ => {}
        }
    }
    let from = backup.join(DATABASE);
    let mut file = rialto_files::create(to)?;
    if let Some(folder) = to.parent() {
        rialto_files::sync_folder(folder)?;
    }
    let whole = of.database.bytes;
    let mut told = |done| tell(Step::Copying { done, of: whole });
    let (bytes, sha256) = hashed(&from, Some((to, &mut file)), &mut told)?;
    if (bytes, &sha256) != (whole, &of.database.sha256) {
        return Err(BackupError::differs(&from, (bytes, &sha256), &of.database));
    }
    file.sync_all().map_err(io_of(to))?;
    drop(file);
    tell(Step::Checking);
    runtime(to)?.block_on(mark(of, to))?;
    let marked = File::open(to).and_then(|file| file.sync_all());
    marked.map_err(io_of(to))
}

/// End all sessions and personal tokens: some may have been ended since the backup. A backup of an older layout has
/// none.
async fn end_credentials(database: &mut SqliteConnection) -> Result<(), sqlx::Error> {
    let tables: i64 = sqlx::query_scalar(
        "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'credentials'",
    )
    .fetch_one(&mut *database)
    .await?;
    if tables > 0 {
        let ended = sqlx::query("DELETE FROM credentials");
        ended.execute(database).await?;
    }
    Ok(())
}

/// Mark the database as restored, with the last turn of the backup.
async fn mark(of: &Manifest, path: &Path) -> Result<(), BackupError> {
    let sqlite = sqlite_of(path);
    let unreadable = |source| BackupError::Unreadable {
        path: path.to_owned(),
        source,
    };
    let options = to_read(path)
        .read_only(false)
        .journal_mode(SqliteJournalMode::Delete)
        .synchronous(SqliteSynchronous::Full);
    let mut connection = options.connect().await.map_err(&sqlite)?;
    let found = last_turn(&mut connection).await.map_err(unreadable)?;
    if found != of.lsn {
        return Err(BackupError::Damaged {
            path: path.to_owned(),
            what: format!("its last turn is {found}, and the manifest says {}", of.lsn),
        });
    }
    let next = next_number(&mut connection).await.map_err(unreadable)?;
    let published = last_publication(&mut connection)
        .await
        .map_err(unreadable)?;
    let mut marking = connection.begin().await.map_err(&sqlite)?;
    let marks = [
        (
            "next_id",
            signed(next + NUMBERS_LEFT_OUT).map_err(unreadable)?,
        ),
        (
            "restored",
            signed(of.restored.saturating_add(1)).map_err(unreadable)?,
        ),
        ("restored_lsn", signed(of.lsn).map_err(unreadable)?),
        ("restored_taken", of.taken.as_millisecond()),
    ];
    // A backup of an older layout has none.
    let published = published.filter(|last| *last > 0);
    let published = published.map(|last| signed(last + NUMBERS_LEFT_OUT));
    let published = published.transpose().map_err(unreadable)?;
    let published = published.map(|last| ("publications", last));
    for (key, value) in marks.into_iter().chain(published) {
        let marked = sqlx::query("INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)")
            .bind(key)
            .bind(value)
            .execute(&mut *marking)
            .await
            .map_err(&sqlite)?;
        let rows = marked.rows_affected();
        assert!(rows == 1, "the mark `{key}` is in {rows} rows");
    }
    end_credentials(&mut marking).await.map_err(&sqlite)?;
    marking.commit().await.map_err(&sqlite)?;
    connection.close().await.map_err(sqlite)
}

/// The first unused id of the database.
async fn next_number(connection: &mut SqliteConnection) -> Result<u64, StoreError> {
    let flushed = counter(connection, "next_id").await?;
    let entries = journal::in_table(connection).await?;
    let numbers = entries.iter().map(|(entry, _)| entry.next_id);
    Ok(numbers.fold(flushed, u64::max))
}

/// The last number of an event for the outside in the database; none if its layout has none.
async fn last_publication(connection: &mut SqliteConnection) -> Result<Option<u64>, StoreError> {
    let Some(flushed) = counter_if_there(connection, "publications").await? else {
        return Ok(None);
    };
    let entries = journal::in_table(connection).await?;
    let numbers = entries.iter().map(|(entry, _)| {
        let publications = &entry.publications;
        publications.first + publications.bodies.len() as u64
    });
    // Each is the number after the last one of a group.
    let last = numbers.fold(unsigned(flushed)? + 1, u64::max) - 1;
    Ok(Some(last))
}

/// The backup from which a store was restored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The last turn that was in it.
    pub lsn: u64,
    /// When it was taken.
    pub taken: jiff::Timestamp,
}

impl SqliteStore {
    /// The backup from which this store was restored; none once a group has been committed since.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn just_restored(&self) -> Result<Option<Origin>, StoreError> {
        let journal = Reading::begin(&self.inner.folder, Purpose::Look);
        let journal = journal.map_err(|error| unreadable("the journal", error))?;
        let mut writer = self.inner.writer.lock();
        self.inner.runtime.block_on(async {
            let lsn = counter_if_there(&mut writer, "restored_lsn").await?;
            let taken = counter_if_there(&mut writer, "restored_taken").await?;
            let (Some(lsn), Some(taken)) = (lsn, taken) else {
                return Ok(None);
            };
            let lsn = unsigned(lsn)?;
            let waiting = journal.entries(&mut writer).await?;
            let waiting = waiting.last().map_or(0, |(entry, _)| entry.lsn);
            if counter(&mut writer, "lsn").await?.max(waiting) > lsn {
                return Ok(None);
            }
            let taken = jiff::Timestamp::from_millisecond(taken);
            let taken = taken.map_err(|error| unreadable("when a backup was taken", error))?;
            Ok(Some(Origin { lsn, taken }))
        })
    }
}
