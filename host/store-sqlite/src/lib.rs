//! The embedded store: SQLite through sqlx behind the engine's [`Store`] trait.
//!
//! One writer connection takes whole groups in `BEGIN IMMEDIATE` transactions with
//! `synchronous=FULL`; readers have connections of their own. Every call blocks its thread.
//! A lock on the folder and a fencing token in the database keep a second host out.

mod archive;
mod group;
mod rows;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use rialto_engine::store::{
    Collection, DeadLetter, Group, Recovered, ScanRange, Store, StoreError, StoredDocument,
};
use rialto_engine::{CollectionId, Lsn};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{ConnectOptions, Row, SqliteConnection, SqlitePool};
use tokio::runtime::Runtime;

pub use archive::StoredRelease;

/// Connections for readers.
const READERS: u32 = 4;
/// Pages of 4 KiB in the write-ahead log before the writer itself moves what is left of them into the
/// database, so that the log begins anew. Most has been moved by then, beside the writer.
const CHECKPOINT_PAGES: u32 = 16_000;
/// How often pages are moved beside the writer.
const CHECKPOINT_PERIOD: Duration = Duration::from_millis(200);
/// Rows that one step of `visit_keys` reads.
const KEYS_PER_STEP: i64 = 10_000;

/// An open store.
pub struct SqliteStore {
    runtime: Runtime,
    writer: Mutex<SqliteConnection>,
    readers: SqlitePool,
    fence: AtomicI64,
    path: PathBuf,
    _lock: File,
}

/// Why a store could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another process has the store open.
    #[error("{0} is in use by another host; stop that one first")]
    InUse(PathBuf),
    /// The folder cannot be made, read or locked.
    #[error("{path} cannot be used")]
    Io {
        /// The folder or file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// SQLite refused.
    #[error("{path} cannot be opened")]
    Sqlite {
        /// The database.
        path: PathBuf,
        /// Why.
        source: sqlx::Error,
    },
    /// The database's layout is not this host's.
    #[error("the layout of {path} cannot be brought up to date")]
    Migrate {
        /// The database.
        path: PathBuf,
        /// Why.
        source: sqlx::migrate::MigrateError,
    },
}

impl SqliteStore {
    /// Open the store in this folder, making both if they are not there.
    ///
    /// # Errors
    /// When another host has it open, or the folder or the database cannot be used.
    pub fn open(folder: &Path) -> Result<Self, OpenError> {
        let io = |path: &Path| {
            let path = path.to_owned();
            move |source| OpenError::Io { path, source }
        };
        std::fs::create_dir_all(folder).map_err(io(folder))?;
        let lock_path = folder.join("lock");
        let lock = File::create(&lock_path).map_err(io(&lock_path))?;
        lock.try_lock()
            .map_err(|_| OpenError::InUse(folder.to_owned()))?;
        let path = folder.join("rialto.db");
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("store")
            .enable_all()
            .build()
            .map_err(io(&path))?;
        let sqlite = |source| OpenError::Sqlite {
            path: path.clone(),
            source,
        };
        let options = options(&path);
        let mut writer = runtime
            .block_on(
                options
                    .clone()
                    .thread_name(|_| "store-write".into())
                    .connect(),
            )
            .map_err(sqlite)?;
        runtime
            .block_on(sqlx::migrate!().run_direct(None, &mut writer, false))
            .map_err(|source| OpenError::Migrate {
                path: path.clone(),
                source,
            })?;
        let beside = runtime
            .block_on(
                options
                    .clone()
                    .thread_name(|_| "store-move".into())
                    .connect(),
            )
            .map_err(sqlite)?;
        runtime.spawn(checkpoint(beside));
        let readers = {
            let _entered = runtime.enter();
            SqlitePoolOptions::new()
                .max_connections(READERS)
                .connect_lazy_with(options.read_only(true).create_if_missing(false))
        };
        Ok(Self {
            runtime,
            writer: Mutex::new(writer),
            readers,
            fence: AtomicI64::new(0),
            path,
            _lock: lock,
        })
    }

    /// The database's file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Open a database for reading only, beside a host that may be running.
    ///
    /// # Errors
    /// When there is no such database or SQLite refuses.
    pub fn open_archive(folder: &Path) -> Result<archive::Archive, OpenError> {
        archive::Archive::open(&folder.join("rialto.db"))
    }
}

fn options(path: &Path) -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .filename(path)
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .busy_timeout(Duration::from_secs(10))
        .statement_cache_capacity(128)
        .pragma("wal_autocheckpoint", CHECKPOINT_PAGES.to_string())
        .pragma("cache_size", "-32000")
        .pragma("temp_store", "memory")
        .thread_name(|n| format!("store-read-{n}"))
        .disable_statement_logging()
}

/// Move pages from the log into the database while the writer goes on, for as long as the store is
/// open.
async fn checkpoint(mut connection: SqliteConnection) {
    loop {
        tokio::time::sleep(CHECKPOINT_PERIOD).await;
        let moved = sqlx::query("PRAGMA wal_checkpoint(PASSIVE)");
        if let Err(error) = moved.execute(&mut connection).await {
            tracing::warn!(%error, "the store's log could not be moved into the database; the writer will");
        }
    }
}

pub(crate) fn failed(error: sqlx::Error) -> StoreError {
    StoreError::Failed(error.to_string())
}

pub(crate) fn unreadable(what: &str, error: impl std::fmt::Display) -> StoreError {
    StoreError::Failed(format!("{what} in the store cannot be read: {error}"))
}

impl Store for SqliteStore {
    fn recover(&self) -> Result<Recovered, StoreError> {
        let mut writer = self.writer.lock();
        self.runtime.block_on(async {
            let fence: i64 = sqlx::query_scalar(
                "UPDATE meta SET value = value + 1 WHERE key = 'fence' RETURNING value",
            )
            .fetch_one(&mut *writer)
            .await
            .map_err(failed)?;
            self.fence.store(fence, Ordering::Release);
            let counter = async |writer: &mut SqliteConnection, key: &str| {
                let value: i64 = sqlx::query_scalar("SELECT value FROM meta WHERE key = ?")
                    .bind(key)
                    .fetch_one(writer)
                    .await
                    .map_err(failed)?;
                u64::try_from(value).map_err(|e| unreadable("a counter", e))
            };
            Ok(Recovered {
                lsn: Lsn(counter(&mut writer, "lsn").await?),
                next_id: counter(&mut writer, "next_id").await?,
                collections: rows::collections(&mut writer).await?,
                deliveries: rows::deliveries(&mut writer).await?,
                reminders: rows::reminders(&mut writer).await?,
                outbound: rows::outbound(&mut writer).await?,
            })
        })
    }

    fn read(
        &self,
        collection: CollectionId,
        id: &str,
    ) -> Result<Option<StoredDocument>, StoreError> {
        let row = self.runtime.block_on(
            sqlx::query("SELECT id, version, body FROM documents WHERE collection = ? AND id = ?")
                .bind(collection.0)
                .bind(id)
                .fetch_optional(&self.readers),
        );
        row.map_err(failed)?
            .map(|row| rows::document(&row))
            .transpose()
    }

    fn scan(
        &self,
        collection: CollectionId,
        range: &ScanRange,
        limit: u32,
    ) -> Result<Vec<StoredDocument>, StoreError> {
        // Without an end the second bound is one that every id passes.
        let rows = self.runtime.block_on(
            sqlx::query(
                "SELECT id, version, body FROM documents
                 WHERE collection = ?1 AND id >= ?2 AND (?3 IS NULL OR id < ?3)
                 ORDER BY id LIMIT ?4",
            )
            .bind(collection.0)
            .bind(&range.from)
            .bind(range.to.as_deref())
            .bind(limit)
            .fetch_all(&self.readers),
        );
        rows.map_err(failed)?.iter().map(rows::document).collect()
    }

    fn write(&self, group: &Group) -> Result<(), StoreError> {
        let mut writer = self.writer.lock();
        let fence = self.fence.load(Ordering::Acquire);
        self.runtime
            .block_on(group::write(&mut writer, group, fence))
    }

    fn visit_keys(
        &self,
        visit: &mut dyn FnMut(CollectionId, &str) -> std::ops::ControlFlow<()>,
    ) -> Result<(), StoreError> {
        let mut after = (0u32, String::new());
        loop {
            let rows = self.runtime.block_on(
                sqlx::query(
                    "SELECT collection, id FROM documents WHERE (collection, id) > (?, ?)
                     ORDER BY collection, id LIMIT ?",
                )
                .bind(after.0)
                .bind(&after.1)
                .bind(KEYS_PER_STEP)
                .fetch_all(&self.readers),
            );
            let rows = rows.map_err(failed)?;
            let Some(last) = rows.last() else {
                return Ok(());
            };
            after = (
                last.try_get(0).map_err(failed)?,
                last.try_get(1).map_err(failed)?,
            );
            for row in &rows {
                let collection: u32 = row.try_get(0).map_err(failed)?;
                let id: &str = row.try_get(1).map_err(failed)?;
                if visit(CollectionId(collection), id).is_break() {
                    return Ok(());
                }
            }
        }
    }

    fn dead_letters(&self) -> Result<Vec<DeadLetter>, StoreError> {
        self.runtime.block_on(rows::dead_letters(&self.readers))
    }
}

/// Used by `rows`.
pub(crate) fn collection(id: u32, component: &str, name: &str) -> Collection {
    Collection {
        id: CollectionId(id),
        component: component.into(),
        name: name.into(),
    }
}
