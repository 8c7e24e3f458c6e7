//! Where documents are.
//!
//! Documents lie in the order in which they were first written, each at a place of its own. So many
//! places that follow one another are an *era*, and the index over ids begins with the era: ids are
//! random, and in an index over all documents each new one would change a page of its own. So a
//! payment costs the same however many there were. The price is that somebody must know in which
//! era a document is, and that is the filter's business.
//!
//! A full era never gets a document again: its filter is kept, and what came later would be missed.

use parking_lot::{Mutex, RwLock};
use rialto_engine::CollectionId;
use rialto_engine::store::{StoreError, StoredDocument};
use sqlx::{AssertSqlSafe, Sqlite, SqliteConnection, SqlitePool};

use crate::filter::{ERA_BITS, Filter};
use crate::journal::Document;
use crate::rows::{self, signed, unsigned};
use crate::slices::{Bound, STATEMENT_ROWS, Slices};
use crate::{Inner, failed, unreadable};

/// Documents that are noted while nobody can look: a fraction of a millisecond.
const NOTED_AT_ONCE: usize = 128;

/// Where the next new documents go.
struct Next {
    /// The first free place; all behind it are free too.
    place: u64,
    /// Eras whose filters are kept; the next one's is not.
    kept: u32,
}

/// See the module's documentation.
pub(crate) struct Places {
    /// None until the store was recovered.
    filter: RwLock<Option<Filter>>,
    next: Mutex<Next>,
    /// Documents of an era.
    era_documents: u64,
}

/// A document that is to be written or removed, and its place. Of one that is to be removed it is none
/// if it is not in the tables.
pub(crate) type Settled<'d> = (&'d Document, Option<u64>);

fn era_of(place: u64) -> u32 {
    u32::try_from(place >> ERA_BITS).unwrap_or(u32::MAX)
}

impl Places {
    pub fn new(era_documents: u32) -> Self {
        Self {
            filter: RwLock::new(None),
            next: Mutex::new(Next { place: 0, kept: 0 }),
            era_documents: u64::from(era_documents).clamp(1, 1 << ERA_BITS),
        }
    }

    /// Learn from the tables where documents are: of full eras from what was kept of them, of the
    /// others from their documents.
    pub async fn load(&self, connection: &mut SqliteConnection) -> Result<(), StoreError> {
        let key: i64 = sqlx::query_scalar("SELECT value FROM meta WHERE key = 'filter_key'")
            .fetch_one(&mut *connection)
            .await
            .map_err(failed)?;
        let mut filter = Filter::new(key.cast_unsigned());
        let mut kept = 0;
        while let Some(image) = image(connection, kept).await? {
            if !filter.put(kept, &image) {
                return Err(unreadable("an era's filter", "it has another length"));
            }
            kept += 1;
        }
        let last: i64 = sqlx::query_scalar("SELECT coalesce(max(place), 0) FROM documents")
            .fetch_one(&mut *connection)
            .await
            .map_err(failed)?;
        let last = unsigned(last)?;
        for era in kept..=era_of(last) {
            note(connection, &mut filter, era).await?;
        }
        *self.next.lock() = Next {
            place: (last + 1).max(u64::from(kept) << ERA_BITS),
            kept,
        };
        *self.filter.write() = Some(filter);
        Ok(())
    }

    /// The eras that may have a document, the newest first.
    pub fn eras(&self, collection: CollectionId, id: &str) -> Result<Vec<u32>, StoreError> {
        let filter = self.filter.read();
        let filter = filter.as_ref().ok_or_else(not_recovered)?;
        Ok(filter.eras(filter.fingerprint(collection, id)))
    }

    /// The era of the newest documents.
    pub fn open_era(&self) -> u32 {
        era_of(self.next.lock().place)
    }

    /// Give places to new documents, after it was found where the others are.
    async fn settle<'d>(
        &self,
        readers: &SqlitePool,
        documents: &[&'d Document],
    ) -> Result<Vec<Settled<'d>>, StoreError> {
        let mut places = vec![None; documents.len()];
        let mut asked = Vec::new();
        for (n, document) in documents.iter().enumerate() {
            let (collection, id) = document.key();
            let eras = self.eras(collection, &id)?;
            asked.extend(eras.into_iter().map(|era| (n, era)));
        }
        let mut reader = readers.acquire().await.map_err(failed)?;
        for (n, place) in find_all(&mut reader, documents, &asked).await? {
            places[n] = Some(place);
        }
        let mut settled: Vec<Settled<'d>> = documents.iter().copied().zip(places).collect();
        // Readers get their turn between these.
        for some in settled.chunks_mut(NOTED_AT_ONCE) {
            self.give_places(some)?;
        }
        Ok(settled)
    }

    fn give_places(&self, documents: &mut [Settled<'_>]) -> Result<(), StoreError> {
        let mut next = self.next.lock();
        let mut filter = self.filter.write();
        let filter = filter.as_mut().ok_or_else(not_recovered)?;
        for (document, place) in documents {
            if place.is_none() && document.body.is_some() {
                let given = next.give(self.era_documents);
                let (collection, id) = document.key();
                // Before it is in the table, so that nobody finds it missing there.
                filter.note(era_of(given), filter.fingerprint(collection, &id));
                *place = Some(given);
            }
        }
        Ok(())
    }
}

impl Next {
    fn give(&mut self, era_documents: u64) -> u64 {
        if self.place % (1 << ERA_BITS) >= era_documents {
            self.place = ((self.place >> ERA_BITS) + 1) << ERA_BITS;
        }
        self.place += 1;
        self.place - 1
    }
}

fn not_recovered() -> StoreError {
    StoreError::Failed("the store has not been recovered yet".into())
}

impl Inner {
    /// A document in the tables.
    pub fn find(
        &self,
        collection: CollectionId,
        id: &str,
    ) -> Result<Option<StoredDocument>, StoreError> {
        for era in self.places.eras(collection, id)? {
            let row = self.runtime.block_on(
                sqlx::query(
                    "SELECT id, version, body FROM documents INDEXED BY documents_by_era
                     WHERE place >> 16 = ? AND collection = ? AND id = ?",
                )
                .bind(era)
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

    /// Keep the filters of eras that have become full.
    pub fn keep_full_eras(&self, slices: &mut Slices<'_>) -> Result<(), StoreError> {
        let mut next = self.places.next.lock();
        while next.kept < era_of(next.place) {
            let image = {
                let filter = self.places.filter.read();
                filter.as_ref().ok_or_else(not_recovered)?.image(next.kept)
            };
            let mut row = Bound::default();
            row.add(next.kept)?;
            row.add(image)?;
            slices.statement(
                "INSERT OR REPLACE INTO eras (era, filter) VALUES (?, ?)",
                row,
                1,
            )?;
            slices.finish()?;
            next.kept += 1;
        }
        Ok(())
    }
}

/// What was kept of an era, if it was.
async fn image(connection: &mut SqliteConnection, era: u32) -> Result<Option<Vec<u8>>, StoreError> {
    sqlx::query_scalar("SELECT filter FROM eras WHERE era = ?")
        .bind(era)
        .fetch_optional(connection)
        .await
        .map_err(failed)
}

/// Note all documents of an era.
async fn note(
    connection: &mut SqliteConnection,
    filter: &mut Filter,
    era: u32,
) -> Result<(), StoreError> {
    let names: Vec<(u32, String)> = sqlx::query_as(
        "SELECT collection, id FROM documents INDEXED BY documents_by_era WHERE place >> 16 = ?",
    )
    .bind(era)
    .fetch_all(connection)
    .await
    .map_err(failed)?;
    for (collection, id) in names {
        filter.note(era, filter.fingerprint(CollectionId(collection), &id));
    }
    Ok(())
}

/// The places of those that are in the eras in which they are looked for.
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
            for (n, era) in chunk {
                let (collection, id) = documents[*n].key();
                query = query
                    .bind(signed(*n as u64)?)
                    .bind(era)
                    .bind(collection.0)
                    .bind(id.to_string());
            }
            for (n, place) in query.fetch_all(&mut *connection).await.map_err(failed)? {
                found.push((usize::try_from(n).unwrap_or(usize::MAX), unsigned(place)?));
            }
            rest = others;
        }
    }
    Ok(found)
}
