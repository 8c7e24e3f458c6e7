//! Flushes the journal into the tables.
//!
//! 1. Several groups are merged: the last state of each document remains, and rows that were added and
//!    removed within these groups (handled deliveries, answered requests) are left out.
//! 2. The rows are written in slices: short transactions, between which the writer commits new groups.
//! 3. The last slice removes the entries from the journal.
//!
//! After a crash the next start does an interrupted flush again with the same groups. Every statement may run
//! twice. The counters in `meta` have older names: `folding` is the number where the current flush ends,
//! `folded` the number where the last one ended.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rialto_engine::Name;
use rialto_engine::network::OutboundRequest;
use rialto_engine::store::{StoreError, StoredReminder};
use zstd::zstd_safe::CCtx;

use crate::dictionaries::{Body, Packing};
use crate::journal::{Document, Entry, Letter, Verdict};
use crate::records::EncodedRecord;
use crate::retention::{Added, Class, note};
use crate::row_ids::WithRowId;
use crate::rows::{Stored, json};
use crate::slices::{Bound, Slices};
use crate::{Inner, archive, pages, receipt_pages};

/// The number of the host's ids of a run of the history's subjects, as a power of two: about as many payments as a run of
/// documents has. The index of receipts has runs of the same size.
const SUBJECT_RUN_BITS: u32 = 17;

const _: () = assert!(
    SUBJECT_RUN_BITS == 17,
    "statements and the layout of the tables contain `id >> 17`"
);

/// Several groups merged into one. A value of none is to be removed.
#[derive(Default)]
struct Merged<'a> {
    through: u64,
    lsn: u64,
    next_id: u64,
    collections: Vec<&'a (u32, Name, Name)>,
    documents: BTreeMap<(u32, &'a str), &'a Document>,
    deliveries: BTreeMap<u64, Option<&'a Stored>>,
    reminders: BTreeMap<(&'a str, &'a str), Option<&'a StoredReminder>>,
    outbound: BTreeMap<u64, Option<&'a Arc<OutboundRequest>>>,
    dead_letters: BTreeMap<u64, Option<&'a Letter>>,
    receipts: Vec<&'a Verdict>,
    /// Each with its index and its time.
    audit: Vec<(u64, u64, &'a Arc<str>)>,
    /// Each with its number and its time.
    publications: Vec<(u64, u64, &'a str)>,
    history: Vec<(u64, EncodedRecord<'a>)>,
}

/// Flush these consecutive entries into the tables.
pub(crate) fn flush(
    store: &Inner,
    slices: &mut Slices<'_>,
    entries: &[Arc<Entry>],
) -> Result<(), StoreError> {
    let Some(merged) = merge(entries) else {
        return Ok(());
    };
    let documents: Vec<&Document> = merged.documents.values().copied().collect();
    let with_row_ids = store.assign_row_ids(&documents)?;
    assert!(
        with_row_ids.len() == documents.len(),
        "{} documents are flushed and {} have been looked for",
        documents.len(),
        with_row_ids.len()
    );
    let segment = store.row_ids.open_segment()?;
    let mut packing = store.packing.lock();
    packing.learn(&documents, &store.unpacking);
    // Before the first slice, so that nobody waits for it.
    let (written, removed) = as_stored(&with_row_ids, &mut packing);
    slices.set("folding", merged.through)?;
    packing.store(slices)?;
    drop(packing);
    collections(slices, &merged)?;
    write_documents(slices, &written, &removed)?;
    deliveries(slices, &merged)?;
    reminders(slices, &merged)?;
    outbound(slices, &merged)?;
    dead_letters(slices, &merged)?;
    audit(slices, &merged)?;
    publications(slices, &merged)?;
    let mut context =
        pages::context().ok_or_else(|| StoreError::Failed("no memory to compress pages".into()))?;
    let of_receipts = receipts(slices, &mut context, &merged, segment)?;
    let of_history = history(slices, &mut context, &merged, segment)?;
    // Only then may the journal's files be used again.
    slices.sync_all()?;
    slices.set("lsn", merged.lsn)?;
    slices.raise("next_id", merged.next_id)?;
    slices.set("folded", merged.through)?;
    // In the last transaction of the flush, so that a flush that is done again counts once.
    note(slices, segment, Class::Receipts, &of_receipts)?;
    note(slices, segment, Class::History, &of_history)?;
    let mut through = Bound::default();
    through.number(merged.through)?;
    let removed = slices.statement("DELETE FROM journal WHERE place <= ?", through, 1)?;
    assert!(
        removed <= entries.len() as u64,
        "{} entries of the journal are flushed, and {removed} leave it",
        entries.len()
    );
    slices.finish()
}

fn merge(entries: &[Arc<Entry>]) -> Option<Merged<'_>> {
    let last = entries.last()?;
    let mut merged = Merged {
        through: last.seq,
        lsn: last.lsn,
        ..Merged::default()
    };
    for (entry, before) in entries.iter().skip(1).zip(entries) {
        assert!(
            entry.seq == before.seq + 1 && entry.lsn >= before.lsn,
            "number {} of the journal, through turn {}, is flushed after number {}, through turn {}",
            entry.seq,
            entry.lsn,
            before.seq,
            before.lsn
        );
    }
    for entry in entries {
        merged.next_id = merged.next_id.max(entry.next_id);
        merged.collections.extend(&entry.collections);
        for document in &entry.documents {
            let key = (document.collection, &*document.id);
            let before = merged.documents.insert(key, document);
            assert!(
                // A document that was removed may start again at version 1.
                before.is_none_or(|b| b.body.is_none() || b.version < document.version),
                "document {:?} of collection {} goes back to version {}",
                document.id,
                document.collection,
                document.version
            );
        }
        let added = entry.deliveries_added.iter().map(|d| (d.id, d));
        came_and_went(&mut merged.deliveries, added, &entry.deliveries_removed);
        let added = entry.outbound_added.iter().map(|o| (o.id, o));
        came_and_went(&mut merged.outbound, added, &entry.outbound_removed);
        let added = entry.dead_letters_added.iter().map(|l| (l.delivery.id, l));
        came_and_went(&mut merged.dead_letters, added, &entry.dead_letters_removed);
        for reminder in &entry.reminders_set {
            let key = (&*reminder.component, &*reminder.id);
            merged.reminders.insert(key, Some(reminder));
        }
        for (component, id) in &entry.reminders_removed {
            merged.reminders.insert((component, id), None);
        }
        merged.receipts.extend(&entry.receipts);
        let indexed = (entry.audit.first..).zip(&entry.audit.entries);
        let indexed = indexed.map(|(index, (at, body))| (index, *at, body));
        merged.audit.extend(indexed);
        let numbered = (entry.publications.first..).zip(&entry.publications.bodies);
        let numbered = numbered.map(|(number, (at, body))| (number, *at, body.as_str()));
        merged.publications.extend(numbered);
        let records = entry.history.iter().enumerate();
        merged
            .history
            .extend(records.map(|(n, record)| (archive::order(entry.seq, n), record)));
    }
    Some(merged)
}

/// Merge rows with ids that are never used again. A row that was added and removed here is left out.
fn came_and_went<'a, T>(
    rows: &mut BTreeMap<u64, Option<&'a T>>,
    added: impl Iterator<Item = (u64, &'a T)>,
    removed: &[u64],
) {
    rows.extend(added.map(|(id, row)| (id, Some(row))));
    for id in removed {
        if rows.remove(id).flatten().is_none() {
            rows.insert(*id, None);
        }
    }
}

fn split<K: Copy + Ord, V: Copy>(rows: &BTreeMap<K, Option<V>>) -> (Vec<V>, Vec<K>) {
    let kept: Vec<V> = rows.values().filter_map(|row| *row).collect();
    let removed = rows.iter().filter(|(_, row)| row.is_none());
    let removed: Vec<K> = removed.map(|(key, _)| *key).collect();
    assert!(
        kept.len() + removed.len() == rows.len(),
        "of {} rows {} are kept and {} are removed",
        rows.len(),
        kept.len(),
        removed.len()
    );
    (kept, removed)
}

fn collections(slices: &mut Slices<'_>, merged: &Merged<'_>) -> Result<(), StoreError> {
    let head = "INSERT OR REPLACE INTO collections (id, component, name) VALUES";
    slices.rows(head, "(?,?,?)", "", &merged.collections, |b, c| {
        b.add(c.0)?;
        b.add(c.1.clone())?;
        b.add(c.2.clone())
    })
}

/// A document with its row id and its body as it is stored.
type Written<'d> = (&'d Document, u64, Body);

/// The documents that are to be written, and the row ids of those that are to be removed.
fn as_stored<'d>(
    documents: &[WithRowId<'d>],
    packing: &mut Packing,
) -> (Vec<Written<'d>>, Vec<u64>) {
    let (mut written, mut removed) = (Vec::with_capacity(documents.len()), Vec::new());
    for (document, row_id) in documents {
        match (&document.body, row_id) {
            (Some(body), Some(row_id)) => {
                let body = packing.body(document.collection, body);
                written.push((*document, *row_id, body));
            }
            (None, Some(row_id)) => removed.push(*row_id),
            (None, None) => {}
            (Some(_), None) => panic!(
                "document {:?} of collection {} is to be written and has no row id",
                document.id, document.collection
            ),
        }
    }
    (written, removed)
}

fn write_documents(
    slices: &mut Slices<'_>,
    written: &[Written<'_>],
    removed: &[u64],
) -> Result<(), StoreError> {
    let head = "INSERT INTO documents (place, collection, id, version, body) VALUES";
    let tail = " ON CONFLICT (place) DO UPDATE
                SET version = excluded.version, body = excluded.body
                WHERE collection = excluded.collection AND id = excluded.id";
    let changed = slices.count_rows(
        head,
        "(?,?,?,?,?)",
        tail,
        written,
        |b, (d, row_id, body)| {
            b.number(*row_id)?;
            b.add(d.collection)?;
            b.add(d.id.clone())?;
            b.number(d.version)?;
            match body {
                Body::Text(text) => b.add(text.clone()),
                Body::Frame(frame) => b.add(frame.as_slice()),
            }
        },
    )?;
    if changed != written.len() as u64 {
        return Err(StoreError::Failed(
            "another document has the row id that a new document was given".into(),
        ));
    }
    let head = "DELETE FROM documents WHERE place IN (VALUES";
    slices.rows(head, "(?)", ")", removed, |b, row_id| b.number(*row_id))
}

fn deliveries(slices: &mut Slices<'_>, merged: &Merged<'_>) -> Result<(), StoreError> {
    let (kept, removed) = split(&merged.deliveries);
    let head = "INSERT OR REPLACE INTO deliveries (id, head, payload) VALUES";
    slices.rows(head, "(?,?,?)", "", &kept, |b, d| {
        b.number(d.id)?;
        b.add(json(&d.head)?)?;
        b.add(d.payload.clone())
    })?;
    let head = "DELETE FROM deliveries WHERE id IN (VALUES";
    slices.rows(head, "(?)", ")", &removed, |b, id| b.number(*id))
}

fn reminders(slices: &mut Slices<'_>, merged: &Merged<'_>) -> Result<(), StoreError> {
    let (kept, removed) = split(&merged.reminders);
    let head = "INSERT OR REPLACE INTO reminders
                (component, id, due, generation, payload, subjects, trace) VALUES";
    slices.rows(head, "(?,?,?,?,?,?,?)", "", &kept, |b, r| {
        b.add(r.component.clone())?;
        b.add(r.id.clone())?;
        b.add(i64::try_from(r.due.0).unwrap_or(i64::MAX))?;
        b.number(r.generation)?;
        b.add(r.payload.clone())?;
        b.add(json(&r.subjects)?)?;
        b.add(r.trace.to_string())
    })?;
    let head = "DELETE FROM reminders WHERE (component, id) IN (VALUES";
    slices.rows(head, "(?,?)", ")", &removed, |b, (component, id)| {
        b.add((*component).to_owned())?;
        b.add((*id).to_owned())
    })
}

fn outbound(slices: &mut Slices<'_>, merged: &Merged<'_>) -> Result<(), StoreError> {
    let (kept, removed) = split(&merged.outbound);
    let head = "INSERT OR REPLACE INTO outbound (id, request) VALUES";
    slices.rows(head, "(?,?)", "", &kept, |b, o| {
        b.number(o.id)?;
        b.add(json(&***o)?)
    })?;
    let head = "DELETE FROM outbound WHERE id IN (VALUES";
    slices.rows(head, "(?)", ")", &removed, |b, id| b.number(*id))
}

fn dead_letters(slices: &mut Slices<'_>, merged: &Merged<'_>) -> Result<(), StoreError> {
    let (kept, removed) = split(&merged.dead_letters);
    let head = "INSERT OR REPLACE INTO dead_letters
                (id, head, payload, attempts, error, at) VALUES";
    slices.rows(head, "(?,?,?,?,?,?)", "", &kept, |b, l| {
        b.number(l.delivery.id)?;
        b.add(json(&l.delivery.head)?)?;
        b.add(l.delivery.payload.clone())?;
        b.add(l.attempts)?;
        b.add(l.error.clone())?;
        b.number(l.at)
    })?;
    let head = "DELETE FROM dead_letters WHERE id IN (VALUES";
    slices.rows(head, "(?)", ")", &removed, |b, id| b.number(*id))
}

/// Write the entries of the audit log. The counter that says how many there are follows them, so that whoever reads it
/// finds them all.
fn audit(slices: &mut Slices<'_>, merged: &Merged<'_>) -> Result<(), StoreError> {
    let entries = &merged.audit;
    for (entry, before) in entries.iter().skip(1).zip(entries) {
        assert!(
            entry.0 == before.0 + 1,
            "entry {} of the audit log is flushed after entry {}",
            entry.0,
            before.0
        );
    }
    let Some((last, ..)) = entries.last() else {
        return Ok(());
    };
    let head = "INSERT OR REPLACE INTO audit_entries (place, at, entry) VALUES";
    slices.rows(head, "(?,?,?)", "", entries, |b, (index, at, body)| {
        b.number(*index)?;
        b.number(*at)?;
        b.add((***body).to_owned())
    })?;
    slices.raise("audit", last + 1)
}

/// Write the events for the outside. The counter that says which is the last one follows them.
fn publications(slices: &mut Slices<'_>, merged: &Merged<'_>) -> Result<(), StoreError> {
    let all = &merged.publications;
    for (one, before) in all.iter().skip(1).zip(all) {
        assert!(
            one.0 == before.0 + 1,
            "event {} for the outside is flushed after event {}",
            one.0,
            before.0
        );
    }
    let Some((last, ..)) = all.last() else {
        return Ok(());
    };
    let head = "INSERT OR REPLACE INTO publications (place, at, body) VALUES";
    slices.rows(head, "(?,?,?)", "", all, |b, (number, at, body)| {
        b.number(*number)?;
        b.number(*at)?;
        b.add((*body).to_owned())
    })?;
    slices.raise("publications", *last)
}

fn receipts(
    slices: &mut Slices<'_>,
    context: &mut CCtx<'_>,
    merged: &Merged<'_>,
    segment: u32,
) -> Result<Added, StoreError> {
    let mut added = Added::default();
    for receipt in &merged.receipts {
        added.item(receipt.at);
        added.bytes += (receipt.subject.len() + receipt.body.len()) as u64;
    }
    assert!(
        added.items == merged.receipts.len() as u64,
        "{} receipts are flushed and {} are counted",
        merged.receipts.len(),
        added.items
    );
    let mut receipts = merged.receipts.clone();
    receipts.sort_by_key(|receipt| receipt.id);
    let mut pages = Vec::new();
    let mut rows = Vec::with_capacity(receipts.len());
    for page in receipt_pages::pages(&receipts) {
        let first = page[0].id;
        pages.push((first, receipt_pages::encode(context, page)?));
        rows.extend(page.iter().map(|receipt| (*receipt, first)));
    }
    let head = "INSERT OR REPLACE INTO receipt_pages (page, era, bodies) VALUES";
    slices.rows(head, "(?,?,?)", "", &pages, |b, (page, bodies)| {
        b.number(*page)?;
        b.add(segment)?;
        b.add(bodies.clone())
    })?;
    let head = "INSERT OR REPLACE INTO receipts (id, era, subject, at, body, page) VALUES";
    slices.rows(head, "(?,?,?,?,'',?)", "", &rows, |b, (r, page)| {
        b.number(r.id)?;
        b.add(segment)?;
        b.add(r.subject.clone())?;
        b.number(r.at)?;
        b.number(*page)
    })?;
    Ok(added)
}

/// Write the history as pages of turns. Turns about the same subject are beside each other. An index row says
/// which subject is in which page.
fn history(
    slices: &mut Slices<'_>,
    context: &mut CCtx<'_>,
    merged: &Merged<'_>,
    segment: u32,
) -> Result<Added, StoreError> {
    let mut added = Added::default();
    let mut records = merged.history.clone();
    records.sort_by(|(a, x), (b, y)| (x.subjects.first(), a).cmp(&(y.subjects.first(), b)));
    let mut pages = Vec::new();
    let mut subjects: BTreeSet<(&Name, u64)> = BTreeSet::new();
    for (n, page) in records
        .chunks(archive::page_records(records.len()))
        .enumerate()
    {
        let id = archive::page_id(merged.through, n);
        let encoded = archive::encode(context, page)?;
        for (_, record) in page {
            added.item(record.at);
        }
        added.bytes += encoded.len() as u64;
        added.last_page = id;
        pages.push((id, encoded));
        let all = page.iter().flat_map(|(_, record)| record.subjects);
        subjects.extend(all.map(|subject| (subject, id)));
    }
    assert!(
        added.items == records.len() as u64,
        "{} turns are flushed and {} are in pages",
        records.len(),
        added.items
    );
    let head = "INSERT OR REPLACE INTO history (page, records) VALUES";
    slices.rows(head, "(?,?)", "", &pages, |b, (id, records)| {
        b.number(*id)?;
        b.add(records.clone())
    })?;
    let subjects: Vec<_> = subjects.into_iter().collect();
    let run = merged.next_id >> SUBJECT_RUN_BITS;
    let head = "INSERT OR IGNORE INTO history_by_run (era, run, subject, page) VALUES";
    slices.rows(head, "(?,?,?,?)", "", &subjects, |b, (subject, page)| {
        b.add(segment)?;
        b.number(run)?;
        b.add((*subject).clone())?;
        b.number(*page)
    })?;
    let kinds = subjects
        .iter()
        .filter_map(|(subject, _)| subject.split_once(':'));
    let kinds: BTreeSet<&str> = kinds.map(|(kind, _)| kind).collect();
    let kinds: Vec<&str> = kinds.into_iter().filter(|kind| !kind.is_empty()).collect();
    let head = "INSERT OR IGNORE INTO subject_kinds (kind) VALUES";
    slices.rows(head, "(?)", "", &kinds, |b, kind| b.add((*kind).to_owned()))?;
    Ok(added)
}
