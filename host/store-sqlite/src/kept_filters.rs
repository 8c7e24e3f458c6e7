//! The stored Bloom filters. A start reads them; flushes store those of segments that have become full.
//!
//! A full segment's filter is a row of `eras` (an older name of segments). When all 64 segments of a part are full, the part is
//! stored once more, as it is in memory, in 64 slices of `filter_slices`: a start with many documents reads these, and has
//! nothing to turn. What is damaged there is read from `eras`, and what is damaged there is made of the documents.

use rialto_engine::CollectionId;
use rialto_engine::store::StoreError;
use sqlx::SqliteConnection;
use tokio::task::JoinHandle;

use crate::bloom_filters::{LoadedPart, PART, SEGMENT_BITS};
use crate::row_ids::{Known, Next, last_row_id, runs, segment_of};
use crate::rows::unsigned;
use crate::slices::{Bound, Slices};
use crate::{Inner, failed, unreadable};

/// Slices that one flush stores at most; each has 197 kB.
const SLICES_PER_FLUSH: u32 = 8;

const KEEP: &str = "INSERT OR REPLACE INTO eras (era, filter) VALUES (?, ?)";
const KEEP_SLICE: &str = "INSERT OR REPLACE INTO filter_slices (slice, words) VALUES (?, ?)";

impl Inner {
    /// Read the row ids and Bloom filters, while no flush runs.
    pub fn load_row_ids(&self) -> Result<(Known, Next), StoreError> {
        let read = async {
            let mut reader = self.readers.acquire().await.map_err(failed)?;
            load(&mut reader).await
        };
        let Loaded {
            mut known,
            next,
            missing,
        } = self.runtime.block_on(read)?;
        for (segment, damaged) in missing {
            self.make_filter(&mut known, segment, damaged, next.kept)?;
        }
        Ok((known, next))
    }

    /// Make the Bloom filter of a full segment of its documents, and store it.
    fn make_filter(
        &self,
        known: &mut Known,
        segment: u32,
        damaged: bool,
        before: u32,
    ) -> Result<(), StoreError> {
        if damaged {
            tracing::warn!(
                segment,
                "the stored Bloom filter of a segment cannot be used; the host makes it again from the documents"
            );
        } else {
            tracing::info!(
                segment,
                before,
                "the host makes the Bloom filter of a segment from its documents"
            );
        }
        let documents = async {
            let mut reader = self.readers.acquire().await.map_err(failed)?;
            documents_of(&mut reader, segment).await
        };
        let filters = &mut known.bloom_filters;
        for (collection, id, _) in self.runtime.block_on(documents)? {
            filters.note_document(segment, CollectionId(collection), &id);
        }
        keep(&mut self.slices(), KEEP, segment, filters.image(segment))
    }

    /// Store the Bloom filters of segments that have become full, and some slices of parts.
    pub fn keep_full_segments(&self, slices: &mut Slices<'_>) -> Result<(), StoreError> {
        let (kept, open) = {
            let next = self.row_ids.next()?;
            (next.kept, segment_of(next.row_id)?)
        };
        assert!(
            kept <= open,
            "the Bloom filters of {kept} segments are kept, and segment {open} takes new documents"
        );
        for segment in kept..open {
            let image = self.row_ids.known()?.bloom_filters.image(segment);
            keep(slices, KEEP, segment, image)?;
            self.row_ids.next()?.kept = segment + 1;
        }
        self.keep_slices(slices)
    }

    fn keep_slices(&self, slices: &mut Slices<'_>) -> Result<(), StoreError> {
        for _ in 0..SLICES_PER_FLUSH {
            let (kept, kept_slices) = {
                let next = self.row_ids.next()?;
                (next.kept, next.kept_slices)
            };
            let (part, n) = (kept_slices / PART, kept_slices % PART);
            if part >= kept / PART {
                break;
            }
            let words = self.row_ids.known()?.bloom_filters.slice(part, n);
            keep(slices, KEEP_SLICE, kept_slices, words)?;
            self.row_ids.next()?.kept_slices = kept_slices + 1;
        }
        Ok(())
    }
}

/// Store a filter or a slice of them under its number, in a transaction of its own.
fn keep(
    slices: &mut Slices<'_>,
    statement: &str,
    number: u32,
    image: Vec<u8>,
) -> Result<(), StoreError> {
    let mut row = Bound::default();
    row.add(number)?;
    row.add(image)?;
    slices.statement(statement, row, 1)?;
    slices.finish()
}

/// What the tables say, and the full segments without a filter: true of those that have a damaged one.
struct Loaded {
    known: Known,
    next: Next,
    missing: Vec<(u32, bool)>,
}

async fn load(connection: &mut SqliteConnection) -> Result<Loaded, StoreError> {
    let key: i64 = sqlx::query_scalar("SELECT value FROM meta WHERE key = 'filter_key'")
        .fetch_one(&mut *connection)
        .await
        .map_err(failed)?;
    let kept: i64 = sqlx::query_scalar("SELECT coalesce(max(era) + 1, 0) FROM eras")
        .fetch_one(&mut *connection)
        .await
        .map_err(failed)?;
    let row_id = last_row_id(connection).await? + 1;
    let row_id = row_id.max(unsigned(kept)? << SEGMENT_BITS);
    let open = segment_of(row_id)?;
    let key = key.cast_unsigned();
    let mut parts = of_slices(connection, key, open / PART).await?;
    let kept_slices = (0..).zip(&parts).find(|(_, part)| part.is_none());
    let kept_slices = kept_slices.map_or(open / PART, |(number, _)| number) * PART;
    parts.resize_with(open.div_ceil(PART) as usize, || None);
    of_segments(connection, key, open, &mut parts).await?;
    let mut known = Known::new(key);
    let mut missing = Vec::new();
    for part in parts.into_iter().flatten() {
        missing.extend(part.missing().filter(|(segment, _)| *segment < open));
        known.bloom_filters.put(part);
    }
    for (collection, id, row_id) in documents_of(connection, open).await? {
        known.note(unsigned(row_id)?, CollectionId(collection), &id)?;
    }
    let next = Next {
        row_id,
        kept: open,
        kept_slices,
    };
    Ok(Loaded {
        known,
        next,
        missing,
    })
}

/// The first parts, of their slices. None for a part whose slices are not all there, or are damaged.
async fn of_slices(
    connection: &mut SqliteConnection,
    key: u64,
    count: u32,
) -> Result<Vec<Option<LoadedPart>>, StoreError> {
    let mut parts = Vec::new();
    // A part is read while another thread puts the one before together.
    let mut making: Option<JoinHandle<Option<LoadedPart>>> = None;
    for number in 0..count {
        let slices: Vec<Vec<u8>> = sqlx::query_scalar(
            "SELECT words FROM filter_slices WHERE slice >= ? AND slice < ? ORDER BY slice",
        )
        .bind(number * PART)
        .bind((number + 1) * PART)
        .fetch_all(&mut *connection)
        .await
        .map_err(failed)?;
        let part = move || LoadedPart::of_slices(key, number, &slices);
        if let Some(made) = making.replace(tokio::task::spawn_blocking(part)) {
            parts.push(joined(made).await?);
        }
    }
    if let Some(made) = making {
        parts.push(joined(made).await?);
    }
    Ok(parts)
}

/// Fill in the parts that are none, of the filters of their segments before the open one.
async fn of_segments(
    connection: &mut SqliteConnection,
    key: u64,
    open: u32,
    parts: &mut [Option<LoadedPart>],
) -> Result<(), StoreError> {
    let none = (0..).zip(parts).filter(|(_, part)| part.is_none());
    let mut making: Option<(&mut Option<LoadedPart>, JoinHandle<LoadedPart>)> = None;
    for (number, part) in none {
        let first = number * PART;
        let stored: Vec<(u32, Vec<u8>)> =
            sqlx::query_as("SELECT era, filter FROM eras WHERE era >= ? AND era < ?")
                .bind(first)
                .bind(open.min(first + PART))
                .fetch_all(&mut *connection)
                .await
                .map_err(failed)?;
        let made = move || LoadedPart::new(key, number, &stored);
        let made = tokio::task::spawn_blocking(made);
        if let Some((part, made)) = making.replace((part, made)) {
            *part = Some(joined(made).await?);
        }
    }
    if let Some((part, made)) = making {
        *part = Some(joined(made).await?);
    }
    Ok(())
}

async fn joined<T>(part: JoinHandle<T>) -> Result<T, StoreError> {
    part.await
        .map_err(|e| unreadable("the Bloom filters of a part", e))
}

/// The documents of a segment: collection, id and row id.
async fn documents_of(
    connection: &mut SqliteConnection,
    segment: u32,
) -> Result<Vec<(u32, String, i64)>, StoreError> {
    let runs = runs(segment);
    sqlx::query_as(
        "SELECT collection, id, place FROM documents INDEXED BY documents_by_run
         WHERE place >> 13 BETWEEN ? AND ?",
    )
    .bind(runs.start)
    .bind(runs.end - 1)
    .fetch_all(connection)
    .await
    .map_err(failed)
}
