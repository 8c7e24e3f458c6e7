//! An entry of the journal: a group, and its encoded form. The memtable keeps the entry until it is flushed into the
//! tables.

use std::sync::Arc;

use rialto_engine::Name;
use rialto_engine::network::OutboundRequest;
use rialto_engine::store::{Collection, DeadLetter, DocumentWrite, Group, StoreError};
use rialto_engine::store::{Receipt, StoredReminder};
use rialto_engine::{CollectionId, Timestamp};
use serde::{Deserialize, Serialize};

use super::stream::{Encoded, Packer};
use crate::records::{Records, encoded};
use crate::rows::{Stored, json};
use crate::unreadable;
use rialto_store::DeliveryHead;

/// The version of the layout of its content. Version 8 is the same in the stream of its file.
const LAYOUT: u8 = 7;
/// The layout before, which has no events for the outside.
const WITHOUT_PUBLICATIONS: u8 = 6;
/// The layout before that, which has no entries of the audit log either.
const WITHOUT_AUDIT: u8 = 5;
/// A buffer of more bytes is not kept for the next entry.
pub(super) const KEPT_BYTES: usize = 4 << 20;

/// The last state of a document in a group.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Document {
    pub collection: u32,
    pub id: Name,
    pub version: u64,
    /// None if it was removed.
    pub body: Option<Name>,
}

/// A dead letter.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Letter {
    pub delivery: Stored,
    pub attempts: u32,
    pub error: String,
    pub at: u64,
}

/// A receipt.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Verdict {
    pub id: u64,
    pub subject: Name,
    pub at: u64,
    pub body: Arc<str>,
}

/// The entries of the audit log in a group.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Audit {
    /// The index of the first one in the log.
    pub first: u64,
    /// Each with its time, in milliseconds since 1970.
    pub entries: Vec<(u64, Arc<str>)>,
}

/// The events for the outside in a group.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Publications {
    /// The number of the first one.
    pub first: u64,
    /// Each with its time, in milliseconds since 1970, as JSON.
    pub bodies: Vec<(u64, String)>,
}

/// A group.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Entry {
    /// Its sequence number in the journal; counts up from 1.
    #[serde(skip)]
    pub seq: u64,
    pub lsn: u64,
    pub next_id: u64,
    pub collections: Vec<(u32, Name, Name)>,
    pub documents: Vec<Document>,
    pub deliveries_added: Vec<Stored>,
    pub deliveries_removed: Vec<u64>,
    pub reminders_set: Vec<StoredReminder>,
    pub reminders_removed: Vec<(Name, Name)>,
    pub outbound_added: Vec<Arc<OutboundRequest>>,
    pub outbound_removed: Vec<u64>,
    pub dead_letters_added: Vec<Letter>,
    pub dead_letters_removed: Vec<u64>,
    pub receipts: Vec<Verdict>,
    /// It follows the stored form.
    #[serde(skip)]
    pub audit: Audit,
    /// They follow the audit log's entries.
    #[serde(skip)]
    pub publications: Publications,
    /// It follows the events for the outside, as an encoded list of records.
    #[serde(skip)]
    pub history: Records,
}

impl Entry {
    /// A group with its number in the journal. `next` has the index of its first entry of the audit log, and the number of
    /// its first event for the outside.
    ///
    /// # Errors
    /// When its history cannot be encoded.
    pub fn of(group: &Group, seq: u64, next: (u64, u64)) -> Result<Self, StoreError> {
        let (audit, publication) = next;
        assert!(
            seq > 0,
            "a group comes to number {seq} of the journal, whose first is 1"
        );
        let collection = |c: &Collection| (c.id.0, c.component.clone(), c.name.clone());
        let document = |d: &DocumentWrite| Document {
            collection: d.collection.0,
            id: d.id.clone(),
            version: d.version,
            body: d.body.clone(),
        };
        let deliveries = group.deliveries_added.iter();
        Ok(Self {
            seq,
            lsn: group.lsn.0,
            next_id: group.next_id,
            collections: group.collections.iter().map(collection).collect(),
            documents: group.documents.iter().map(document).collect(),
            deliveries_added: deliveries.map(|d| Stored::of(d)).collect(),
            deliveries_removed: group.deliveries_removed.clone(),
            reminders_set: group.reminders_set.clone(),
            reminders_removed: group.reminders_removed.clone(),
            outbound_added: group.outbound_added.clone(),
            outbound_removed: group.outbound_removed.clone(),
            dead_letters_added: group.dead_letters_added.iter().map(Letter::of).collect(),
            dead_letters_removed: group.dead_letters_removed.clone(),
            receipts: group.receipts.iter().map(Verdict::of).collect(),
            audit: Audit::of(group, audit),
            publications: Publications::of(group, publication)?,
            history: Records::of(&group.history)?,
        })
    }

    /// Decode an entry's bytes. Returns it with its size in memory.
    ///
    /// # Errors
    /// When they are none.
    pub fn decode(seq: u64, bytes: &Encoded) -> Result<(Self, usize), StoreError> {
        let broken = |why: &dyn std::fmt::Display| unreadable("a group of the journal", why);
        let (layout, plain) = bytes.content()?;
        if !(WITHOUT_AUDIT..=LAYOUT).contains(&layout) {
            return Err(broken(&format!("unknown layout {layout}")));
        }
        let (entry, rest): (Self, _) = postcard::take_from_bytes(&plain).map_err(|e| broken(&e))?;
        let (audit, rest) = match layout {
            WITHOUT_AUDIT => (Audit::default(), rest),
            _ => postcard::take_from_bytes(rest).map_err(|e| broken(&e))?,
        };
        let (publications, history) = match layout {
            WITHOUT_AUDIT | WITHOUT_PUBLICATIONS => (Publications::default(), rest),
            _ => postcard::take_from_bytes(rest).map_err(|e| broken(&e))?,
        };
        let history = Records::read(history)?;
        let entry = Self {
            seq,
            audit,
            publications,
            history,
            ..entry
        };
        Ok((entry, plain.len()))
    }
}

/// Encodes the entries of one file after the other. It keeps its buffer, which is larger than most entries.
#[derive(Default)]
pub(super) struct Encoder {
    plain: Vec<u8>,
    packer: Packer,
}

impl Encoder {
    /// Begin another file.
    pub fn begin_file(&mut self) {
        self.packer = Packer::default();
    }

    /// Append an entry's bytes. Returns their length before compression: roughly the entry's size in memory.
    ///
    /// # Errors
    /// When it cannot be encoded, or has 4 GiB or more. Then no other entry may follow in this file.
    pub fn append(&mut self, entry: &Entry, to: &mut Vec<u8>) -> Result<usize, StoreError> {
        let mut plain = std::mem::take(&mut self.plain);
        plain.clear();
        let plain = encoded(&entry.audit, encoded(entry, plain)?)?;
        let plain = encoded(&entry.publications, plain)?;
        let plain = entry.history.append_to(plain)?;
        self.packer.append(&plain, to)?;
        let length = plain.len();
        if plain.capacity() <= KEPT_BYTES {
            self.plain = plain;
        }
        Ok(length)
    }
}

impl Audit {
    fn of(group: &Group, first: u64) -> Self {
        let entries = group.audit.iter();
        Self {
            first,
            entries: entries.map(|one| (one.at.0, one.body.clone())).collect(),
        }
    }
}

impl Publications {
    fn of(group: &Group, first: u64) -> Result<Self, StoreError> {
        let bodies = group.publications.iter();
        let bodies = bodies.map(|one| Ok((one.at.0, json(one)?)));
        Ok(Self {
            first,
            bodies: bodies.collect::<Result<_, StoreError>>()?,
        })
    }
}

impl Letter {
    fn of(letter: &DeadLetter) -> Self {
        Self {
            delivery: Stored::of(&letter.delivery),
            attempts: letter.attempts,
            error: letter.error.clone(),
            at: letter.at.0,
        }
    }

    pub fn dead_letter(&self) -> DeadLetter {
        DeadLetter {
            delivery: Arc::new(self.delivery.clone().delivery()),
            attempts: self.attempts,
            error: self.error.clone(),
            at: Timestamp(self.at),
        }
    }
}

impl Verdict {
    fn of(receipt: &Receipt) -> Self {
        Self {
            id: receipt.id,
            subject: receipt.subject.clone(),
            at: receipt.at.0,
            body: receipt.body.clone(),
        }
    }

    pub fn receipt(&self) -> Receipt {
        Receipt {
            id: self.id,
            subject: self.subject.clone(),
            at: Timestamp(self.at),
            body: self.body.clone(),
        }
    }
}

impl Document {
    pub fn key(&self) -> (CollectionId, Name) {
        (CollectionId(self.collection), self.id.clone())
    }
}

impl Stored {
    fn of(delivery: &rialto_engine::Delivery) -> Self {
        Self {
            id: delivery.id,
            head: DeliveryHead::of(delivery),
            payload: delivery.payload.encode(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::stream::Unpacker;
    use super::*;
    use rialto_engine::Timestamp;
    use rialto_engine::store::AuditEntry;
    use rialto_engine::{Publication, TurnId};
    use rialto_store_suite::samples::group;

    fn audited() -> Entry {
        let group = Group {
            audit: vec![AuditEntry {
                at: Timestamp(7),
                body: "{}".into(),
            }],
            publications: vec![Publication {
                event: "transfers/transfer-prepared".into(),
                component: "transfers".into(),
                at: Timestamp(7),
                turn: TurnId(3),
                release: 1,
                traceparent: String::new(),
                subjects: vec!["transfer:1".into()],
                data: "{}".into(),
                may_name_people: false,
            }],
            ..group(3)
        };
        Entry::of(&group, 1, (40, 50)).unwrap()
    }

    fn bytes_of(entry: &Entry) -> Encoded {
        let mut bytes = Vec::new();
        Encoder::default().append(entry, &mut bytes).unwrap();
        Unpacker::new().next(&bytes).unwrap()
    }

    /// Content in the form of this layout.
    fn packed(layout: u8, content: &[u8]) -> Encoded {
        let mut bytes = vec![layout];
        bytes.extend(lz4_flex::block::compress_prepend_size(content));
        Encoded::Packed(bytes)
    }

    /// The parts but the audit log and the events for the outside, in which all layouts are the same.
    fn others(entry: &Entry) -> (Vec<u8>, Vec<u8>) {
        let form = encoded(entry, Vec::new()).unwrap();
        (form, entry.history.append_to(Vec::new()).unwrap())
    }

    #[test]
    fn entry_of_an_old_layout_has_no_audit() {
        let entry = audited();
        let (mut plain, history) = others(&entry);
        plain.extend(history);
        let (read, _) = Entry::decode(1, &packed(WITHOUT_AUDIT, &plain)).unwrap();
        assert_eq!(read.audit, Audit::default());
        assert_eq!(read.publications, Publications::default());
        assert_eq!(others(&read), others(&entry));
    }

    #[test]
    fn entry_of_the_layout_before_has_no_publications() {
        let entry = audited();
        let (plain, history) = others(&entry);
        let mut plain = encoded(&entry.audit, plain).unwrap();
        plain.extend(history);
        let (read, _) = Entry::decode(1, &packed(WITHOUT_PUBLICATIONS, &plain)).unwrap();
        assert_eq!(read.publications, Publications::default());
        assert_eq!(read.audit, entry.audit);
        assert_eq!(others(&read), others(&entry));
    }

    #[test]
    fn entry_keeps_its_audit_and_publications() {
        let entry = audited();
        let (read, _) = Entry::decode(1, &bytes_of(&entry)).unwrap();
        assert_eq!((read.audit.first, read.audit.entries.len()), (40, 1));
        let publications = &read.publications;
        assert_eq!((publications.first, publications.bodies.len()), (50, 1));
        assert_eq!(others(&read), others(&entry));
    }

    #[test]
    fn entry_of_an_unknown_layout_is_refused() {
        let bytes = bytes_of(&audited());
        let (_, content) = bytes.content().unwrap();
        for layout in [WITHOUT_AUDIT - 1, LAYOUT + 1] {
            assert!(Entry::decode(1, &packed(layout, &content)).is_err());
        }
    }
}
