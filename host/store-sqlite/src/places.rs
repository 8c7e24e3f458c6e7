//! Where documents are.
//!
//! Documents lie in the order in which they were first written, each at a place of its own, from 1 on.
//! So many places that follow one another are a *segment*, and the index over ids begins with the segment:
//! ids are random, and in an index over all documents each new one would change a page of its own. So
//! a payment costs the same however many there were. The price is that somebody must know in which
//! segment a document is, and that is the Bloom filter's business.
//!
//! A full segment never gets a new document: its Bloom filter is kept, and what came later would be missed.
//! That a document which is there is never missed rests on an order. Whoever looks for one asks first
//! the memtable, then the Bloom filter, then the table. A flush notes in the Bloom filter, then commits to the table,
//! and then takes away from the memtable.

use parking_lot::{Mutex, RwLock};
use rialto_engine::CollectionId;
use rialto_engine::store::{StoreError, StoredDocument};
use sqlx::{AssertSqlSafe, Sqlite, SqliteConnection, SqlitePool};

use crate::bloom_filters::{BloomFilters, SEGMENT_BITS};
use crate::journal::Document;
use crate::rows::{self, signed, unsigned};
use crate::slices::{Bound, STATEMENT_ROWS, Slices};
use crate::{Inner, failed, unreadable};

const _: () = assert!(
    SEGMENT_BITS == 16,
    "`place >> 16` stands in statements and in the layout of the tables"
);

/// Documents that are noted while nobody can look: a fraction of a millisecond.
const NOTED_AT_ONCE: usize = 128;

/// Where the next new documents go.
struct Next {
    /// The place that is given next, if nothing was given since.
    place: u64,
    /// Segments whose Bloom filters are kept; the next one's is not.
    kept: u32,
}

/// What `load` has learnt.
pub(crate) struct Learnt {
    bloom_filters: BloomFilters,
    next: Next,
}

/// See the module's documentation.
pub(crate) struct Places {
    /// None until the store was recovered.
    bloom_filters: RwLock<Option<BloomFilters>>,
    next: Mutex<Next>,
    /// New documents of a segment.
    segment_documents: u64,
}

/// A document that is to be written or removed, and its place. Of one that is to be removed it is none
/// if it is not in the tables.
pub(crate) type Settled<'d> = (&'d Document, Option<u64>);

fn segment_of(place: u64) -> Result<u32, StoreError> {
    u32::try_from(place >> SEGMENT_BITS).map_err(|e| unreadable("the place of a document", e))
}

fn not_recovered() -> StoreError {
    StoreError::Failed("the store has not been recovered yet".into())
}

impl Places {
    pub fn new(segment_documents: u32) -> Self {
        Self {
            bloom_filters: RwLock::new(None),
            next: Mutex::new(Next { place: 0, kept: 0 }),
            segment_documents: u64::from(segment_documents).clamp(1, 1 << SEGMENT_BITS),
        }
    }

    /// From now on documents can be looked for. What the journal holds must be in the memtable by now.
    pub fn begin(&self, learnt: Learnt) {
        *self.next.lock() = learnt.next;
        *self.bloom_filters.write() = Some(learnt.bloom_filters);
    }

    /// The segments that may have a document, the newest first.
    fn segments(&self, collection: CollectionId, id: &str) -> Result<Vec<u32>, StoreError> {
        let bloom_filters = self.bloom_filters.read();
        let bloom_filters = bloom_filters.as_ref().ok_or_else(not_recovered)?;
        Ok(bloom_filters.segments(bloom_filters.fingerprint(collection, id)))
    }

    /// The segments that may have documents of a collection, the newest first.
    pub fn segments_with(&self, collection: CollectionId) -> Result<Vec<u32>, StoreError> {
        let bloom_filters = self.bloom_filters.read();
        let bloom_filters = bloom_filters.as_ref().ok_or_else(not_recovered)?;
        Ok(bloom_filters.segments(bloom_filters.fingerprint_of_collection(collection)))
    }

    /// How many segments are full, and their Bloom filters are kept.
    pub fn kept_segments(&self) -> u32 {
        self.next.lock().kept
    }

    /// The segment of the newest documents.
    pub fn open_segment(&self) -> Result<u32, StoreError> {
        segment_of(self.next.lock().place)
    }

    /// End the segment of the newest documents although it is not full. Only while nothing is flushed, and its
    /// Bloom filter must be kept at once.
    pub fn end_segment(&self) {
        let mut next = self.next.lock();
        next.place = ((next.place >> SEGMENT_BITS) + 1) << SEGMENT_BITS;
    }

    /// Give places to new documents, after it was found where the others are.
    async fn settle<'d>(
        &self,
        readers: &SqlitePool,
        documents: &[&'d Document],
    ) -> Result<Vec<Settled<'d>>, StoreError> {
        let mut asked = Vec::new();
        for (n, document) in documents.iter().enumerate() {
            let (collection, id) = document.key();
            let segments = self.segments(collection, &id)?;
            asked.extend(segments.into_iter().map(|segment| (n, segment)));
        }
        let mut settled: Vec<Settled<'d>> = documents.iter().map(|d| (*d, None)).collect();
        let mut reader = readers.acquire().await.map_err(failed)?;
        for (n, place) in find_all(&mut reader, documents, &asked).await? {
            if let Some(other) = settled[n].1.replace(place) {
                let both = format!("it is at {other} and at {place}");
                return Err(unreadable("a document", both));
            }
        }
        let free = last_place(&mut reader).await? + 1;
        {
            // A flush that failed may have left places unused.
            let mut next = self.next.lock();
            next.place = free.max(u64::from(next.kept) << SEGMENT_BITS);
        }
        // Readers get their turn between these.
        for some in settled.chunks_mut(NOTED_AT_ONCE) {
            self.give_places(some)?;
        }
        Ok(settled)
    }

    fn give_places(&self, documents: &mut [Settled<'_>]) -> Result<(), StoreError> {
        let mut next = self.next.lock();
        let mut bloom_filters = self.bloom_filters.write();
        let bloom_filters = bloom_filters.as_mut().ok_or_else(not_recovered)?;
        for (document, place) in documents {
            if place.is_none() && document.body.is_some() {
                let given = next.give(self.segment_documents);
                let (collection, id) = document.key();
                bloom_filters.note_document(segment_of(given)?, collection, &id);
                *place = Some(given);
            }
        }
        Ok(())
    }
}

impl Next {
    fn give(&mut self, segment_documents: u64) -> u64 {
        if self.place % (1 << SEGMENT_BITS) >= segment_documents {
            self.place = ((self.place >> SEGMENT_BITS) + 1) << SEGMENT_BITS;
        }
        assert!(
            self.place >> SEGMENT_BITS >= u64::from(self.kept),
            "a new document comes to place {}, and the Bloom filters of the {} segments before {} are kept",
            self.place,
            self.kept,
            u64::from(self.kept) << SEGMENT_BITS
        );
        assert!(
            self.place % (1 << SEGMENT_BITS) < segment_documents,
            "a new document comes to place {}, and a segment takes {segment_documents} documents",
            self.place
        );
        self.place += 1;
        self.place - 1
    }
}

impl Inner {
    /// A document in the tables.
    pub fn find(
        &self,
        collection: CollectionId,
        id: &str,
    ) -> Result<Option<StoredDocument>, StoreError> {
        for segment in self.places.segments(collection, id)? {
            let row = self.runtime.block_on(
                sqlx::query(
                    "SELECT id, version, body FROM documents INDEXED BY documents_by_era
                     WHERE place >> 16 = ? AND collection = ? AND id = ?",
                )
                .bind(segment)
                .bind(collection.0)
                .bind(id)
                .fetch_optional(&self.readers),
            );
            if let Some(row) = row.map_err(failed)? {
                return rows::document(&row).map(Some);
            }
        }
        Ok(None)
    }

    /// See `Places::settle`.
    pub fn settle<'d>(&self, documents: &[&'d Document]) -> Result<Vec<Settled<'d>>, StoreError> {
        let settling = self.places.settle(&self.readers, documents);
        self.runtime.block_on(settling)
    }

    /// Keep the Bloom filters of segments that have become full.
    pub fn keep_full_segments(&self, slices: &mut Slices<'_>) -> Result<(), StoreError> {
        let (kept, open) = {
            let next = self.places.next.lock();
            (next.kept, segment_of(next.place)?)
        };
        assert!(
            kept <= open,
            "the Bloom filters of {kept} segments are kept, and segment {open} takes new documents"
        );
        for segment in kept..open {
            let image = {
                let bloom_filters = self.places.bloom_filters.read();
                bloom_filters
                    .as_ref()
                    .ok_or_else(not_recovered)?
                    .image(segment)
            };
            let mut row = Bound::default();
            row.add(segment)?;
            row.add(image)?;
            slices.statement(KEEP, row, 1)?;
            slices.finish()?;
            self.places.next.lock().kept = segment + 1;
        }
        Ok(())
    }
}

const KEEP: &str = "INSERT OR REPLACE INTO eras (era, filter) VALUES (?, ?)";

/// Learn from the tables where documents are: of full segments from what was kept of them, of the others
/// from their documents.
pub(crate) async fn learn(connection: &mut SqliteConnection) -> Result<Learnt, StoreError> {
    let key: i64 = sqlx::query_scalar("SELECT value FROM meta WHERE key = 'filter_key'")
        .fetch_one(&mut *connection)
        .await
        .map_err(failed)?;
    let kept: i64 = sqlx::query_scalar("SELECT coalesce(max(era) + 1, 0) FROM eras")
        .fetch_one(&mut *connection)
        .await
        .map_err(failed)?;
    let place = last_place(connection).await? + 1;
    let place = place.max(unsigned(kept)? << SEGMENT_BITS);
    let open = segment_of(place)?;
    let mut bloom_filters = BloomFilters::new(key.cast_unsigned());
    for segment in 0..open {
        match image(connection, segment).await? {
            Some(image) if bloom_filters.put(segment, &image) => continue,
            Some(_) => tracing::warn!(
                segment,
                "what the store has kept of a segment cannot be used; its documents are read instead"
            ),
            None => tracing::info!(
                segment,
                before = open,
                "the documents of a segment are read"
            ),
        }
        learn_segment(connection, &mut bloom_filters, segment).await?;
        sqlx::query(KEEP)
            .bind(segment)
            .bind(bloom_filters.image(segment))
            .execute(&mut *connection)
            .await
            .map_err(failed)?;
    }
    learn_segment(connection, &mut bloom_filters, open).await?;
    let next = Next { place, kept: open };
    Ok(Learnt {
        bloom_filters,
        next,
    })
}

async fn last_place(connection: &mut SqliteConnection) -> Result<u64, StoreError> {
    let last: i64 = sqlx::query_scalar("SELECT coalesce(max(place), 0) FROM documents")
        .fetch_one(connection)
        .await
        .map_err(failed)?;
    unsigned(last)
}

/// All segments, the newest first, for those who have no Bloom filter.
pub(crate) async fn all_segments(
    connection: &mut SqliteConnection,
) -> Result<Vec<u32>, StoreError> {
    let last = segment_of(last_place(connection).await?)?;
    Ok((0..=last).rev().collect())
}

/// What was kept of a segment, if it was.
async fn image(
    connection: &mut SqliteConnection,
    segment: u32,
) -> Result<Option<Vec<u8>>, StoreError> {
    sqlx::query_scalar("SELECT filter FROM eras WHERE era = ?")
        .bind(segment)
        .fetch_optional(connection)
        .await
        .map_err(failed)
}

/// Note all documents of a segment.
async fn learn_segment(
    connection: &mut SqliteConnection,
    bloom_filters: &mut BloomFilters,
    segment: u32,
) -> Result<(), StoreError> {
    let names: Vec<(u32, String)> = sqlx::query_as(
        "SELECT collection, id FROM documents INDEXED BY documents_by_era WHERE place >> 16 = ?",
    )
    .bind(segment)
    .fetch_all(connection)
    .await
    .map_err(failed)?;
    for (collection, id) in names {
        bloom_filters.note_document(segment, CollectionId(collection), &id);
    }
    Ok(())
}

/// The places of those that are in the segments in which they are looked for.
async fn find_all(
    connection: &mut SqliteConnection,
    documents: &[&Document],
    asked: &[(usize, u32)],
) -> Result<Vec<(usize, u64)>, StoreError> {
    let mut found = Vec::new();
    let mut rest = asked;
    for length in STATEMENT_ROWS {
        let values = vec!["(?,?,?,?)"; length].join(",");
        let text = format!(
            "SELECT w.column1, d.place
             FROM (VALUES {values}) w CROSS JOIN documents d INDEXED BY documents_by_era
             WHERE d.place >> 16 = w.column2 AND d.collection = w.column3 AND d.id = w.column4"
        );
        while rest.len() >= length {
            let (chunk, others) = rest.split_at(length);
            // Made of this crate's own constants only.
            let mut query = sqlx::query_as::<Sqlite, (i64, i64)>(AssertSqlSafe(text.clone()));
            for (n, segment) in chunk {
                let (collection, id) = documents[*n].key();
                query = query
                    .bind(signed(*n as u64)?)
                    .bind(segment)
                    .bind(collection.0)
                    .bind(id.to_string());
            }
            for (n, place) in query.fetch_all(&mut *connection).await.map_err(failed)? {
                found.push((usize::try_from(n).unwrap_or(usize::MAX), unsigned(place)?));
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
