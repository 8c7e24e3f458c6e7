//! A snapshot as a copy into another store reads it: what it has beside documents, the audit log and events.

use std::collections::BTreeMap;

use rialto_engine::Name;
use rialto_engine::history::Record;
use rialto_engine::store::{Receipt, StoreError, StoredReminder};
use rialto_store::{Operation, Pending, StoreDump, StoredCheckpoint, StoredTile};
use sqlx::sqlite::SqliteRow;
use sqlx::{Row as _, SqliteConnection};

use crate::rows::{signed, unsigned};
use crate::slices::counter;
use crate::snapshot::Snapshot;
use crate::{archive, audit, failed, held_back, operations, receipt_pages, rows, unreadable};

impl StoreDump for Snapshot {
    fn next_id(&mut self) -> Result<u64, StoreError> {
        let waiting = self.in_journal();
        if waiting > 0 {
            return Err(StoreError::Failed(format!(
                "{waiting} groups are in the store's journal alone: it was not flushed before it was read"
            )));
        }
        self.read(async |reader| counter(reader, "next_id").await)
    }

    fn pending(&mut self) -> Result<Pending, StoreError> {
        self.read(async |reader| {
            Ok(Pending {
                deliveries: rows::deliveries(&mut *reader).await?,
                reminders: reminders(&mut *reader).await?,
                outbound: rows::outbound(reader).await?,
            })
        })
    }

    /// The pages of a flush are sorted by their first subjects. So one flush is read whole and put into the order of the log.
    fn visit_history(&mut self, visit: &mut dyn FnMut(Record) -> bool) -> Result<(), StoreError> {
        let mut after = -1_i64;
        loop {
            let first = self.read(async |reader| first_page(reader, after).await)?;
            let Some(first) = first else {
                return Ok(());
            };
            after = signed(archive::last_of_flush(unsigned(first)?))?;
            let records = self.read(async |reader| flush_of(reader, (first, after)).await)?;
            for record in records.into_values() {
                if !visit(record) {
                    return Ok(());
                }
            }
        }
    }

    fn receipts_after(&mut self, id: Option<u64>, limit: u32) -> Result<Vec<Receipt>, StoreError> {
        let after = id.map_or(Ok(-1), signed)?;
        self.read(async |reader| {
            let rows = sqlx::query(
                "SELECT id, subject, at, body, page FROM receipts WHERE id > ? ORDER BY id LIMIT ?",
            )
            .bind(after)
            .bind(limit)
            .fetch_all(&mut *reader)
            .await
            .map_err(failed)?;
            receipt_pages::receipts(reader, &rows).await
        })
    }

    fn component_digests(&mut self) -> Result<Vec<String>, StoreError> {
        self.read(async |reader| {
            sqlx::query_scalar("SELECT digest FROM components ORDER BY digest")
                .fetch_all(reader)
                .await
                .map_err(failed)
        })
    }

    fn canary_secret(&mut self) -> Result<Option<[u8; 32]>, StoreError> {
        let bytes: Option<Vec<u8>> = self.read(async |reader| {
            sqlx::query_scalar("SELECT bytes FROM secrets WHERE name = ?")
                .bind(held_back::CANARIES)
                .fetch_optional(reader)
                .await
                .map_err(failed)
        })?;
        let secret = bytes.map(<[u8; 32]>::try_from).transpose();
        secret.map_err(|_| unreadable("a secret", "its bytes"))
    }

    fn operations_after(&mut self, id: u64, limit: u32) -> Result<Vec<Operation>, StoreError> {
        let after = signed(id)?;
        self.read(async |reader| {
            let rows = sqlx::query(
                "SELECT id, at, person, operator, action, about, outcome, reason, note
                 FROM operations WHERE id > ? ORDER BY id LIMIT ?",
            )
            .bind(after)
            .bind(limit)
            .fetch_all(reader)
            .await
            .map_err(failed)?;
            rows.iter().map(operations::operation).collect()
        })
    }

    fn audit_tiles_after(
        &mut self,
        after: Option<(u8, u64)>,
        limit: u32,
    ) -> Result<Vec<StoredTile>, StoreError> {
        let (level, place) = match after {
            Some((level, index)) => (i64::from(level), signed(index)?),
            None => (-1, -1),
        };
        self.read(async |reader| {
            let rows = sqlx::query(
                "SELECT level, place, hashes FROM audit_tiles WHERE (level, place) > (?, ?)
                 ORDER BY level, place LIMIT ?",
            )
            .bind(level)
            .bind(place)
            .bind(limit)
            .fetch_all(reader)
            .await
            .map_err(failed)?;
            rows.iter().map(tile).collect()
        })
    }

    fn audit_checkpoints_after(
        &mut self,
        size: u64,
        limit: u32,
    ) -> Result<Vec<StoredCheckpoint>, StoreError> {
        let after = signed(size)?;
        self.read(async |reader| {
            let rows = sqlx::query(
                "SELECT size, at, note FROM audit_checkpoints WHERE size > ? ORDER BY size LIMIT ?",
            )
            .bind(after)
            .bind(limit)
            .fetch_all(reader)
            .await
            .map_err(failed)?;
            rows.iter().map(audit::checkpoint).collect()
        })
    }
}

/// The reminders with their redelivery counts, in order.
async fn reminders(
    reader: &mut SqliteConnection,
) -> Result<Vec<(StoredReminder, u32)>, StoreError> {
    let mut reminders = rows::reminders(&mut *reader).await?;
    reminders.sort_by(|a, b| (&a.component, &a.id).cmp(&(&b.component, &b.id)));
    let counted: Vec<(String, String, u32)> =
        sqlx::query_as("SELECT component, id, starts FROM reminders WHERE starts > 0")
            .fetch_all(reader)
            .await
            .map_err(failed)?;
    let counted = counted.into_iter();
    let counted = counted.map(|(component, id, starts)| ((component.into(), id.into()), starts));
    let counted: BTreeMap<(Name, Name), u32> = counted.collect();
    let with_count = |reminder: StoredReminder| {
        let key = (reminder.component.clone(), reminder.id.clone());
        let starts = counted.get(&key).copied().unwrap_or(0);
        (reminder, starts)
    };
    Ok(reminders.into_iter().map(with_count).collect())
}

/// The first page of the history after one.
async fn first_page(reader: &mut SqliteConnection, after: i64) -> Result<Option<i64>, StoreError> {
    sqlx::query_scalar("SELECT min(page) FROM history WHERE page > ?")
        .bind(after)
        .fetch_one(reader)
        .await
        .map_err(failed)
}

/// The records of pages, by their order in the log.
async fn flush_of(
    reader: &mut SqliteConnection,
    (first, last): (i64, i64),
) -> Result<BTreeMap<u64, Record>, StoreError> {
    let pages: Vec<Vec<u8>> =
        sqlx::query_scalar("SELECT records FROM history WHERE page >= ? AND page <= ?")
            .bind(first)
            .bind(last)
            .fetch_all(reader)
            .await
            .map_err(failed)?;
    let mut records = BTreeMap::new();
    for page in pages {
        records.extend(archive::decode(&page)?);
    }
    Ok(records)
}

/// `level, place, hashes`.
fn tile(row: &SqliteRow) -> Result<StoredTile, StoreError> {
    let level: i64 = row.try_get(0).map_err(failed)?;
    Ok(StoredTile {
        level: u8::try_from(level).map_err(|e| unreadable("the level of a tile", e))?,
        index: unsigned(row.try_get(1).map_err(failed)?)?,
        hashes: row.try_get(2).map_err(failed)?,
    })
}
