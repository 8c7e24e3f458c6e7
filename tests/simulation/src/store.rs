//! The host's own store between a journal that reads along and faults that a test orders. Several hosts may have it; the one
//! that took it over last may write it, as on a database with leases.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use rialto_engine::network::OutboundRequest;
use rialto_engine::store::{
    DeadLetter, Group, Recovered, ScanRange, Store, StoreError, StoredDocument,
};
use rialto_engine::{CollectionId, Delivery, Name, Timestamp};
use rialto_store_sqlite::{OpenError, SqliteStore};

use crate::journal::Journal;

/// How the next write ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Nothing of the group is on disk.
    Before,
    /// All of it is written, but the host ends before it learns so.
    After,
}

/// The store that all hosts of a world share, and which of them may write it: what a database and the epoch of its lease are
/// to hosts on several machines.
#[derive(Default)]
pub struct SharedStore {
    epoch: AtomicU64,
    store: Mutex<Option<Arc<SqliteStore>>>,
}

impl SharedStore {
    /// Take the store over: a new host opens it, and what another one writes from now on is refused. Returns the new
    /// host's epoch.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub fn take_over(&self, folder: &Path) -> Result<(u64, Arc<SqliteStore>), OpenError> {
        let epoch = self.epoch.fetch_add(1, Ordering::SeqCst) + 1;
        let mut store = self.store.lock();
        // Only one process has it, and one value of it.
        *store = None;
        let opened = Arc::new(SqliteStore::open(folder)?);
        *store = Some(opened.clone());
        Ok((epoch, opened))
    }

    /// Whether the host of this epoch has been replaced.
    pub fn is_fenced(&self, epoch: u64) -> bool {
        self.epoch.load(Ordering::SeqCst) != epoch
    }

    fn now(&self) -> Result<Arc<SqliteStore>, StoreError> {
        let nobody = || StoreError::Failed("no host has opened the store".into());
        self.store.lock().clone().ok_or_else(nobody)
    }
}

/// See the module's documentation.
pub struct WatchedStore {
    shared: Arc<SharedStore>,
    epoch: u64,
    journal: Arc<Mutex<Journal>>,
    fault: Mutex<Option<Fault>>,
}

impl WatchedStore {
    /// The store for the host of an epoch, read along into this journal.
    pub fn new(shared: Arc<SharedStore>, epoch: u64, journal: Arc<Mutex<Journal>>) -> Self {
        Self {
            shared,
            epoch,
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
        self.shared.now()?.recover()
    }

    fn read(&self, c: CollectionId, id: &str) -> Result<Option<StoredDocument>, StoreError> {
        self.shared.now()?.read(c, id)
    }

    fn scan(
        &self,
        c: CollectionId,
        range: &ScanRange,
        limit: u32,
    ) -> Result<Vec<StoredDocument>, StoreError> {
        self.shared.now()?.scan(c, range, limit)
    }

    fn write(&self, group: &Group) -> Result<(), StoreError> {
        let fault = self.fault.lock().take();
        if fault == Some(Fault::Before) {
            return Err(StoreError::Failed("crashed before the write".into()));
        }
        if self.shared.is_fenced(self.epoch) {
            return Err(StoreError::Fenced);
        }
        self.shared.now()?.write(group)?;
        self.journal.lock().take(group);
        match fault {
            Some(_) => Err(StoreError::Failed("crashed after the write".into())),
            None => Ok(()),
        }
    }

    fn count_overdue(&self, now: Timestamp) -> Result<Vec<(Name, Name, u32)>, StoreError> {
        self.shared.now()?.count_overdue(now)
    }

    fn note_poison_candidate(&self, candidate: Option<&str>) -> Result<(), StoreError> {
        self.shared.now()?.note_poison_candidate(candidate)
    }

    fn poison_candidate(&self) -> Result<Option<String>, StoreError> {
        self.shared.now()?.poison_candidate()
    }

    fn deliveries(&self, ids: &[u64]) -> Result<Vec<Delivery>, StoreError> {
        self.shared.now()?.deliveries(ids)
    }

    fn outbound(&self, ids: &[u64]) -> Result<Vec<OutboundRequest>, StoreError> {
        self.shared.now()?.outbound(ids)
    }

    fn dead_letters(&self) -> Result<Vec<DeadLetter>, StoreError> {
        self.shared.now()?.dead_letters()
    }
}
