//! Typed collections of JSON documents, over the host's storage or, in a native test, over [`Memory`].
//!
//! A document may have members that this release does not know, because a newer release has written it and was
//! rolled back. The type reads it without them, and a write keeps them: [`keep`] has the rules. A document
//! without unknown members costs nothing more.

pub mod keep;
mod lenient;

use crate::bindings::rialto::host::storage;
pub use crate::bindings::rialto::host::storage::{Page as StoredPage, Range};
pub use lenient::{known, read};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::marker::PhantomData;

/// The host's `storage` as a trait, so that tests can replace it.
pub trait Store {
    /// The document's body, or none.
    fn get(&mut self, collection: &str, id: &str) -> Option<String>;
    /// As `get`, for a document that this turn will write.
    fn get_for_update(&mut self, collection: &str, id: &str) -> Option<String>;
    /// Writes the document, whether it exists or not.
    fn put(&mut self, collection: &str, id: &str, body: &str);
    /// Writes the document only if it does not exist. Returns whether it was written.
    fn insert_if_absent(&mut self, collection: &str, id: &str, body: &str) -> bool;
    /// Removes the document. Returns whether it existed.
    fn delete(&mut self, collection: &str, id: &str) -> bool;
    /// Documents in the order of their ids, at most `limit`, and the cursor.
    fn scan(
        &mut self,
        collection: &str,
        range: &Range,
        cursor: Option<&str>,
        limit: u32,
    ) -> storage::Page;
    /// Records whether the collection's type knows every member of the document that was read. Then it can be
    /// written without reading it again.
    fn note_known(&mut self, _collection: &'static str, _id: &str, _is_known: bool) {}
    /// Whether the type is recorded to know every member. A store without records has documents read before
    /// each write.
    fn is_known(&self, _collection: &'static str, _id: &str) -> bool {
        false
    }
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

    fn note_known(&mut self, collection: &'static str, id: &str, is_known: bool) {
        (**self).note_known(collection, id, is_known);
    }

    fn is_known(&self, collection: &'static str, id: &str) -> bool {
        (**self).is_known(collection, id)
    }
}

/// Implements [`Store`] by the host's storage for a component's world, a type without fields: [`HostStore`].
#[macro_export]
macro_rules! stores_in_host {
    ($world:ident) => {
        $crate::stores_in!($world, this => $crate::documents::HostStore);
    };
}

/// Implements [`Store`] for a type by a store within it, such as the [`Memory`] of a test's surroundings:
/// `stores_in!(Fake, this => this.store)`.
#[macro_export]
macro_rules! stores_in {
    ($world:ident, $this:ident => $store:expr) => {
        #[allow(
            unused_variables,
            reason = "a store that is no field needs nothing of it"
        )]
        impl $crate::documents::Store for $world {
            fn get(&mut self, collection: &str, id: &str) -> Option<String> {
                let $this = self;
                $crate::documents::Store::get(&mut $store, collection, id)
            }

            fn get_for_update(&mut self, collection: &str, id: &str) -> Option<String> {
                let $this = self;
                $crate::documents::Store::get_for_update(&mut $store, collection, id)
            }

            fn put(&mut self, collection: &str, id: &str, body: &str) {
                let $this = self;
                $crate::documents::Store::put(&mut $store, collection, id, body);
            }

            fn insert_if_absent(&mut self, collection: &str, id: &str, body: &str) -> bool {
                let $this = self;
                $crate::documents::Store::insert_if_absent(&mut $store, collection, id, body)
            }

            fn delete(&mut self, collection: &str, id: &str) -> bool {
                let $this = self;
                $crate::documents::Store::delete(&mut $store, collection, id)
            }

            fn scan(
                &mut self,
                collection: &str,
                range: &$crate::documents::Range,
                cursor: Option<&str>,
                limit: u32,
            ) -> $crate::documents::StoredPage {
                let $this = self;
                $crate::documents::Store::scan(&mut $store, collection, range, cursor, limit)
            }

            fn note_known(&mut self, collection: &'static str, id: &str, is_known: bool) {
                let $this = self;
                $crate::documents::Store::note_known(&mut $store, collection, id, is_known);
            }

            fn is_known(&self, collection: &'static str, id: &str) -> bool {
                let $this = self;
                $crate::documents::Store::is_known(&$store, collection, id)
            }
        }
    };
}

/// The most documents that an instance records. A turn writes fewer; documents without a record are read again.
const NOTED_MAX: usize = 16;

thread_local! {
    /// The documents that this instance has read and has no unknown members of. Its own release adds no unknown
    /// members. If another release has written in between, a turn notices when it reads.
    static NOTED: RefCell<VecDeque<(&'static str, String)>> = const { RefCell::new(VecDeque::new()) };
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

    fn note_known(&mut self, collection: &'static str, id: &str, is_known: bool) {
        NOTED.with_borrow_mut(|noted| {
            let at = noted
                .iter()
                .position(|(of, noted)| *of == collection && noted == id);
            match at {
                Some(at) if !is_known => {
                    noted.remove(at);
                }
                None if is_known => {
                    if noted.len() == NOTED_MAX {
                        noted.pop_front();
                    }
                    noted.push_back((collection, id.to_owned()));
                }
                _ => {}
            }
        });
    }

    fn is_known(&self, collection: &'static str, id: &str) -> bool {
        NOTED.with_borrow(|noted| {
            noted
                .iter()
                .any(|(of, noted)| *of == collection && noted == id)
        })
    }
}

/// Documents in memory, for native tests: bodies by collection and id.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Memory(pub BTreeMap<(String, String), String>);

impl Memory {
    /// The host's ids have 1 to 256 bytes without control characters; others fail the turn.
    fn key(collection: &str, id: &str) -> (String, String) {
        let is_id = (1..=256).contains(&id.len()) && !id.chars().any(char::is_control);
        assert!(is_id, "{id:?} is not a valid id");
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
/// A document that cannot be read traps, with the collection and the id in the message. The turn then becomes a
/// dead letter.
#[derive(Debug)]
pub struct Collection<T> {
    name: &'static str,
    /// The members that name elements of lists.
    names: &'static [&'static str],
    /// Whether the type itself refuses unknown members.
    is_strict: bool,
    documents: PhantomData<fn() -> T>,
}

/// One page of a scan.
#[derive(Debug)]
pub struct Page<T> {
    /// Ids and documents, in the order of ids.
    pub documents: Vec<(String, T)>,
    /// The cursor for the next call; none at the end.
    pub cursor: Option<String>,
}

impl<T> Collection<T> {
    /// The collection of this name: lower-case letters, digits and hyphens, 1 to 64 characters.
    #[must_use]
    pub const fn new(name: &'static str) -> Self {
        Self {
            name,
            names: &[],
            is_strict: true,
            documents: PhantomData,
        }
    }

    /// The collection, with documents in which elements of lists change. An element with the same values of
    /// these members is the same element, and keeps its unknown members.
    #[must_use]
    pub const fn with_elements_named_by(self, names: &'static [&'static str]) -> Self {
        Self { names, ..self }
    }

    /// The collection, with a type that cannot refuse unknown members (`#[serde(flatten)]` and tagged
    /// enumerations cannot). Each write compares with the stored document. See [`known`] for flattened members.
    #[must_use]
    pub const fn of_lenient_documents(self) -> Self {
        Self {
            is_strict: false,
            ..self
        }
    }

    /// The collection's name.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// The collection in a store, which a test can replace.
    pub fn within<'a, S: Store + ?Sized>(&'a self, store: &'a mut S) -> Within<'a, T, S> {
        Within {
            collection: self,
            store,
        }
    }

    /// Removes the document. Returns whether it existed.
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

    /// As [`Self::get`], for a document that this turn will write: no other turn reads or writes it until this
    /// one was executed.
    #[must_use]
    pub fn get_for_update(&self, id: &str) -> Option<T> {
        self.within(&mut HostStore).get_for_update(id)
    }

    /// Documents in the order of their ids, at most `limit` (1 to 1000).
    #[must_use]
    pub fn scan(&self, range: &Range, cursor: Option<&str>, limit: u32) -> Page<T> {
        self.within(&mut HostStore).scan(range, cursor, limit)
    }

    /// The document, and whether its type knows all its members.
    fn decode(&self, id: &str, body: &str) -> (T, bool) {
        match serde_json::from_str(body) {
            Ok(document) => (document, self.is_strict),
            Err(error) => match lenient::read_known(body) {
                Ok(document) => (document, false),
                Err(_) => panic!(
                    "document {:?} of collection {:?} cannot be read: {error}",
                    id, self.name
                ),
            },
        }
    }
}

impl<T: Serialize + DeserializeOwned> Collection<T> {
    /// Writes the document, whether it exists or not. Unknown members stay.
    pub fn put(&self, id: &str, document: &T) {
        self.within(&mut HostStore).put(id, document);
    }

    /// The document's body, with unknown members of the stored one.
    #[cold]
    fn merged(&self, id: &str, document: &T, stored: &str) -> String {
        let (known, is_known) = self.decode(id, stored);
        if is_known {
            return self.encode(id, document);
        }
        let stored: Value = self.expect(id, serde_json::from_str(stored));
        let known = self.expect(id, serde_json::to_value(known));
        let mut written = self.expect(id, serde_json::to_value(document));
        keep::keep(&stored, &known, &mut written, self.names);
        self.expect(id, serde_json::to_string(&written))
    }
}

impl<T: Serialize> Collection<T> {
    /// Writes the document only if it does not exist. Returns whether it was written.
    pub fn insert_if_absent(&self, id: &str, document: &T) -> bool {
        self.within(&mut HostStore).insert_if_absent(id, document)
    }

    fn encode(&self, id: &str, document: &T) -> String {
        self.expect(id, serde_json::to_string(document))
    }
}

impl<T> Collection<T> {
    /// The JSON text of a document.
    fn expect<V>(&self, id: &str, made: serde_json::Result<V>) -> V {
        made.unwrap_or_else(|error| {
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
        self.decode(id, body)
    }

    /// As [`Collection::get_for_update`].
    #[must_use]
    pub fn get_for_update(self, id: &str) -> Option<T> {
        let body = self.store.get_for_update(self.collection.name, id);
        self.decode(id, body)
    }

    fn decode(self, id: &str, body: Option<String>) -> Option<T> {
        let read = body.map(|body| self.collection.decode(id, &body));
        let is_known = read.as_ref().is_none_or(|(_, is_known)| *is_known);
        self.store.note_known(self.collection.name, id, is_known);
        read.map(|(document, _)| document)
    }

    /// As [`Collection::scan`].
    #[must_use]
    pub fn scan(self, range: &Range, cursor: Option<&str>, limit: u32) -> Page<T> {
        let page = self.store.scan(self.collection.name, range, cursor, limit);
        let documents = page.documents.into_iter().map(|document| {
            let (decoded, _) = self.collection.decode(&document.id, &document.body);
            (document.id, decoded)
        });
        Page {
            documents: documents.collect(),
            cursor: page.cursor,
        }
    }
}

impl<T: Serialize + DeserializeOwned, S: Store + ?Sized> Within<'_, T, S> {
    /// As [`Collection::put`].
    pub fn put(self, id: &str, document: &T) {
        let name = self.collection.name;
        let stored = if self.store.is_known(name, id) {
            None
        } else {
            self.store.get_for_update(name, id)
        };
        let body = match stored {
            Some(stored) => self.collection.merged(id, document, &stored),
            None => self.collection.encode(id, document),
        };
        self.store.put(name, id, &body);
    }
}

impl<T: Serialize, S: Store + ?Sized> Within<'_, T, S> {
    /// As [`Collection::insert_if_absent`].
    pub fn insert_if_absent(self, id: &str, document: &T) -> bool {
        let body = self.collection.encode(id, document);
        self.store.insert_if_absent(self.collection.name, id, &body)
    }
}

#[cfg(test)]
mod tests;
