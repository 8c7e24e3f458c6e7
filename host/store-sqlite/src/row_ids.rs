//! The row ids of documents, and the segments that they make.
//!
//! A document gets the next row id, from 1 on, when it is first written. A *segment* is 65,536 row ids in a
//! row; `row_id >> 16` is its number. The index over ids begins with the *run*, which is
//! 8,192 row ids in a row. Ids are random: in one index over all documents, each new document would change a page of its own.
//! With runs a payment costs the same however many documents there are, and a run's part of the index is written by few
//! flushes. Bloom filters in memory say which segments may have a document; for the newest ones memory has the row id too.
//!
//! A full segment gets no new document, because its Bloom filter is stored and would not know the document.
//! A reader never misses a document because of the order of the steps:
//! - A reader looks in the memtable, then in the Bloom filters, then in the table.
//! - A flush adds to the Bloom filter, then commits to the table, then removes from the memtable.
//!
//! The tables' names are older: the column of row ids is `place`, and a segment is an `era`.

use std::ops::Range;

use parking_lot::{Condvar, MappedRwLockReadGuard, Mutex, MutexGuard, RwLock, RwLockReadGuard};
use rialto_engine::CollectionId;
use rialto_engine::store::{StoreError, StoredDocument};
use sqlx::{AssertSqlSafe, Sqlite, SqliteConnection, SqlitePool};

use crate::bloom_filters::{BloomFilters, SEGMENT_BITS};
use crate::journal::Document;
use crate::recent_rows::RecentRows;
use crate::rows::{self, signed, unsigned};
use crate::slices::STATEMENT_ROWS;
use crate::{Inner, failed, unreadable};

/// The number of row ids of a run, as a power of two.
const RUN_BITS: u32 = 13;
/// The runs of a segment.
const RUNS: u32 = 1 << (SEGMENT_BITS - RUN_BITS);

const _: () = assert!(
    RUN_BITS == 13 && RUNS == 8,
    "statements and the layout of the tables contain `place >> 13` and the eight runs of a segment"
);

/// How many documents are added to the Bloom filters under one lock: a fraction of a millisecond.
const NOTED_AT_ONCE: usize = 128;

/// The next row id, and what is stored of the Bloom filters.
pub(crate) struct Next {
    /// The row id that the next new document gets.
    pub row_id: u64,
    /// How many segments have a stored Bloom filter.
    pub kept: u32,
    /// How many slices of parts are stored, of the first part and those behind it.
    pub kept_slices: u32,
}

/// Which documents are in the tables, and where.
pub(crate) struct Known {
    pub bloom_filters: BloomFilters,
    recent: RecentRows,
}

/// The row ids and Bloom filters of a store.
///
/// They are loaded while the host does the rest of its start. Whoever needs them waits until they are there.
pub(crate) struct RowIds {
    loading: Mutex<Loading>,
    /// Told when `loading` changes.
    loaded: Condvar,
    /// Some once they are loaded.
    known: RwLock<Option<Known>>,
    next: Mutex<Next>,
    /// How many new documents a segment takes.
    segment_documents: u64,
}

/// How far the row ids are loaded.
enum Loading {
    /// The store was not recovered.
    No,
    Begun,
    Done,
    Failed(StoreError),
}

/// A document that is to be written or removed, with its row id. None for one that is to be removed and is
/// not in the tables.
pub(crate) type WithRowId<'d> = (&'d Document, Option<u64>);

pub(crate) fn segment_of(row_id: u64) -> Result<u32, StoreError> {
    u32::try_from(row_id >> SEGMENT_BITS).map_err(|e| unreadable("the row id of a document", e))
}

pub(crate) fn not_recovered() -> StoreError {
    StoreError::Failed("the store has not been recovered yet".into())
}

impl RowIds {
    pub fn new(segment_documents: u32) -> Self {
        Self {
            loading: Mutex::new(Loading::No),
            loaded: Condvar::new(),
            known: RwLock::new(None),
            next: Mutex::new(Next {
                row_id: 0,
                kept: 0,
                kept_slices: 0,
            }),
            segment_documents: u64::from(segment_documents).clamp(1, 1 << SEGMENT_BITS),
        }
    }

    /// They are being loaded from now on, and whoever needs them waits. Call it while no flush runs, which would give out row
    /// ids that are not loaded.
    pub fn begin(&self) {
        *self.loading.lock() = Loading::Begun;
        *self.known.write() = None;
    }

    /// They are loaded, or why not. The entries of the journal must be in the memtable before.
    pub fn end(&self, loaded: Result<(Known, Next), StoreError>) {
        let end = match loaded {
            Ok((known, next)) => {
                *self.next.lock() = next;
                *self.known.write() = Some(known);
                Loading::Done
            }
            Err(error) => Loading::Failed(error),
        };
        *self.loading.lock() = end;
        self.loaded.notify_all();
    }

    /// Wait until they are loaded.
    pub fn wait(&self) -> Result<(), StoreError> {
        let mut loading = self.loading.lock();
        loop {
            match &*loading {
                Loading::No => return Err(not_recovered()),
                Loading::Begun => self.loaded.wait(&mut loading),
                Loading::Done => return Ok(()),
                Loading::Failed(error) => return Err(error.clone()),
            }
        }
    }

    /// Which documents are in the tables. Waits until that is loaded.
    pub fn known(&self) -> Result<MappedRwLockReadGuard<'_, Known>, StoreError> {
        match RwLockReadGuard::try_map(self.known.read(), Option::as_ref) {
            Ok(known) => Ok(known),
            Err(nothing) => {
                drop(nothing);
                self.wait()?;
                RwLockReadGuard::try_map(self.known.read(), Option::as_ref)
                    .map_err(|_| not_recovered())
            }
        }
    }

    /// The next row id. Waits until it is loaded.
    pub fn next(&self) -> Result<MutexGuard<'_, Next>, StoreError> {
        drop(self.known()?);
        Ok(self.next.lock())
    }

    /// The row that a document is probably in, and the segments that may have it, the newest first.
    fn look_up(&self, collection: CollectionId, id: &str) -> Result<Places, StoreError> {
        let known = self.known()?;
        let fingerprint = known.bloom_filters.fingerprint(collection, id);
        Ok(Places {
            guess: known.recent.guess(fingerprint),
            segments: known.bloom_filters.segments(fingerprint),
        })
    }

    /// The segments that may have documents of a collection, the newest first.
    pub fn segments_with(&self, collection: CollectionId) -> Result<Vec<u32>, StoreError> {
        let bloom_filters = &self.known()?.bloom_filters;
        Ok(bloom_filters.segments(bloom_filters.fingerprint_of_collection(collection)))
    }

    /// How many segments are full and have a stored Bloom filter.
    pub fn kept_segments(&self) -> Result<u32, StoreError> {
        Ok(self.next()?.kept)
    }

    /// The segment of the newest documents.
    pub fn open_segment(&self) -> Result<u32, StoreError> {
        segment_of(self.next()?.row_id)
    }

    /// End the segment of the newest documents before it is full. Call it while no flush runs, and store its
    /// Bloom filter at once.
    pub fn end_segment(&self) -> Result<(), StoreError> {
        let mut next = self.next()?;
        next.row_id = ((next.row_id >> SEGMENT_BITS) + 1) << SEGMENT_BITS;
        Ok(())
    }

    /// Find the row ids of documents that are in the tables, and give row ids to new ones.
    async fn assign_row_ids<'d>(
        &self,
        readers: &SqlitePool,
        documents: &[&'d Document],
    ) -> Result<Vec<WithRowId<'d>>, StoreError> {
        let mut places = Vec::with_capacity(documents.len());
        for document in documents {
            let (collection, id) = document.key();
            places.push(self.look_up(collection, &id)?);
        }
        let mut numbered: Vec<WithRowId<'d>> = documents.iter().map(|d| (*d, None)).collect();
        let mut reader = readers.acquire().await.map_err(failed)?;
        let guesses = places.iter().enumerate();
        let guesses: Vec<Look> = guesses.filter_map(|(n, p)| Some((n, p.guess?))).collect();
        for (n, row_id) in find_all(&mut reader, documents, &guesses, BY_ROW_ID).await? {
            numbered[n].1 = Some(row_id);
        }
        let mut asked = Vec::new();
        for (n, places) in places.iter().enumerate() {
            if numbered[n].1.is_none() {
                let segments = places.segments.iter();
                asked.extend(segments.map(|segment| (n, u64::from(*segment))));
            }
        }
        for (n, row_id) in find_all(&mut reader, documents, &asked, BY_SEGMENT).await? {
            if let Some(other) = numbered[n].1.replace(row_id) {
                let both = format!("it is in row {other} and in row {row_id}");
                return Err(unreadable("a document", both));
            }
        }
        let free = last_row_id(&mut reader).await? + 1;
        {
            // A flush that failed may have left row ids unused.
            let mut next = self.next()?;
            next.row_id = free.max(u64::from(next.kept) << SEGMENT_BITS);
        }
        // Readers get the lock between two chunks.
        for some in numbered.chunks_mut(NOTED_AT_ONCE) {
            self.give_row_ids(some)?;
        }
        Ok(numbered)
    }

    fn give_row_ids(&self, documents: &mut [WithRowId<'_>]) -> Result<(), StoreError> {
        let mut next = self.next()?;
        let mut known = self.known.write();
        let known = known.as_mut().ok_or_else(not_recovered)?;
        for (document, row_id) in documents {
            if row_id.is_none() && document.body.is_some() {
                let given = next.give(self.segment_documents);
                let (collection, id) = document.key();
                known.note(given, collection, &id)?;
                *row_id = Some(given);
            }
        }
        Ok(())
    }
}

/// Where a document may be.
struct Places {
    guess: Option<u64>,
    segments: Vec<u32>,
}

impl Known {
    /// Those of a store without documents. The key is that of the Bloom filters.
    pub fn new(key: u64) -> Self {
        Self {
            bloom_filters: BloomFilters::new(key),
            recent: RecentRows::default(),
        }
    }

    /// Note a document with its row id.
    pub fn note(
        &mut self,
        row_id: u64,
        collection: CollectionId,
        id: &str,
    ) -> Result<(), StoreError> {
        let segment = segment_of(row_id)?;
        self.bloom_filters.note_document(segment, collection, id);
        let fingerprint = self.bloom_filters.fingerprint(collection, id);
        self.recent.note(segment, fingerprint, row_id);
        Ok(())
    }
}

impl Next {
    fn give(&mut self, segment_documents: u64) -> u64 {
        if self.row_id % (1 << SEGMENT_BITS) >= segment_documents {
            self.row_id = ((self.row_id >> SEGMENT_BITS) + 1) << SEGMENT_BITS;
        }
        assert!(
            self.row_id >> SEGMENT_BITS >= u64::from(self.kept),
            "a new document gets row id {}, and the Bloom filters of the {} segments before {} are kept",
            self.row_id,
            self.kept,
            u64::from(self.kept) << SEGMENT_BITS
        );
        assert!(
            self.row_id % (1 << SEGMENT_BITS) < segment_documents,
            "a new document gets row id {}, and a segment takes {segment_documents} documents",
            self.row_id
        );
        self.row_id += 1;
        self.row_id - 1
    }
}

impl Inner {
    /// A document in the tables.
    pub fn find(
        &self,
        collection: CollectionId,
        id: &str,
    ) -> Result<Option<StoredDocument>, StoreError> {
        let places = self.row_ids.look_up(collection, id)?;
        let guess = places.guess.map(|row_id| (FIND_BY_ROW_ID, row_id));
        let segments = places.segments.into_iter();
        let segments = segments.map(|segment| (FIND_BY_SEGMENT, u64::from(segment)));
        for (text, place) in guess.into_iter().chain(segments) {
            let row = self.runtime.block_on(
                sqlx::query(text)
                    .bind(signed(place)?)
                    .bind(collection.0)
                    .bind(id)
                    .fetch_optional(&self.readers),
            );
            if let Some(row) = row.map_err(failed)? {
                return rows::document(&row, &self.unpacking).map(Some);
            }
        }
        Ok(None)
    }

    /// See [`RowIds::assign_row_ids`].
    pub fn assign_row_ids<'d>(
        &self,
        documents: &[&'d Document],
    ) -> Result<Vec<WithRowId<'d>>, StoreError> {
        let assigning = self.row_ids.assign_row_ids(&self.readers, documents);
        self.runtime.block_on(assigning)
    }
}

const FIND_BY_ROW_ID: &str = "SELECT id, version, body FROM documents
    WHERE place = ?1 AND collection = ?2 AND id = ?3";
const FIND_BY_SEGMENT: &str = "SELECT id, version, body FROM documents INDEXED BY documents_by_run
    WHERE place >> 13 IN (?1 << 3, ?1 << 3 | 1, ?1 << 3 | 2, ?1 << 3 | 3,
                          ?1 << 3 | 4, ?1 << 3 | 5, ?1 << 3 | 6, ?1 << 3 | 7)
      AND collection = ?2 AND id = ?3";

pub(crate) async fn last_row_id(connection: &mut SqliteConnection) -> Result<u64, StoreError> {
    let last: i64 = sqlx::query_scalar("SELECT coalesce(max(place), 0) FROM documents")
        .fetch_one(connection)
        .await
        .map_err(failed)?;
    unsigned(last)
}

/// All segments, the newest first, for readers without Bloom filters.
pub(crate) async fn all_segments(
    connection: &mut SqliteConnection,
) -> Result<Vec<u32>, StoreError> {
    let last = segment_of(last_row_id(connection).await?)?;
    Ok((0..=last).rev().collect())
}

/// The runs of a segment, in the order of their row ids.
pub(crate) fn runs(segment: u32) -> Range<u32> {
    let first = segment << (SEGMENT_BITS - RUN_BITS);
    first..first + RUNS
}

/// The number of a document among those that are looked for, and the row id or the segment to look in.
type Look = (usize, u64);

/// How a document is looked for in its probable row. `w` has its number, the row id, its collection and its id.
const BY_ROW_ID: &str = "CROSS JOIN documents d WHERE d.place = w.column2";
/// How it is looked for in a segment. `w` has the segment instead of the row id.
const BY_SEGMENT: &str = "CROSS JOIN (VALUES (0), (1), (2), (3), (4), (5), (6), (7)) r
    CROSS JOIN documents d INDEXED BY documents_by_run
    WHERE d.place >> 13 = (w.column2 << 3 | r.column1)";

/// Look for documents in the given places. Returns the row ids of those that were found.
async fn find_all(
    connection: &mut SqliteConnection,
    documents: &[&Document],
    asked: &[Look],
    how: &'static str,
) -> Result<Vec<(usize, u64)>, StoreError> {
    let mut found = Vec::new();
    let mut rest = asked;
    for length in STATEMENT_ROWS {
        if rest.len() < length {
            continue;
        }
        let values = vec!["(?,?,?,?)"; length].join(",");
        let text = format!(
            "SELECT w.column1, d.place
             FROM (VALUES {values}) w {how} AND d.collection = w.column3 AND d.id = w.column4"
        );
        while rest.len() >= length {
            let (chunk, others) = rest.split_at(length);
            // Made of this crate's own constants only.
            let mut query = sqlx::query_as::<Sqlite, (i64, i64)>(AssertSqlSafe(text.clone()));
            for (n, place) in chunk {
                let (collection, id) = documents[*n].key();
                query = query
                    .bind(signed(*n as u64)?)
                    .bind(signed(*place)?)
                    .bind(collection.0)
                    .bind(id.to_string());
            }
            for (n, row_id) in query.fetch_all(&mut *connection).await.map_err(failed)? {
                found.push((usize::try_from(n).unwrap_or(usize::MAX), unsigned(row_id)?));
            }
            rest = others;
        }
    }
    assert!(
        rest.is_empty(),
        "of {} looks for documents {} are left out",
        asked.len(),
        rest.len()
    );
    Ok(found)
}
