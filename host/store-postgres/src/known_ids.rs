//! Which documents are certainly in no table, without asking the database.
//!
//! Most first reads of a payment are for a new id. Each would be a round trip for nothing. So a host that serves keeps a Bloom
//! filter of all ids: a wrong "perhaps" costs one round trip, and there is no wrong "no". After a takeover the ids are read in
//! the background, a few thousand at a time, and meanwhile every read asks the database.
//!
//! A "no" is true for the host that has the lease, because nobody else writes. An id is noted before its group is sent, and one
//! that was removed stays noted.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use fastbloom::AtomicBloomFilter;
use parking_lot::{Mutex, RwLock};
use rialto_engine::CollectionId;
use sqlx::Row as _;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use crate::connections::Connector;

/// How many new ids in a thousand are taken for known ones.
const WRONG: f64 = 0.001;
/// The fewest ids that a filter has room for, in 2 MB.
const ROOM_MIN: u64 = 1 << 20;
/// The most ids that are kept, in some 180 MB. With more, every read asks the database.
const ROOM_MAX: u64 = 100_000_000;
/// How many times as many ids as there are a filter has room for.
const ROOM_FACTOR: u64 = 2;
/// Ids that are read at a time.
const AT_ONCE: i64 = 5_000;
/// The pause between two such reads: the database has other work.
const PAUSE: Duration = Duration::from_millis(5);
/// The pause after the database did not answer.
const TRY_AGAIN: Duration = Duration::from_secs(1);

/// A filter of ids.
struct Filter {
    bits: AtomicBloomFilter,
    room: u64,
    noted: AtomicU64,
}

impl Filter {
    fn with_room(room: u64) -> Self {
        let items = usize::try_from(room).unwrap_or(usize::MAX);
        Self {
            bits: AtomicBloomFilter::with_false_pos(WRONG).expected_items(items),
            room,
            noted: AtomicU64::new(0),
        }
    }

    /// Notes an id. Returns whether there is room for more.
    fn note(&self, collection: u32, id: &str) -> bool {
        if self.bits.insert(&(collection, id)) {
            return true;
        }
        self.noted.fetch_add(1, Ordering::Relaxed) < self.room
    }
}

/// The filter that answers, and the one that is being filled.
#[derive(Default)]
struct Filters {
    full: Option<Arc<Filter>>,
    next: Option<Arc<Filter>>,
}

/// The ids of a partition's documents.
#[derive(Default)]
pub(crate) struct KnownIds {
    filters: Arc<RwLock<Filters>>,
    /// Told when a filter has no more room.
    is_full: Arc<Notify>,
    learning: Mutex<Option<JoinHandle<()>>>,
}

impl KnownIds {
    /// Learn the ids of a partition, in the place of all that was known. No other host writes from now on.
    pub fn begin(&self, runtime: &tokio::runtime::Handle, connector: &Connector, partition: i32) {
        self.end();
        let next = Arc::new(Filter::with_room(ROOM_MIN));
        self.filters.write().next = Some(next.clone());
        let learning = Learning {
            filters: self.filters.clone(),
            is_full: self.is_full.clone(),
            connector: connector.clone(),
            partition,
        };
        *self.learning.lock() = Some(runtime.spawn(learning.run(next)));
    }

    /// Forget all: another host may write.
    pub fn end(&self) {
        if let Some(learning) = self.learning.lock().take() {
            learning.abort();
        }
        *self.filters.write() = Filters::default();
    }

    /// Note an id that is about to be written.
    pub fn note(&self, collection: CollectionId, id: &str) {
        let filters = self.filters.read();
        let mut has_room = true;
        for filter in filters.full.iter().chain(&filters.next) {
            has_room &= filter.note(collection.0, id);
        }
        if !has_room {
            self.is_full.notify_one();
        }
    }

    /// Whether a document is certainly in no table.
    pub fn is_absent(&self, collection: CollectionId, id: &str) -> bool {
        let filters = self.filters.read();
        let full = filters.full.as_ref();
        full.is_some_and(|filter| !filter.bits.contains(&(collection.0, id)))
    }

    /// Whether all ids are known.
    pub fn has_learnt(&self) -> bool {
        self.filters.read().full.is_some()
    }
}

impl Drop for KnownIds {
    fn drop(&mut self) {
        self.end();
    }
}

/// The task that reads all ids, and again when there is no more room.
struct Learning {
    filters: Arc<RwLock<Filters>>,
    is_full: Arc<Notify>,
    connector: Connector,
    partition: i32,
}

impl Learning {
    async fn run(self, mut next: Arc<Filter>) {
        loop {
            match self.read_into(&next).await {
                Ok(true) => {
                    let mut filters = self.filters.write();
                    filters.full = Some(next.clone());
                    filters.next = None;
                }
                // There are more than there is room for.
                Ok(false) => {}
                Err(error) => {
                    tracing::warn!(%error, "the ids of documents could not be read; the host tries again");
                    tokio::time::sleep(TRY_AGAIN).await;
                    continue;
                }
            }
            if self.filters.read().next.is_none() {
                self.is_full.notified().await;
            }
            let room = next.room.saturating_mul(ROOM_FACTOR);
            if room > ROOM_MAX {
                tracing::warn!(
                    documents = next.room,
                    "there are too many documents to know their ids: each first read of a new one asks the database"
                );
                *self.filters.write() = Filters::default();
                return;
            }
            next = Arc::new(Filter::with_room(room));
            self.filters.write().next = Some(next.clone());
        }
    }

    /// Read all ids into a filter. Returns whether they had room.
    async fn read_into(&self, filter: &Filter) -> Result<bool, sqlx::Error> {
        let mut connection = self.connector.connect().await?;
        let (mut collection, mut id) = (i64::MIN, String::new());
        loop {
            let reading = sqlx::query(
                "SELECT collection, id FROM rialto.documents
                 WHERE partition = $1 AND (collection, id) > ($2, $3)
                 ORDER BY collection, id LIMIT $4",
            )
            .bind(self.partition)
            .bind(collection)
            .bind(&id)
            .bind(AT_ONCE)
            .fetch_all(&mut connection);
            let rows = self.connector.in_time(reading).await?;
            let Some(last) = rows.last() else {
                return Ok(true);
            };
            for row in &rows {
                let of: i64 = row.try_get(0)?;
                // A collection's number has 32 bits; another one is nobody's.
                let of = u32::try_from(of).unwrap_or(u32::MAX);
                if !filter.note(of, row.try_get(1)?) {
                    return Ok(false);
                }
            }
            (collection, id) = (last.try_get(0)?, last.try_get(1)?);
            tokio::time::sleep(PAUSE).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(filter: Filter) -> KnownIds {
        let known = KnownIds::default();
        known.filters.write().full = Some(Arc::new(filter));
        known
    }

    #[test]
    fn what_was_noted_is_never_absent_and_most_else_is() {
        let known = known(Filter::with_room(10_000));
        for n in 0..10_000 {
            known.note(CollectionId(n % 3), &n.to_string());
        }
        let absent = |n: u32| known.is_absent(CollectionId(n % 3), &n.to_string());
        assert!(!(0..10_000).any(absent));
        let wrong = (10_000..110_000).filter(|n| !absent(*n)).count();
        assert!(wrong < 300, "{wrong} of 100,000");
        assert!(
            known.is_absent(CollectionId(1), "0"),
            "another collection's"
        );
    }

    #[test]
    fn nothing_is_absent_before_all_is_known() {
        let known = KnownIds::default();
        assert!(!known.is_absent(CollectionId(1), "a"));
        known.filters.write().next = Some(Arc::new(Filter::with_room(10)));
        known.note(CollectionId(1), "a");
        assert!(!known.is_absent(CollectionId(1), "b"));
        assert!(!known.has_learnt());
    }

    #[test]
    fn a_filter_says_when_it_has_no_more_room() {
        let filter = Filter::with_room(3);
        for id in ["a", "b", "c", "a"] {
            assert!(filter.note(1, id), "{id}");
        }
        assert!(!filter.note(1, "d"));
    }
}
