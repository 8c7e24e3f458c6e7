//! The store as the engine sees it: it writes one atomic group at a time, and reads back what must continue
//! after a restart. Every call blocks; the engine calls it from its own threads.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::history::Record;
use crate::ids::{CollectionId, Lsn, Name};
use crate::network::OutboundRequest;
use crate::publications::Publication;
use crate::stimulus::{Delivery, Trace};
use crate::time::Timestamp;

/// Why a call of the store failed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum StoreError {
    /// Another process is the writer now; this one must stop.
    #[error("another host has taken over the store (its fencing token is newer)")]
    Fenced,
    /// Anything else, in the store's words.
    #[error("{0}")]
    Failed(String),
}

/// A collection and its number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Collection {
    /// Its number.
    pub id: CollectionId,
    /// The component that owns it.
    pub component: Name,
    /// Its name in the component.
    pub name: Name,
}

/// A document as the store keeps it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredDocument {
    /// The document's id.
    pub id: Name,
    /// How often it has been written; starts at 1.
    pub version: u64,
    /// JSON.
    pub body: Name,
}

/// The last state of one document in a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentWrite {
    /// The collection, which also says whose it is.
    pub collection: CollectionId,
    /// The document's id.
    pub id: Name,
    /// Its version after the write.
    pub version: u64,
    /// Its body; none if it was removed.
    pub body: Option<Name>,
}

/// A reminder that waits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredReminder {
    /// The component that is reminded.
    pub component: Name,
    /// Unique in the component.
    pub id: Name,
    /// When.
    pub due: Timestamp,
    /// Tells a replaced reminder from its successor.
    pub generation: u64,
    /// Opaque.
    pub payload: String,
    /// What the turn that set it was about.
    pub subjects: Vec<Name>,
    /// The trace in which it was set, with that turn as the parent.
    #[serde(default)]
    pub trace: Trace,
}

/// A delivery that is not retried until an operator decides.
#[derive(Clone, Debug)]
pub struct DeadLetter {
    /// The delivery.
    pub delivery: Arc<Delivery>,
    /// How often it was tried.
    pub attempts: u32,
    /// The last failure, in words.
    pub error: String,
    /// When it was given up.
    pub at: Timestamp,
}

/// A rule's verdict, kept permanently.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// Unique in the life of a store.
    pub id: u64,
    /// What the verdict was about.
    pub subject: Name,
    /// When.
    pub at: Timestamp,
    /// JSON.
    pub body: Arc<str>,
}

/// An entry of the audit log, as a turn or the host has written it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditEntry {
    /// When.
    pub at: Timestamp,
    /// JSON, opaque to the engine.
    pub body: Arc<str>,
}

/// The changes of one commit.
#[derive(Debug, Default)]
pub struct Group {
    /// The last turn of the group.
    pub lsn: Lsn,
    /// No id at or above this one has been used.
    pub next_id: u64,
    /// Collections that are not stored yet.
    pub collections: Vec<Collection>,
    /// The last state of each document that changed.
    pub documents: Vec<DocumentWrite>,
    /// Deliveries that are still pending.
    pub deliveries_added: Vec<Arc<Delivery>>,
    /// Deliveries from earlier groups that are over.
    pub deliveries_removed: Vec<u64>,
    /// Reminders that were set.
    pub reminders_set: Vec<StoredReminder>,
    /// Reminders from earlier groups that were handled or cancelled, by component and id.
    pub reminders_removed: Vec<(Name, Name)>,
    /// Outbound requests that are to be sent.
    pub outbound_added: Vec<Arc<OutboundRequest>>,
    /// Outbound requests from earlier groups whose report has been handled.
    pub outbound_removed: Vec<u64>,
    /// Deliveries that became dead letters.
    pub dead_letters_added: Vec<DeadLetter>,
    /// Dead letters that were retried or dropped, by the delivery's id.
    pub dead_letters_removed: Vec<u64>,
    /// Verdicts.
    pub receipts: Vec<Receipt>,
    /// Entries of the audit log, in the order of their turns.
    pub audit: Vec<AuditEntry>,
    /// Events for the outside, in the order of their turns.
    pub publications: Vec<Publication>,
    /// What happened, for the history.
    pub history: Vec<Arc<Record>>,
    /// How many turns the group has.
    pub turns: usize,
}

/// What a store returns when it is opened.
#[derive(Debug, Default)]
pub struct Recovered {
    /// The last turn that is on disk.
    pub lsn: Lsn,
    /// No id at or above this one has been used.
    pub next_id: u64,
    /// All collections.
    pub collections: Vec<Collection>,
    /// Pending deliveries, in the order of their ids. Their redelivery counts include this start and are on
    /// disk.
    pub deliveries: Vec<Delivery>,
    /// Reminders that wait.
    pub reminders: Vec<StoredReminder>,
    /// Outbound requests without a report.
    pub outbound: Vec<OutboundRequest>,
}

/// A part of a collection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScanRange {
    /// The first id, included.
    pub from: String,
    /// The end, excluded; none for the collection's end.
    pub to: Option<String>,
}

impl ScanRange {
    /// The whole collection.
    pub fn all() -> Self {
        Self {
            from: String::new(),
            to: None,
        }
    }

    /// Ids that begin with this text, in byte order.
    pub fn prefix(prefix: &str) -> Self {
        let mut end: Vec<char> = prefix.chars().collect();
        // The successor of a prefix: its last character that has a successor, stepped by one.
        let to = loop {
            let Some(last) = end.pop() else { break None };
            if let Some(next) = next_char(last) {
                end.push(next);
                break Some(end.into_iter().collect());
            }
        };
        let from = prefix.to_owned();
        let range = Self { from, to };
        assert!(
            range.contains(prefix),
            "the ids that begin with {prefix:?} are not those of {range:?}"
        );
        range
    }

    /// Whether an id lies in the range.
    pub fn contains(&self, id: &str) -> bool {
        id >= self.from.as_str() && self.to.as_deref().is_none_or(|to| id < to)
    }
}

/// The next Unicode scalar value; UTF-8 byte order is scalar order.
fn next_char(c: char) -> Option<char> {
    let next = match c as u32 {
        0xD7FF => 0xE000,
        other => other + 1,
    };
    char::from_u32(next)
}

/// A group that a store was given.
pub trait Submitted: Send {
    /// Wait until the group is durable.
    fn wait(self: Box<Self>) -> Result<(), StoreError>;
}

/// A group that was durable when `submit` returned.
struct Durable;

impl Submitted for Durable {
    fn wait(self: Box<Self>) -> Result<(), StoreError> {
        Ok(())
    }
}

/// Where turns become durable.
pub trait Store: Send + Sync + 'static {
    /// Read back what must continue after a restart, and fence off any earlier writer.
    fn recover(&self) -> Result<Recovered, StoreError>;
    /// Add one to the redelivery count of each reminder that is due by now, durably. Returns each one's
    /// component, id and count. The host calls it when it starts, before any turn runs. A reminder that is
    /// set again begins at 0.
    fn count_overdue(&self, now: Timestamp) -> Result<Vec<(Name, Name, u32)>, StoreError>;
    /// Store the name of the poison candidate that runs; none when none runs.
    fn note_poison_candidate(&self, candidate: Option<&str>) -> Result<(), StoreError>;
    /// The name that was stored last.
    fn poison_candidate(&self) -> Result<Option<String>, StoreError>;
    /// One document, as committed. A miss must be cheap: a payment's ids are new, so most reads miss.
    fn read(
        &self,
        collection: CollectionId,
        id: &str,
    ) -> Result<Option<StoredDocument>, StoreError>;
    /// Committed documents of a range in the byte order of their ids, at most `limit`.
    fn scan(
        &self,
        collection: CollectionId,
        range: &ScanRange,
        limit: u32,
    ) -> Result<Vec<StoredDocument>, StoreError>;
    /// Make the group durable, all of it or nothing.
    fn write(&self, group: &Group) -> Result<(), StoreError>;
    /// Begin to write the group. The call may return before it is durable; what it returns waits for that.
    fn submit(&self, group: &Group) -> Result<Box<dyn Submitted>, StoreError> {
        self.write(group)?;
        Ok(Box::new(Durable))
    }
    /// How many groups may be submitted while the one before them is not durable. They become durable in their order,
    /// and none without the one before it. One thread submits.
    fn groups_ahead(&self) -> usize {
        0
    }
    /// Those of these deliveries that are still pending, in the order of their ids.
    fn deliveries(&self, ids: &[u64]) -> Result<Vec<Delivery>, StoreError>;
    /// Those of these outbound requests that have no report yet, in the order of their ids.
    fn outbound(&self, ids: &[u64]) -> Result<Vec<OutboundRequest>, StoreError>;
    /// All dead letters, oldest first: in the order of their deliveries' ids.
    fn dead_letters(&self) -> Result<Vec<DeadLetter>, StoreError>;
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_prefix_range_holds_just_what_begins_with_it(prefix in ".{0,4}", id in ".{0,6}") {
            prop_assert_eq!(ScanRange::prefix(&prefix).contains(&id), id.starts_with(&prefix));
        }
    }
}
