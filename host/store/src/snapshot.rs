//! A snapshot: all documents as of one commit, read beside the host.

use rialto_engine::CollectionId;
use rialto_engine::store::{Collection, ScanRange, StoreError, StoredDocument};

use crate::Archive;

/// The order in which documents are visited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// In the byte order of their ids.
    ById,
    /// In the order that is quickest. Best for many documents.
    AsStored,
}

/// All documents of a store as of one commit.
pub trait DocumentSnapshot {
    /// The last turn that is included.
    fn lsn(&self) -> u64;
    /// All collections.
    fn collections(&self) -> &[Collection];
    /// One document.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn document(
        &mut self,
        collection: CollectionId,
        id: &str,
    ) -> Result<Option<StoredDocument>, StoreError>;
    /// The documents of a range, in the order of their ids. Meant for few documents.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn range(
        &mut self,
        collection: CollectionId,
        range: &ScanRange,
    ) -> Result<Vec<StoredDocument>, StoreError>;
    /// Visit the documents of some collections, each once, while the visitor says that it wants more. With
    /// [`Order::ById`] the collections come one after the other.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn visit_while(
        &mut self,
        collections: &[CollectionId],
        order: Order,
        visit: &mut dyn FnMut(CollectionId, StoredDocument) -> bool,
    ) -> Result<(), StoreError>;
    /// All archives, by class and segment.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn archives(&mut self) -> Result<Vec<Archive>, StoreError>;
}

impl dyn DocumentSnapshot + '_ {
    /// A collection, by its component and name, if anything was ever written to it.
    #[must_use]
    pub fn collection(&self, component: &str, name: &str) -> Option<CollectionId> {
        let is_it = |c: &&Collection| &*c.component == component && &*c.name == name;
        self.collections().iter().find(is_it).map(|c| c.id)
    }

    /// Visit all documents of some collections, each once.
    ///
    /// # Errors
    /// When the store cannot be read, and whatever the visitor ends with.
    pub fn visit<E: From<StoreError>>(
        &mut self,
        collections: &[CollectionId],
        order: Order,
        visit: &mut dyn FnMut(CollectionId, StoredDocument) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut ended = Ok(());
        self.visit_while(collections, order, &mut |collection, document| {
            ended = visit(collection, document);
            ended.is_ok()
        })?;
        ended
    }
}
