//! A store in memory with what the tests inspect, and a network that sends nothing.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rialto_engine::network::{FailureKind, Network, OutboundRequest, Outcome, Report};
use rialto_engine::store::{
    DeadLetter, Group, Recovered, ScanRange, Store, StoreError, StoredDocument,
};
use rialto_engine::{CollectionId, Delivery, Name, Timestamp};

/// The id of a document that cannot be read without a panic.
pub const PANICS: &str = "panic";

/// Documents, receipts and dead letters in memory.
#[derive(Default)]
pub struct MemoryStore {
    /// Documents by collection and id.
    pub documents: Mutex<BTreeMap<(CollectionId, String), StoredDocument>>,
    /// Bodies of receipts, in the order in which they were written.
    pub receipts: Mutex<Vec<String>>,
    /// Deliveries given up.
    pub dead_letters: Mutex<Vec<DeadLetter>>,
    /// Deliveries that were written down and not yet made.
    pub deliveries: Mutex<BTreeMap<u64, String>>,
    /// Nothing is written while a test has this lock.
    pub writes: Mutex<()>,
    /// How long the reading of a document takes, without a processor.
    pub reading_takes: Mutex<Duration>,
}

impl MemoryStore {
    /// The ids of all documents.
    pub fn ids(&self) -> Vec<String> {
        let documents = self.documents.lock().unwrap();
        documents.keys().map(|(_, id)| id.clone()).collect()
    }
}

impl Store for MemoryStore {
    fn recover(&self) -> Result<Recovered, StoreError> {
        Ok(Recovered::default())
    }

    fn read(&self, c: CollectionId, id: &str) -> Result<Option<StoredDocument>, StoreError> {
        assert!(id != PANICS, "the store panics, as it was told");
        std::thread::sleep(*self.reading_takes.lock().unwrap());
        let documents = self.documents.lock().unwrap();
        Ok(documents.get(&(c, id.to_owned())).cloned())
    }

    fn scan(
        &self,
        c: CollectionId,
        range: &ScanRange,
        limit: u32,
    ) -> Result<Vec<StoredDocument>, StoreError> {
        assert!(range.from != PANICS, "the store panics, as it was told");
        let documents = self.documents.lock().unwrap();
        let within = documents
            .iter()
            .filter(|((of, id), _)| *of == c && range.contains(id));
        let found = within.map(|(_, document)| document.clone());
        Ok(found.take(limit as usize).collect())
    }

    fn write(&self, group: &Group) -> Result<(), StoreError> {
        let _may_write = self.writes.lock().unwrap();
        let mut documents = self.documents.lock().unwrap();
        for write in &group.documents {
            let key = (write.collection, write.id.to_string());
            match &write.body {
                Some(body) => {
                    let document = StoredDocument {
                        id: write.id.clone(),
                        version: write.version,
                        body: body.clone(),
                    };
                    documents.insert(key, document);
                }
                None => {
                    documents.remove(&key);
                }
            }
        }
        let bodies = group
            .receipts
            .iter()
            .map(|receipt| receipt.body.to_string());
        self.receipts.lock().unwrap().extend(bodies);
        let given_up = group.dead_letters_added.iter().cloned();
        self.dead_letters.lock().unwrap().extend(given_up);
        let mut deliveries = self.deliveries.lock().unwrap();
        for delivery in &group.deliveries_added {
            deliveries.insert(delivery.id, delivery.function.to_string());
        }
        for id in &group.deliveries_removed {
            deliveries.remove(id);
        }
        Ok(())
    }

    fn count_overdue(&self, _: Timestamp) -> Result<Vec<(Name, Name, u32)>, StoreError> {
        Ok(Vec::new())
    }

    fn note_poison_candidate(&self, _: Option<&str>) -> Result<(), StoreError> {
        Ok(())
    }

    fn poison_candidate(&self) -> Result<Option<String>, StoreError> {
        Ok(None)
    }

    fn deliveries(&self, _: &[u64]) -> Result<Vec<Delivery>, StoreError> {
        Ok(Vec::new())
    }

    fn outbound(&self, _: &[u64]) -> Result<Vec<OutboundRequest>, StoreError> {
        Ok(Vec::new())
    }

    fn dead_letters(&self) -> Result<Vec<DeadLetter>, StoreError> {
        Ok(self.dead_letters.lock().unwrap().clone())
    }
}

/// Nothing can be reached.
pub struct NoNetwork;

impl Network for NoNetwork {
    fn send(&self, request: Arc<OutboundRequest>, done: Box<dyn FnOnce(Report) + Send>) {
        done(Report {
            id: request.id,
            correlation: request.correlation.clone(),
            attempts: 1,
            outcome: Outcome::Failed {
                kind: FailureKind::Unreachable,
                reason: "there is no network in these tests".into(),
                response: None,
            },
            span: None,
        });
    }
}
