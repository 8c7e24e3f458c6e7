//! Typed collections of JSON documents over the host's storage.

use crate::bindings::rialto::host::storage;
pub use crate::bindings::rialto::host::storage::Range;
use serde::{Serialize, de::DeserializeOwned};
use std::marker::PhantomData;

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

    /// Remove the document. Answers whether it existed.
    pub fn delete(&self, id: &str) -> bool {
        storage::delete(self.name, id)
    }
}

impl<T: DeserializeOwned> Collection<T> {
    /// The document, or none.
    #[must_use]
    pub fn get(&self, id: &str) -> Option<T> {
        storage::get(self.name, id).map(|body| self.decode(id, &body))
    }

    /// As [`Self::get`], for a document that this turn is going to write: no other turn reads or
    /// writes it until this one has been executed.
    #[must_use]
    pub fn get_for_update(&self, id: &str) -> Option<T> {
        storage::get_for_update(self.name, id).map(|body| self.decode(id, &body))
    }

    /// Documents in the order of their ids, at most `limit` (1 to 1000).
    #[must_use]
    pub fn scan(&self, range: &Range, cursor: Option<&str>, limit: u32) -> Page<T> {
        let page = storage::scan(self.name, range, cursor, limit);
        let documents = page
            .documents
            .into_iter()
            .map(|document| {
                let decoded = self.decode(&document.id, &document.body);
                (document.id, decoded)
            })
            .collect();
        Page {
            documents,
            cursor: page.cursor,
        }
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
        storage::put(self.name, id, &self.encode(id, document));
    }

    /// Write the document only if it does not exist. Answers whether it was written.
    pub fn insert_if_absent(&self, id: &str, document: &T) -> bool {
        storage::insert_if_absent(self.name, id, &self.encode(id, document))
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
