//! A store in memory that fails when the test says so.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use rialto_engine::network::OutboundRequest;
use rialto_engine::store::{
    Collection, DeadLetter, Group, Recovered, ScanRange, Store, StoreError, StoredDocument,
    StoredReminder,
};
use rialto_engine::{CollectionId, Delivery, Lsn, Name, Origin, Payload, Timestamp};

/// What the store has on disk, and what is to go wrong.
#[derive(Default)]
pub struct Disk {
    pub lsn: u64,
    pub next_id: u64,
    pub fence: u64,
    pub collections: Vec<Collection>,
    pub documents: BTreeMap<(CollectionId, String), (u64, String)>,
    pub deliveries: BTreeMap<u64, Delivery>,
    pub reminders: BTreeMap<(String, String), StoredReminder>,
    pub outbound: BTreeMap<u64, OutboundRequest>,
    pub dead_letters: BTreeMap<u64, DeadLetter>,
    /// The redelivery counts of reminders.
    pub overdue: BTreeMap<(String, String), u32>,
    pub poison_candidate: Option<String>,
    pub groups: u64,
    pub history: usize,
}

/// How the next write ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Nothing of the group is on disk.
    Before,
    /// All of it is, and nobody is told.
    After,
}

#[derive(Default)]
pub struct MemoryStore {
    pub disk: Arc<Mutex<Disk>>,
    pub fault: Mutex<Option<Fault>>,
    pub slow: Mutex<Option<std::time::Duration>>,
    /// Runs once, in the middle of the next write.
    #[allow(clippy::type_complexity, reason = "what a test wants to happen")]
    pub amid_write: Mutex<Option<Box<dyn FnOnce() + Send>>>,
    /// Runs once, in the middle of the next reading of deliveries.
    #[allow(clippy::type_complexity, reason = "what a test wants to happen")]
    pub amid_read: Mutex<Option<Box<dyn FnOnce() + Send>>>,
    /// So many readings of deliveries and requests fail.
    pub unreadable: AtomicU64,
    fence: AtomicU64,
}

impl MemoryStore {
    fn may_read(&self) -> Result<(), StoreError> {
        let left = |left: u64| left.checked_sub(1);
        match self
            .unreadable
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, left)
        {
            Ok(_) => Err(StoreError::Failed("the disk cannot be read".into())),
            Err(_) => Ok(()),
        }
    }

    /// The same disk, opened by another process.
    pub fn reopened(self: &Arc<Self>) -> Arc<Self> {
        let disk = std::mem::take(&mut *self.disk.lock());
        Arc::new(Self {
            disk: Arc::new(Mutex::new(disk)),
            ..Self::default()
        })
    }

    /// A store on this disk, beside others.
    pub fn on(disk: &Arc<Mutex<Disk>>) -> Self {
        Self {
            disk: disk.clone(),
            ..Self::default()
        }
    }
}

impl Store for MemoryStore {
    fn recover(&self) -> Result<Recovered, StoreError> {
        let mut disk = self.disk.lock();
        disk.fence += 1;
        for delivery in disk.deliveries.values_mut() {
            delivery.redeliveries += 1;
        }
        self.fence.store(disk.fence, Ordering::Relaxed);
        Ok(Recovered {
            lsn: Lsn(disk.lsn),
            next_id: disk.next_id,
            collections: disk.collections.clone(),
            deliveries: disk.deliveries.values().cloned().collect(),
            reminders: disk.reminders.values().cloned().collect(),
            outbound: disk.outbound.values().cloned().collect(),
        })
    }

    fn count_overdue(&self, now: Timestamp) -> Result<Vec<(Name, Name, u32)>, StoreError> {
        let mut disk = self.disk.lock();
        let due = disk.reminders.values().filter(|r| r.due <= now);
        let due: Vec<(Name, Name)> = due.map(|r| (r.component.clone(), r.id.clone())).collect();
        let counted = due.into_iter().map(|(component, id)| {
            let key = (component.to_string(), id.to_string());
            let starts = disk.overdue.entry(key).or_default();
            *starts += 1;
            (component, id, *starts)
        });
        Ok(counted.collect())
    }

    fn note_poison_candidate(&self, candidate: Option<&str>) -> Result<(), StoreError> {
        self.disk.lock().poison_candidate = candidate.map(str::to_owned);
        Ok(())
    }

    fn poison_candidate(&self) -> Result<Option<String>, StoreError> {
        Ok(self.disk.lock().poison_candidate.clone())
    }

    fn read(&self, c: CollectionId, id: &str) -> Result<Option<StoredDocument>, StoreError> {
        let disk = self.disk.lock();
        let found = disk.documents.get(&(c, id.to_owned()));
        Ok(found.map(|(version, body)| StoredDocument {
            id: id.into(),
            version: *version,
            body: body.as_str().into(),
        }))
    }

    fn scan(
        &self,
        c: CollectionId,
        range: &ScanRange,
        limit: u32,
    ) -> Result<Vec<StoredDocument>, StoreError> {
        let disk = self.disk.lock();
        let all = disk.documents.iter();
        let within = all.filter(|((of, id), _)| *of == c && range.contains(id));
        let found = within.map(|((_, id), (version, body))| StoredDocument {
            id: id.as_str().into(),
            version: *version,
            body: body.as_str().into(),
        });
        Ok(found.take(limit as usize).collect())
    }

    fn write(&self, group: &Group) -> Result<(), StoreError> {
        if let Some(pause) = *self.slow.lock() {
            std::thread::sleep(pause);
        }
        let amid = self.amid_write.lock().take();
        if let Some(amid) = amid {
            amid();
        }
        let fault = self.fault.lock().take();
        if fault == Some(Fault::Before) {
            return Err(StoreError::Failed("crashed before the write".into()));
        }
        let mut disk = self.disk.lock();
        if disk.fence != self.fence.load(Ordering::Relaxed) {
            return Err(StoreError::Fenced);
        }
        apply(&mut disk, group);
        match fault {
            Some(_) => Err(StoreError::Failed("crashed after the write".into())),
            None => Ok(()),
        }
    }

    fn deliveries(&self, ids: &[u64]) -> Result<Vec<Delivery>, StoreError> {
        self.may_read()?;
        let amid = self.amid_read.lock().take();
        if let Some(amid) = amid {
            amid();
        }
        let disk = self.disk.lock();
        let mut ids = ids.to_vec();
        ids.sort_unstable();
        let found = ids.iter().filter_map(|id| disk.deliveries.get(id).cloned());
        Ok(found.collect())
    }

    fn outbound(&self, ids: &[u64]) -> Result<Vec<OutboundRequest>, StoreError> {
        self.may_read()?;
        let disk = self.disk.lock();
        Ok(ids
            .iter()
            .filter_map(|id| disk.outbound.get(id).cloned())
            .collect())
    }

    fn dead_letters(&self) -> Result<Vec<DeadLetter>, StoreError> {
        Ok(self.disk.lock().dead_letters.values().cloned().collect())
    }
}

fn apply(disk: &mut Disk, group: &Group) {
    assert!(group.lsn.0 > disk.lsn, "groups are written in log order");
    disk.lsn = group.lsn.0;
    disk.next_id = group.next_id;
    disk.groups += 1;
    disk.history += group.history.len();
    disk.collections.extend(group.collections.iter().cloned());
    for write in &group.documents {
        let key = (write.collection, write.id.to_string());
        let before = disk.documents.get(&key).map_or(0, |(version, _)| *version);
        assert!(write.version > before, "versions only grow");
        match &write.body {
            Some(body) => {
                disk.documents
                    .insert(key, (write.version, body.to_string()));
            }
            None => {
                disk.documents.remove(&key);
            }
        }
    }
    for delivery in &group.deliveries_added {
        // As a real store would keep it: encoded.
        let stored = Delivery {
            payload: Payload::Stored(delivery.payload.encode().into()),
            // A real one keeps none; there the traces tell senders apart, which are all the same here.
            origin: delivery
                .origin
                .sender
                .clone()
                .map_or_else(Origin::default, Origin::of),
            ..(**delivery).clone()
        };
        disk.deliveries.insert(delivery.id, stored);
    }
    for id in &group.deliveries_removed {
        disk.deliveries.remove(id);
    }
    for reminder in &group.reminders_set {
        let key = (reminder.component.to_string(), reminder.id.to_string());
        disk.overdue.remove(&key);
        disk.reminders.insert(key, reminder.clone());
    }
    for (component, id) in &group.reminders_removed {
        disk.reminders
            .remove(&(component.to_string(), id.to_string()));
    }
    for request in &group.outbound_added {
        disk.outbound.insert(request.id, (**request).clone());
    }
    for id in &group.outbound_removed {
        assert!(
            disk.outbound.remove(id).is_some(),
            "a report is handled once"
        );
    }
    for letter in &group.dead_letters_added {
        disk.dead_letters.insert(letter.delivery.id, letter.clone());
    }
    for id in &group.dead_letters_removed {
        disk.dead_letters.remove(id);
    }
}
