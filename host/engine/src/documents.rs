//! The executed state of documents and their locks. It is ahead of the disk.
//!
//! Each document in use has a *cell*: its newest executed version, the turn that holds its lock, and the
//! jobs that queue for the lock. The rules of ordering:
//!
//! - **Write**: a turn locks a document from its first write (or `read_for_update`) until it is executed.
//! - **Read**: a turn notes the version and takes no lock. It is executed only if the version is still the
//!   newest and no other turn has the lock. The log checks this in the same step in which it gives the turn
//!   its position ([`Log::append_if`](crate::commit)). So each turn has seen exactly what the turns before
//!   it in the log have left.
//! - **Conflict**: a turn that needs a locked document waits for a moment, because most locks are released soon and
//!   its work so far would be lost. Then it ends without effect. Its job queues for its lock set (all documents that
//!   it is known to need), in key order, and runs again when it has all locks.
//! - **No deadlock**: turns that hold what each other needs stop waiting and end, and jobs queue in one global order.
//!   The lock set only grows, so every turn is executed in the end.
//!
//! Cells are a cache: a cell that is not in use and whose last write is on disk may be dropped.

use std::collections::VecDeque;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use hashbrown::HashTable;

use crate::ids::{DocumentKey, Lsn, Name, TurnId};
use crate::queue::Job;
use crate::store::{Store, StoreError};
use crate::sync::{AtomicBool, AtomicU64, AtomicUsize, Condvar, Mutex};

const SHARDS: usize = 64;
/// How often a turn sleeps until a document is released that another turn has locked.
const WAITS_MAX: u32 = 4;

/// The state of a document.
struct CellState {
    /// Whether `version` and `body` were read from the store.
    loaded: bool,
    /// How often it has been written; 0 if it never was.
    version: u64,
    /// Its body; none if there is no such document.
    body: Option<Name>,
    /// The turn that holds the lock.
    owner: Option<TurnId>,
    /// Jobs that queue for the lock.
    waiters: VecDeque<Box<Job>>,
    /// The last turn that wrote it.
    lsn: Lsn,
}

/// A document as a turn sees it.
pub(crate) struct DocumentView {
    /// How often it has been written.
    pub version: u64,
    /// Its body; none if there is no such document.
    pub body: Option<Name>,
    /// Whether the turn holds its lock.
    pub held: bool,
}

/// A document in memory.
pub(crate) struct Cell {
    pub key: DocumentKey,
    state: Mutex<CellState>,
    /// Signalled when nobody holds the lock any more.
    released: Condvar,
    /// The version, shifted left by one; the lowest bit says whether the document is locked. It changes only
    /// under the lock of `state` and is read without it.
    stamp: AtomicU64,
    /// Whether it was used since the cache last looked for cells to drop.
    used: AtomicBool,
}

impl Cell {
    fn new(key: DocumentKey) -> Self {
        Self {
            key,
            state: Mutex::new(CellState {
                loaded: false,
                version: 0,
                body: None,
                owner: None,
                waiters: VecDeque::new(),
                lsn: Lsn(0),
            }),
            released: Condvar::default(),
            stamp: AtomicU64::new(0),
            used: AtomicBool::new(true),
        }
    }

    fn stamp(&self, state: &CellState) {
        assert!(
            state.owner.is_some() || state.waiters.is_empty(),
            "{} turns queue for document {:?}, which nobody holds",
            state.waiters.len(),
            self.key
        );
        let stamp = state.version << 1 | u64::from(state.owner.is_some());
        self.stamp.store(stamp, Ordering::Release);
    }

    /// Whether this version is still the newest, and the document is not locked.
    ///
    /// A turn has locked the documents that it writes before it gets its position in the log. So a caller that
    /// has locked the log sees, of each turn before it, either the lock or the write.
    pub fn is_still(&self, version: u64) -> bool {
        self.stamp.load(Ordering::Acquire) == version << 1
    }

    /// The document, unless another turn has locked it. With `hold`, this turn locks it.
    pub fn look(&self, turn: TurnId, hold: bool) -> Option<DocumentView> {
        self.look_within(turn, hold, Duration::ZERO)
    }

    /// The same, but while another turn has locked it, this thread sleeps until it is released, at most for `wait`. Another
    /// turn may be quicker then, so it may sleep a few times.
    pub fn look_within(&self, turn: TurnId, hold: bool, wait: Duration) -> Option<DocumentView> {
        let mut state = self.state.lock();
        assert!(
            state.loaded,
            "turn {turn} looks at document {:?}, which is not loaded",
            self.key
        );
        for _ in 0..WAITS_MAX {
            let is_free = state.owner.is_none_or(|owner| owner == turn);
            if is_free || wait.is_zero() || self.released.wait_for(&mut state, wait).timed_out() {
                break;
            }
        }
        match state.owner {
            None if hold => {
                state.owner = Some(turn);
                self.stamp(&state);
            }
            Some(owner) if owner != turn => return None,
            _ => {}
        }
        let held = state.owner == Some(turn);
        assert!(
            held || !hold,
            "turn {turn} is to hold document {:?}, and {:?} holds it",
            self.key,
            state.owner
        );
        Some(DocumentView {
            version: state.version,
            body: state.body.clone(),
            held,
        })
    }

    /// Lock the document for the job's turn. If another turn has locked it, the job is queued and none is
    /// returned.
    pub fn take_for(&self, job: Box<Job>) -> Option<Box<Job>> {
        let mut state = self.state.lock();
        match state.owner {
            Some(owner) if owner != job.turn => {
                state.waiters.push_back(job);
                None
            }
            _ => {
                state.owner = Some(job.turn);
                self.stamp(&state);
                Some(job)
            }
        }
    }

    /// Release the turn's lock. The first job in the queue gets the lock and is returned, to be run.
    pub fn release(&self, turn: TurnId) -> Option<Box<Job>> {
        let mut state = self.state.lock();
        if state.owner != Some(turn) {
            return None;
        }
        let next = state.waiters.pop_front();
        if let Some(job) = &next {
            let wanted = job.lock_set.get(job.locks_held).map(|cell| &cell.key);
            assert!(
                wanted == Some(&self.key),
                "turn {} queued for document {:?} and wants {wanted:?}",
                job.turn,
                self.key
            );
        }
        state.owner = next.as_ref().map(|job| job.turn);
        self.stamp(&state);
        if next.is_none() {
            drop(state);
            self.released.notify_all();
        }
        next
    }

    /// Make the turn's write the newest version. Returns the length of the body before, in bytes.
    ///
    /// # Panics
    /// When the turn does not hold the lock, or saw another version: two turns have then written the document
    /// at once.
    pub fn install(&self, turn: TurnId, seen: u64, body: Option<Name>, lsn: Lsn) -> usize {
        let mut state = self.state.lock();
        assert!(
            state.owner == Some(turn),
            "turn {turn} writes document {:?} of collection {} without holding it: it is held by {:?}",
            self.key.id,
            self.key.collection.0,
            state.owner
        );
        assert!(
            state.version == seen,
            "turn {turn} writes document {:?} of collection {} over version {}: it saw version {seen}",
            self.key.id,
            self.key.collection.0,
            state.version
        );
        assert!(
            state.lsn < lsn,
            "position {} in the log writes document {:?} of collection {} that position {} wrote before",
            lsn.0,
            self.key.id,
            self.key.collection.0,
            state.lsn.0
        );
        let before = std::mem::replace(&mut state.body, body);
        state.version += 1;
        state.lsn = lsn;
        self.stamp(&state);
        before.map_or(0, |body| body.len())
    }
}

/// All documents in memory.
pub(crate) struct Documents {
    shards: Vec<Mutex<HashTable<Arc<Cell>>>>,
    /// Clients choose ids of documents, so the hashes must not be theirs to choose.
    hasher: RandomState,
    /// Bytes of bodies and ids, roughly, of all cells.
    bytes: AtomicUsize,
    bytes_max: usize,
    hand: AtomicUsize,
}

impl Documents {
    /// An empty cache.
    pub fn new(bytes_max: usize) -> Self {
        Self {
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
            hasher: RandomState::new(),
            bytes: AtomicUsize::new(0),
            bytes_max,
            hand: AtomicUsize::new(0),
        }
    }

    /// The document's cell, loaded.
    pub fn cell(&self, key: &DocumentKey, store: &dyn Store) -> Result<Arc<Cell>, StoreError> {
        let cell = {
            // One hash chooses the shard and the place in it. A table uses the highest and the lowest bits.
            let hash = self.hasher.hash_one(key);
            let mut shard = self.shards[usize::from(hash.to_le_bytes()[4]) % SHARDS].lock();
            match shard.find(hash, |cell| cell.key == *key) {
                Some(cell) => {
                    cell.used.store(true, Ordering::Relaxed);
                    cell.clone()
                }
                None => {
                    let cell = Arc::new(Cell::new(key.clone()));
                    let rehash = |cell: &Arc<Cell>| self.hasher.hash_one(&cell.key);
                    shard.insert_unique(hash, cell.clone(), rehash);
                    self.bytes.fetch_add(cost(key, None), Ordering::Relaxed);
                    cell
                }
            }
        };
        {
            let mut state = cell.state.lock();
            if !state.loaded {
                assert!(
                    state.version == 0 && state.owner.is_none(),
                    "document {key:?} is to be loaded, and is of version {} and held by {:?}",
                    state.version,
                    state.owner
                );
                if let Some(stored) = store.read(key.collection, &key.id)? {
                    assert!(
                        stored.id == key.id && stored.version > 0,
                        "the store gives document {:?} of version {} for document {:?}",
                        stored.id,
                        stored.version,
                        key.id
                    );
                    self.bytes.fetch_add(stored.body.len(), Ordering::Relaxed);
                    state.version = stored.version;
                    state.body = Some(stored.body);
                    cell.stamp(&state);
                }
                state.loaded = true;
            }
        }
        Ok(cell)
    }

    /// Count the bytes of a body that replaces another.
    pub fn replaced(&self, old: usize, new: usize) {
        if new >= old {
            self.bytes.fetch_add(new - old, Ordering::Relaxed);
        } else {
            let before = self.bytes.fetch_sub(old - new, Ordering::Relaxed);
            assert!(
                before >= old - new,
                "a document becomes shorter by {} bytes and all had {before}",
                old - new
            );
        }
    }

    /// Drop cells that are not in use and are on disk, while there are too many bytes (clock algorithm: a cell
    /// that was used since the last look gets a second chance).
    pub fn trim(&self, committed: Lsn) {
        for _ in 0..2 * SHARDS {
            let over = self
                .bytes
                .load(Ordering::Relaxed)
                .saturating_sub(self.bytes_max);
            if over == 0 {
                return;
            }
            let hand = self.hand.fetch_add(1, Ordering::Relaxed) % SHARDS;
            let mut freed = 0;
            self.shards[hand].lock().retain(|cell| {
                // Only this map has the cell, and it gives cells out only under this lock.
                if freed >= over || Arc::strong_count(cell) > 1 {
                    return true;
                }
                let state = cell.state.lock();
                let needed = state.owner.is_some() || !state.waiters.is_empty();
                if needed || state.lsn > committed || cell.used.swap(false, Ordering::Relaxed) {
                    return true;
                }
                freed += cost(&cell.key, state.body.as_deref());
                false
            });
            let before = self.bytes.fetch_sub(freed, Ordering::Relaxed);
            assert!(
                before >= freed,
                "documents of {freed} bytes are forgotten and all had {before}"
            );
        }
    }

    /// Roughly how many bytes the documents in memory take.
    pub fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }
}

fn cost(key: &DocumentKey, body: Option<&str>) -> usize {
    /// A cell, its entry in the map and its allocations.
    const OVERHEAD: usize = 224;
    OVERHEAD + key.id.len() + body.map_or(0, str::len)
}
