//! Which documents are certainly in no table, without asking the database.
//!
//! Most first reads of a payment are for a new id. Each would be a round trip for nothing. So a host that serves keeps a Bloom
//! filter of all ids: a wrong "perhaps" costs one round trip, and there is no wrong "no".
//!
//! A host learns the ids by reading them in the background, a few thousand at a time. A standby does so too, and then follows
//! the journal, whose entries have the keys of changed documents. So it knows almost all of them when it takes over, and reads
//! the rest of the journal first. Until a host knows them all, every read asks the database.
//!
//! A "no" is true for the host that has the lease, because nobody else writes. An id is noted before its group is sent, and one
//! that was removed stays noted.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use fastbloom::AtomicBloomFilter;
use parking_lot::{Mutex, RwLock};
use rialto_engine::CollectionId;
use sqlx::{PgConnection, Row as _};
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

use crate::connections::Connector;
use crate::entry::Entry;
use crate::text::stored;

/// How many new ids in a thousand are taken for known ones, by each filter.
const WRONG: f64 = 0.001;
/// The ids that the first filter has room for, in 2 MB.
const ROOM_MIN: u64 = 1 << 20;
/// How many times as many ids as the one before the next filter has room for.
const ROOM_FACTOR: u64 = 2;
/// The most filters: room for 127 times as many ids as the first one, in some 240 MB. With more ids than that, the last one takes
/// more and more new ids for known ones.
const FILTERS_MAX: usize = 7;
/// Ids that are read at a time.
const AT_ONCE: i64 = 5_000;
/// The pause between two such reads: the database has other work.
const PAUSE: Duration = Duration::from_millis(5);
/// The pause between two looks of a standby at the journal.
const LOOK: Duration = Duration::from_millis(500);
/// Groups that are read at a time.
const GROUPS: i64 = 200;
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
        self.noted.fetch_add(1, Ordering::Relaxed) + 1 < self.room
    }
}

/// Ids that were noted. A filter that is full is followed by a larger one, so that no id need be read again.
struct Ids {
    filters: RwLock<Vec<Filter>>,
    /// Whether all ids that the database has are among them.
    are_all: AtomicBool,
}

impl Ids {
    fn with_room(room: u64) -> Arc<Self> {
        Arc::new(Self {
            filters: RwLock::new(vec![Filter::with_room(room)]),
            are_all: AtomicBool::new(false),
        })
    }

    fn note(&self, collection: u32, id: &str) {
        let filters = self.filters.read();
        let known = filters.len();
        let has_room = filters.last().is_none_or(|last| last.note(collection, id));
        drop(filters);
        if has_room || known == FILTERS_MAX {
            return;
        }
        let mut filters = self.filters.write();
        // Another thread may have been here first.
        if filters.len() == known
            && let Some(last) = filters.last()
        {
            let room = last.room * ROOM_FACTOR;
            filters.push(Filter::with_room(room));
        }
    }

    /// Whether an id was certainly not noted.
    fn is_new(&self, collection: u32, id: &str) -> bool {
        let filters = self.filters.read();
        let mut newest_first = filters.iter().rev();
        !newest_first.any(|filter| filter.bits.contains(&(collection, id)))
    }
}

/// A place in the journal: a group, and by what it is known that it is still the same one. A database that was restored may have
/// another group of that number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Place {
    seq: i64,
    /// Its epoch and when it was written; none before the first group.
    group: Option<(i64, String)>,
}

/// What a standby knows: all ids of groups up to this place.
struct Followed {
    ids: Arc<Ids>,
    until: Place,
}

/// The ids of a partition's documents.
#[derive(Default)]
pub(crate) struct KnownIds {
    ids: RwLock<Option<Arc<Ids>>>,
    followed: Arc<Mutex<Option<Followed>>>,
    task: Mutex<Option<JoinHandle<()>>>,
}

impl KnownIds {
    /// Follow what another host writes, so that the ids are known at a takeover.
    pub fn follow(&self, runtime: &Handle, connector: &Connector, partition: i32) {
        let following = Following {
            reader: Reader::new(connector, partition),
            followed: self.followed.clone(),
        };
        self.replace_task(Some(runtime.spawn(following.run())));
    }

    /// Know the ids of a partition from now on. No other host writes any more, and this one notes what it writes.
    pub fn begin(&self, runtime: &Handle, connector: &Connector, partition: i32) {
        self.replace_task(None);
        let followed = self.followed.lock().take();
        let (ids, from) = match followed {
            Some(Followed { ids, until }) => (ids, Some(until)),
            None => (Ids::with_room(ROOM_MIN), None),
        };
        *self.ids.write() = Some(ids.clone());
        let reader = Reader::new(connector, partition);
        self.replace_task(Some(runtime.spawn(learn(reader, ids, from))));
    }

    /// Forget what is known: another host may write.
    pub fn end(&self) {
        *self.ids.write() = None;
    }

    fn replace_task(&self, task: Option<JoinHandle<()>>) {
        let before = std::mem::replace(&mut *self.task.lock(), task);
        if let Some(before) = before {
            before.abort();
        }
    }

    /// Note an id that is about to be written.
    pub fn note(&self, collection: CollectionId, id: &str) {
        if let Some(ids) = &*self.ids.read() {
            ids.note(collection.0, id);
        }
    }

    /// Whether a document is certainly in no table.
    pub fn is_absent(&self, collection: CollectionId, id: &str) -> bool {
        let ids = self.ids.read();
        ids.as_ref()
            .is_some_and(|ids| ids.are_all.load(Ordering::Acquire) && ids.is_new(collection.0, id))
    }

    /// Whether all ids are known.
    pub fn has_learnt(&self) -> bool {
        let ids = self.ids.read();
        ids.as_ref()
            .is_some_and(|ids| ids.are_all.load(Ordering::Acquire))
    }

    /// The last group that a standby has followed; none as long as it knows too little.
    pub fn followed(&self) -> Option<u64> {
        let followed = self.followed.lock();
        followed.as_ref().map(|one| one.until.seq.unsigned_abs())
    }
}

impl Drop for KnownIds {
    fn drop(&mut self) {
        self.replace_task(None);
    }
}

/// Reads ids.
struct Reader {
    connector: Connector,
    partition: i32,
    /// The connection of the last read.
    connection: Option<PgConnection>,
}

impl Reader {
    fn new(connector: &Connector, partition: i32) -> Self {
        Self {
            connector: connector.clone(),
            partition,
            connection: None,
        }
    }

    /// The connection. It is another one after a failure, because nobody has put it back.
    async fn connection(&mut self) -> Result<PgConnection, sqlx::Error> {
        match self.connection.take() {
            Some(connection) => Ok(connection),
            None => self.connector.connect().await,
        }
    }

    /// The end of the journal.
    async fn end(&mut self) -> Result<Place, sqlx::Error> {
        let mut connection = self.connection().await?;
        let reading = sqlx::query(
            "SELECT seq, epoch, written::text FROM rialto.journal
             WHERE partition = $1 ORDER BY seq DESC LIMIT 1",
        )
        .bind(self.partition)
        .fetch_optional(&mut connection);
        let last = self.connector.in_time(reading).await?;
        self.connection = Some(connection);
        let Some(row) = last else {
            return Ok(Place::default());
        };
        Ok(Place {
            seq: row.try_get(0)?,
            group: Some((row.try_get(1)?, row.try_get(2)?)),
        })
    }

    /// Read the ids of all documents.
    async fn documents(&mut self, ids: &Ids) -> Result<(), sqlx::Error> {
        let mut connection = self.connection().await?;
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
                self.connection = Some(connection);
                return Ok(());
            };
            for row in &rows {
                let of: i64 = row.try_get(0)?;
                // A collection's number has 32 bits; another one is nobody's.
                ids.note(u32::try_from(of).unwrap_or(u32::MAX), row.try_get(1)?);
            }
            (collection, id) = (last.try_get(0)?, last.try_get(1)?);
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Read the ids of the groups after a place of the journal, which is moved to its end. Returns whether the journal is
    /// still the one that was followed.
    async fn journal(&mut self, ids: &Ids, place: &mut Place) -> Result<bool, sqlx::Error> {
        loop {
            match self.some_of_journal(ids, place).await? {
                None => return Ok(false),
                Some(GROUPS) => {}
                Some(_) => return Ok(true),
            }
        }
    }

    /// The same for some groups. Returns how many rows there were; none if it is another journal.
    async fn some_of_journal(
        &mut self,
        ids: &Ids,
        place: &mut Place,
    ) -> Result<Option<i64>, sqlx::Error> {
        let mut connection = self.connection().await?;
        // With the one that was read last: it must be the same.
        let reading = sqlx::query(
            "SELECT seq, epoch, written::text, layout, entry FROM rialto.journal
             WHERE partition = $1 AND seq >= $2 ORDER BY seq LIMIT $3",
        )
        .bind(self.partition)
        .bind(place.seq)
        .bind(GROUPS)
        .fetch_all(&mut connection);
        let rows = self.connector.in_time(reading).await?;
        self.connection = Some(connection);
        let mut groups = rows.iter();
        if let Some(before) = &place.group {
            let Some(row) = groups.next() else {
                return Ok(None);
            };
            let is_same = row.try_get::<i64, _>(0)? == place.seq
                && (row.try_get(1)?, row.try_get(2)?) == *before;
            if !is_same {
                return Ok(None);
            }
        }
        for row in groups {
            // One of a layout that this host does not know is of no use to it.
            let Ok(entry) = Entry::decode(row.try_get(3)?, row.try_get(4)?) else {
                return Ok(None);
            };
            for document in entry.documents.iter().filter(|one| !one.removed) {
                ids.note(document.collection, &stored(&document.id));
            }
            *place = Place {
                seq: row.try_get(0)?,
                group: Some((row.try_get(1)?, row.try_get(2)?)),
            };
        }
        Ok(Some(i64::try_from(rows.len()).unwrap_or(GROUPS)))
    }
}

/// The task of a host that serves: it reads what it does not know, after a place of the journal or all of it.
async fn learn(mut reader: Reader, ids: Arc<Ids>, mut from: Option<Place>) {
    loop {
        let read = match &mut from {
            Some(place) => reader.journal(&ids, place).await,
            None => reader.documents(&ids).await.map(|()| true),
        };
        match read {
            Ok(true) => return ids.are_all.store(true, Ordering::Release),
            Ok(false) => from = None,
            Err(error) => {
                tell(&error);
                tokio::time::sleep(TRY_AGAIN).await;
            }
        }
    }
}

/// The task of a standby: it learns all ids, and then follows the journal.
struct Following {
    reader: Reader,
    followed: Arc<Mutex<Option<Followed>>>,
}

impl Following {
    async fn run(mut self) {
        let ids = Ids::with_room(ROOM_MIN);
        loop {
            let ended = self.follow(&ids).await;
            // It knows too little from now on.
            *self.followed.lock() = None;
            if let Err(error) = ended {
                tell(&error);
                tokio::time::sleep(TRY_AGAIN).await;
            }
        }
    }

    /// Learn and follow until the journal is another one.
    async fn follow(&mut self, ids: &Arc<Ids>) -> Result<(), sqlx::Error> {
        // First the end of the journal: what comes later is read from there.
        let mut until = self.reader.end().await?;
        self.reader.documents(ids).await?;
        while self.reader.journal(ids, &mut until).await? {
            *self.followed.lock() = Some(Followed {
                ids: ids.clone(),
                until: until.clone(),
            });
            tokio::time::sleep(LOOK).await;
        }
        Ok(())
    }
}

fn tell(error: &sqlx::Error) {
    tracing::warn!(%error, "the ids of documents could not be read; the host tries again");
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

    use super::*;

    fn known(room: u64) -> KnownIds {
        let known = KnownIds::default();
        let ids = Ids::with_room(room);
        ids.are_all.store(true, Ordering::Release);
        *known.ids.write() = Some(ids);
        known
    }

    #[test]
    fn what_was_noted_is_never_absent_and_most_else_is() {
        // The second one grows several times.
        for room in [10_000, 100] {
            let known = known(room);
            for n in 0..10_000 {
                known.note(CollectionId(n % 3), &n.to_string());
            }
            let absent = |n: u32| known.is_absent(CollectionId(n % 3), &n.to_string());
            assert!(!(0..10_000).any(absent));
            let wrong = (10_000..110_000).filter(|n| !absent(*n)).count();
            assert!(wrong < 1_500, "{wrong} of 100,000 with room for {room}");
            let other = known.is_absent(CollectionId(1), "0");
            assert!(other, "another collection's");
        }
    }

    #[test]
    fn nothing_is_absent_before_all_is_known() {
        let known = KnownIds::default();
        assert!(!known.is_absent(CollectionId(1), "a"));
        *known.ids.write() = Some(Ids::with_room(10));
        known.note(CollectionId(1), "a");
        assert!(!known.is_absent(CollectionId(1), "b"));
        assert!(!known.has_learnt());
    }

    #[test]
    fn more_ids_than_there_is_room_for_are_known_all_the_same() {
        let known = known(1);
        for n in 0..500 {
            known.note(CollectionId(1), &n.to_string());
        }
        let ids = known.ids.read().clone().unwrap();
        assert_eq!(ids.filters.read().len(), FILTERS_MAX);
        assert!((0..500).all(|n| !known.is_absent(CollectionId(1), &n.to_string())));
    }
}
