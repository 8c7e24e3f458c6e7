//! The audit log. Its entries are in the table with the group that has them.

use rialto_engine::Timestamp;
use rialto_engine::store::StoreError;
use rialto_store::{
    Archive, ArchiveStore, AuditStore, EntryFilter, HEAD_BYTES, StoredCheckpoint, StoredEntry,
    StoredTile,
};
use sqlx::postgres::PgRow;

use crate::PostgresStore;
use crate::rows::{Columns, json, signed};
use crate::text::{owned, stored};

/// The number of entries.
pub(crate) const SIZE: &str = "SELECT audit FROM rialto.partitions WHERE partition = $1";
/// Entries from an index on, at most so many.
pub(crate) const ENTRIES: &str = "SELECT index, at, body FROM rialto.audit_entries
             WHERE partition = $1 AND index >= $2 ORDER BY index LIMIT $3";
/// A tile, by level and index.
pub(crate) const TILE: &str =
    "SELECT hashes FROM rialto.audit_tiles WHERE partition = $1 AND level = $2 AND index = $3";
/// The newest checkpoints, at most so many.
pub(crate) const CHECKPOINTS: &str = "SELECT size, at, note FROM rialto.audit_checkpoints
             WHERE partition = $1 ORDER BY size DESC LIMIT $2";

impl ArchiveStore for PostgresStore {
    /// None: nothing is moved out of the tables.
    fn archives(&self) -> Result<Vec<Archive>, StoreError> {
        Ok(Vec::new())
    }
}

impl AuditStore for PostgresStore {
    fn search_audit(
        &self,
        filter: &EntryFilter,
        (first, end): (u64, u64),
        limit: u32,
    ) -> Result<Vec<StoredEntry>, StoreError> {
        let (first, end) = (signed(first)?, signed(end)?);
        let texts: Vec<Vec<_>> = filter
            .texts
            .iter()
            .map(|spellings| spellings.iter().map(|text| stored(text)).collect())
            .collect();
        let texts = json(&texts)?;
        let instant = |at: u64| i64::try_from(at).unwrap_or(i64::MAX);
        let head = filter
            .without_head
            .map_or(0, |text| HEAD_BYTES + text.len());
        let head = i32::try_from(head).unwrap_or(i32::MAX);
        let rows = self.all(
            "SELECT index, at, body FROM rialto.audit_entries
             WHERE partition = $1 AND index >= $2 AND index < $3
               AND ($4::int8 IS NULL OR at >= $4) AND ($5::int8 IS NULL OR at < $5)
               AND NOT EXISTS (SELECT 1 FROM jsonb_array_elements($6::text::jsonb) AS wanted (spellings)
                   WHERE NOT EXISTS (SELECT 1 FROM jsonb_array_elements_text(wanted.spellings) AS spelling (words)
                       WHERE strpos(body, spelling.words) > 0))
               AND ($7::text IS NULL OR strpos(left(body, $8), $7) = 0)
             ORDER BY index LIMIT $9",
            |query| {
                query
                    .bind(first)
                    .bind(end)
                    .bind(filter.since.map(instant))
                    .bind(filter.until.map(instant))
                    .bind(texts.clone())
                    .bind(filter.without_head)
                    .bind(head)
                    .bind(i64::from(limit))
            },
        )?;
        rows.iter().map(entry).collect()
    }

    fn audit_size(&self) -> Result<u64, StoreError> {
        let rows = self.all(SIZE, |query| query)?;
        rows.first().map_or(Ok(0), |row| Columns(row).number(0))
    }

    /// Always: an entry is in the table with its group.
    fn audit_is_flushed(&self) -> Result<bool, StoreError> {
        Ok(true)
    }

    fn audit_index_of(&self, at: Timestamp) -> Result<u64, StoreError> {
        let (mut low, mut high) = (0, self.audit_size()?);
        while low < high {
            let middle = low + (high - low) / 2;
            // The next one, in case that somebody has removed it.
            match self.audit_entries(middle, 1)?.pop() {
                Some(entry) if entry.at < at && entry.index < high => low = entry.index + 1,
                _ => high = middle,
            }
        }
        Ok(low)
    }

    fn audit_entries(&self, first: u64, limit: u32) -> Result<Vec<StoredEntry>, StoreError> {
        let first = signed(first)?;
        let rows = self.all(ENTRIES, |query| query.bind(first).bind(i64::from(limit)))?;
        rows.iter().map(entry).collect()
    }

    fn first_audit_entry(&self) -> Result<Option<u64>, StoreError> {
        let rows = self.all(
            "SELECT index FROM rialto.audit_entries WHERE partition = $1 ORDER BY index LIMIT 1",
            |query| query,
        )?;
        rows.first().map(|row| Columns(row).number(0)).transpose()
    }

    fn audit_tile(&self, level: u8, index: u64) -> Result<Option<Vec<u8>>, StoreError> {
        let index = signed(index)?;
        let rows = self.all(TILE, |query| query.bind(i32::from(level)).bind(index))?;
        rows.first().map(hashes).transpose()
    }

    fn last_audit_checkpoint(&self) -> Result<Option<StoredCheckpoint>, StoreError> {
        let rows = self.all(CHECKPOINTS, |query| query.bind(1_i64))?;
        rows.first().map(checkpoint).transpose()
    }

    fn add_audit_checkpoint(
        &self,
        checkpoint: &StoredCheckpoint,
        tiles: &[StoredTile],
        replaces: Option<u64>,
    ) -> Result<(), StoreError> {
        let partition = self.settings.partition();
        let levels: Vec<i32> = tiles.iter().map(|tile| i32::from(tile.level)).collect();
        let indexes = tiles.iter().map(|tile| signed(tile.index));
        let indexes = indexes.collect::<Result<Vec<i64>, _>>()?;
        let hashes: Vec<Vec<u8>> = tiles.iter().map(|tile| tile.hashes.clone()).collect();
        let replaces = replaces.map(signed).transpose()?;
        let (size, at) = (signed(checkpoint.size)?, signed(checkpoint.at.0)?);
        self.change(async |connection| {
            sqlx::query(
                "INSERT INTO rialto.audit_tiles (partition, level, index, hashes)
                 SELECT $1, * FROM unnest($2::int4[], $3::int8[], $4::bytea[])
                 ON CONFLICT (partition, level, index) DO UPDATE SET hashes = excluded.hashes",
            )
            .bind(partition)
            .bind(levels)
            .bind(indexes)
            .bind(hashes)
            .execute(&mut *connection)
            .await?;
            let replaced = "DELETE FROM rialto.audit_checkpoints WHERE partition = $1 AND size = $2";
            let replaced = sqlx::query(replaced).bind(partition).bind(replaces);
            replaced.execute(&mut *connection).await?;
            sqlx::query(
                "INSERT INTO rialto.audit_checkpoints (partition, size, at, note) VALUES ($1, $2, $3, $4)
                 ON CONFLICT (partition, size) DO UPDATE SET at = excluded.at, note = excluded.note",
            )
            .bind(partition)
            .bind(size)
            .bind(at)
            .bind(owned(&checkpoint.note))
            .execute(connection)
            .await
            .map(drop)
        })
    }

    fn audit_sent(&self) -> Result<u64, StoreError> {
        self.counter("audit_sent")
    }

    fn set_audit_sent(&self, next: u64) -> Result<(), StoreError> {
        self.set_counter("audit_sent", next)
    }
}

/// The hashes of a tile.
pub(crate) fn hashes(row: &PgRow) -> Result<Vec<u8>, StoreError> {
    Ok(Columns(row).bytes(0)?.to_vec())
}

/// A row of [`CHECKPOINTS`].
pub(crate) fn checkpoint(row: &PgRow) -> Result<StoredCheckpoint, StoreError> {
    let row = Columns(row);
    Ok(StoredCheckpoint {
        size: row.number(0)?,
        at: row.instant(1)?,
        note: row.original(2)?,
    })
}

/// A row of [`ENTRIES`].
pub(crate) fn entry(row: &PgRow) -> Result<StoredEntry, StoreError> {
    let row = Columns(row);
    Ok(StoredEntry {
        index: row.number(0)?,
        at: row.instant(1)?,
        body: row.original(2)?,
    })
}
