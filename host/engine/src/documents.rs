//! The executed state of documents: what turns read and lock, ahead of the disk.
//!
//! Each document that is touched has a *cell*: its newest executed version, the turn that holds it,
//! and the turns that queue for it. How turns are ordered:
//! - A turn holds a document from its first write (or `read_for_update`) until it has been executed.
//! - A plain read holds nothing; it notes the version, and the turn is executed only if that is
//!   still the newest version and no other turn holds the document. This is looked at while the log
//!   gives the turn its position and nobody else one ([`Log::append_if`](crate::commit)): so each turn
//!   has seen just what the turns before it in the log have left.
//! - A turn that meets a held document looks again for some microseconds, then ends, leaving
//!   nothing. It runs again once it holds every document that it is known to have wanted, taken in
//!   key order by queueing. A running turn never waits for a document, and queueing is in one global
//!   order, so there is no deadlock; the known set only grows, so every turn gets through.
//!
//! Cells are a cache: one that nobody uses and whose last write is on disk may be forgotten.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::ids::{DocumentKey, Lsn, Name, TurnId};
use crate::queue::Job;
use crate::store::{Store, StoreError};
use crate::sync::{AtomicBool, AtomicU64, AtomicUsize, Mutex};

const SHARDS: usize = 64;

/// What is known of a document.
struct CellState {
    /// Whether `version` and `body` say what the store says.
    loaded: bool,
    /// How often it has been written; 0 if it never was.
    version: u64,
    /// Its body; none if there is no such document.
    body: Option<Name>,
    /// The turn that holds it.
    owner: Option<TurnId>,
    /// Turns that queue for it.
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
    /// Whether the turn holds it.
    pub held: bool,
}

/// A document in memory.
pub(crate) struct Cell {
    pub key: DocumentKey,
    state: Mutex<CellState>,
    /// The version, and in its lowest bit whether a turn holds the document: for a look without the
    /// lock. Changes with `state`, under its lock.
    stamp: AtomicU64,
    /// Whether it was used since the cache last looked for what to forget.
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

    /// Whether this version is still the newest, and no turn holds the document.
    ///
    /// A turn that is before the asking one in the log has held the documents that it wrote from before
    /// it got its position. So whoever asks while the log is locked sees that it holds them still, or
    /// what it has written.
    pub fn is_still(&self, version: u64) -> bool {
        self.stamp.load(Ordering::Acquire) == version << 1
    }

    /// The document, unless another turn holds it. The turn holds it from now on if it wants to.
    pub fn look(&self, turn: TurnId, hold: bool) -> Option<DocumentView> {
        let mut state = self.state.lock();
        assert!(
            state.loaded,
            "turn {turn} looks at document {:?}, which is not loaded",
            self.key
        );
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

    /// Have the job's turn hold the document. If another one holds it, the job queues for it and is
    /// gone from here.
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

    /// The turn lets go; the first in the queue takes over and is given back to be run.
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
        next
    }

    /// Make what the turn wrote the newest version. Returns the bytes of the body before.
    ///
    /// # Panics
    /// When the turn does not hold the document, or saw another version of it: then two turns have
    /// written it at once.
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
    shards: Vec<Mutex<HashMap<DocumentKey, Arc<Cell>>>>,
    /// Bytes of bodies and ids, roughly, of all cells.
    bytes: AtomicUsize,
    bytes_max: usize,
    hand: AtomicUsize,
}

impl Documents {
    /// None in memory.
    pub fn new(bytes_max: usize) -> Self {
        Self {
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
            bytes: AtomicUsize::new(0),
            bytes_max,
            hand: AtomicUsize::new(0),
        }
    }

    fn shard(&self, key: &DocumentKey) -> &Mutex<HashMap<DocumentKey, Arc<Cell>>> {
        use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
        let hash = BuildHasherDefault::<DefaultHasher>::default().hash_one(key);
        &self.shards[usize::try_from(hash).unwrap_or(0) % SHARDS]
    }

    /// The document's cell, loaded.
    pub fn cell(&self, key: &DocumentKey, store: &dyn Store) -> Result<Arc<Cell>, StoreError> {
        let cell = {
            let mut shard = self.shard(key).lock();
            match shard.get(key) {
                Some(cell) => {
                    cell.used.store(true, Ordering::Relaxed);
                    cell.clone()
                }
                None => {
                    let cell = Arc::new(Cell::new(key.clone()));
                    shard.insert(key.clone(), cell.clone());
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

    /// Account for a body that replaces another.
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

    /// Forget cells that nobody uses and that are on disk, while there are too many bytes. What was
    /// used since the last look gets a second chance.
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
            self.shards[hand].lock().retain(|key, cell| {
                // Only this map holds the cell, and it gives cells out only under this lock.
                if freed >= over || Arc::strong_count(cell) > 1 {
                    return true;
                }
                let state = cell.state.lock();
                let needed = state.owner.is_some() || !state.waiters.is_empty();
                if needed || state.lsn > committed || cell.used.swap(false, Ordering::Relaxed) {
                    return true;
                }
                freed += cost(key, state.body.as_deref());
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
