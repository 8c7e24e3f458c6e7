//! Reads what is kept permanently: the turns, the verdicts and the audit log.

use rialto_engine::history::Record;
use rialto_engine::store::{AuditEntry, Receipt, StoreError};
use rialto_engine::{Name, Timestamp};

use crate::PostgresStore;
use crate::entry::{ChangedDocument, Entry};
use crate::rows::{Columns, signed};
use crate::text::stored;

/// A group as one who follows the journal sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JournalGroup {
    /// Its number; counts up from 1.
    pub seq: u64,
    /// The epoch of the host that wrote it.
    pub epoch: u64,
    /// Its last turn.
    pub lsn: u64,
    /// The documents that it has changed.
    pub documents: Vec<ChangedDocument>,
}

impl PostgresStore {
    /// The turns about a subject, in log order.
    ///
    /// # Errors
    /// When the database fails.
    pub fn history(&self, subject: &str) -> Result<Vec<Record>, StoreError> {
        let partition = self.settings.partition();
        let about = stored(subject);
        let rows = self.read_with(async |connection| {
            sqlx::query(
                "SELECT j.layout::int8, j.entry FROM rialto.history_subjects s
                 JOIN rialto.journal j ON j.partition = s.partition AND j.seq = s.seq AND j.written = s.written
                 WHERE s.partition = $1 AND s.subject = $2 ORDER BY j.seq",
            )
            .bind(partition)
            .bind(&*about)
            .fetch_all(connection)
            .await
        })?;
        let mut records = Vec::new();
        for row in &rows {
            let row = Columns(row);
            let entry = Entry::decode(row.number(0)?, row.bytes(1)?)?;
            let of_subject = entry.history.into_iter().filter(|record| {
                let mut subjects = record.subjects.iter();
                subjects.any(|one| &**one == subject)
            });
            records.extend(of_subject.map(|record| (*record).clone()));
        }
        Ok(records)
    }

    /// The verdicts about a subject, oldest first.
    ///
    /// # Errors
    /// When the database fails.
    pub fn receipts(&self, subject: &str) -> Result<Vec<Receipt>, StoreError> {
        let partition = self.settings.partition();
        let about = stored(subject);
        let rows = self.read_with(async |connection| {
            sqlx::query(
                "SELECT id, at, body FROM rialto.receipts
                 WHERE partition = $1 AND subject = $2 ORDER BY id",
            )
            .bind(partition)
            .bind(&*about)
            .fetch_all(connection)
            .await
        })?;
        let subject: Name = subject.into();
        let receipts = rows.iter().map(|row| {
            let row = Columns(row);
            Ok(Receipt {
                id: row.number(0)?,
                subject: subject.clone(),
                at: Timestamp(row.number(1)?),
                body: row.name(2)?,
            })
        });
        receipts.collect()
    }

    /// The number of entries of the audit log.
    ///
    /// # Errors
    /// When the database fails.
    pub fn audit_size(&self) -> Result<u64, StoreError> {
        let partition = self.settings.partition();
        let row = self.read_with(async |connection| {
            sqlx::query("SELECT audit FROM rialto.partitions WHERE partition = $1")
                .bind(partition)
                .fetch_optional(connection)
                .await
        })?;
        row.map_or(Ok(0), |row| Columns(&row).number(0))
    }

    /// Entries of the audit log from this index on, each with its index.
    ///
    /// # Errors
    /// When the database fails.
    pub fn audit_entries(
        &self,
        first: u64,
        limit: u32,
    ) -> Result<Vec<(u64, AuditEntry)>, StoreError> {
        let partition = self.settings.partition();
        let first = signed(first)?;
        let rows = self.read_with(async |connection| {
            sqlx::query(
                "SELECT index, at, body FROM rialto.audit_entries
                 WHERE partition = $1 AND index >= $2 ORDER BY index LIMIT $3",
            )
            .bind(partition)
            .bind(first)
            .bind(i64::from(limit))
            .fetch_all(connection)
            .await
        })?;
        let entries = rows.iter().map(|row| {
            let row = Columns(row);
            let entry = AuditEntry {
                at: Timestamp(row.number(1)?),
                body: row.name(2)?,
            };
            Ok((row.number(0)?, entry))
        });
        entries.collect()
    }

    /// Groups of the journal after this number, at most `limit`. A host without the lease follows it so.
    ///
    /// # Errors
    /// When the database fails, or a group has a layout that this host does not know.
    pub fn journal_after(&self, seq: u64, limit: u32) -> Result<Vec<JournalGroup>, StoreError> {
        let partition = self.settings.partition();
        let seq = signed(seq)?;
        let rows = self.read_with(async |connection| {
            sqlx::query(
                "SELECT seq, epoch, lsn, layout::int8, entry FROM rialto.journal
                 WHERE partition = $1 AND seq > $2 ORDER BY seq LIMIT $3",
            )
            .bind(partition)
            .bind(seq)
            .bind(i64::from(limit))
            .fetch_all(connection)
            .await
        })?;
        let groups = rows.iter().map(|row| {
            let row = Columns(row);
            let layout = row.number(3)?;
            Ok(JournalGroup {
                seq: row.number(0)?,
                epoch: row.number(1)?,
                lsn: row.number(2)?,
                documents: Entry::decode(layout, row.bytes(4)?)?.documents,
            })
        });
        groups.collect()
    }
}
