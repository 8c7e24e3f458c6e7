//! A snapshot: all documents as of one commit, read from the store's file, whether a host runs or not.
//!
//! All reads are in one transaction, so no later commit is visible. The journal's entries take precedence
//! over the tables, also during a flush, because entries stay in the journal until its last slice. A snapshot
//! writes nothing and blocks no host. While it is open, SQLite's write-ahead log grows, because the snapshot
//! may still read its pages.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rialto_engine::store::{Collection, ScanRange, StoreError, StoredDocument};
use rialto_engine::{CollectionId, Name};
use rialto_store::{DocumentSnapshot, Order};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions as _, Executor as _, Row as _, SqliteConnection};
use tokio::runtime::Runtime;

use crate::dictionaries::Unpacking;
use crate::journal::{Purpose, Reading};
use crate::retention::{self, Archive};
use crate::slices::counter;
use crate::{dictionaries, failed, ranges, row_ids, rows};

/// How many documents one step of a visit reads.
const DOCUMENTS_PER_STEP: usize = 1_000;

/// Why there is no snapshot of a store.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    /// The folder has no database.
    #[error(
        "there is no store in {0}; give the scheme's folder with --at, or the store's own with --state"
    )]
    NoStore(PathBuf),
    /// A later version of the host created it.
    #[error(
        "{path} has the layout {found}, this version knows {known}: use the version that serves it"
    )]
    Newer {
        /// The database.
        path: PathBuf,
        /// The layout's number.
        found: i64,
        /// The newest that is known here.
        known: i64,
    },
    /// An earlier version of the host created it.
    #[error(
        "{path} has the layout {found}, this version reads {known}: serve it with this version once, which brings it up to date"
    )]
    Older {
        /// The database.
        path: PathBuf,
        /// The layout's number.
        found: i64,
        /// The one that is read here.
        known: i64,
    },
    /// The system refused.
    #[error("{path} cannot be used")]
    Io {
        /// The database.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// SQLite refused.
    #[error("{path} cannot be opened as a store")]
    Sqlite {
        /// The database.
        path: PathBuf,
        /// Why.
        source: sqlx::Error,
    },
    /// It was opened, and its contents cannot be read.
    #[error("{path} cannot be read")]
    Unreadable {
        /// The database.
        path: PathBuf,
        /// Why.
        source: StoreError,
    },
}

/// The state of a document in the journal; none if it was removed.
type Newer = Option<StoredDocument>;

/// A snapshot of a store.
pub struct Snapshot {
    runtime: Runtime,
    connection: SqliteConnection,
    unpacking: Unpacking,
    /// All segments, the newest first.
    segments: Vec<u32>,
    collections: Vec<Collection>,
    newer: BTreeMap<CollectionId, BTreeMap<Name, Newer>>,
    lsn: u64,
    /// How many groups are in the journal alone.
    in_journal: usize,
}

impl Snapshot {
    /// A snapshot of the store in this folder as of now.
    ///
    /// # Errors
    /// When there is no store, or it cannot be read.
    pub fn open(folder: &Path) -> Result<Self, SnapshotError> {
        let Opened {
            runtime,
            mut connection,
            journal,
        } = open(folder)?;
        let path = file(folder);
        let read = runtime.block_on(read_head(&mut connection, &journal));
        let head = read.map_err(|source| SnapshotError::Unreadable { path, source })?;
        Ok(Self {
            runtime,
            connection,
            unpacking: head.unpacking,
            segments: head.segments,
            collections: head.collections,
            newer: head.newer,
            lsn: head.lsn,
            in_journal: head.in_journal,
        })
    }

    /// Read something else in the snapshot's transaction.
    pub(crate) fn read<T>(
        &mut self,
        read: impl AsyncFnOnce(&mut SqliteConnection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.runtime.block_on(read(&mut self.connection))
    }

    /// How many groups are in the journal alone.
    pub(crate) fn in_journal(&self) -> usize {
        self.in_journal
    }

    /// The last turn of the snapshot.
    pub fn lsn(&self) -> u64 {
        self.lsn
    }

    /// All archives, by class and segment.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn archives(&mut self) -> Result<Vec<Archive>, StoreError> {
        let reading = retention::archives(&mut self.connection);
        self.runtime.block_on(reading)
    }

    /// All collections.
    pub fn collections(&self) -> &[Collection] {
        &self.collections
    }

    /// A collection, by its component and name, if anything was ever written to it.
    pub fn collection(&self, component: &str, name: &str) -> Option<CollectionId> {
        let is_it = |c: &&Collection| &*c.component == component && &*c.name == name;
        self.collections.iter().find(is_it).map(|c| c.id)
    }

    /// One document.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn document(
        &mut self,
        collection: CollectionId,
        id: &str,
    ) -> Result<Option<StoredDocument>, StoreError> {
        let newer = self.newer.get(&collection).and_then(|of| of.get(id));
        if let Some(newer) = newer {
            return Ok(newer.clone());
        }
        let range = ranges::just(id);
        let reading = ranges::first(
            &mut self.connection,
            &self.unpacking,
            &self.segments,
            collection,
            &range,
            1,
        );
        Ok(self.runtime.block_on(reading)?.into_values().next())
    }

    /// The documents of a range, in the order of their ids. Meant for few documents.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn range(
        &mut self,
        collection: CollectionId,
        range: &ScanRange,
    ) -> Result<Vec<StoredDocument>, StoreError> {
        let reading = ranges::first(
            &mut self.connection,
            &self.unpacking,
            &self.segments,
            collection,
            range,
            usize::MAX,
        );
        let stored = self.runtime.block_on(reading)?.into_iter();
        let mut documents: BTreeMap<_, _> = stored.map(|(id, d)| (id, Some(d))).collect();
        let newer = self.newer.get(&collection).into_iter().flatten();
        let newer = newer.filter(|(id, _)| range.contains(id));
        documents.extend(newer.map(|(id, found)| (id.clone(), found.clone())));
        Ok(documents.into_values().flatten().collect())
    }

    /// Visit all documents of some collections, each once. With [`Order::ById`] the collections come one after
    /// the other.
    ///
    /// # Errors
    /// When the store cannot be read, and whatever the visitor ends with.
    pub fn visit<E: From<StoreError>>(
        &mut self,
        collections: &[CollectionId],
        order: Order,
        visit: &mut dyn FnMut(CollectionId, StoredDocument) -> Result<(), E>,
    ) -> Result<(), E> {
        match order {
            Order::ById => collections
                .iter()
                .try_for_each(|collection| self.visit_by_id(*collection, visit)),
            Order::AsStored => self.visit_as_stored(collections, visit),
        }
    }

    fn visit_by_id<E: From<StoreError>>(
        &mut self,
        collection: CollectionId,
        visit: &mut dyn FnMut(CollectionId, StoredDocument) -> Result<(), E>,
    ) -> Result<(), E> {
        let nothing = BTreeMap::new();
        let newer = self.newer.get(&collection).unwrap_or(&nothing);
        let mut newer = newer.iter().peekable();
        let mut rest = ScanRange::all();
        loop {
            let page = ranges::first(
                &mut self.connection,
                &self.unpacking,
                &self.segments,
                collection,
                &rest,
                DOCUMENTS_PER_STEP,
            );
            let page = self.runtime.block_on(page)?;
            let Some((last, _)) = page.last_key_value() else {
                break;
            };
            rest = ranges::behind(last);
            for document in page.into_values() {
                // Documents that are only in the journal, or are there in another state.
                while let Some((_, found)) = newer.next_if(|(id, _)| **id < document.id) {
                    found.clone().map_or(Ok(()), |d| visit(collection, d))?;
                }
                match newer.next_if(|(id, _)| **id == document.id) {
                    Some((_, found)) => {
                        found.clone().map_or(Ok(()), |d| visit(collection, d))?;
                    }
                    None => visit(collection, document)?,
                }
            }
        }
        for found in newer.filter_map(|(_, found)| found.clone()) {
            visit(collection, found)?;
        }
        Ok(())
    }

    fn visit_as_stored<E: From<StoreError>>(
        &mut self,
        collections: &[CollectionId],
        visit: &mut dyn FnMut(CollectionId, StoredDocument) -> Result<(), E>,
    ) -> Result<(), E> {
        let wanted: Vec<u32> = collections.iter().map(|collection| collection.0).collect();
        let wanted = rows::json(&wanted)?;
        let mut after = 0_i64;
        loop {
            let page = page_as_stored(&mut self.connection, &self.unpacking, after, &wanted);
            let page = self.runtime.block_on(page)?;
            let Some((last, ..)) = page.last() else {
                break;
            };
            after = *last;
            for (_, collection, document) in page {
                let newer = self.newer.get(&collection);
                if newer.is_none_or(|newer| !newer.contains_key(&document.id)) {
                    visit(collection, document)?;
                }
            }
        }
        for collection in collections {
            let newer = self.newer.get(collection).into_iter().flatten();
            for document in newer.filter_map(|(_, found)| found.clone()) {
                visit(*collection, document)?;
            }
        }
        Ok(())
    }
}

/// The visitor of [`DocumentSnapshot`] wants no more, or the store cannot be read.
enum Ended {
    Enough,
    Failed(StoreError),
}

impl From<StoreError> for Ended {
    fn from(error: StoreError) -> Self {
        Self::Failed(error)
    }
}

impl DocumentSnapshot for Snapshot {
    fn lsn(&self) -> u64 {
        Self::lsn(self)
    }

    fn collections(&self) -> &[Collection] {
        Self::collections(self)
    }

    fn document(
        &mut self,
        collection: CollectionId,
        id: &str,
    ) -> Result<Option<StoredDocument>, StoreError> {
        Self::document(self, collection, id)
    }

    fn range(
        &mut self,
        collection: CollectionId,
        range: &ScanRange,
    ) -> Result<Vec<StoredDocument>, StoreError> {
        Self::range(self, collection, range)
    }

    fn visit_while(
        &mut self,
        collections: &[CollectionId],
        order: Order,
        visit: &mut dyn FnMut(CollectionId, StoredDocument) -> bool,
    ) -> Result<(), StoreError> {
        let visited = self.visit(collections, order, &mut |collection, document| {
            let goes_on = visit(collection, document);
            goes_on.then_some(()).ok_or(Ended::Enough)
        });
        match visited {
            Ok(()) | Err(Ended::Enough) => Ok(()),
            Err(Ended::Failed(error)) => Err(error),
        }
    }

    fn archives(&mut self) -> Result<Vec<Archive>, StoreError> {
        Self::archives(self)
    }
}

impl Drop for Snapshot {
    fn drop(&mut self) {
        // If this fails, the transaction ends with its connection.
        let _ = self.runtime.block_on(self.connection.execute("ROLLBACK"));
    }
}

/// The database of the store in a folder.
fn file(folder: &Path) -> PathBuf {
    folder.join("rialto.db")
}

/// A store that is read.
pub(crate) struct Opened {
    pub runtime: Runtime,
    /// It has begun a transaction, which reads one commit.
    pub connection: SqliteConnection,
    /// It has begun before the transaction.
    pub journal: Reading,
}

/// A connection to the store in this folder, with a transaction that reads one commit of it.
///
/// # Errors
/// When there is no store, or it cannot be read, or it has another layout.
pub(crate) fn open(folder: &Path) -> Result<Opened, SnapshotError> {
    let path = file(folder);
    if !path.is_file() {
        return Err(SnapshotError::NoStore(folder.to_owned()));
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = runtime.map_err(|source| SnapshotError::Io {
        path: path.clone(),
        source,
    })?;
    let sqlite = |source| SnapshotError::Sqlite {
        path: path.clone(),
        source,
    };
    let journal = Reading::begin(folder, Purpose::Look).map_err(|source| SnapshotError::Io {
        path: path.clone(),
        source,
    })?;
    let options = SqliteConnectOptions::new()
        .filename(&path)
        .read_only(true)
        .create_if_missing(false)
        .pragma("cache_size", "-64000")
        .disable_statement_logging();
    let mut connection = runtime.block_on(options.connect()).map_err(sqlite)?;
    let found = runtime.block_on(begin(&mut connection)).map_err(sqlite)?;
    check_layout(&path, found)?;
    Ok(Opened {
        runtime,
        connection,
        journal,
    })
}

/// Refuse a store with another layout than this version's.
pub(crate) fn check_layout(path: &Path, found: i64) -> Result<(), SnapshotError> {
    let known = newest_layout();
    let path = path.to_owned();
    match found.cmp(&known) {
        Ordering::Greater => Err(SnapshotError::Newer { path, found, known }),
        Ordering::Less => Err(SnapshotError::Older { path, found, known }),
        Ordering::Equal => Ok(()),
    }
}

/// The number of the newest layout that this version makes.
pub(crate) fn newest_layout() -> i64 {
    let versions = crate::migrations::migrator();
    versions.iter().map(|one| one.version).max().unwrap_or(0)
}

/// Begin the one transaction. Returns the number of the store's layout.
async fn begin(connection: &mut SqliteConnection) -> Result<i64, sqlx::Error> {
    connection.execute("BEGIN DEFERRED").await?;
    // The first read fixes the snapshot.
    sqlx::query_scalar("SELECT coalesce(max(version), 0) FROM _sqlx_migrations")
        .fetch_one(connection)
        .await
}

/// What a snapshot reads at its beginning.
struct Head {
    unpacking: Unpacking,
    collections: Vec<Collection>,
    newer: BTreeMap<CollectionId, BTreeMap<Name, Newer>>,
    lsn: u64,
    segments: Vec<u32>,
    in_journal: usize,
}

async fn read_head(
    connection: &mut SqliteConnection,
    journal: &Reading,
) -> Result<Head, StoreError> {
    let mut collections = rows::collections(connection).await?;
    let mut newer: BTreeMap<CollectionId, BTreeMap<Name, Newer>> = BTreeMap::new();
    let mut lsn = counter(connection, "lsn").await?;
    let entries = journal.entries(connection).await?;
    let in_journal = entries.len();
    for (entry, _) in entries {
        lsn = lsn.max(entry.lsn);
        for (id, component, name) in &entry.collections {
            if collections.iter().all(|known| known.id.0 != *id) {
                collections.push(crate::collection(*id, component, name));
            }
        }
        for document in entry.documents {
            let found = document.body.as_ref().map(|body| StoredDocument {
                id: document.id.clone(),
                version: document.version,
                body: body.clone(),
            });
            let (collection, id) = document.key();
            newer.entry(collection).or_default().insert(id, found);
        }
    }
    Ok(Head {
        unpacking: Unpacking::of(&dictionaries::load(connection).await?),
        collections,
        newer,
        lsn,
        segments: row_ids::all_segments(connection).await?,
        in_journal,
    })
}

/// Documents after a row id. The plus sign keeps SQLite from using the index, which would read pages in
/// random order.
async fn page_as_stored(
    connection: &mut SqliteConnection,
    unpacking: &Unpacking,
    after: i64,
    collections: &str,
) -> Result<Vec<(i64, CollectionId, StoredDocument)>, StoreError> {
    let rows = sqlx::query(
        "SELECT id, version, body, place, collection FROM documents
         WHERE place > ? AND +collection IN (SELECT value FROM json_each(?))
         ORDER BY place LIMIT ?",
    )
    .bind(after)
    .bind(collections)
    .bind(DOCUMENTS_PER_STEP as i64)
    .fetch_all(connection)
    .await
    .map_err(failed)?;
    let placed = |row: &sqlx::sqlite::SqliteRow| {
        let collection = CollectionId(row.try_get(4).map_err(failed)?);
        Ok((
            row.try_get(3).map_err(failed)?,
            collection,
            rows::document(row, unpacking)?,
        ))
    };
    rows.iter().map(placed).collect()
}
