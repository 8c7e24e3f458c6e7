//! Reads what is kept permanently: the turns and the verdicts. Who follows the journal reads it here.

use std::collections::VecDeque;

use rialto_engine::Name;
use rialto_engine::history::Record;
use rialto_engine::store::{Receipt, StoreError};
use rialto_store::HistoryStore;

use crate::PostgresStore;
use crate::entry::{ChangedDocument, Entry};
use crate::rows::{Columns, signed};
use crate::text::owned;

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

/// Groups that are read at a time for the history of a subject.
const GROUPS: i64 = 256;

impl HistoryStore for PostgresStore {
    fn history(&self, subject: &str) -> Result<Vec<Record>, StoreError> {
        Ok(self.last_of_history(subject, usize::MAX)?.0)
    }

    fn last_of_history(
        &self,
        subject: &str,
        most: usize,
    ) -> Result<(Vec<Record>, usize), StoreError> {
        let (mut found, mut earlier) = (VecDeque::new(), 0);
        let mut before = i64::MAX;
        loop {
            let rows = self.all(
                "SELECT j.layout::int8, j.entry, j.seq FROM rialto.history_subjects s
                 JOIN rialto.journal j ON j.partition = s.partition AND j.seq = s.seq AND j.written = s.written
                 WHERE s.partition = $1 AND s.subject = $2 AND s.seq < $3 ORDER BY s.seq DESC LIMIT $4",
                |query| query.bind(owned(subject)).bind(before).bind(GROUPS),
            )?;
            for row in &rows {
                let row = Columns(row);
                let entry = Entry::decode(row.number(0)?, row.bytes(1)?)?;
                before = row.number(2)?;
                let of_subject = entry.history.iter().rev().filter(|record| {
                    let mut subjects = record.subjects.iter();
                    subjects.any(|one| &**one == subject)
                });
                for record in of_subject {
                    if found.len() < most {
                        found.push_front((**record).clone());
                    } else {
                        earlier += 1;
                    }
                }
            }
            if rows.is_empty() {
                return Ok((found.into(), earlier));
            }
        }
    }

    fn subjects_of(&self, id: &str) -> Result<Vec<String>, StoreError> {
        if id.contains(':') {
            return Ok(vec![id.to_owned()]);
        }
        // Kinds are few, and the index finds the next one.
        let (mut kinds, mut after) = (Vec::new(), String::new());
        loop {
            let rows = self.all(
                "SELECT subject FROM rialto.history_subjects
                 WHERE partition = $1 AND subject >= $2 ORDER BY subject LIMIT 1",
                |query| query.bind(after.clone()),
            )?;
            let Some(row) = rows.first() else { break };
            let subject = Columns(row).text(0)?;
            let Some((kind, _)) = subject.split_once(':') else {
                // Without a kind: the next subject.
                after = format!("{subject}\u{1}");
                continue;
            };
            if kind.is_empty() {
                after = ":\u{10ffff}".to_owned();
                continue;
            }
            kinds.push(format!("{kind}:{id}"));
            // The successor of the colon.
            after = format!("{kind};");
        }
        kinds.sort_unstable();
        kinds.dedup();
        Ok(kinds)
    }

    fn receipts(&self, subject: &str) -> Result<Vec<Receipt>, StoreError> {
        let rows = self.all(
            "SELECT id, at, body FROM rialto.receipts
             WHERE partition = $1 AND subject = $2 ORDER BY id",
            |query| query.bind(owned(subject)),
        )?;
        let about: Name = subject.into();
        let receipts = rows.iter().map(|row| {
            let row = Columns(row);
            Ok(Receipt {
                id: row.number(0)?,
                subject: about.clone(),
                at: row.instant(1)?,
                body: row.name(2)?,
            })
        });
        receipts.collect()
    }
}

impl PostgresStore {
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
