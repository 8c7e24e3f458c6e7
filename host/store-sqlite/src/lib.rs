//! The embedded store: SQLite through sqlx. It implements the engine's [`Store`](rialto_engine::store::Store).
//!
//! A group is one entry in the journal, which is files of its own (`journal`); when it is synced, it is durable. A thread
//! flushes the journal into the tables for reads and recovery (`flush`). Entries that are not flushed yet are in the
//! memtable, where reads look first. So a document that changes five times in a second is written to its
//! table once, and a delivery that is handled at once never is.
//!
//! One connection writes; readers have their own. Every call blocks its thread. A lock on the folder and a
//! fencing token in the database keep a second host out.

mod activations;
mod archive;
mod audit;
pub mod backup;
mod bloom_filters;
mod credentials;
mod dictionaries;
mod dump;
mod flush;
mod held_back;
mod in_use;
mod journal;
mod kept_filters;
mod load;
mod memtable;
mod migrations;
mod operations;
mod pages;
mod passkeys;
mod personal_data;
mod plans;
mod publications;
mod ranges;
mod receipt_pages;
mod receipts;
mod recent_rows;
mod records;
pub mod retention;
mod row_ids;
mod rows;
mod scheduled;
mod slices;
mod snapshot;
mod sql;
mod store;
mod suspensions;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use parking_lot::{Mutex, RwLock};
use rialto_engine::store::{Collection, StoreError};
use rialto_engine::{CollectionId, fatal};
use rialto_files::FileError;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{ConnectOptions, Connection as _, SqliteConnection, SqlitePool};
use tokio::runtime::Runtime;

use dictionaries::{Packing, Unpacking};
use journal::{Files, NewFile, Syncing};
use memtable::Memtable;
use row_ids::RowIds;
use slices::Slices;

pub use in_use::{is_open, lock};
pub use memtable::{FlushLag, FlushPolicy};
pub use receipts::ReceiptReader;
// Under their old names, and the traits of what the store keeps beside groups.
pub use rialto_store::{
    Act, ActivationStore, ArchiveStore, AuditStore, CanaryStore, Credential, CredentialKind,
    CredentialStore, EntryFilter, HeldBack, HistoryStore, Operation, OperationStore, Order,
    Outcome, Passkey, PasskeyStore, PeopleKeyStore, PeopleKeys, PlanSignature, PlanStore,
    ReleaseStore, ScheduleStore, ScheduledRelease, StoredActivation, StoredCheckpoint, StoredEntry,
    StoredPlan, StoredRelease, StoredSuspension, StoredTile, SuspensionStore,
};
pub use snapshot::{Snapshot, SnapshotError};
pub use sql::{Sql, SqlError, SqlRow};

/// How many connections readers have.
const READERS: u32 = 4;
/// Pages of 4 KiB in the write-ahead log before the writer itself ends the checkpoint, so that the log begins
/// anew. Most pages were moved by then, beside the writer.
const CHECKPOINT_PAGES: u32 = 16_000;
/// The time between two checkpoints beside the writer.
const CHECKPOINT_PERIOD: Duration = Duration::from_millis(200);
/// The pause after a failed flush.
const FLUSH_RETRY: Duration = Duration::from_secs(1);

/// An open store. Dropping it flushes the journal.
pub struct SqliteStore {
    inner: Arc<Inner>,
    flushing: Option<JoinHandle<()>>,
}

/// The state that the store and its flushing thread share.
pub(crate) struct Inner {
    runtime: Runtime,
    writer: Mutex<SqliteConnection>,
    readers: SqlitePool,
    fence: AtomicI64,
    /// The index of the next entry of the audit log. One thread writes groups, and it alone changes this.
    audit_next: AtomicU64,
    /// The number of the next event for the outside, in the same way.
    publication_next: AtomicU64,
    /// The journal's files; none until the store was recovered.
    journal: Mutex<Option<Files>>,
    syncing: Syncing,
    /// Whether only the end of a flush is synced. Otherwise all transactions are as the database was opened.
    lazy: bool,
    memtable: Memtable,
    row_ids: RowIds,
    /// The thread that loads them.
    loading: Mutex<Option<JoinHandle<()>>>,
    /// Reads compressed documents.
    unpacking: Unpacking,
    /// Compresses them.
    packing: Mutex<Packing>,
    /// The number of the journal up to which a flush has begun. Its lock is for one flush at a time.
    flushing: Mutex<u64>,
    /// The lock for archiving, one thread at a time.
    archiving: Mutex<()>,
    /// Readers hold it from their look into the memtable to their look into the tables, so that no entry leaves
    /// the memtable between the two.
    gate: RwLock<()>,
    folder: PathBuf,
    path: PathBuf,
    _lock: File,
}

/// What a store does wrong, for a test of power cuts.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Risk {
    /// It syncs only what is in the tables, at a checkpoint (`synchronous = NORMAL`).
    SyncsLater,
    /// It never syncs (`synchronous = OFF`).
    NeverSyncs,
    /// It syncs all but the journal, as one that ends before its sync does.
    NoJournalSync,
}

/// Why a store could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another process has the store open.
    #[error("{0} is in use by another host; stop that one first")]
    InUse(PathBuf),
    /// Other users can access the folder or a file in it.
    #[error(transparent)]
    NotOurs(#[from] FileError),
    /// The restore of a backup into the folder has not ended.
    #[error("a backup was not wholly restored into {0}: run `rialto restore` again")]
    Restoring(PathBuf),
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
    /// Open the store in this folder. Creates both if they do not exist.
    ///
    /// # Errors
    /// When another host has it open, or the folder or the database cannot be used.
    pub fn open(folder: &Path) -> Result<Self, OpenError> {
        Self::open_with(folder, FlushPolicy::default())
    }

    /// The same, with a policy for flushes.
    ///
    /// # Errors
    /// As for `open`.
    pub fn open_with(folder: &Path, when: FlushPolicy) -> Result<Self, OpenError> {
        Self::open_synced(folder, when, (SqliteSynchronous::Full, Syncing::Each))
    }

    /// A store that loses acknowledged groups at a power cut, to show that the tests would notice.
    ///
    /// # Errors
    /// As for `open`.
    #[doc(hidden)]
    pub fn open_at_risk(folder: &Path, when: FlushPolicy, risk: Risk) -> Result<Self, OpenError> {
        let synchronous = match risk {
            Risk::SyncsLater => SqliteSynchronous::Normal,
            Risk::NeverSyncs => SqliteSynchronous::Off,
            Risk::NoJournalSync => SqliteSynchronous::Full,
        };
        Self::open_synced(folder, when, (synchronous, Syncing::Never))
    }

    fn open_synced(
        folder: &Path,
        when: FlushPolicy,
        (synchronous, syncing): (SqliteSynchronous, Syncing),
    ) -> Result<Self, OpenError> {
        let io = |path: &Path| {
            let path = path.to_owned();
            move |source| OpenError::Io { path, source }
        };
        let lock = ours(folder)?;
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
        let options = options(&path).synchronous(synchronous);
        runtime.block_on(migrate(&path, &options))?;
        let writer = runtime
            .block_on(
                options
                    .clone()
                    .thread_name(|_| "store-write".into())
                    .connect(),
            )
            .map_err(sqlite)?;
        let beside = runtime
            .block_on(
                options
                    .clone()
                    .thread_name(|_| "store-move".into())
                    .connect(),
            )
            .map_err(sqlite)?;
        runtime.spawn(end_with(checkpoint(beside)));
        let readers = {
            let _entered = runtime.enter();
            SqlitePoolOptions::new()
                .max_connections(READERS)
                .connect_lazy_with(options.read_only(true).create_if_missing(false))
        };
        let inner = Arc::new(Inner {
            runtime,
            writer: Mutex::new(writer),
            readers,
            fence: AtomicI64::new(0),
            audit_next: AtomicU64::new(0),
            publication_next: AtomicU64::new(1),
            journal: Mutex::new(None),
            syncing,
            lazy: matches!(synchronous, SqliteSynchronous::Full),
            memtable: Memtable::new(when),
            row_ids: RowIds::new(when.segment_documents),
            loading: Mutex::default(),
            unpacking: Unpacking::default(),
            packing: Mutex::new(Packing::new(&[])),
            flushing: Mutex::new(0),
            archiving: Mutex::new(()),
            gate: RwLock::new(()),
            folder: folder.to_owned(),
            path: path.clone(),
            _lock: lock,
        });
        let flushing = inner.clone();
        let flushing = std::thread::Builder::new()
            .name("store-flush".into())
            .spawn(move || {
                let body = || flushing.flush_as_due();
                fatal::guarded("the store's flush thread", |why| fatal::abort(why), body);
            })
            .map_err(io(&path))?;
        Ok(Self {
            inner,
            flushing: Some(flushing),
        })
    }

    /// Wait until the store has loaded what it needs to find documents. Reads and flushes wait for it, too.
    ///
    /// # Errors
    /// When it cannot be loaded, or the store was not recovered.
    pub fn wait_until_loaded(&self) -> Result<(), StoreError> {
        self.inner.row_ids.wait()
    }

    /// How far the tables are behind the journal.
    pub fn behind(&self) -> FlushLag {
        self.inner.memtable.behind()
    }

    /// The database's file.
    pub fn path(&self) -> &Path {
        &self.inner.path
    }
}

/// Lock the folder. Checks that only this user can access it and its files. Creates the database's file if it
/// does not exist; SQLite gives its other files the same mode.
fn ours(folder: &Path) -> Result<File, OpenError> {
    let owner = rialto_files::folder(folder)?;
    let lock = in_use::lock_file(folder, owner)?;
    in_use::locked(&lock).map_err(|()| OpenError::InUse(folder.to_owned()))?;
    let database = folder.join(backup::DATABASE);
    for beside in ["rialto.db-wal", "rialto.db-shm"] {
        rialto_files::accept_if_there(&folder.join(beside), owner)?;
    }
    if !rialto_files::accept_if_there(&database, owner)? {
        if folder.join(backup::UNFINISHED).exists() {
            return Err(OpenError::Restoring(folder.to_owned()));
        }
        rialto_files::create(&database)?;
    }
    journal::accept(folder, owner)?;
    rialto_files::sync_folder(folder)?;
    Ok(lock)
}

impl Drop for SqliteStore {
    fn drop(&mut self) {
        self.inner.memtable.close();
        if let Some(flushing) = self.flushing.take() {
            let _ = flushing.join();
        }
        // It has the folder's lock, too.
        if let Some(loading) = self.inner.loading.lock().take() {
            let _ = loading.join();
        }
    }
}

impl Inner {
    fn flush_as_due(&self) {
        while self.memtable.due() {
            let Err(error) = self.flush_with(&|took| self.memtable.pace(took)) else {
                continue;
            };
            self.memtable.failed(error.clone());
            if error == StoreError::Fenced {
                // The other host has flushed the journal, and this one adds nothing to it any more.
                tracing::error!(%error, "another host has taken over the store; this one writes nothing more");
                return;
            }
            tracing::error!(%error, "the store's journal could not be flushed to the tables; the host tries again");
            if self.memtable.pause(FLUSH_RETRY) {
                return;
            }
        }
        // The next start flushes what this leaves in the journal.
        let closed = self.flush_all().and_then(|()| {
            let journal = self.journal.lock().take();
            journal.map_or(Ok(()), Files::remove)
        });
        if let Err(error) = closed {
            tracing::warn!(%error, "the store was closed with groups in its journal; the next start flushes them");
        }
    }

    /// Flush all entries into the tables. An interrupted flush is done again first, with the same entries.
    fn flush_all(&self) -> Result<(), StoreError> {
        self.flush_with(&|_| {})
    }

    /// The same, with something to do between two slices, which is told how long the first one took.
    fn flush_with(&self, between: &dyn Fn(Duration)) -> Result<(), StoreError> {
        let mut begun = self.flushing.lock();
        loop {
            let entries = self.memtable.entries();
            let again = entries.partition_point(|entry| entry.seq <= *begun);
            let part = if again > 0 {
                &entries[..again]
            } else {
                &entries
            };
            let Some(last) = part.last() else {
                return Ok(());
            };
            assert!(
                last.seq >= *begun,
                "a flush through number {} begins after one through number {begun}",
                last.seq
            );
            *begun = last.seq;
            let fence = self.fence.load(Ordering::Acquire);
            let slices = Slices::new(&self.runtime, &self.writer, fence);
            let mut slices = slices.with_pauses(between);
            if self.lazy {
                slices = slices.lazily();
            }
            flush::flush(self, &mut slices, part)?;
            {
                let _nobody_looks = self.gate.write();
                self.memtable.flushed(last.seq);
            }
            self.free_journal(last.seq);
            self.keep_full_segments(&mut slices)?;
            if part.len() == entries.len() {
                return Ok(());
            }
        }
    }

    /// Free the journal's files of groups up to this number, and have one ready for the next groups. What fails here takes
    /// room, and no group: the next flush tries again.
    fn free_journal(&self, through: u64) {
        let spare = match &mut *self.journal.lock() {
            Some(files) => files.flushed(through).map(|()| files.spare()),
            None => Ok(None),
        };
        // Groups are committed while it is made.
        let made = spare.and_then(|spare| spare.map(NewFile::make).transpose());
        match made {
            Ok(Some(made)) => {
                if let Some(files) = &mut *self.journal.lock() {
                    files.take(made);
                }
            }
            Ok(None) => {}
            Err(error) => {
                tracing::warn!(%error, "files of the store's journal could not be freed or made; the next flush tries again");
            }
        }
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

/// Migrate the database's layout. Sorting for it may need more than memory, so it uses files.
async fn migrate(path: &Path, options: &SqliteConnectOptions) -> Result<(), OpenError> {
    let sqlite = |source| OpenError::Sqlite {
        path: path.to_owned(),
        source,
    };
    let options = options.clone().pragma("temp_store", "file");
    let mut connection = options.connect().await.map_err(sqlite)?;
    let migrator = migrations::migrator();
    let migrated = migrator.run_direct(None, &mut connection, false);
    migrated.await.map_err(|source| OpenError::Migrate {
        path: path.to_owned(),
        source,
    })?;
    connection.close().await.map_err(sqlite)
}

/// Run work that must not panic. If it panics, the process ends.
async fn end_with(work: impl Future<Output = ()> + Send + 'static) {
    if let Err(error) = tokio::spawn(work).await
        && error.is_panic()
    {
        fatal::abort(&format!("the store's checkpoint task panicked: {error}"));
    }
}

/// Checkpoint the write-ahead log beside the writer, until the store closes.
async fn checkpoint(mut connection: SqliteConnection) {
    loop {
        tokio::time::sleep(CHECKPOINT_PERIOD).await;
        let moved = sqlx::query("PRAGMA wal_checkpoint(PASSIVE)");
        if let Err(error) = moved.execute(&mut connection).await {
            tracing::warn!(%error, "the store's write-ahead log could not be checkpointed in the background; the writer will do it");
        }
    }
}

pub(crate) fn failed(error: sqlx::Error) -> StoreError {
    StoreError::Failed(error.to_string())
}

pub(crate) fn unreadable(what: &str, error: impl std::fmt::Display) -> StoreError {
    StoreError::Failed(format!("{what} in the store cannot be read: {error}"))
}

/// Used by `rows`.
pub(crate) fn collection(id: u32, component: &str, name: &str) -> Collection {
    Collection {
        id: CollectionId(id),
        component: component.into(),
        name: name.into(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

    use std::sync::atomic::AtomicU64;
    use std::time::Instant;

    use rialto_engine::history::{Ended, Kind, Record};
    use rialto_engine::store::{DocumentWrite, Group, Store as _};
    use rialto_engine::{Lsn, Timestamp, TurnId};

    use super::*;

    /// Longer than a thread takes to end.
    const SOON: Duration = Duration::from_secs(10);

    fn record(turn: u64) -> Arc<Record> {
        Arc::new(Record {
            turn: TurnId(turn),
            cause: None,
            at: Timestamp(0),
            took_us: 0,
            release: 1,
            kind: Kind::Request,
            component: "c".into(),
            function: "f".into(),
            trace: 0,
            subjects: vec!["s:1".into()],
            steps: vec![],
            ended: Ended::Executed,
        })
    }

    fn told(store: &SqliteStore, turn: u64) {
        let group = Group {
            lsn: Lsn(turn),
            history: vec![record(turn)],
            ..Group::default()
        };
        store.write(&group).unwrap();
    }

    #[test]
    fn a_store_reports_how_far_tables_are_behind() {
        let folder = rialto_files::temporary_folder().unwrap();
        let when = FlushPolicy {
            after: Duration::from_hours(1),
            ..FlushPolicy::default()
        };
        let store = SqliteStore::open_with(folder.path(), when).unwrap();
        store.recover().unwrap();
        assert_eq!(store.behind(), FlushLag::default());
        told(&store, 1);
        told(&store, 2);
        let behind = store.behind();
        assert_eq!((behind.groups, behind.failure), (2, None));
        assert!(behind.bytes > 0 && behind.oldest.is_some());
        drop(store);

        let at_once = FlushPolicy {
            after: Duration::ZERO,
            ..FlushPolicy::default()
        };
        let store = SqliteStore::open_with(folder.path(), at_once).unwrap();
        store.recover().unwrap();
        assert_eq!(store.behind(), FlushLag::default(), "a start flushes");
        {
            let mut writer = store.inner.writer.lock();
            let dropped = sqlx::query("DROP TABLE history").execute(&mut *writer);
            store.inner.runtime.block_on(dropped).unwrap();
        }
        told(&store, 3);
        let began = Instant::now();
        let failure = loop {
            if let Some(failure) = store.behind().failure {
                break failure.to_string();
            }
            assert!(began.elapsed() < SOON, "nothing is told");
            std::thread::sleep(Duration::from_millis(5));
        };
        assert!(failure.contains("history"), "{failure}");
        assert_eq!(store.behind().groups, 1, "it waits");
    }

    #[test]
    fn readers_of_a_history_block_nobody() {
        let folder = rialto_files::temporary_folder().unwrap();
        let store = Arc::new(SqliteStore::open(folder.path()).unwrap());
        store.recover().unwrap();
        told(&store, 1);
        // As a flush does when it removes entries from the memtable.
        let nobody_looks = store.inner.gate.write();
        let (sender, receiver) = std::sync::mpsc::channel();
        let reading = store.clone();
        std::thread::spawn(move || sender.send(reading.last_of_history("s:1", 10).unwrap()));
        let read = receiver.recv_timeout(SOON);
        drop(nobody_looks);
        let (records, earlier) = read.expect("it does not wait for the gate");
        assert_eq!((records.len(), earlier), (1, 0));
    }

    #[test]
    fn a_history_flushed_while_read_is_complete_in_order() {
        const TURNS: u64 = 300;
        let folder = rialto_files::temporary_folder().unwrap();
        let when = FlushPolicy {
            after: Duration::ZERO,
            ..FlushPolicy::default()
        };
        let store = SqliteStore::open_with(folder.path(), when).unwrap();
        store.recover().unwrap();
        let written = AtomicU64::new(0);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for turn in 1..=TURNS {
                    told(&store, turn);
                    written.store(turn, Ordering::Release);
                }
            });
            let mut seen = 0;
            while seen < TURNS {
                let least = written.load(Ordering::Acquire);
                let turns: Vec<u64> = {
                    let all = store.history("s:1").unwrap();
                    all.iter().map(|record| record.turn.0).collect()
                };
                seen = turns.len() as u64;
                assert!(seen >= least, "{seen} of {least}");
                assert!(turns.iter().copied().eq(1..=seen), "{turns:?}");
                let (last, earlier) = store.last_of_history("s:1", 3).unwrap();
                let first = last.first().map_or(0, |record| record.turn.0);
                assert_eq!(earlier as u64, first.saturating_sub(1));
            }
        });
    }

    #[test]
    fn a_store_that_was_taken_over_flushes_no_more() {
        let folder = rialto_files::temporary_folder().unwrap();
        let when = FlushPolicy {
            // Longer than it takes to open the second one.
            after: Duration::from_millis(1_500),
            ..FlushPolicy::default()
        };
        let older = SqliteStore::open_with(folder.path(), when).unwrap();
        older.recover().unwrap();
        older
            .write(&Group {
                lsn: rialto_engine::Lsn(1),
                documents: vec![DocumentWrite {
                    collection: CollectionId(1),
                    id: "a".into(),
                    version: 1,
                    body: Some("1".into()),
                }],
                ..Group::default()
            })
            .unwrap();
        // Without the lock file only the fencing token is left.
        std::fs::remove_file(folder.path().join("lock")).unwrap();
        let newer = SqliteStore::open(folder.path()).unwrap();
        newer.recover().unwrap();
        let flushing = older.flushing.as_ref().unwrap();
        let began = Instant::now();
        while !flushing.is_finished() {
            assert!(began.elapsed() < SOON, "it goes on flushing");
            std::thread::sleep(Duration::from_millis(5));
        }
        let seen = |store: &SqliteStore| store.read(CollectionId(1), "a").unwrap().unwrap().version;
        assert_eq!((seen(&older), seen(&newer)), (1, 1));
        assert_eq!(older.write(&Group::default()), Err(StoreError::Fenced));
    }
}
