//! The entry of a group in the journal: its turns, which are the history, and the keys of its documents, by which a
//! standby knows what has changed. The rest of a group is in the other tables alone.

use std::sync::Arc;

use rialto_engine::Name;
use rialto_engine::history::Record;
use rialto_engine::publications::{Publication, StoredPublication};
use rialto_engine::store::{Group, StoreError};
use serde::{Deserialize, Serialize};

use crate::failures::unreadable;

/// The version of the layout, in the column `layout`.
pub(crate) const LAYOUT: i16 = 2;
/// The version before, which has no events for the outside.
const WITHOUT_PUBLICATIONS: i16 = 1;

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
    /// They follow the rest.
    #[serde(skip)]
    pub publications: Publications,
}

/// The events for the outside in a group.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Publications {
    /// The last number that was given with this group or one before it.
    pub last: u64,
    /// The group's own events, in order. The last one has the number `last`.
    pub events: Vec<Publication>,
}

impl Publications {
    /// The events with their numbers.
    pub fn numbered(self) -> impl Iterator<Item = StoredPublication> {
        let first = self.last + 1 - self.events.len() as u64;
        let events = (first..).zip(self.events);
        events.map(|(number, publication)| StoredPublication {
            number,
            publication,
        })
    }
}

impl Entry {
    /// The entry of a group. `published` is the last number of an event for the outside before it.
    pub fn of(group: &Group, published: u64) -> Self {
        let documents = group.documents.iter().map(|document| ChangedDocument {
            collection: document.collection.0,
            id: document.id.clone(),
            version: document.version,
            removed: document.body.is_none(),
        });
        Self {
            documents: documents.collect(),
            history: group.history.clone(),
            publications: Publications {
                last: published + group.publications.len() as u64,
                events: group.publications.clone(),
            },
        }
    }

    /// Its bytes in the layout [`LAYOUT`].
    ///
    /// # Errors
    /// When it cannot be encoded.
    pub fn encode(&self) -> Result<Vec<u8>, StoreError> {
        let failed = |e| StoreError::Failed(format!("a group cannot be written: {e}"));
        let plain = postcard::to_extend(self, Vec::new()).map_err(failed)?;
        let plain = postcard::to_extend(&self.publications, plain).map_err(failed)?;
        Ok(lz4_flex::block::compress_prepend_size(&plain))
    }

    /// Read an entry.
    ///
    /// # Errors
    /// When the layout is not known, or the bytes are broken.
    pub fn decode(layout: i16, bytes: &[u8]) -> Result<Self, StoreError> {
        let broken = |why: &dyn std::fmt::Display| unreadable("a group of the journal", why);
        if !(WITHOUT_PUBLICATIONS..=LAYOUT).contains(&layout) {
            let why = format!("its layout is {layout}, and this host reads {LAYOUT}");
            return Err(broken(&why));
        }
        let plain = lz4_flex::block::decompress_size_prepended(bytes).map_err(|e| broken(&e))?;
        let (entry, rest): (Self, _) = postcard::take_from_bytes(&plain).map_err(|e| broken(&e))?;
        if layout == WITHOUT_PUBLICATIONS {
            return Ok(entry);
        }
        let publications: Publications = postcard::from_bytes(rest).map_err(|e| broken(&e))?;
        if (publications.events.len() as u64) > publications.last {
            return Err(broken(&"it has more events than numbers were given"));
        }
        Ok(Self {
            publications,
            ..entry
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rialto_engine::{Timestamp, TurnId};
    use rialto_store_suite::samples::{group, put, remove};

    #[test]
    fn an_entry_is_the_same_again() {
        let mut some = group(1);
        some.documents = vec![put(1, "a", 2, "{}"), remove(2, "é", 3)];
        let bytes = Entry::of(&some, 0).encode().unwrap();
        let read = Entry::decode(LAYOUT, &bytes).unwrap();
        let keys: Vec<_> = read
            .documents
            .iter()
            .map(|d| (d.collection, &*d.id, d.version, d.removed))
            .collect();
        assert_eq!(keys, [(1, "a", 2, false), (2, "é", 3, true)]);
    }

    #[test]
    fn events_have_the_numbers_after_the_group_before() {
        let one = |event: &str| Publication {
            event: event.into(),
            component: "c".into(),
            at: Timestamp(1),
            turn: TurnId(1),
            release: 1,
            traceparent: String::new(),
            subjects: Vec::new(),
            data: "{}".into(),
            may_name_people: false,
        };
        let mut some = group(1);
        some.publications = vec![one("a/b"), one("a/c")];
        let bytes = Entry::of(&some, 7).encode().unwrap();
        let read = Entry::decode(LAYOUT, &bytes).unwrap().publications;
        assert_eq!(read.last, 9);
        let numbered: Vec<_> = read.numbered().collect();
        let seen: Vec<_> = numbered
            .iter()
            .map(|stored| (stored.number, &*stored.publication.event))
            .collect();
        assert_eq!(seen, [(8, "a/b"), (9, "a/c")]);
        // An entry of the layout before has none.
        let old = Entry::decode(WITHOUT_PUBLICATIONS, &bytes).unwrap();
        assert_eq!(old.publications, Publications::default());
    }

    #[test]
    fn an_unknown_layout_or_a_cut_entry_is_refused() {
        let bytes = Entry::of(&group(1), 7).encode().unwrap();
        assert!(Entry::decode(LAYOUT + 1, &bytes).is_err());
        assert!(Entry::decode(LAYOUT, &bytes[..bytes.len() - 1]).is_err());
        assert!(Entry::decode(LAYOUT, &[]).is_err());
    }
}
