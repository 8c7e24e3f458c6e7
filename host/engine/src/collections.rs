//! The numbers of collections. A collection gets a number when a component first names it. The number is
//! stored with the first write to the collection; without a write it ends with the process.

use std::sync::atomic::Ordering;

use foldhash::HashMap;

use crate::ids::{CollectionId, Name};
use crate::limits;
use crate::store::Collection;
use crate::sync::{AtomicBool, AtomicUsize, RwLock};
use crate::turn::Interrupt;

struct Entry {
    collection: Collection,
    /// Whether an executed turn has written to the collection.
    written: AtomicBool,
    /// Whether the number is stored.
    stored: AtomicBool,
}

#[derive(Default)]
struct Numbers {
    by_name: HashMap<Name, HashMap<Name, CollectionId>>,
    /// In the order of their numbers.
    by_id: Vec<Entry>,
}

impl Numbers {
    fn find(&self, component: &str, name: &str) -> Option<CollectionId> {
        self.by_name.get(component)?.get(name).copied()
    }

    fn entry(&self, id: CollectionId) -> Option<&Entry> {
        let at = self.by_id.binary_search_by_key(&id, |e| e.collection.id);
        self.by_id.get(at.ok()?)
    }

    fn add(&mut self, collection: Collection, stored: bool) {
        let last = self
            .by_id
            .last()
            .map_or(CollectionId(0), |last| last.collection.id);
        assert!(
            collection.id > last,
            "collection `{}` of {} gets the number {}, and {} is given already",
            collection.name,
            collection.component,
            collection.id.0,
            last.0
        );
        let before = self
            .by_name
            .entry(collection.component.clone())
            .or_default()
            .insert(collection.name.clone(), collection.id);
        assert!(
            before.is_none(),
            "collection `{}` of {} gets the number {}, and has {before:?} already",
            collection.name,
            collection.component,
            collection.id.0
        );
        self.by_id.push(Entry {
            collection,
            written: AtomicBool::new(stored),
            stored: AtomicBool::new(stored),
        });
    }
}

/// All collections.
#[derive(Default)]
pub(crate) struct Collections {
    numbers: RwLock<Numbers>,
    /// How many collections were written to and are not stored yet.
    unstored: AtomicUsize,
}

impl Collections {
    pub fn recovered(mut collections: Vec<Collection>) -> Self {
        let this = Self::default();
        collections.sort_by_key(|collection| collection.id);
        {
            let mut numbers = this.numbers.write();
            for collection in collections {
                numbers.add(collection, true);
            }
        }
        this
    }

    /// The collection's number, if it has one.
    pub fn find(&self, component: &str, name: &str) -> Option<CollectionId> {
        self.numbers.read().find(component, name)
    }

    /// The collection's number; a new one gets the next.
    pub fn id(&self, component: &str, name: &str) -> Result<CollectionId, Interrupt> {
        if let Some(id) = self.find(component, name) {
            return Ok(id);
        }
        let mut numbers = self.numbers.write();
        if let Some(id) = numbers.find(component, name) {
            return Ok(id);
        }
        let count = numbers.by_name.get(component).map_or(0, HashMap::len);
        if count >= limits::COLLECTIONS_PER_COMPONENT_MAX {
            return Err(Interrupt::Misuse(format!(
                "a component may have {} collections and `{name}` would be one more",
                limits::COLLECTIONS_PER_COMPONENT_MAX
            )));
        }
        let last = numbers.by_id.last();
        let id = CollectionId(last.map_or(1, |last| last.collection.id.0 + 1));
        let collection = Collection {
            id,
            component: component.into(),
            name: name.into(),
        };
        numbers.add(collection, false);
        Ok(id)
    }

    /// The component and the name of a collection.
    pub fn name(&self, id: CollectionId) -> Option<(Name, Name)> {
        let numbers = self.numbers.read();
        let known = &numbers.entry(id)?.collection;
        Some((known.component.clone(), known.name.clone()))
    }

    /// The component and the name of each collection that was written to, in the order in which they came.
    pub fn all_written(&self) -> Vec<(Name, Name)> {
        let numbers = self.numbers.read();
        let written = numbers.by_id.iter();
        let written = written.filter(|entry| entry.written.load(Ordering::Acquire));
        let names = written.map(|entry| {
            let Collection {
                component, name, ..
            } = &entry.collection;
            (component.clone(), name.clone())
        });
        names.collect()
    }

    /// Note that a turn which writes to the collection is about to get its position in the log.
    pub fn written(&self, id: CollectionId) {
        let numbers = self.numbers.read();
        let Some(entry) = numbers.entry(id) else {
            panic!(
                "a turn writes to collection {}, and none has this number",
                id.0
            );
        };
        if !entry.written.load(Ordering::Acquire) {
            // Counted first: a thread that sees `written` must find the collection counted.
            self.unstored.fetch_add(1, Ordering::AcqRel);
            if entry.written.swap(true, Ordering::AcqRel) {
                self.unstored.fetch_sub(1, Ordering::AcqRel);
            }
        }
    }

    /// Collections that are to be written with the next group.
    pub fn unstored(&self) -> Vec<Collection> {
        if self.unstored.load(Ordering::Acquire) == 0 {
            return Vec::new();
        }
        let numbers = self.numbers.read();
        let unstored = numbers
            .by_id
            .iter()
            .filter(|e| e.written.load(Ordering::Acquire) && !e.stored.load(Ordering::Acquire));
        unstored.map(|entry| entry.collection.clone()).collect()
    }

    /// Note that these are stored.
    pub fn stored(&self, collections: &[Collection]) {
        let numbers = self.numbers.read();
        for entry in collections.iter().filter_map(|c| numbers.entry(c.id)) {
            assert!(
                entry.written.load(Ordering::Acquire),
                "collection {} is stored and no turn has written to it",
                entry.collection.id.0
            );
            if !entry.stored.swap(true, Ordering::AcqRel) {
                let before = self.unstored.fetch_sub(1, Ordering::AcqRel);
                assert!(
                    before > 0,
                    "collection {} is stored and none was to be",
                    entry.collection.id.0
                );
            }
        }
    }
}
