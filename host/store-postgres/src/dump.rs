//! A snapshot as a copy into another store reads it: what it has beside documents, the audit log and events.

use std::sync::Arc;

use rialto_engine::history::Record;
use rialto_engine::store::{Receipt, StoreError};
use rialto_store::{Operation, Pending, StoreDump, StoredCheckpoint, StoredTile};
use sqlx::postgres::PgRow;

use crate::entry::Entry;
use crate::failures::unreadable;
use crate::rows::{self, Columns, signed};
use crate::snapshot::PostgresSnapshot;
use crate::{audit, operators};

/// Groups of the journal that are read at a time.
const GROUPS: i64 = 64;

impl StoreDump for PostgresSnapshot {
    /// All tables are up to date.
    fn next_id(&mut self) -> Result<u64, StoreError> {
        let rows = self.all(
            "SELECT next_id FROM rialto.partitions WHERE partition = $1",
            |query| query,
        )?;
        rows.first().map_or(Ok(1), |row| Columns(row).number(0))
    }

    fn pending(&mut self) -> Result<Pending, StoreError> {
        let deliveries = self.all(
            "SELECT id, head, payload, starts FROM rialto.deliveries WHERE partition = $1 ORDER BY id",
            |query| query,
        )?;
        let reminders = self.all(
            "SELECT component, id, due, generation, payload, subjects, trace, starts FROM rialto.reminders
             WHERE partition = $1 ORDER BY component, id",
            |query| query,
        )?;
        let outbound = self.all(
            "SELECT request FROM rialto.outbound WHERE partition = $1 ORDER BY id",
            |query| query,
        )?;
        let deliveries = deliveries.iter().map(rows::delivery);
        let reminders = reminders.iter();
        let reminders = reminders.map(|row| Ok((rows::reminder(row)?, Columns(row).number(7)?)));
        let outbound = outbound.iter().map(rows::outbound);
        Ok(Pending {
            deliveries: deliveries.collect::<Result<_, StoreError>>()?,
            reminders: reminders.collect::<Result<_, StoreError>>()?,
            outbound: outbound.collect::<Result<_, StoreError>>()?,
        })
    }

    fn visit_history(&mut self, visit: &mut dyn FnMut(Record) -> bool) -> Result<(), StoreError> {
        let mut after = 0_i64;
        loop {
            let rows = self.all(
                "SELECT layout::int8, entry, seq FROM rialto.journal
                 WHERE partition = $1 AND seq > $2 ORDER BY seq LIMIT $3",
                |query| query.bind(after).bind(GROUPS),
            )?;
            let Some(last) = rows.last() else {
                return Ok(());
            };
            after = Columns(last).number(2)?;
            for row in &rows {
                let row = Columns(row);
                let entry = Entry::decode(row.number(0)?, row.bytes(1)?)?;
                for record in entry.history {
                    if !visit(Arc::unwrap_or_clone(record)) {
                        return Ok(());
                    }
                }
            }
        }
    }

    fn receipts_after(&mut self, id: Option<u64>, limit: u32) -> Result<Vec<Receipt>, StoreError> {
        let after = id.map_or(Ok(-1), signed)?;
        let rows = self.all(
            "SELECT id, subject, at, body FROM rialto.receipts
             WHERE partition = $1 AND id > $2 ORDER BY id LIMIT $3",
            |query| query.bind(after).bind(i64::from(limit)),
        )?;
        let receipts = rows.iter().map(|row| {
            let row = Columns(row);
            Ok(Receipt {
                id: row.number(0)?,
                subject: row.name(1)?,
                at: row.instant(2)?,
                body: row.name(3)?,
            })
        });
        receipts.collect()
    }

    fn component_digests(&mut self) -> Result<Vec<String>, StoreError> {
        let rows = self.all(
            "SELECT digest FROM rialto.components WHERE partition = $1",
            |query| query,
        )?;
        let digests = rows.iter().map(|row| Columns(row).original(0));
        let mut digests: Vec<String> = digests.collect::<Result<_, StoreError>>()?;
        // The database may have another order.
        digests.sort_unstable();
        Ok(digests)
    }

    fn canary_secret(&mut self) -> Result<Option<[u8; 32]>, StoreError> {
        let rows = self.all(
            "SELECT bytes FROM rialto.secrets WHERE partition = $1 AND name = 'canaries'",
            |query| query,
        )?;
        let secret = |row: &PgRow| {
            let bytes = Columns(row).bytes(0)?;
            <[u8; 32]>::try_from(bytes).map_err(|_| unreadable("a secret", "its bytes"))
        };
        rows.first().map(secret).transpose()
    }

    fn operations_after(&mut self, id: u64, limit: u32) -> Result<Vec<Operation>, StoreError> {
        let after = signed(id)?;
        let rows = self.all(
            "SELECT id, at, person, operator, action, about, note, outcome, reason
             FROM rialto.operations WHERE partition = $1 AND id > $2 ORDER BY id LIMIT $3",
            |query| query.bind(after).bind(i64::from(limit)),
        )?;
        rows.iter().map(operators::operation).collect()
    }

    fn audit_tiles_after(
        &mut self,
        after: Option<(u8, u64)>,
        limit: u32,
    ) -> Result<Vec<StoredTile>, StoreError> {
        let (level, index) = match after {
            Some((level, index)) => (i32::from(level), signed(index)?),
            None => (-1, -1),
        };
        let rows = self.all(
            "SELECT level::int8, index, hashes FROM rialto.audit_tiles
             WHERE partition = $1 AND (level, index) > ($2, $3) ORDER BY level, index LIMIT $4",
            |query| query.bind(level).bind(index).bind(i64::from(limit)),
        )?;
        let tiles = rows.iter().map(|row| {
            let row = Columns(row);
            Ok(StoredTile {
                level: row.number(0)?,
                index: row.number(1)?,
                hashes: row.bytes(2)?.to_vec(),
            })
        });
        tiles.collect()
    }

    fn audit_checkpoints_after(
        &mut self,
        size: u64,
        limit: u32,
    ) -> Result<Vec<StoredCheckpoint>, StoreError> {
        let after = signed(size)?;
        let rows = self.all(
            "SELECT size, at, note FROM rialto.audit_checkpoints
             WHERE partition = $1 AND size > $2 ORDER BY size LIMIT $3",
            |query| query.bind(after).bind(i64::from(limit)),
        )?;
        rows.iter().map(audit::checkpoint).collect()
    }
}
