//! Events for the outside in the tables. They come with the groups of the engine and are in the tables when they are flushed, a
//! second later at most. Who sends them reads them here, and the store remembers which are acknowledged.

use rialto_engine::Timestamp;
use rialto_engine::publications::{Outbox, PublicationsState, StoredPublication};
use rialto_engine::store::StoreError;
use rialto_store::PublicationSnapshot;
use sqlx::sqlite::SqliteRow;
use sqlx::{Row as _, SqliteConnection};

use crate::rows::{signed, unsigned};
use crate::slices::{Bound, counter};
use crate::snapshot::Snapshot;
use crate::{SqliteStore, failed, unreadable};

/// Events that are removed in one transaction.
const REMOVED_AT_ONCE: u32 = 512;
/// Bytes of events that are read at a time, roughly.
const PAGE_BYTES_MAX: u64 = 1 << 20;

impl Outbox for SqliteStore {
    fn publications(&self, first: u64, limit: u32) -> Result<Vec<StoredPublication>, StoreError> {
        self.read_publications(async |reader| publications(reader, first, limit).await)
    }

    fn publications_state(&self) -> Result<PublicationsState, StoreError> {
        self.read_publications(async |reader| state(reader).await)
    }

    fn set_published(&self, number: u64) -> Result<(), StoreError> {
        let mut slices = self.slices();
        slices.raise("published", number)?;
        slices.finish()
    }

    fn remove_publications(&self, before: Timestamp, most: u64) -> Result<Option<u64>, StoreError> {
        let oldest: Vec<(u64, u64)> = self.read_publications(async |reader| {
            let rows = sqlx::query("SELECT place, at FROM publications ORDER BY place LIMIT ?")
                .bind(REMOVED_AT_ONCE)
                .fetch_all(reader)
                .await
                .map_err(failed)?;
            let read = rows.iter().map(|row| {
                let number = unsigned(row.try_get(0).map_err(failed)?)?;
                Ok((number, unsigned(row.try_get(1).map_err(failed)?)?))
            });
            read.collect()
        })?;
        let kept_from = self
            .publications_state()?
            .last
            .saturating_add(1)
            .saturating_sub(most);
        let removed = oldest
            .iter()
            .take_while(|(number, at)| *at < before.0 || *number < kept_from)
            .last()
            .map(|(number, _)| *number);
        let Some(last) = removed else {
            return Ok(None);
        };
        let mut bound = Bound::default();
        bound.number(last)?;
        self.change("DELETE FROM publications WHERE place <= ?", bound)?;
        Ok(Some(last))
    }
}

impl SqliteStore {
    fn read_publications<T>(
        &self,
        read: impl AsyncFnOnce(&mut SqliteConnection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let inner = &self.inner;
        inner.runtime.block_on(async {
            let mut reader = inner.readers.acquire().await.map_err(failed)?;
            read(&mut reader).await
        })
    }
}

impl PublicationSnapshot for Snapshot {
    fn publications(
        &mut self,
        first: u64,
        limit: u32,
    ) -> Result<Vec<StoredPublication>, StoreError> {
        self.read(async |reader| publications(reader, first, limit).await)
    }

    fn publications_state(&mut self) -> Result<PublicationsState, StoreError> {
        self.read(async |reader| state(reader).await)
    }
}

async fn publications(
    reader: &mut SqliteConnection,
    first: u64,
    limit: u32,
) -> Result<Vec<StoredPublication>, StoreError> {
    let Some(last) = last_of_page(&mut *reader, first, limit).await? else {
        return Ok(Vec::new());
    };
    let rows = sqlx::query(
        "SELECT place, body FROM publications WHERE place >= ? AND place <= ? ORDER BY place",
    )
    .bind(signed(first)?)
    .bind(last)
    .fetch_all(reader)
    .await
    .map_err(failed)?;
    rows.iter().map(publication).collect()
}

/// The last event of a page that begins here: its bytes are bounded, unless it has only one.
async fn last_of_page(
    reader: &mut SqliteConnection,
    first: u64,
    limit: u32,
) -> Result<Option<i64>, StoreError> {
    let lengths: Vec<(i64, i64)> = sqlx::query_as(
        "SELECT place, length(body) FROM publications WHERE place >= ? ORDER BY place LIMIT ?",
    )
    .bind(signed(first)?)
    .bind(limit)
    .fetch_all(reader)
    .await
    .map_err(failed)?;
    let mut bytes = 0_u64;
    let mut last = None;
    for (place, length) in lengths {
        bytes = bytes.saturating_add(unsigned(length)?);
        if last.is_some() && bytes > PAGE_BYTES_MAX {
            break;
        }
        last = Some(place);
    }
    Ok(last)
}

fn publication(row: &SqliteRow) -> Result<StoredPublication, StoreError> {
    let body: &str = row.try_get(1).map_err(failed)?;
    let publication = serde_json::from_str(body);
    Ok(StoredPublication {
        number: unsigned(row.try_get(0).map_err(failed)?)?,
        publication: publication.map_err(|e| unreadable("an event for the outside", e))?,
    })
}

async fn state(reader: &mut SqliteConnection) -> Result<PublicationsState, StoreError> {
    // The counter first: events that come meanwhile are not counted.
    let last = counter(reader, "publications").await?;
    let first: Option<i64> = sqlx::query_scalar("SELECT min(place) FROM publications")
        .fetch_one(&mut *reader)
        .await
        .map_err(failed)?;
    Ok(PublicationsState {
        first: first.map(unsigned).transpose()?,
        last,
        published: counter(reader, "published").await?,
        store: counter(reader, "store").await?,
    })
}
