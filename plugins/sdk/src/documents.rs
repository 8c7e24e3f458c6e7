//! Typed collections of JSON documents, over the host's storage or, in a native test, over [`Memory`].

use crate::bindings::rialto::host::storage;
pub use crate::bindings::rialto::host::storage::{Page as StoredPage, Range};
use serde::{Serialize, de::DeserializeOwned};
use std::collections::BTreeMap;
use std::marker::PhantomData;

/// Where documents are: as the host's `storage`, so that a test can stand in for it.
pub trait Store {
    /// The document's body, or none.
    fn get(&mut self, collection: &str, id: &str) -> Option<String>;
    /// As `get`, for a document that this turn is going to write.
    fn get_for_update(&mut self, collection: &str, id: &str) -> Option<String>;
    /// Write the document, whether it exists or not.
    fn put(&mut self, collection: &str, id: &str, body: &str);
    /// Write the document only if it does not exist. Answers whether it was written.
    fn insert_if_absent(&mut self, collection: &str, id: &str, body: &str) -> bool;
    /// Remove the document. Answers whether it existed.
    fn delete(&mut self, collection: &str, id: &str) -> bool;
    /// Documents in the order of their ids, at most `limit`, and where to go on.
    fn scan(
        &mut self,
        collection: &str,
        range: &Range,
        cursor: Option<&str>,
        limit: u32,
    ) -> storage::Page;
}

impl<S: Store + ?Sized> Store for &mut S {
    fn get(&mut self, collection: &str, id: &str) -> Option<String> {
        (**self).get(collection, id)
    }

    fn get_for_update(&mut self, collection: &str, id: &str) -> Option<String> {
        (**self).get_for_update(collection, id)
    }

    fn put(&mut self, collection: &str, id: &str, body: &str) {
        (**self).put(collection, id, body);
    }

    fn insert_if_absent(&mut self, collection: &str, id: &str, body: &str) -> bool {
        (**self).insert_if_absent(collection, id, body)
    }

    fn delete(&mut self, collection: &str, id: &str) -> bool {
        (**self).delete(collection, id)
    }

    fn scan(
        &mut self,
        collection: &str,
        range: &Range,
        cursor: Option<&str>,
        limit: u32,
    ) -> storage::Page {
        (**self).scan(collection, range, cursor, limit)
    }
}

/// The host's storage.
#[derive(Debug, Clone, Copy, Default)]
pub struct HostStore;

impl Store for HostStore {
    fn get(&mut self, collection: &str, id: &str) -> Option<String> {
        storage::get(collection, id)
    }

    fn get_for_update(&mut self, collection: &str, id: &str) -> Option<String> {
        storage::get_for_update(collection, id)
    }

    fn put(&mut self, collection: &str, id: &str, body: &str) {
        storage::put(collection, id, body);
    }

    fn insert_if_absent(&mut self, collection: &str, id: &str, body: &str) -> bool {
        storage::insert_if_absent(collection, id, body)
    }

    fn delete(&mut self, collection: &str, id: &str) -> bool {
        storage::delete(collection, id)
    }

    fn scan(
        &mut self,
        collection: &str,
        range: &Range,
        cursor: Option<&str>,
        limit: u32,
    ) -> storage::Page {
        storage::scan(collection, range, cursor, limit)
    }
}

/// Documents in memory, for native tests: bodies by collection and id.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Memory(pub BTreeMap<(String, String), String>);

impl Memory {
    fn key(collection: &str, id: &str) -> (String, String) {
        (collection.to_owned(), id.to_owned())
    }
}

impl Store for Memory {
    fn get(&mut self, collection: &str, id: &str) -> Option<String> {
        self.0.get(&Self::key(collection, id)).cloned()
    }

    fn get_for_update(&mut self, collection: &str, id: &str) -> Option<String> {
        self.get(collection, id)
    }

    fn put(&mut self, collection: &str, id: &str, body: &str) {
        self.0.insert(Self::key(collection, id), body.to_owned());
    }

    fn insert_if_absent(&mut self, collection: &str, id: &str, body: &str) -> bool {
        let is_new = self.get(collection, id).is_none();
        if is_new {
            self.put(collection, id, body);
        }
        is_new
    }

    fn delete(&mut self, collection: &str, id: &str) -> bool {
        self.0.remove(&Self::key(collection, id)).is_some()
    }

    fn scan(
        &mut self,
        collection: &str,
        range: &Range,
        cursor: Option<&str>,
        limit: u32,
    ) -> storage::Page {
        let within = |id: &str| match range {
            Range::All => true,
            Range::Prefix(prefix) => id.starts_with(prefix.as_str()),
            Range::Between((from, to)) => id >= from.as_str() && id < to.as_str(),
        };
        let mut found = self.0.iter().filter(|((of, id), _)| {
            of == collection && within(id) && cursor.is_none_or(|cursor| id.as_str() > cursor)
        });
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let documents: Vec<storage::Document> = found
            .by_ref()
            .take(limit)
            .map(|((_, id), body)| storage::Document {
                id: id.clone(),
                body: body.clone(),
            })
            .collect();
        let last = documents.last().map(|document| document.id.clone());
        let cursor = found.next().and(last);
        storage::Page { documents, cursor }
    }
}

/// A collection whose documents are all of one type.
///
/// A document that cannot be read is a fault that no caller can mend: it traps, with the
/// collection and the id in the message, and the host parks the turn where an operator sees it.
#[derive(Debug)]
pub struct Collection<T> {
    name: &'static str,
    documents: PhantomData<fn() -> T>,
}

/// One page of a scan.
#[derive(Debug)]
pub struct Page<T> {
    /// Ids and documents, in the order of ids.
    pub documents: Vec<(String, T)>,
    /// Give this to the next call to go on; none at the end.
    pub cursor: Option<String>,
}

impl<T> Collection<T> {
    /// The collection of this name: lower-case letters, digits and hyphens, 1 to 64 characters.
    #[must_use]
    pub const fn new(name: &'static str) -> Self {
        Self {
            name,
            documents: PhantomData,
        }
    }

    /// The collection in a store: what a test can stand in for.
    pub fn within<'a, S: Store + ?Sized>(&'a self, store: &'a mut S) -> Within<'a, T, S> {
        Within {
            collection: self,
            store,
        }
    }

    /// Remove the document. Answers whether it existed.
    pub fn delete(&self, id: &str) -> bool {
        self.within(&mut HostStore).delete(id)
    }
}

impl<T: DeserializeOwned> Collection<T> {
    /// The document, or none.
    #[must_use]
    pub fn get(&self, id: &str) -> Option<T> {
        self.within(&mut HostStore).get(id)
    }

    /// As [`Self::get`], for a document that this turn is going to write: no other turn reads or
    /// writes it until this one has been executed.
    #[must_use]
    pub fn get_for_update(&self, id: &str) -> Option<T> {
        self.within(&mut HostStore).get_for_update(id)
    }

    /// Documents in the order of their ids, at most `limit` (1 to 1000).
    #[must_use]
    pub fn scan(&self, range: &Range, cursor: Option<&str>, limit: u32) -> Page<T> {
        self.within(&mut HostStore).scan(range, cursor, limit)
    }

    fn decode(&self, id: &str, body: &str) -> T {
        serde_json::from_str(body).unwrap_or_else(|error| {
            panic!(
                "document {:?} of collection {:?} cannot be read: {error}",
                id, self.name
            )
        })
    }
}

impl<T: Serialize> Collection<T> {
    /// Write the document, whether it exists or not.
    pub fn put(&self, id: &str, document: &T) {
        self.within(&mut HostStore).put(id, document);
    }

    /// Write the document only if it does not exist. Answers whether it was written.
    pub fn insert_if_absent(&self, id: &str, document: &T) -> bool {
        self.within(&mut HostStore).insert_if_absent(id, document)
    }

    fn encode(&self, id: &str, document: &T) -> String {
        serde_json::to_string(document).unwrap_or_else(|error| {
            panic!(
                "document {:?} of collection {:?} cannot be written: {error}",
                id, self.name
            )
        })
    }
}

/// A collection in a store.
#[derive(Debug)]
pub struct Within<'a, T, S: ?Sized> {
    collection: &'a Collection<T>,
    store: &'a mut S,
}

impl<T, S: Store + ?Sized> Within<'_, T, S> {
    /// As [`Collection::delete`].
    pub fn delete(self, id: &str) -> bool {
        self.store.delete(self.collection.name, id)
    }
}

impl<T: DeserializeOwned, S: Store + ?Sized> Within<'_, T, S> {
    /// As [`Collection::get`].
    #[must_use]
    pub fn get(self, id: &str) -> Option<T> {
        let body = self.store.get(self.collection.name, id);
        body.map(|body| self.collection.decode(id, &body))
    }

    /// As [`Collection::get_for_update`].
    #[must_use]
    pub fn get_for_update(self, id: &str) -> Option<T> {
        let body = self.store.get_for_update(self.collection.name, id);
        body.map(|body| self.collection.decode(id, &body))
    }

    /// As [`Collection::scan`].
    #[must_use]
    pub fn scan(self, range: &Range, cursor: Option<&str>, limit: u32) -> Page<T> {
        let page = self.store.scan(self.collection.name, range, cursor, limit);
        let documents = page.documents.into_iter().map(|document| {
            let decoded = self.collection.decode(&document.id, &document.body);
            (document.id, decoded)
        });
        Page {
            documents: documents.collect(),
            cursor: page.cursor,
        }
    }
}

impl<T: Serialize, S: Store + ?Sized> Within<'_, T, S> {
    /// As [`Collection::put`].
    pub fn put(self, id: &str, document: &T) {
        let body = self.collection.encode(id, document);
        self.store.put(self.collection.name, id, &body);
    }

    /// As [`Collection::insert_if_absent`].
    pub fn insert_if_absent(self, id: &str, document: &T) -> bool {
        let body = self.collection.encode(id, document);
        self.store.insert_if_absent(self.collection.name, id, &body)
    }
}
