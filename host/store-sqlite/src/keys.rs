//! Which documents there are: their fingerprints, kept in the order in which the documents were first
//! written. A start reads them in a moment, where the documents' names would take minutes.
//!
//! The newest documents are in no row of `keys` yet, and are read from their table. A place is never
//! given to a second document (see `next_place`), so what a row covers stays covered.

use std::ops::ControlFlow;

use rialto_engine::store::StoreError;
use rialto_engine::{CollectionId, Fingerprint};
use sqlx::{Row as _, SqliteConnection, SqlitePool};

use crate::rows::{parse, signed, unsigned};
use crate::slices::{Bound, Slices};
use crate::{Inner, failed, unreadable};

/// Places after which a row is written.
const PLACES_DUE: u64 = 1 << 16;
/// Places that one row covers, at most.
const PLACES_MAX: u64 = 1 << 18;
/// Documents that are read at once.
const DOCUMENTS_PER_STEP: i64 = 10_000;

/// Documents that follow one another in the table.
struct Step {
    /// The last one's place.
    through: u64,
    fingerprints: Vec<Fingerprint>,
}

/// The place of the next new document.
async fn next_place(connection: &mut SqliteConnection) -> Result<u64, StoreError> {
    // The last documents may have been removed after a row of `keys` took them.
    let last: i64 = sqlx::query_scalar(
        "SELECT max((SELECT coalesce(max(place), 0) FROM documents),
                    (SELECT coalesce(max(through), 0) FROM keys))",
    )
    .fetch_one(connection)
    .await
    .map_err(failed)?;
    Ok(unsigned(last)? + 1)
}

/// How many documents there are, roughly: with removed ones, and with the gaps between places of the
/// newest.
pub(crate) async fn count(connection: &mut SqliteConnection) -> Result<u64, StoreError> {
    let kept: i64 =
        sqlx::query_scalar("SELECT coalesce(sum(length(fingerprints)), 0) / 8 FROM keys")
            .fetch_one(&mut *connection)
            .await
            .map_err(failed)?;
    let through = through(&mut *connection).await?;
    let newer = next_place(connection).await? - 1 - through;
    Ok(unsigned(kept)? + newer)
}

/// The place up to which the rows of `keys` go.
async fn through<'c>(connection: impl sqlx::SqliteExecutor<'c>) -> Result<u64, StoreError> {
    let through: i64 = sqlx::query_scalar("SELECT coalesce(max(through), 0) FROM keys")
        .fetch_one(connection)
        .await
        .map_err(failed)?;
    unsigned(through)
}

impl Inner {
    /// The place of the next new document: after all that documents have or ever had.
    pub fn next_place(&self) -> Result<u64, StoreError> {
        self.runtime.block_on(async {
            let mut reader = self.readers.acquire().await.map_err(failed)?;
            next_place(&mut reader).await
        })
    }

    /// Visit the fingerprint of every document in the tables until the visitor says stop.
    pub fn visit_folded(
        &self,
        visit: &mut dyn FnMut(&[Fingerprint]) -> ControlFlow<()>,
    ) -> Result<(), StoreError> {
        let mut after = 0;
        while let Some(mut step) = self.runtime.block_on(next(&self.readers, after))? {
            // Whoever notes them goes through its memory in order, which is several times faster.
            step.fingerprints.sort_unstable();
            if visit(&step.fingerprints).is_break() {
                return Ok(());
            }
            after = step.through;
        }
        Ok(())
    }

    /// Write the next row of `keys` if there are enough documents for it. One at a time: groups wait
    /// to be folded meanwhile.
    pub fn keep_keys(&self, slices: &mut Slices<'_>) -> Result<(), StoreError> {
        let (through, last) = self.runtime.block_on(async {
            let mut reader = self.readers.acquire().await.map_err(failed)?;
            let through = through(&mut *reader).await?;
            Ok((through, next_place(&mut reader).await? - 1))
        })?;
        if last < through + PLACES_DUE {
            return Ok(());
        }
        let end = last.min(through + PLACES_MAX);
        let mut fingerprints = Vec::new();
        let mut after = through;
        while let Some(step) = self.runtime.block_on(read(&self.readers, after, end))? {
            after = step.through;
            let bytes = step.fingerprints.iter().flat_map(|f| f.0.to_le_bytes());
            fingerprints.extend(bytes);
        }
        let mut row = Bound::default();
        row.number(end)?;
        row.add(fingerprints)?;
        slices.statement(
            "INSERT INTO keys (through, fingerprints) VALUES (?, ?)",
            row,
            1,
        )?;
        slices.finish()
    }
}

/// Documents that follow this place: those of a row of `keys`, or, after the last one, the next of
/// their table.
async fn next(readers: &SqlitePool, after: u64) -> Result<Option<Step>, StoreError> {
    match kept(readers, after).await? {
        Some(row) => Ok(Some(row)),
        None => read(readers, after, u64::MAX).await,
    }
}

/// The row of `keys` that follows this place.
async fn kept(readers: &SqlitePool, after: u64) -> Result<Option<Step>, StoreError> {
    let row = sqlx::query(
        "SELECT through, fingerprints FROM keys WHERE through > ? ORDER BY through LIMIT 1",
    )
    .bind(signed(after)?)
    .fetch_optional(readers)
    .await
    .map_err(failed)?;
    let Some(row) = row else {
        return Ok(None);
    };
    let through = unsigned(row.try_get(0).map_err(failed)?)?;
    let bytes: &[u8] = row.try_get(1).map_err(failed)?;
    let (each, rest) = bytes.as_chunks::<8>();
    if !rest.is_empty() {
        return Err(unreadable(
            "a row of keys",
            "its length is no multiple of 8",
        ));
    }
    let fingerprints = each.iter().map(|b| Fingerprint(u64::from_le_bytes(*b)));
    Ok(Some(Step {
        through,
        fingerprints: fingerprints.collect(),
    }))
}

/// The next documents after this place, up to and with the end.
async fn read(readers: &SqlitePool, after: u64, end: u64) -> Result<Option<Step>, StoreError> {
    // As one value for all of them, which takes a fraction of the time of a row for each.
    let row = sqlx::query(
        "SELECT max(place), json_group_array(json_array(collection, id)) FROM (
             SELECT place, collection, id FROM documents WHERE place > ? AND place <= ?
             ORDER BY place LIMIT ?)",
    )
    .bind(signed(after)?)
    .bind(signed(end).unwrap_or(i64::MAX))
    .bind(DOCUMENTS_PER_STEP)
    .fetch_one(readers)
    .await
    .map_err(failed)?;
    let Some(through) = row.try_get::<Option<i64>, _>(0).map_err(failed)? else {
        return Ok(None);
    };
    let names: Vec<(u32, String)> = parse("names of documents", row.try_get(1).map_err(failed)?)?;
    let of = |(collection, id): &(u32, String)| Fingerprint::of(CollectionId(*collection), id);
    Ok(Some(Step {
        through: unsigned(through)?,
        fingerprints: names.iter().map(of).collect(),
    }))
}
