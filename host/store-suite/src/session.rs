//! A store beside the model. Writes go to both, and both must return the same.

use std::collections::BTreeSet;

use rialto_engine::store::{Group, ScanRange, Store, StoreError};

use crate::Backend;
use crate::model::{Kept, Model, dead_letter, delivery};

/// See the module's documentation.
pub struct Session<P: Backend> {
    // Before the backend: the store is closed before its folder goes away.
    store: Option<P::Store>,
    /// What should be in the store.
    pub model: Model,
    /// Where the store is kept.
    pub backend: P,
    first_id: u64,
}

impl<P: Backend> Default for Session<P> {
    /// With a new backend.
    fn default() -> Self {
        let backend = P::new();
        let store = backend.open();
        let recovered = store.recover().expect("a new store recovers");
        let (first_id, kept) = (recovered.next_id, Kept::of(recovered));
        let model = Model::default();
        assert_eq!(kept, model.kept(first_id), "a new store is empty");
        Self {
            store: Some(store),
            model,
            backend,
            first_id,
        }
    }
}

impl<P: Backend> Session<P> {
    /// The store.
    pub fn store(&self) -> &P::Store {
        self.store
            .as_ref()
            .expect("it is gone only while it is opened again")
    }

    /// Write a group to both.
    pub fn write(&mut self, group: &Group) {
        self.store()
            .write(group)
            .unwrap_or_else(|e| panic!("{e}; the group was {group:#?}"));
        self.model.apply(group);
    }

    /// Close the store, open it again, and compare everything.
    pub fn reopen(&mut self) {
        self.store = None;
        let store = self.backend.open();
        let recovered = store.recover();
        self.store = Some(store);
        self.compare_recovered(Ok(recovered.expect("a store recovers")));
        self.compare();
    }

    /// Compare what a store gave back when it was opened.
    pub fn compare_recovered(
        &self,
        recovered: Result<rialto_engine::store::Recovered, StoreError>,
    ) {
        let recovered = recovered.expect("a store recovers");
        assert_eq!(
            Kept::of(recovered),
            self.model.kept(self.first_id),
            "what is given back after opening; left is the store, right is the model"
        );
    }

    /// Compare everything that can be read.
    pub fn compare(&self) {
        compare(self.store(), &self.model);
    }
}

/// Compare everything that can be read from a store with the model.
pub fn compare(store: &impl Store, model: &Model) {
    for key in model.touched() {
        let found = store.read(key.0, &key.1).expect("a document can be read");
        assert_eq!(found, model.read(key), "document {key:?}");
    }
    let collections: BTreeSet<_> = model.touched().map(|key| key.0).collect();
    for collection in collections {
        compare_scan(store, model, collection, &ScanRange::all(), u32::MAX);
    }
    let mut ids = model.delivery_ids();
    ids.reverse();
    // One that there never was.
    ids.push(u64::MAX >> 1);
    let deliveries = store.deliveries(&ids).expect("deliveries can be read");
    let deliveries: Vec<_> = deliveries.iter().map(delivery).collect();
    assert_eq!(deliveries, model.deliveries(), "deliveries");
    let letters = store.dead_letters().expect("dead letters can be read");
    let letters: Vec<_> = letters.iter().map(dead_letter).collect();
    assert_eq!(letters, model.dead_letters(), "dead letters");
}

/// Compare one scan.
pub fn compare_scan(
    store: &impl Store,
    model: &Model,
    collection: rialto_engine::CollectionId,
    range: &ScanRange,
    limit: u32,
) {
    let found = store.scan(collection, range, limit);
    assert_eq!(
        found.expect("a collection can be scanned"),
        model.scan(collection, range, limit),
        "{collection:?}, {range:?}, at most {limit}"
    );
}
