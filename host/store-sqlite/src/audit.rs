//! The audit log in the tables: its entries, the tiles of its tree, and its checkpoints. Entries come with the groups of the
//! engine and are in the tables when they are flushed, a second later at most. Tiles and checkpoints follow them.

use std::sync::atomic::Ordering;

use rialto_engine::Timestamp;
use rialto_engine::store::StoreError;
use rialto_store::{
    Archive, AuditSnapshot, AuditStore, EntryFilter, HEAD_BYTES, StoredCheckpoint, StoredEntry,
    StoredTile,
};
use sqlx::sqlite::SqliteRow;
use sqlx::{QueryBuilder, Row as _, Sqlite, SqliteConnection};

use crate::rows::{signed, unsigned};
use crate::slices::{Bound, counter};
use crate::snapshot::Snapshot;
use crate::{SqliteStore, failed};

impl AuditStore for SqliteStore {
    fn search_audit(
        &self,
        filter: &EntryFilter,
        (first, end): (u64, u64),
        limit: u32,
    ) -> Result<Vec<StoredEntry>, StoreError> {
        self.read_audit(async |reader| search(reader, filter, (first, end), limit).await)
    }

    fn audit_size(&self) -> Result<u64, StoreError> {
        self.read_audit(async |reader| counter(reader, "audit").await)
    }

    fn audit_is_flushed(&self) -> Result<bool, StoreError> {
        let next = self.inner.audit_next.load(Ordering::Acquire);
        Ok(self.audit_size()? >= next)
    }

    fn audit_index_of(&self, at: Timestamp) -> Result<u64, StoreError> {
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

    fn audit_entries(&self, first: u64, limit: u32) -> Result<Vec<StoredEntry>, StoreError> {
        self.read_audit(async |reader| entries(reader, first, limit).await)
    }

    fn audit_tile(&self, level: u8, index: u64) -> Result<Option<Vec<u8>>, StoreError> {
        self.read_audit(async |reader| tile(reader, level, index).await)
    }

    fn last_audit_checkpoint(&self) -> Result<Option<StoredCheckpoint>, StoreError> {
        let newest = self.read_audit(async |reader| checkpoints(reader, 1).await);
        Ok(newest?.pop())
    }

    fn add_audit_checkpoint(
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

    fn audit_sent(&self) -> Result<u64, StoreError> {
        self.read_audit(async |reader| counter(reader, "audit_sent").await)
    }

    fn first_audit_entry(&self) -> Result<Option<u64>, StoreError> {
        self.read_audit(async |reader| {
            let first = sqlx::query_scalar("SELECT min(place) FROM audit_entries");
            let first: Option<i64> = first.fetch_one(reader).await.map_err(failed)?;
            first.map(unsigned).transpose()
        })
    }

    fn set_audit_sent(&self, next: u64) -> Result<(), StoreError> {
        let mut bound = Bound::default();
        bound.number(next)?;
        let rows = self.change("UPDATE meta SET value = ? WHERE key = 'audit_sent'", bound)?;
        assert!(rows == 1, "the entries sent are kept in {rows} rows");
        Ok(())
    }
}

impl SqliteStore {
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

impl AuditSnapshot for Snapshot {
    fn audit_size(&mut self) -> Result<u64, StoreError> {
        self.read(async |reader| counter(reader, "audit").await)
    }

    fn audit_entries(&mut self, first: u64, limit: u32) -> Result<Vec<StoredEntry>, StoreError> {
        self.read(async |reader| entries(reader, first, limit).await)
    }

    fn audit_tile(&mut self, level: u8, index: u64) -> Result<Option<Vec<u8>>, StoreError> {
        self.read(async |reader| tile(reader, level, index).await)
    }

    fn audit_checkpoints(&mut self, limit: u32) -> Result<Vec<StoredCheckpoint>, StoreError> {
        self.read(async |reader| checkpoints(reader, limit).await)
    }

    fn audit_archives(&mut self) -> Result<Vec<Archive>, StoreError> {
        Snapshot::archives(self)
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
    rows.iter().map(checkpoint).collect()
}

/// `size, at, note`.
pub(crate) fn checkpoint(row: &SqliteRow) -> Result<StoredCheckpoint, StoreError> {
    Ok(StoredCheckpoint {
        size: unsigned(row.try_get(0).map_err(failed)?)?,
        at: Timestamp(unsigned(row.try_get(1).map_err(failed)?)?),
        note: row.try_get(2).map_err(failed)?,
    })
}
