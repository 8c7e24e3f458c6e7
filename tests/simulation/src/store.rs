//! The host's own store between a journal that reads along and faults that a test orders.

use std::sync::Arc;

use parking_lot::Mutex;
use rialto_engine::network::OutboundRequest;
use rialto_engine::store::{
    DeadLetter, Group, Recovered, ScanRange, Store, StoreError, StoredDocument,
};
use rialto_engine::{CollectionId, Delivery, Name, Timestamp};
use rialto_store_sqlite::SqliteStore;

use crate::journal::Journal;

/// How the next write ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Nothing of the group is on disk.
    Before,
    /// All of it is written, but the host ends before it learns so.
    After,
}

/// See the module's documentation.
pub struct WatchedStore {
    store: Arc<SqliteStore>,
    journal: Arc<Mutex<Journal>>,
    fault: Mutex<Option<Fault>>,
}

impl WatchedStore {
    /// A store that is read along into this journal.
    pub fn new(store: Arc<SqliteStore>, journal: Arc<Mutex<Journal>>) -> Self {
        Self {
            store,
            journal,
            fault: Mutex::new(None),
        }
    }

    /// Let the next write fail.
    pub fn fail(&self, fault: Fault) {
        *self.fault.lock() = Some(fault);
    }
}

impl Store for WatchedStore {
    fn recover(&self) -> Result<Recovered, StoreError> {
        self.store.recover()
    }

    fn read(&self, c: CollectionId, id: &str) -> Result<Option<StoredDocument>, StoreError> {
        self.store.read(c, id)
    }

    fn scan(
        &self,
        c: CollectionId,
        range: &ScanRange,
        limit: u32,
    ) -> Result<Vec<StoredDocument>, StoreError> {
        self.store.scan(c, range, limit)
    }

    fn write(&self, group: &Group) -> Result<(), StoreError> {
        let fault = self.fault.lock().take();
        if fault == Some(Fault::Before) {
            return Err(StoreError::Failed("crashed before the write".into()));
        }
        self.store.write(group)?;
        self.journal.lock().take(group);
        match fault {
            Some(_) => Err(StoreError::Failed("crashed after the write".into())),
            None => Ok(()),
        }
    }

    fn count_overdue(&self, now: Timestamp) -> Result<Vec<(Name, Name, u32)>, StoreError> {
        self.store.count_overdue(now)
    }

    fn note_poison_candidate(&self, candidate: Option<&str>) -> Result<(), StoreError> {
        self.store.note_poison_candidate(candidate)
    }

    fn poison_candidate(&self) -> Result<Option<String>, StoreError> {
        self.store.poison_candidate()
    }

    fn deliveries(&self, ids: &[u64]) -> Result<Vec<Delivery>, StoreError> {
        self.store.deliveries(ids)
    }

    fn outbound(&self, ids: &[u64]) -> Result<Vec<OutboundRequest>, StoreError> {
        self.store.outbound(ids)
    }

    fn dead_letters(&self) -> Result<Vec<DeadLetter>, StoreError> {
        self.store.dead_letters()
    }
}
