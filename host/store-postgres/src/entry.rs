//! The entry of a group in the journal: its turns, which are the history, and the keys of its documents, by which a
//! standby knows what has changed. The rest of a group is in the other tables alone.

use std::sync::Arc;

use rialto_engine::Name;
use rialto_engine::history::Record;
use rialto_engine::store::{Group, StoreError};
use serde::{Deserialize, Serialize};

use crate::failures::unreadable;

/// The version of the layout, in the column `layout`.
pub(crate) const LAYOUT: i16 = 1;

/// The key of a document that a group has changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangedDocument {
    /// The collection's number.
    pub collection: u32,
    /// The document's id.
    pub id: Name,
    /// Its version after the change.
    pub version: u64,
    /// Whether it was removed.
    pub removed: bool,
}

/// A group in the journal.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Entry {
    pub documents: Vec<ChangedDocument>,
    pub history: Vec<Arc<Record>>,
}

impl Entry {
    /// The entry of a group.
    pub fn of(group: &Group) -> Self {
        let documents = group.documents.iter().map(|document| ChangedDocument {
            collection: document.collection.0,
            id: document.id.clone(),
            version: document.version,
            removed: document.body.is_none(),
        });
        Self {
            documents: documents.collect(),
            history: group.history.clone(),
        }
    }

    /// Its bytes in the layout [`LAYOUT`].
    ///
    /// # Errors
    /// When it cannot be encoded.
    pub fn encode(&self) -> Result<Vec<u8>, StoreError> {
        let plain = postcard::to_extend(self, Vec::new())
            .map_err(|e| StoreError::Failed(format!("a group cannot be written: {e}")))?;
        Ok(lz4_flex::block::compress_prepend_size(&plain))
    }

    /// Read an entry.
    ///
    /// # Errors
    /// When the layout is not known, or the bytes are broken.
    pub fn decode(layout: i16, bytes: &[u8]) -> Result<Self, StoreError> {
        let broken = |why: &dyn std::fmt::Display| unreadable("a group of the journal", why);
        if layout != LAYOUT {
            let why = format!("its layout is {layout}, and this host reads {LAYOUT}");
            return Err(broken(&why));
        }
        let plain = lz4_flex::block::decompress_size_prepended(bytes).map_err(|e| broken(&e))?;
        postcard::from_bytes(&plain).map_err(|e| broken(&e))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rialto_store_suite::samples::{group, put, remove};

    #[test]
    fn an_entry_is_the_same_again() {
        let mut some = group(1);
        some.documents = vec![put(1, "a", 2, "{}"), remove(2, "é", 3)];
        let bytes = Entry::of(&some).encode().unwrap();
        let read = Entry::decode(LAYOUT, &bytes).unwrap();
        let keys: Vec<_> = read
            .documents
            .iter()
            .map(|d| (d.collection, &*d.id, d.version, d.removed))
            .collect();
        assert_eq!(keys, [(1, "a", 2, false), (2, "é", 3, true)]);
    }

    #[test]
    fn an_unknown_layout_or_a_cut_entry_is_refused() {
        let bytes = Entry::of(&group(1)).encode().unwrap();
        assert!(Entry::decode(LAYOUT + 1, &bytes).is_err());
        assert!(Entry::decode(LAYOUT, &bytes[..bytes.len() - 1]).is_err());
        assert!(Entry::decode(LAYOUT, &[]).is_err());
    }
}
