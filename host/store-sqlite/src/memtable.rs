//! The memtable: the entries of the journal that are not flushed to the tables yet. Reads use its newest state
//! of each document. The flush uses its entries.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::ops::Bound;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use rialto_engine::store::{ScanRange, StoreError, StoredDocument};
use rialto_engine::{CollectionId, Name};

use crate::bloom_filters::SEGMENT_BITS;
use crate::journal::Entry;

/// When the journal is flushed into the tables, and how large the tables' segments are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlushPolicy {
    /// How long a group waits in the journal. A document that changes often in that time is written to its table
    /// once.
    pub after: Duration,
    /// Bytes of groups in the memtable after which a flush begins at once.
    pub bytes: usize,
    /// How many documents a segment takes, at most 65,536.
    pub segment_documents: u32,
}

impl Default for FlushPolicy {
    fn default() -> Self {
        Self {
            after: Duration::from_secs(1),
            bytes: 32 << 20,
            segment_documents: 1 << SEGMENT_BITS,
        }
    }
}

/// How far the tables are behind the journal.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FlushLag {
    /// How many groups wait for the flush.
    pub groups: usize,
    /// Their bytes in memory.
    pub bytes: usize,
    /// How long the oldest has waited; none if no group waits.
    pub oldest: Option<Duration>,
    /// Why the last flush failed, if it did.
    pub failure: Option<StoreError>,
}

/// Bytes of waiting entries beyond which a new group waits for the flush (back-pressure).
const BYTES_MAX: usize = 256 << 20;

/// The longest pause between two slices of a flush. A slice takes a few milliseconds, and a slow disk must not be slower by
/// pauses.
const PACE_MAX: Duration = Duration::from_millis(20);

/// The newest state of a document that is not flushed yet.
struct Newest {
    seq: u64,
    version: u64,
    body: Option<Name>,
}

struct Waiting {
    entry: Arc<Entry>,
    bytes: usize,
    since: Instant,
}

#[derive(Default)]
struct State {
    entries: VecDeque<Waiting>,
    documents: HashMap<CollectionId, BTreeMap<Name, Newest>>,
    bytes: usize,
    /// The sequence number of the last entry.
    last: u64,
    /// The last turn of the last entry.
    lsn: u64,
    /// Why the last flush failed.
    failure: Option<StoreError>,
    closed: bool,
}

impl State {
    /// Add the next entry.
    fn push(&mut self, entry: Arc<Entry>, bytes: usize) {
        assert!(
            entry.seq == self.last + 1,
            "a group comes to number {} of the journal after number {}",
            entry.seq,
            self.last
        );
        assert!(
            entry.lsn >= self.lsn,
            "a group through turn {} comes after one through turn {}",
            entry.lsn,
            self.lsn
        );
        self.lsn = entry.lsn;
        for document in &entry.documents {
            let newest = Newest {
                seq: entry.seq,
                version: document.version,
                body: document.body.clone(),
            };
            let (collection, id) = document.key();
            let documents = self.documents.entry(collection).or_default();
            documents.insert(id, newest);
        }
        self.last = entry.seq;
        self.bytes += bytes;
        self.entries.push_back(Waiting {
            entry,
            bytes,
            since: Instant::now(),
        });
        self.assert_in_row();
    }

    /// Assert that the entries have the last sequence numbers, without a gap.
    fn assert_in_row(&self) {
        let first = self.entries.front().map(|first| first.entry.seq);
        let waiting = self.entries.len() as u64;
        assert!(
            first.is_none_or(|first| first + waiting == self.last + 1),
            "{waiting} groups wait, from number {first:?} to {}",
            self.last
        );
    }

    /// Assert that without waiting entries the memtable is empty.
    fn assert_nothing_left(&self) {
        if !self.entries.is_empty() {
            return;
        }
        assert!(
            self.bytes == 0,
            "no group waits, and {} bytes do",
            self.bytes
        );
        let mut documents = self.documents.iter();
        let left = documents.find(|(_, documents)| !documents.is_empty());
        assert!(
            left.is_none(),
            "no group waits, and documents of collection {:?} do",
            left.map(|(collection, _)| collection)
        );
    }
}

/// The memtable of a store.
#[derive(Default)]
pub(crate) struct Memtable {
    policy: FlushPolicy,
    state: Mutex<State>,
    changed: Condvar,
}

/// The newest state of a document that may not be in the tables; none if it was removed.
pub(crate) type Found = Option<StoredDocument>;

impl Memtable {
    pub fn new(policy: FlushPolicy) -> Self {
        Self {
            policy,
            ..Self::default()
        }
    }

    /// Start again with the entries of the journal.
    pub fn recovered(&self, last: u64, entries: Vec<(Entry, usize)>) {
        assert!(
            last >= entries.len() as u64,
            "the journal's last number is {last}, and it has {} entries",
            entries.len()
        );
        let mut state = State {
            last: last - entries.len() as u64,
            ..State::default()
        };
        for (entry, bytes) in entries {
            state.push(Arc::new(entry), bytes);
        }
        assert!(
            state.last == last,
            "the journal was read to number {}, and its last one is {last}",
            state.last
        );
        // All at once, because an interrupted flush is done again with the same entries.
        *self.state.lock() = state;
        self.changed.notify_all();
    }

    /// Wait while there are too many bytes to flush.
    pub fn wait_for_room(&self) -> Result<(), StoreError> {
        let mut state = self.state.lock();
        while state.bytes > BYTES_MAX && !state.closed {
            if let Some(failure) = &state.failure {
                return Err(failure.clone());
            }
            self.changed.wait(&mut state);
        }
        Ok(())
    }

    /// The sequence number of the next entry.
    pub fn next_seq(&self) -> u64 {
        self.state.lock().last + 1
    }

    /// Add an entry that is in the journal.
    pub fn push(&self, entry: Arc<Entry>, bytes: usize) {
        let mut state = self.state.lock();
        let is_first = state.entries.is_empty();
        state.push(entry, bytes);
        let wake = is_first || state.bytes > self.policy.bytes;
        drop(state);
        if wake {
            self.changed.notify_all();
        }
    }

    /// The entries that wait, in order.
    pub fn entries(&self) -> Vec<Arc<Entry>> {
        let state = self.state.lock();
        state.entries.iter().map(|w| w.entry.clone()).collect()
    }

    /// Wait until it is time to flush. False when the store closes.
    pub fn due(&self) -> bool {
        let mut state = self.state.lock();
        loop {
            if state.closed {
                return false;
            }
            let Some(oldest) = state.entries.front() else {
                self.changed.wait(&mut state);
                continue;
            };
            let rest = self.policy.after.saturating_sub(oldest.since.elapsed());
            if rest.is_zero() || state.bytes > self.policy.bytes {
                return true;
            }
            self.changed.wait_for(&mut state, rest);
        }
    }

    /// Note that the entries up to this number are in the tables.
    pub fn flushed(&self, through: u64) {
        {
            let state = self.state.lock();
            let first = state.entries.front().map_or(0, |first| first.entry.seq);
            assert!(
                (first..=state.last).contains(&through),
                "number {through} of the journal is flushed, and numbers {first} to {} wait",
                state.last
            );
        }
        loop {
            // One entry at a time, so that groups are committed between two of them.
            let mut state = self.state.lock();
            let Some(first) = state.entries.front() else {
                break;
            };
            if first.entry.seq > through {
                break;
            }
            let Some(Waiting { entry, bytes, .. }) = state.entries.pop_front() else {
                break;
            };
            assert!(
                bytes <= state.bytes,
                "a group of {bytes} bytes leaves the {} bytes in memory",
                state.bytes
            );
            state.bytes -= bytes;
            for document in &entry.documents {
                let (collection, id) = document.key();
                let Some(documents) = state.documents.get_mut(&collection) else {
                    continue;
                };
                if documents.get(&id).is_some_and(|n| n.seq <= through) {
                    documents.remove(&id);
                }
            }
        }
        let mut state = self.state.lock();
        state.assert_nothing_left();
        state.failure = None;
        drop(state);
        self.changed.notify_all();
    }

    /// How far the tables are behind.
    pub fn behind(&self) -> FlushLag {
        let state = self.state.lock();
        FlushLag {
            groups: state.entries.len(),
            bytes: state.bytes,
            oldest: state.entries.front().map(|first| first.since.elapsed()),
            failure: state.failure.clone(),
        }
    }

    /// Note that a flush failed. It is retried.
    pub fn failed(&self, failure: StoreError) {
        self.state.lock().failure = Some(failure);
        self.changed.notify_all();
    }

    /// Wake all waiting threads, because the store closes.
    pub fn close(&self) {
        self.state.lock().closed = true;
        self.changed.notify_all();
    }

    /// Wait between two slices of a flush for as long as the first one took, within a bound, so that turns and requests have the processors
    /// meanwhile. Not while so much waits that new groups would soon have to, and not when the store closes.
    pub fn pace(&self, took: Duration) {
        let is_urgent = self.state.lock().bytes > BYTES_MAX / 2;
        if !is_urgent {
            self.pause(took.min(PACE_MAX));
        }
    }

    /// Wait for a moment, or until the store closes. Returns whether it does.
    pub fn pause(&self, pause: Duration) -> bool {
        let until = Instant::now() + pause;
        let mut state = self.state.lock();
        while !state.closed && Instant::now() < until {
            self.changed.wait_until(&mut state, until);
        }
        state.closed
    }

    /// The newest state of a document, if it may not be in the tables.
    pub fn read(&self, collection: CollectionId, id: &str) -> Option<Found> {
        let state = self.state.lock();
        let (id, newest) = state.documents.get(&collection)?.get_key_value(id)?;
        Some(newest.document(id))
    }

    /// The documents of a range whose newest state may not be in the tables.
    pub fn scan(&self, collection: CollectionId, range: &ScanRange) -> BTreeMap<Name, Found> {
        let state = self.state.lock();
        let Some(documents) = state.documents.get(&collection) else {
            return BTreeMap::new();
        };
        let from = Bound::Included(range.from.as_str());
        let to = range
            .to
            .as_deref()
            .map_or(Bound::Unbounded, Bound::Excluded);
        if range
            .to
            .as_deref()
            .is_some_and(|to| to <= range.from.as_str())
        {
            return BTreeMap::new();
        }
        documents
            .range::<str, _>((from, to))
            .map(|(id, newest)| (id.clone(), newest.document(id)))
            .collect()
    }
}

impl Newest {
    fn document(&self, id: &Name) -> Found {
        self.body.as_ref().map(|body| StoredDocument {
            id: id.clone(),
            version: self.version,
            body: body.clone(),
        })
    }
}
