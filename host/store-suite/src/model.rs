//! The model: a very simple store in memory, with which real stores are compared.

use std::collections::{BTreeMap, BTreeSet};

use rialto_engine::network::OutboundRequest;
use rialto_engine::store::{
    Collection, DeadLetter, Group, Recovered, ScanRange, StoredDocument, StoredReminder,
};
use rialto_engine::{CollectionId, Delivery};

/// A document's collection and id.
pub type Key = (CollectionId, String);

/// What a store gives back when it is opened, in a form that can be compared: what has no order is
/// sorted, and a delivery is a text.
#[derive(Debug, PartialEq)]
pub struct Kept {
    lsn: u64,
    next_id: u64,
    collections: Vec<Collection>,
    deliveries: Vec<String>,
    reminders: Vec<StoredReminder>,
    outbound: Vec<OutboundRequest>,
}

impl Kept {
    /// What a store gave back.
    pub fn of(recovered: Recovered) -> Self {
        let mut kept = Self {
            lsn: recovered.lsn.0,
            next_id: recovered.next_id,
            collections: recovered.collections,
            deliveries: recovered.deliveries.iter().map(delivery).collect(),
            reminders: recovered.reminders,
            outbound: recovered.outbound,
        };
        kept.collections.sort_by_key(|c| c.id);
        kept.reminders
            .sort_by(|a, b| (&a.component, &a.id).cmp(&(&b.component, &b.id)));
        kept.outbound.sort_by_key(|request| request.id);
        kept
    }
}

/// Everything of a delivery but its redelivery count, its payload as it is stored.
pub fn delivery(d: &Delivery) -> String {
    let payload = d.payload.encode();
    let head = (&d.cause, &d.component, &d.interface, &d.function);
    format!(
        "{} {head:?} {:?} {:?} {:?} {} {payload:?}",
        d.id, d.by, d.trace, d.subjects, d.hops
    )
}

/// Everything of a dead letter.
pub fn dead_letter(letter: &DeadLetter) -> String {
    let delivery = delivery(&letter.delivery);
    format!(
        "{delivery} {} {:?} {}",
        letter.attempts, letter.error, letter.at
    )
}

/// See the module's documentation.
#[derive(Default)]
pub struct Model {
    lsn: u64,
    next_id: Option<u64>,
    collections: Vec<Collection>,
    documents: BTreeMap<Key, StoredDocument>,
    touched: BTreeSet<Key>,
    deliveries: BTreeMap<u64, String>,
    reminders: BTreeMap<(String, String), StoredReminder>,
    outbound: BTreeMap<u64, OutboundRequest>,
    dead_letters: BTreeMap<u64, String>,
}

impl Model {
    /// Make a group true.
    pub fn apply(&mut self, group: &Group) {
        self.lsn = group.lsn.0;
        self.next_id = Some(group.next_id);
        self.collections.extend(group.collections.iter().cloned());
        for write in &group.documents {
            let key = (write.collection, write.id.to_string());
            self.touched.insert(key.clone());
            match &write.body {
                Some(body) => {
                    let document = StoredDocument {
                        id: write.id.clone(),
                        version: write.version,
                        body: body.clone(),
                    };
                    self.documents.insert(key, document);
                }
                None => {
                    self.documents.remove(&key);
                }
            }
        }
        for added in &group.deliveries_added {
            self.deliveries.insert(added.id, delivery(added));
        }
        for id in &group.deliveries_removed {
            self.deliveries.remove(id);
        }
        for reminder in &group.reminders_set {
            let key = (reminder.component.to_string(), reminder.id.to_string());
            self.reminders.insert(key, reminder.clone());
        }
        for (component, id) in &group.reminders_removed {
            self.reminders
                .remove(&(component.to_string(), id.to_string()));
        }
        for request in &group.outbound_added {
            self.outbound.insert(request.id, (**request).clone());
        }
        for id in &group.outbound_removed {
            self.outbound.remove(id);
        }
        for letter in &group.dead_letters_added {
            self.dead_letters
                .insert(letter.delivery.id, dead_letter(letter));
        }
        for id in &group.dead_letters_removed {
            self.dead_letters.remove(id);
        }
    }

    /// The last turn.
    pub fn lsn(&self) -> u64 {
        self.lsn
    }

    /// What a store that was opened now should give back. Before the first group only the store
    /// knows its first free id.
    pub fn kept(&self, first_id: u64) -> Kept {
        let mut collections = self.collections.clone();
        collections.sort_by_key(|c| c.id);
        Kept {
            lsn: self.lsn,
            next_id: self.next_id.unwrap_or(first_id),
            collections,
            deliveries: self.deliveries.values().cloned().collect(),
            reminders: self.reminders.values().cloned().collect(),
            outbound: self.outbound.values().cloned().collect(),
        }
    }

    /// Every key that a group ever named, also of documents that are gone.
    pub fn touched(&self) -> impl Iterator<Item = &Key> {
        self.touched.iter()
    }

    /// One document.
    pub fn read(&self, key: &Key) -> Option<StoredDocument> {
        self.documents.get(key).cloned()
    }

    /// Documents of a range. Ids are compared as Rust compares texts: by their bytes.
    pub fn scan(
        &self,
        collection: CollectionId,
        range: &ScanRange,
        limit: u32,
    ) -> Vec<StoredDocument> {
        self.documents
            .iter()
            .filter(|((of, id), _)| *of == collection && range.contains(id))
            .map(|(_, document)| document.clone())
            .take(limit as usize)
            .collect()
    }

    /// All dead letters, in the order of their deliveries' ids.
    pub fn dead_letters(&self) -> Vec<String> {
        self.dead_letters.values().cloned().collect()
    }

    /// Pending deliveries, in the order of their ids.
    pub fn deliveries(&self) -> Vec<String> {
        self.deliveries.values().cloned().collect()
    }

    /// Ids of pending deliveries.
    pub fn delivery_ids(&self) -> Vec<u64> {
        self.deliveries.keys().copied().collect()
    }

    /// Ids of requests without a report.
    pub fn outbound_ids(&self) -> Vec<u64> {
        self.outbound.keys().copied().collect()
    }

    /// Ids of deliveries that were given up.
    pub fn dead_letter_ids(&self) -> Vec<u64> {
        self.dead_letters.keys().copied().collect()
    }
}
