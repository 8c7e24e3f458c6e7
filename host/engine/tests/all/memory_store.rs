//! The tests' store in memory passes the suite of every store.

use std::sync::Arc;

use crate::world::{Disk, MemoryStore};
use parking_lot::Mutex;
use rialto_store_suite::Backend;

/// A disk in memory.
struct Memory(Arc<Mutex<Disk>>);

impl Backend for Memory {
    type Store = MemoryStore;

    fn new() -> Self {
        Self(Arc::default())
    }

    fn open(&self) -> MemoryStore {
        MemoryStore::on(&self.0)
    }

    fn intrude(&self) -> MemoryStore {
        MemoryStore::on(&self.0)
    }
}

rialto_store_suite::suite!(Memory);
