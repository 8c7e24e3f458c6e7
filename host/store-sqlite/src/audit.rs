//! The audit log in the tables: its entries, the tiles of its tree, and its checkpoints. Entries come with the groups of the
//! engine and are in the tables when they are flushed, a second later at most. Tiles and checkpoints follow them.

use std::sync::atomic::Ordering;

use rialto_engine::Timestamp;
use rialto_engine::store::StoreError;
use sqlx::sqlite::SqliteRow;
use sqlx::{QueryBuilder, Row as _, Sqlite, SqliteConnection};

use crate::rows::{signed, unsigned};
use crate::slices::{Bound, counter};
use crate::snapshot::Snapshot;
use crate::{SqliteStore, failed};

/// An entry, with its index in the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredEntry {
    /// Counts up from 0.
    pub index: u64,
    /// When, as its writer says.
    pub at: Timestamp,
    /// JSON. These bytes are hashed.
    pub body: String,
}

/// A tile of the tree's hashes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredTile {
    /// Its level; 0 for hashes of entries.
    pub level: u8,
    /// Its index within the level.
    pub index: u64,
    /// The hashes, one behind the other.
    pub hashes: Vec<u8>,
}

/// A signed checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredCheckpoint {
    /// How many entries it covers.
    pub size: u64,
    /// When it was signed.
    pub at: Timestamp,
    /// Its text.
    pub note: String,
}

/// Which entries are wanted. All conditions hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EntryFilter {
    /// Entries of this instant or later: milliseconds since 1970.
    pub since: Option<u64>,
    /// Entries before this instant.
    pub until: Option<u64>,
    /// Texts that stand in the entry: of each list, one of its spellings.
    pub texts: Vec<Vec<String>>,
    /// Entries with this text within their first 32 bytes are not wanted.
    pub without_head: Option<&'static str>,
}

/// Where a text of [`EntryFilter::without_head`] begins at most.
const HEAD_BYTES: usize = 32;

impl EntryFilter {
    /// Whether it wants an entry.
    pub(crate) fn wants(&self, entry: &StoredEntry) -> bool {
        let at = entry.at.0;
        self.since.is_none_or(|since| at >= since)
            && self.until.is_none_or(|until| at < until)
            && self.texts.iter().all(|spellings| {
                let mut spellings = spellings.iter();
                spellings.any(|text| entry.body.contains(text))
            })
            && self
                .without_head
                .is_none_or(|text| entry.body.find(text).is_none_or(|at| at >= HEAD_BYTES))
    }
}

impl SqliteStore {
    /// Entries of the audit log that a filter wants, in order, at most `limit` of them, from one index to another, which is
    /// not included.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn search_audit(
        &self,
        filter: &EntryFilter,
        (first, end): (u64, u64),
        limit: u32,
    ) -> Result<Vec<StoredEntry>, StoreError> {
        self.read_audit(async |reader| search(reader, filter, (first, end), limit).await)
    }

    /// How many entries of the audit log are in the tables. The next entry has this index.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn audit_size(&self) -> Result<u64, StoreError> {
        self.read_audit(async |reader| counter(reader, "audit").await)
    }

    /// Whether all entries of the audit log are in the tables, and none is in the journal alone.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn audit_is_flushed(&self) -> Result<bool, StoreError> {
        let next = self.inner.audit_next.load(Ordering::Acquire);
        Ok(self.audit_size()? >= next)
    }

    /// The index of the first entry of this instant or later, if entries are in the order of their instants; the index of the
    /// next entry if there is none. It looks at some 20 entries of a million.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn audit_index_of(&self, at: Timestamp) -> Result<u64, StoreError> {
        self.read_audit(async |reader| {
            let (mut low, mut high) = (0, counter(reader, "audit").await?);
            while low < high {
                let middle = low + (high - low) / 2;
                // The next one, in case that somebody has removed it.
                match entries(reader, middle, 1).await?.pop() {
                    Some(entry) if entry.at < at && entry.index < high => low = entry.index + 1,
                    _ => high = middle,
                }
            }
            Ok(low)
        })
    }

    /// Entries of the audit log from this index on, in order, at most `limit` of them.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn audit_entries(&self, first: u64, limit: u32) -> Result<Vec<StoredEntry>, StoreError> {
        self.read_audit(async |reader| entries(reader, first, limit).await)
    }

    /// A tile of the audit log's tree; none if it is not stored.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn audit_tile(&self, level: u8, index: u64) -> Result<Option<Vec<u8>>, StoreError> {
        self.read_audit(async |reader| tile(reader, level, index).await)
    }

    /// The newest checkpoint of the audit log; none before the first.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn last_audit_checkpoint(&self) -> Result<Option<StoredCheckpoint>, StoreError> {
        let newest = self.read_audit(async |reader| checkpoints(reader, 1).await);
        Ok(newest?.pop())
    }

    /// Store a checkpoint of the audit log, with the tiles that have changed since the last one. `replaces` is the size of
    /// the checkpoint whose place it takes.
    ///
    /// # Errors
    /// When the store cannot write or belongs to a newer host.
    pub fn add_audit_checkpoint(
        &self,
        checkpoint: &StoredCheckpoint,
        tiles: &[StoredTile],
        replaces: Option<u64>,
    ) -> Result<(), StoreError> {
        let mut slices = self.slices();
        let head = "INSERT OR REPLACE INTO audit_tiles (level, place, hashes) VALUES";
        slices.rows(head, "(?,?,?)", "", tiles, |b, tile| {
            b.add(tile.level)?;
            b.number(tile.index)?;
            b.add(tile.hashes.clone())
        })?;
        if let Some(replaced) = replaces {
            let mut bound = Bound::default();
            bound.number(replaced)?;
            slices.statement("DELETE FROM audit_checkpoints WHERE size = ?", bound, 0)?;
        }
        let mut bound = Bound::default();
        bound.number(checkpoint.size)?;
        bound.number(checkpoint.at.0)?;
        bound.add(checkpoint.note.clone())?;
        // Last, so that a checkpoint's tiles are there.
        let rows = slices.statement(
            "INSERT OR REPLACE INTO audit_checkpoints (size, at, note) VALUES (?, ?, ?)",
            bound,
            1,
        )?;
        assert!(rows == 1, "a checkpoint is kept in {rows} rows");
        slices.finish()
    }

    /// The index of the first entry of the audit log that is yet to be sent to the collector; 0 if none was sent.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn audit_sent(&self) -> Result<u64, StoreError> {
        self.read_audit(async |reader| counter(reader, "audit_sent").await)
    }

    /// The index of the first entry of the audit log in the tables; none without entries.
    pub(crate) fn first_audit_entry(&self) -> Result<Option<u64>, StoreError> {
        self.read_audit(async |reader| {
            let first = sqlx::query_scalar("SELECT min(place) FROM audit_entries");
            let first: Option<i64> = first.fetch_one(reader).await.map_err(failed)?;
            first.map(unsigned).transpose()
        })
    }

    /// Store the index of the first entry of the audit log that is yet to be sent to the collector.
    ///
    /// # Errors
    /// When the store cannot write or belongs to a newer host.
    pub fn set_audit_sent(&self, next: u64) -> Result<(), StoreError> {
        let mut bound = Bound::default();
        bound.number(next)?;
        let rows = self.change("UPDATE meta SET value = ? WHERE key = 'audit_sent'", bound)?;
        assert!(rows == 1, "the entries sent are kept in {rows} rows");
        Ok(())
    }

    fn read_audit<T>(
        &self,
        read: impl AsyncFnOnce(&mut SqliteConnection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let inner = &self.inner;
        inner.runtime.block_on(async {
            let mut reader = inner.readers.acquire().await.map_err(failed)?;
            read(&mut reader).await
        })
    }
}

impl Snapshot {
    /// How many entries of the audit log there are, by the store's own counter.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn audit_size(&mut self) -> Result<u64, StoreError> {
        self.read(async |reader| counter(reader, "audit").await)
    }

    /// Entries of the audit log from this index on, in order, at most `limit` of them. Some may be missing.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn audit_entries(
        &mut self,
        first: u64,
        limit: u32,
    ) -> Result<Vec<StoredEntry>, StoreError> {
        self.read(async |reader| entries(reader, first, limit).await)
    }

    /// A tile of the audit log's tree; none if it is not stored.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn audit_tile(&mut self, level: u8, index: u64) -> Result<Option<Vec<u8>>, StoreError> {
        self.read(async |reader| tile(reader, level, index).await)
    }

    /// The checkpoints of the audit log, the newest first, at most `limit` of them.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn audit_checkpoints(&mut self, limit: u32) -> Result<Vec<StoredCheckpoint>, StoreError> {
        self.read(async |reader| checkpoints(reader, limit).await)
    }
}

pub(crate) async fn entries(
    reader: &mut SqliteConnection,
    first: u64,
    limit: u32,
) -> Result<Vec<StoredEntry>, StoreError> {
    let rows = sqlx::query(
        "SELECT place, at, entry FROM audit_entries WHERE place >= ? ORDER BY place LIMIT ?",
    )
    .bind(signed(first)?)
    .bind(limit)
    .fetch_all(reader)
    .await
    .map_err(failed)?;
    rows.iter().map(entry).collect()
}

/// How many entries there are from one index to another, and the latest instant of one.
pub(crate) async fn span(
    reader: &mut SqliteConnection,
    (first, end): (u64, u64),
) -> Result<(u64, u64), StoreError> {
    let (count, latest): (i64, i64) = sqlx::query_as(
        "SELECT count(*), coalesce(max(at), 0) FROM audit_entries WHERE place >= ? AND place < ?",
    )
    .bind(signed(first)?)
    .bind(signed(end)?)
    .fetch_one(reader)
    .await
    .map_err(failed)?;
    Ok((unsigned(count)?, unsigned(latest)?))
}

async fn search(
    reader: &mut SqliteConnection,
    filter: &EntryFilter,
    (first, end): (u64, u64),
    limit: u32,
) -> Result<Vec<StoredEntry>, StoreError> {
    let mut query = QueryBuilder::<Sqlite>::new("SELECT place, at, entry FROM audit_entries");
    query.push(" WHERE place >= ").push_bind(signed(first)?);
    query.push(" AND place < ").push_bind(signed(end)?);
    let instant = |at: u64| i64::try_from(at).unwrap_or(i64::MAX);
    if let Some(since) = filter.since {
        query.push(" AND at >= ").push_bind(instant(since));
    }
    if let Some(until) = filter.until {
        query.push(" AND at < ").push_bind(instant(until));
    }
    for spellings in &filter.texts {
        query.push(" AND (FALSE");
        for text in spellings {
            query.push(" OR instr(entry, ");
            query.push_bind(text).push(") > 0");
        }
        query.push(")");
    }
    if let Some(text) = filter.without_head {
        query.push(" AND instr(substr(entry, 1, ");
        query.push_bind((HEAD_BYTES + text.len()) as i64);
        query.push("), ").push_bind(text).push(") = 0");
    }
    query.push(" ORDER BY place LIMIT ").push_bind(limit);
    let rows = query.build().fetch_all(reader).await.map_err(failed)?;
    rows.iter().map(entry).collect()
}

fn entry(row: &SqliteRow) -> Result<StoredEntry, StoreError> {
    Ok(StoredEntry {
        index: unsigned(row.try_get(0).map_err(failed)?)?,
        at: Timestamp(unsigned(row.try_get(1).map_err(failed)?)?),
        body: row.try_get(2).map_err(failed)?,
    })
}

async fn tile(
    reader: &mut SqliteConnection,
    level: u8,
    index: u64,
) -> Result<Option<Vec<u8>>, StoreError> {
    sqlx::query_scalar("SELECT hashes FROM audit_tiles WHERE level = ? AND place = ?")
        .bind(level)
        .bind(signed(index)?)
        .fetch_optional(reader)
        .await
        .map_err(failed)
}

pub(crate) async fn checkpoints(
    reader: &mut SqliteConnection,
    limit: u32,
) -> Result<Vec<StoredCheckpoint>, StoreError> {
    let rows =
        sqlx::query("SELECT size, at, note FROM audit_checkpoints ORDER BY size DESC LIMIT ?")
            .bind(limit)
            .fetch_all(reader)
            .await
            .map_err(failed)?;
    rows.iter()
        .map(|row| {
            Ok(StoredCheckpoint {
                size: unsigned(row.try_get(0).map_err(failed)?)?,
                at: Timestamp(unsigned(row.try_get(1).map_err(failed)?)?),
                note: row.try_get(2).map_err(failed)?,
            })
        })
        .collect()
}
