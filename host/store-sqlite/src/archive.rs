//! Reads and writes what is kept permanently: history, receipts, releases and their components. Operators'
//! commands read it, also while a host runs. `activations` says which release is current.

use std::collections::{BTreeMap, HashSet};

use rialto_engine::history::Record;
use rialto_engine::store::{Receipt, StoreError};
use rialto_engine::{Name, Timestamp};
use rialto_store::{HistoryStore, ReleaseStore, StoredRelease};
use sqlx::sqlite::SqliteRow;
use sqlx::{Row, SqlitePool};
use zstd::zstd_safe::CCtx;

use crate::journal::Verdict;
use crate::records::{EncodedRecord, encoded};
use crate::rows::{signed, unsigned};
use crate::slices::Bound;
use crate::{SqliteStore, failed, pages, receipt_pages, unreadable};

/// Records of a page: all of them are read to see one.
const PAGE_RECORDS: usize = 128;
/// Bits of a page's id that count the pages of one flush.
const PAGE_BITS: u32 = 16;
/// Bits of a record's order that count the records of one group.
const GROUP_BITS: u32 = 24;

/// The order of a record among all: its group's number in the journal, then its own in the group.
pub(crate) fn order(seq: u64, n: usize) -> u64 {
    assert!(
        n < 1 << GROUP_BITS && seq < 1 << (64 - GROUP_BITS),
        "record {n} of the group with number {seq} has no order of its own"
    );
    (seq << GROUP_BITS) | n as u64
}

/// How many records go into one page when there are `all` records.
pub(crate) fn page_records(all: usize) -> usize {
    let each = PAGE_RECORDS.max(all.div_ceil(1 << PAGE_BITS));
    assert!(
        all.div_ceil(each) <= 1 << PAGE_BITS,
        "{all} records in pages of {each} are more pages than a flush may have"
    );
    each
}

/// A record's order as two numbers: its group's in the journal, its own in the group.
pub(crate) fn parts_of_order(order: u64) -> (u64, u64) {
    (order >> GROUP_BITS, order & ((1 << GROUP_BITS) - 1))
}

/// The lowest page id of the flush that wrote this page.
pub(crate) fn first_of_flush(page: u64) -> u64 {
    page >> PAGE_BITS << PAGE_BITS
}

/// The highest possible page id of the flush that wrote this page.
pub(crate) fn last_of_flush(page: u64) -> u64 {
    page | ((1 << PAGE_BITS) - 1)
}

/// The id of the nth page of a flush through this number of the journal.
pub(crate) fn page_id(through: u64, n: usize) -> u64 {
    assert!(
        n < 1 << PAGE_BITS && through < 1 << (64 - PAGE_BITS),
        "page {n} of the flush through number {through} has no id of its own"
    );
    (through << PAGE_BITS) | n as u64
}

/// A page of records, each with its order: the encoded list of both.
pub(crate) fn encode(
    context: &mut CCtx<'_>,
    page: &[(u64, EncodedRecord<'_>)],
) -> Result<Vec<u8>, StoreError> {
    assert!(
        !page.is_empty(),
        "a page of the history is to have records and has none"
    );
    let mut plain = encoded(&(page.len() as u64), Vec::new())?;
    for (order, record) in page {
        plain = encoded(order, plain)?;
        plain.extend_from_slice(record.bytes);
    }
    pages::pack(context, &plain)
}

pub(crate) fn decode(bytes: &[u8]) -> Result<Vec<(u64, Record)>, StoreError> {
    let plain = pages::unpack("the history", bytes)?;
    postcard::from_bytes(&plain).map_err(|e| unreadable("the history", e))
}

/// The last turns about a subject.
struct Last {
    most: usize,
    /// By their order.
    found: BTreeMap<u64, Record>,
    /// How many earlier ones there are.
    earlier: usize,
}

impl Last {
    fn add(&mut self, order: u64, record: Record) {
        self.found.insert(order, record);
        if self.found.len() > self.most {
            self.found.pop_first();
            self.earlier += 1;
        }
        assert!(
            self.found.len() <= self.most,
            "{} records are in memory and {} are to be at most",
            self.found.len(),
            self.most
        );
    }
}

/// Add the turns about a subject that are in tables. Reads one page at a time, in no certain order, because
/// the turns of one flush are sorted by their first subject.
async fn history(readers: &SqlitePool, subject: &str, last: &mut Last) -> Result<(), StoreError> {
    let in_memtable: HashSet<u64> = last.found.keys().copied().collect();
    // One snapshot: while a segment is archived, its pages leave the table, and the tables' end of the log must
    // have no gap.
    let mut snapshot = readers.begin().await.map_err(failed)?;
    // A page may be in two segments, if a flush was done again.
    let pages: Vec<i64> = sqlx::query_scalar(
        "WITH RECURSIVE eras(era) AS (
             SELECT max(era) FROM history_by_run
             UNION ALL SELECT era - 1 FROM eras WHERE era > 0
         ), runs(era, run) AS (
             SELECT era, (SELECT max(run) FROM history_by_run h WHERE h.era = eras.era) FROM eras
             UNION ALL
             SELECT era, (SELECT max(run) FROM history_by_run h
                          WHERE h.era = runs.era AND h.run < runs.run)
             FROM runs WHERE run IS NOT NULL
         ) SELECT DISTINCT page FROM runs CROSS JOIN history_by_run h
           WHERE h.era = runs.era AND h.run = runs.run AND subject = ? ORDER BY page",
    )
    .bind(subject)
    .fetch_all(&mut *snapshot)
    .await
    .map_err(failed)?;
    for page in pages {
        let row = sqlx::query("SELECT records FROM history WHERE page = ?")
            .bind(page)
            .fetch_optional(&mut *snapshot)
            .await
            .map_err(failed)?;
        let Some(row) = row else { continue };
        let records = decode(row.try_get(0).map_err(failed)?)?;
        // What is being flushed may be in both.
        let about = |(order, r): &(u64, Record)| {
            is_about(&r.subjects, subject) && !in_memtable.contains(order)
        };
        for (order, record) in records.into_iter().filter(about) {
            last.add(order, record);
        }
    }
    Ok(())
}

fn is_about(subjects: &[Name], subject: &str) -> bool {
    subjects.iter().any(|s| &**s == subject)
}

/// Subjects that are this text, or end with it after a colon: `transfer:<id>` for `<id>`.
async fn subjects_of(readers: &SqlitePool, id: &str) -> Result<Vec<String>, StoreError> {
    if id.contains(':') {
        return Ok(vec![id.to_owned()]);
    }
    let kinds: Vec<String> = sqlx::query_scalar("SELECT kind FROM subject_kinds")
        .fetch_all(readers)
        .await
        .map_err(failed)?;
    let subjects = kinds.into_iter().map(|kind| format!("{kind}:{id}"));
    Ok(subjects.collect())
}

async fn receipts(readers: &SqlitePool, subject: &str) -> Result<Vec<Receipt>, StoreError> {
    let mut snapshot = readers.begin().await.map_err(failed)?;
    let rows = sqlx::query(
        "WITH RECURSIVE eras(era) AS (
             SELECT max(era) FROM receipts
             UNION ALL SELECT era - 1 FROM eras WHERE era > 0
         ), runs(era, run) AS (
             SELECT era, (SELECT max(id >> 17) FROM receipts r INDEXED BY receipts_by_run
                          WHERE r.era = eras.era)
             FROM eras
             UNION ALL
             SELECT era, (SELECT max(id >> 17) FROM receipts r INDEXED BY receipts_by_run
                          WHERE r.era = runs.era AND r.id >> 17 < runs.run)
             FROM runs WHERE run IS NOT NULL
         ) SELECT id, subject, at, body, page
           FROM runs CROSS JOIN receipts r INDEXED BY receipts_by_run
           WHERE r.era = runs.era AND r.id >> 17 = runs.run AND subject = ? ORDER BY id",
    )
    .bind(subject)
    .fetch_all(&mut *snapshot)
    .await
    .map_err(failed)?;
    receipt_pages::receipts(&mut snapshot, &rows).await
}

async fn releases(readers: &SqlitePool) -> Result<Vec<StoredRelease>, StoreError> {
    let rows = sqlx::query(
        "SELECT number, digest, document, created_at, note, maker, approver, waits_on
         FROM releases ORDER BY number",
    )
    .fetch_all(readers)
    .await
    .map_err(failed)?;
    rows.iter().map(stored_release).collect()
}

async fn release(readers: &SqlitePool, number: u64) -> Result<Option<StoredRelease>, StoreError> {
    let row = sqlx::query(
        "SELECT number, digest, document, created_at, note, maker, approver, waits_on
         FROM releases WHERE number = ?",
    )
    .bind(signed(number)?)
    .fetch_optional(readers)
    .await
    .map_err(failed)?;
    row.as_ref().map(stored_release).transpose()
}

fn stored_release(row: &SqliteRow) -> Result<StoredRelease, StoreError> {
    let waits_on: Option<i64> = row.try_get(7).map_err(failed)?;
    Ok(StoredRelease {
        number: unsigned(row.try_get(0).map_err(failed)?)?,
        digest: row.try_get(1).map_err(failed)?,
        document: row.try_get(2).map_err(failed)?,
        created_at: Timestamp(unsigned(row.try_get(3).map_err(failed)?)?),
        note: row.try_get(4).map_err(failed)?,
        maker: row.try_get(5).map_err(failed)?,
        approver: row.try_get(6).map_err(failed)?,
        waits_on: waits_on.map(unsigned).transpose()?,
    })
}

async fn component(readers: &SqlitePool, digest: &str) -> Result<Option<Vec<u8>>, StoreError> {
    sqlx::query_scalar("SELECT bytes FROM components WHERE digest = ?")
        .bind(digest)
        .fetch_optional(readers)
        .await
        .map_err(failed)
}

impl HistoryStore for SqliteStore {
    fn history(&self, subject: &str) -> Result<Vec<Record>, StoreError> {
        Ok(self.last_of_history(subject, usize::MAX)?.0)
    }

    fn last_of_history(
        &self,
        subject: &str,
        most: usize,
    ) -> Result<(Vec<Record>, usize), StoreError> {
        // Without the gate: a subject may have many pages, and a flush, and scans behind it, would wait for
        // all of them. An entry is in the tables before it leaves the memtable, so it may be found twice but
        // is never missed. Pages never change.
        let mut last = Last {
            most: usize::MAX,
            found: BTreeMap::new(),
            earlier: 0,
        };
        for entry in self.inner.memtable.entries() {
            let records = entry.history.iter().enumerate();
            for (n, record) in records.filter(|(_, record)| is_about(record.subjects, subject)) {
                last.add(order(entry.seq, n), record.decode()?);
            }
        }
        last.most = most.max(last.found.len());
        let reading = history(&self.inner.readers, subject, &mut last);
        self.inner.runtime.block_on(reading)?;
        while last.found.len() > most && last.found.pop_first().is_some() {
            last.earlier += 1;
        }
        Ok((last.found.into_values().collect(), last.earlier))
    }

    fn subjects_of(&self, id: &str) -> Result<Vec<String>, StoreError> {
        let _still = self.inner.gate.read();
        let mut found = self
            .inner
            .runtime
            .block_on(subjects_of(&self.inner.readers, id))?;
        if !id.contains(':') {
            let entries = self.inner.memtable.entries();
            let subjects = entries.iter().flat_map(|entry| entry.history.subjects());
            let meant = subjects.filter(|s| s.split_once(':').is_some_and(|(_, rest)| rest == id));
            found.extend(meant.map(|subject| subject.to_string()));
        }
        found.sort_unstable();
        found.dedup();
        Ok(found)
    }

    fn receipts(&self, subject: &str) -> Result<Vec<Receipt>, StoreError> {
        let _still = self.inner.gate.read();
        let mut found = self
            .inner
            .runtime
            .block_on(receipts(&self.inner.readers, subject))?;
        for entry in self.inner.memtable.entries() {
            let about = entry.receipts.iter().filter(|r| &*r.subject == subject);
            found.extend(about.map(Verdict::receipt));
        }
        // What is being flushed may be in both.
        found.sort_by_key(|receipt| receipt.id);
        found.dedup_by_key(|receipt| receipt.id);
        Ok(found)
    }
}

impl ReleaseStore for SqliteStore {
    fn releases(&self) -> Result<Vec<StoredRelease>, StoreError> {
        self.inner.runtime.block_on(releases(&self.inner.readers))
    }

    fn release(&self, number: u64) -> Result<Option<StoredRelease>, StoreError> {
        let inner = &*self.inner;
        inner.runtime.block_on(release(&inner.readers, number))
    }

    fn releases_once_current(&self) -> Result<Vec<u64>, StoreError> {
        let numbers: Vec<i64> = self
            .inner
            .runtime
            .block_on(
                sqlx::query_scalar("SELECT number FROM releases WHERE was_current ORDER BY number")
                    .fetch_all(&self.inner.readers),
            )
            .map_err(failed)?;
        numbers.into_iter().map(unsigned).collect()
    }

    fn current_release(&self) -> Result<u64, StoreError> {
        let number: i64 = self
            .inner
            .runtime
            .block_on(
                sqlx::query_scalar("SELECT value FROM meta WHERE key = 'release'")
                    .fetch_one(&self.inner.readers),
            )
            .map_err(failed)?;
        unsigned(number)
    }

    fn activating_release(&self) -> Result<u64, StoreError> {
        let number: Option<i64> = self
            .inner
            .runtime
            .block_on(
                sqlx::query_scalar("SELECT value FROM meta WHERE key = 'activating'")
                    .fetch_optional(&self.inner.readers),
            )
            .map_err(failed)?;
        unsigned(number.unwrap_or_default())
    }

    fn component(&self, digest: &str) -> Result<Option<Vec<u8>>, StoreError> {
        self.inner
            .runtime
            .block_on(component(&self.inner.readers, digest))
    }

    fn add_component(&self, digest: &str, bytes: &[u8]) -> Result<(), StoreError> {
        let mut bound = Bound::default();
        bound.add(digest.to_owned())?;
        bound.add(bytes.to_vec())?;
        self.change(
            "INSERT OR IGNORE INTO components (digest, bytes) VALUES (?, ?)",
            bound,
        )
        .map(|_| ())
    }

    fn add_release(&self, release: &StoredRelease) -> Result<(), StoreError> {
        let mut bound = Bound::default();
        bound.number(release.number)?;
        bound.add(release.digest.clone())?;
        bound.add(release.document.clone())?;
        bound.add(i64::try_from(release.created_at.0).unwrap_or(i64::MAX))?;
        bound.add(release.note.clone())?;
        bound.add(release.maker.clone())?;
        bound.add(release.approver.clone())?;
        let waits_on = release.waits_on.map(i64::try_from);
        bound.add(waits_on.transpose().unwrap_or(Some(i64::MAX)))?;
        let rows = self.change(
            "INSERT INTO releases (number, digest, document, created_at, note, maker, approver, waits_on)
             VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            bound,
        )?;
        assert!(
            rows == 1,
            "release {} is kept in {rows} rows",
            release.number
        );
        Ok(())
    }

    fn approve_release(&self, number: u64, approver: &str) -> Result<(), StoreError> {
        let mut bound = Bound::default();
        bound.add(approver.to_owned())?;
        bound.number(number)?;
        let rows = self.change(
            "UPDATE releases SET approver = ?, waits_on = NULL
             WHERE number = ? AND waits_on IS NOT NULL",
            bound,
        )?;
        assert!(rows <= 1, "release {number} is approved in {rows} rows");
        Ok(())
    }

    fn set_activating_release(&self, number: u64) -> Result<(), StoreError> {
        let mut bound = Bound::default();
        bound.number(number)?;
        let rows = self.change(
            "INSERT OR REPLACE INTO meta (key, value) VALUES ('activating', ?)",
            bound,
        )?;
        assert!(
            rows == 1,
            "that release {number} is activated is kept in {rows} rows"
        );
        Ok(())
    }
}

impl SqliteStore {
    /// Change rows durably. As for groups, it fails unless this process has the newest fencing token. Returns how
    /// many rows have changed.
    pub(crate) fn change(&self, text: &str, bound: Bound) -> Result<u64, StoreError> {
        let mut slices = self.slices();
        let rows = slices.statement(text, bound, 1)?;
        slices.finish()?;
        Ok(rows)
    }
}
