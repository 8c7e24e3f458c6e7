//! The executed state of documents: what turns read and lock, ahead of the disk.
//!
//! Each document that is touched has a *cell*: its newest executed version, the turn that holds it,
//! and the turns that queue for it. How turns are ordered:
//! - A turn holds a document from its first write (or `read_for_update`) until it has been executed.
//! - A plain read holds nothing; it notes the version, and the turn is executed only if that is
//!   still the newest version and no other turn holds the document.
//! - A turn that meets a held document looks again for some microseconds, then ends, leaving
//!   nothing. It runs again once it holds every document that it is known to have wanted, taken in
//!   key order by queueing. A running turn never waits for a document, and queueing is in one global
//!   order, so there is no deadlock; the known set only grows, so every turn gets through.
//!
//! Cells are a cache: one that nobody uses and whose last write is on disk may be forgotten.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use parking_lot::{Mutex, MutexGuard};

use crate::ids::{DocumentKey, Lsn, Name, TurnId};
use crate::queue::Job;
use crate::store::{Store, StoreError};

const SHARDS: usize = 64;

/// What is known of a document.
pub(crate) struct CellState {
    /// Whether `version` and `body` say what the store says.
    pub loaded: bool,
    /// How often it has been written; 0 if it never was.
    pub version: u64,
    /// Its body; none if there is no such document.
    pub body: Option<Name>,
    /// The turn that holds it.
    pub owner: Option<TurnId>,
    /// Turns that queue for it.
    pub waiters: VecDeque<Box<Job>>,
    /// The last turn that wrote it.
    pub lsn: Lsn,
}

/// A document in memory.
pub(crate) struct Cell {
    pub key: DocumentKey,
    state: Mutex<CellState>,
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
            used: AtomicBool::new(true),
        }
    }

    pub fn state(&self) -> MutexGuard<'_, CellState> {
        self.state.lock()
    }

    /// The turn lets go; the first in the queue takes over and is given back to be run.
    pub fn release(&self, turn: TurnId) -> Option<Box<Job>> {
        let mut state = self.state.lock();
        if state.owner != Some(turn) {
            return None;
        }
        let next = state.waiters.pop_front();
        state.owner = next.as_ref().map(|job| job.turn);
        next
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
            let mut state = cell.state();
            if !state.loaded {
                if let Some(stored) = store.read(key.collection, &key.id)? {
                    self.bytes.fetch_add(stored.body.len(), Ordering::Relaxed);
                    state.version = stored.version;
                    state.body = Some(stored.body);
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
            self.bytes.fetch_sub(old - new, Ordering::Relaxed);
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
                let state = cell.state();
                let needed = state.owner.is_some() || !state.waiters.is_empty();
                if needed || state.lsn > committed || cell.used.swap(false, Ordering::Relaxed) {
                    return true;
                }
                freed += cost(key, state.body.as_deref());
                false
            });
            self.bytes.fetch_sub(freed, Ordering::Relaxed);
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
