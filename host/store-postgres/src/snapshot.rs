//! A snapshot of a database's documents and audit log, in one read-only transaction. It needs no lease, and a replica is enough.

use std::sync::Arc;
use std::time::Duration;

use rialto_engine::publications::{PublicationsState, StoredPublication};
use rialto_engine::store::{Collection, ScanRange, StoreError, StoredDocument};
use rialto_engine::{CollectionId, Name};
use rialto_store::{
    Archive, AuditSnapshot, DocumentSnapshot, Order, PublicationSnapshot, StoredCheckpoint,
    StoredEntry,
};
use sqlx::postgres::PgRow;
use sqlx::{Executor as _, PgConnection};
use tokio::runtime::Runtime;

use crate::audit;
use crate::connections::Connector;
use crate::failures::failed;
use crate::publications::{self, Cursor, Rows};
use crate::rows::{self, Columns, signed};
use crate::text::owned;
use crate::{Bound, OpenError, Settings, checks, migrations, parsed};

/// How long the server may take for one page.
const PAGE_MAX: Duration = Duration::from_secs(60);
/// How many documents one step of a visit reads.
const DOCUMENTS_PER_STEP: i64 = 1_000;

/// A snapshot of one partition.
pub struct PostgresSnapshot {
    // Before the runtime, which it needs until it is closed.
    connection: PgConnection,
    runtime: Runtime,
    partition: i32,
    collections: Vec<Collection>,
    lsn: u64,
    /// Where the next events for the outside begin.
    cursor: Arc<Cursor>,
}

/// Work that fails when the server takes too long for one page: it may be gone.
pub(crate) async fn in_time<T>(
    work: impl Future<Output = Result<T, sqlx::Error>>,
) -> Result<T, sqlx::Error> {
    let late = |_| sqlx::Error::Io(std::io::ErrorKind::TimedOut.into());
    tokio::time::timeout(PAGE_MAX, work).await.map_err(late)?
}

/// A connection in a read-only transaction, whose first statement was executed: it reads one commit.
///
/// # Errors
/// When the database cannot be read.
pub(crate) fn reading(url: &str) -> Result<(Runtime, PgConnection), OpenError> {
    let options = parsed(url)?;
    checks::protected(&options)?;
    let connector = Connector::new(options, &Settings::default());
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(OpenError::Threads)?;
    let connection = runtime.block_on(async {
        let mut connection = checks::reached(&connector).await?;
        // Between two reads, what was read is looked at.
        connection
            .execute("SET idle_in_transaction_session_timeout = 0")
            .await?;
        // The first read fixes the snapshot.
        connection
            .execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            .await?;
        migrations::readable(&mut connection).await?;
        Ok::<_, OpenError>(connection)
    })?;
    Ok((runtime, connection))
}

impl PostgresSnapshot {
    /// A snapshot as of now of the scheme in this database.
    ///
    /// # Errors
    /// When the database cannot be read, or has no scheme.
    pub fn open(url: &str) -> Result<Self, OpenError> {
        let (runtime, mut connection) = reading(url)?;
        let settings = Settings::default();
        let partition = settings.partition();
        let (head, collections) = runtime.block_on(async {
            let head = "SELECT lsn FROM rialto.partitions WHERE partition = $1";
            let head = sqlx::query(head).bind(partition);
            let head = head.fetch_optional(&mut connection).await?;
            let all =
                "SELECT id, component, name FROM rialto.collections WHERE partition = $1 ORDER BY id";
            let all = sqlx::query(all).bind(partition);
            let all = all.fetch_all(&mut connection).await?;
            Ok::<_, OpenError>((head, all))
        })?;
        let lsn = head.as_ref().map_or(Ok(0), |row| Columns(row).number(0));
        let collections = collections.iter().map(rows::collection);
        Ok(Self {
            lsn: lsn.map_err(OpenError::Contents)?,
            collections: collections
                .collect::<Result<_, _>>()
                .map_err(OpenError::Contents)?,
            runtime,
            connection,
            partition,
            cursor: Arc::default(),
        })
    }

    /// The rows of a query, whose first parameter is the partition.
    pub(crate) fn all(
        &mut self,
        text: &'static str,
        bind: impl FnOnce(Bound) -> Bound,
    ) -> Result<Vec<PgRow>, StoreError> {
        let query = bind(sqlx::query(text).bind(self.partition));
        let reading = query.fetch_all(&mut self.connection);
        self.runtime.block_on(in_time(reading)).map_err(failed)
    }

    /// Documents behind an id.
    fn page(
        &mut self,
        collection: CollectionId,
        after: Option<&Name>,
    ) -> Result<Vec<StoredDocument>, StoreError> {
        let rows = self.all(
            "SELECT id, version, body FROM rialto.documents
             WHERE partition = $1 AND collection = $2 AND ($3::text IS NULL OR id > $3)
             ORDER BY id LIMIT $4",
            |query| {
                query
                    .bind(i64::from(collection.0))
                    .bind(after.map(|id| owned(id)))
                    .bind(DOCUMENTS_PER_STEP)
            },
        )?;
        rows.iter().map(rows::document).collect()
    }
}

impl DocumentSnapshot for PostgresSnapshot {
    fn lsn(&self) -> u64 {
        self.lsn
    }

    fn collections(&self) -> &[Collection] {
        &self.collections
    }

    fn document(
        &mut self,
        collection: CollectionId,
        id: &str,
    ) -> Result<Option<StoredDocument>, StoreError> {
        let rows = self.all(
            "SELECT id, version, body FROM rialto.documents
             WHERE partition = $1 AND collection = $2 AND id = $3",
            |query| query.bind(i64::from(collection.0)).bind(owned(id)),
        )?;
        rows.first().map(rows::document).transpose()
    }

    fn range(
        &mut self,
        collection: CollectionId,
        range: &ScanRange,
    ) -> Result<Vec<StoredDocument>, StoreError> {
        let rows = self.all(
            "SELECT id, version, body FROM rialto.documents
             WHERE partition = $1 AND collection = $2 AND id >= $3 AND ($4::text IS NULL OR id < $4)
             ORDER BY id",
            |query| {
                query
                    .bind(i64::from(collection.0))
                    .bind(owned(&range.from))
                    .bind(range.to.as_deref().map(owned))
            },
        )?;
        rows.iter().map(rows::document).collect()
    }

    fn visit_while(
        &mut self,
        collections: &[CollectionId],
        _: Order,
        visit: &mut dyn FnMut(CollectionId, StoredDocument) -> bool,
    ) -> Result<(), StoreError> {
        for collection in collections {
            let mut after: Option<Name> = None;
            loop {
                let page = self.page(*collection, after.as_ref())?;
                let Some(last) = page.last() else { break };
                after = Some(last.id.clone());
                for document in page {
                    if !visit(*collection, document) {
                        return Ok(());
                    }
                }
            }
        }
        Ok(())
    }

    /// None: nothing is moved out of the tables.
    fn archives(&mut self) -> Result<Vec<Archive>, StoreError> {
        Ok(Vec::new())
    }
}

impl AuditSnapshot for PostgresSnapshot {
    fn audit_size(&mut self) -> Result<u64, StoreError> {
        let rows = self.all(audit::SIZE, |query| query)?;
        rows.first().map_or(Ok(0), |row| Columns(row).number(0))
    }

    fn audit_entries(&mut self, first: u64, limit: u32) -> Result<Vec<StoredEntry>, StoreError> {
        let first = signed(first)?;
        let rows = self.all(audit::ENTRIES, |query| {
            query.bind(first).bind(i64::from(limit))
        })?;
        rows.iter().map(audit::entry).collect()
    }

    fn audit_tile(&mut self, level: u8, index: u64) -> Result<Option<Vec<u8>>, StoreError> {
        let index = signed(index)?;
        let rows = self.all(audit::TILE, |query| {
            query.bind(i32::from(level)).bind(index)
        })?;
        rows.first().map(audit::hashes).transpose()
    }

    fn audit_checkpoints(&mut self, limit: u32) -> Result<Vec<StoredCheckpoint>, StoreError> {
        let rows = self.all(audit::CHECKPOINTS, |query| query.bind(i64::from(limit)))?;
        rows.iter().map(audit::checkpoint).collect()
    }

    fn audit_archives(&mut self) -> Result<Vec<Archive>, StoreError> {
        self.archives()
    }
}

impl Rows for PostgresSnapshot {
    fn rows(
        &mut self,
        text: &'static str,
        bind: impl Fn(Bound) -> Bound,
    ) -> Result<Vec<PgRow>, StoreError> {
        self.all(text, bind)
    }
}

impl PublicationSnapshot for PostgresSnapshot {
    fn publications(
        &mut self,
        first: u64,
        limit: u32,
    ) -> Result<Vec<StoredPublication>, StoreError> {
        let cursor = self.cursor.clone();
        publications::publications(self, &cursor, (first, limit))
    }

    fn publications_state(&mut self) -> Result<PublicationsState, StoreError> {
        let partition = self.partition;
        publications::state(self, partition)
    }
}
