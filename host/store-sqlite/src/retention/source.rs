//! Reads a segment from the tables, in the order of its archive, and removes it from the tables.

use rialto_archive::{ArchiveError, Writer};
use rialto_engine::Timestamp;
use rialto_engine::history::Record;
use rialto_engine::store::{Receipt, StoreError};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use sqlx::Row as _;
use std::io::Write;

use super::{Class, Contents, RetentionError};
use crate::rows::{json, signed, unsigned};
use crate::slices::Bound;
use crate::{Inner, archive, failed, receipt_pages, unreadable};

/// Pages of the history or of receipts that are read, or removed, in one transaction. They are few because each takes several
/// pages of the database.
const PAGES: usize = 16;
/// Receipts, or rows of an index, that are read, or removed, in one transaction.
const ROWS: usize = 256;

/// A turn in an archive.
#[derive(Serialize, Deserialize)]
pub(super) struct Turn {
    /// Its subjects. Every item of an archive has this member.
    about: Vec<rialto_engine::Name>,
    at: u64,
    /// The number of its group in the journal, and its own in the group; called `place` in archives.
    #[serde(rename = "place")]
    pub order: (u64, u64),
    pub turn: Record,
}

/// A receipt in an archive.
#[derive(Serialize, Deserialize)]
pub(super) struct Verdict {
    pub about: Vec<String>,
    pub at: u64,
    pub id: u64,
    /// The receipt as in the store: JSON.
    pub receipt: Box<RawValue>,
}

impl Verdict {
    /// The receipt. It is about one subject.
    fn stored(self) -> Option<Receipt> {
        Some(Receipt {
            id: self.id,
            subject: self.about.into_iter().next()?.into(),
            at: Timestamp(self.at),
            body: self.receipt.get().into(),
        })
    }
}

/// The receipt of an archive's line; none if the line is no item of it.
pub(crate) fn archived_receipt(line: &str) -> Option<Receipt> {
    serde_json::from_str::<Verdict>(line).ok()?.stored()
}

type Page = (u64, Vec<u8>);

impl Inner {
    /// Pages of the history after one, up to another.
    fn pages(&self, after: i64, through: i64) -> Result<Vec<Page>, StoreError> {
        let rows = self.runtime.block_on(
            sqlx::query(
                "SELECT page, records FROM history WHERE page > ? AND page <= ?
                 ORDER BY page LIMIT ?",
            )
            .bind(after)
            .bind(through)
            .bind(PAGES as i64)
            .fetch_all(&self.readers),
        );
        let page = |row: &sqlx::sqlite::SqliteRow| {
            let page = unsigned(row.try_get(0).map_err(failed)?)?;
            Ok((page, row.try_get(1).map_err(failed)?))
        };
        rows.map_err(failed)?.iter().map(page).collect()
    }

    /// The ids of a segment's receipts, in order.
    fn receipt_ids(&self, segment: u32) -> Result<Vec<i64>, StoreError> {
        let ids = self.runtime.block_on(
            sqlx::query_scalar("SELECT id FROM receipts INDEXED BY receipts_by_run WHERE era = ?")
                .bind(segment)
                .fetch_all(&self.readers),
        );
        let mut ids: Vec<i64> = ids.map_err(failed)?;
        ids.sort_unstable();
        Ok(ids)
    }

    fn receipts_of(&self, ids: &[i64]) -> Result<Vec<Verdict>, StoreError> {
        let ids = json(&ids)?;
        let read = self.runtime.block_on(async {
            let mut snapshot = self.readers.begin().await.map_err(failed)?;
            let rows = sqlx::query(
                "SELECT id, subject, at, body, page FROM receipts
                 WHERE id IN (SELECT value FROM json_each(?)) ORDER BY id",
            )
            .bind(ids)
            .fetch_all(&mut *snapshot)
            .await
            .map_err(failed)?;
            receipt_pages::receipts(&mut snapshot, &rows).await
        });
        let verdict = |receipt: Receipt| {
            let body = RawValue::from_string(receipt.body.to_string());
            Ok(Verdict {
                id: receipt.id,
                about: vec![receipt.subject.to_string()],
                at: receipt.at.0,
                receipt: body.map_err(|error| unreadable("a receipt", error))?,
            })
        };
        read?.into_iter().map(verdict).collect()
    }
}

/// The first and the last instant of the history in its oldest segment, which ends with this page. Reads only
/// the first and the last flush, because the turns of a flush are about a second apart.
pub(super) fn history_times(store: &Inner, last_page: u64) -> Result<(u64, u64), StoreError> {
    let through = signed(last_page)?;
    let last_flush = archive::first_of_flush(last_page);
    let mut times: Option<(u64, u64)> = None;
    for after in [-1, signed(last_flush)? - 1] {
        let mut after = after;
        let mut flush = None;
        'pages: loop {
            let pages = store.pages(after, through)?;
            let Some((last, _)) = pages.last() else {
                break;
            };
            after = signed(*last)?;
            for (page, bytes) in &pages {
                let of = archive::first_of_flush(*page);
                if *flush.get_or_insert(of) != of {
                    break 'pages;
                }
                for (_, record) in archive::decode(bytes)? {
                    let at = record.at.0;
                    let (from, to) = times.unwrap_or((at, at));
                    times = Some((from.min(at), to.max(at)));
                }
            }
        }
    }
    let (from, to) = times.unwrap_or_default();
    assert!(
        from <= to,
        "the history through page {last_page} is from {from} to {to}"
    );
    Ok((from, to))
}

/// Write all items of a class in a segment. Reads a few at a time, because a full segment does not change.
/// Returns false if it stopped because of `is_enough`.
pub(super) fn write<W: Write>(
    store: &Inner,
    of: &Contents,
    out: &mut Writer<W>,
    is_enough: &dyn Fn() -> bool,
) -> Result<bool, RetentionError> {
    match of.class {
        Class::History => write_history(store, of, out, is_enough),
        Class::Receipts => write_receipts(store, of, out, is_enough),
        Class::Documents | Class::Audit => unreachable!("segments do not count this: {of:?}"),
    }
}

fn write_history<W: Write>(
    store: &Inner,
    of: &Contents,
    out: &mut Writer<W>,
    is_enough: &dyn Fn() -> bool,
) -> Result<bool, RetentionError> {
    let through = signed(of.last_page)?;
    let mut after = -1;
    loop {
        let pages = store.pages(after, through)?;
        let Some((last, _)) = pages.last() else {
            return Ok(true);
        };
        if is_enough() {
            return Ok(false);
        }
        after = signed(*last)?;
        for (_, bytes) in &pages {
            for (order, record) in archive::decode(bytes)? {
                let turn = Turn {
                    about: record.subjects.clone(),
                    at: record.at.0,
                    order: archive::parts_of_order(order),
                    turn: record,
                };
                let about: Vec<&str> = turn.about.iter().map(AsRef::as_ref).collect();
                out.item(&turn, &about, turn.at)?;
            }
        }
    }
}

fn write_receipts<W: Write>(
    store: &Inner,
    of: &Contents,
    out: &mut Writer<W>,
    is_enough: &dyn Fn() -> bool,
) -> Result<bool, RetentionError> {
    let mut items = 0;
    for ids in store.receipt_ids(of.segment)?.chunks(ROWS) {
        if is_enough() {
            return Ok(false);
        }
        let receipts = store.receipts_of(ids)?;
        items += receipts.len() as u64;
        for receipt in &receipts {
            let about: Vec<&str> = receipt.about.iter().map(String::as_str).collect();
            out.item(receipt, &about, receipt.at)?;
        }
    }
    if items != of.items {
        let text = format!(
            "the segment {} has {items} receipts, {} were counted",
            of.segment, of.items
        );
        return Err(ArchiveError::Item(text).into());
    }
    Ok(true)
}

/// Remove all items of a class in a segment. Returns false if it stopped because of `is_enough`.
pub(super) fn remove(
    store: &Inner,
    class: Class,
    segment: u32,
    last_page: u64,
    is_enough: &dyn Fn() -> bool,
) -> Result<bool, StoreError> {
    match class {
        Class::History => {
            let through = signed(last_page)?;
            let of_flush = archive::last_of_flush(0);
            let pages = [through, PAGES as i64, signed(of_flush)?];
            let subjects = [i64::from(segment), ROWS as i64];
            Ok(remove_rows(store, PAGES_OUT, &pages, is_enough)?
                && remove_rows(store, SUBJECTS_OUT, &subjects, is_enough)?)
        }
        Class::Receipts => {
            let receipts = [i64::from(segment), ROWS as i64];
            let pages = [i64::from(segment), PAGES as i64];
            Ok(remove_rows(store, RECEIPTS_OUT, &receipts, is_enough)?
                && remove_rows(store, RECEIPT_PAGES_OUT, &pages, is_enough)?)
        }
        Class::Documents | Class::Audit => unreachable!("this has no segment {segment}"),
    }
}

/// Pages of one flush are removed together. Flushes are in the order of the log, pages of a flush are not, and
/// the tables must keep the end of the log.
const PAGES_OUT: &str = "DELETE FROM history WHERE page <= min(?1, ?3 | (
    SELECT max(page) FROM (SELECT page FROM history WHERE page <= ?1 ORDER BY page LIMIT ?2)))";
/// The rows of the index are in this order, so the subquery gives the end of a part.
const SUBJECTS_OUT: &str = "DELETE FROM history_by_run WHERE era = ?1 AND (run, subject, page) <= (
    SELECT run, subject, page FROM (
        SELECT run, subject, page FROM history_by_run WHERE era = ?1 ORDER BY run, subject, page LIMIT ?2
    ) ORDER BY run DESC, subject DESC, page DESC LIMIT 1)";
const RECEIPTS_OUT: &str = "DELETE FROM receipts WHERE id IN (
    SELECT id FROM receipts INDEXED BY receipts_by_run WHERE era = ?1 LIMIT ?2)";
const RECEIPT_PAGES_OUT: &str = "DELETE FROM receipt_pages WHERE page IN (
    SELECT page FROM receipt_pages INDEXED BY receipt_pages_by_era WHERE era = ?1 LIMIT ?2)";

/// Remove rows, a few in each transaction, until none is left.
pub(super) fn remove_rows(
    store: &Inner,
    text: &str,
    values: &[i64],
    is_enough: &dyn Fn() -> bool,
) -> Result<bool, StoreError> {
    loop {
        if is_enough() {
            return Ok(false);
        }
        let mut bound = Bound::default();
        for value in values {
            bound.add(*value)?;
        }
        let mut slices = store.slices();
        let removed = slices.statement(text, bound, 1)?;
        slices.finish()?;
        if removed == 0 {
            return Ok(true);
        }
    }
}
