//! Merges the turns of a batch into one group: the last write of each document, and what is still pending at the end.

use std::sync::Arc;

use foldhash::{HashMap, HashSet};

use crate::commit::{Batch, Executed};
use crate::ids::{DocumentKey, Name};
use crate::receipts::{ReceiptHash, ReceiptLog};
use crate::reminders::ReminderChange;
use crate::stimulus::{Cause, Delivery};
use crate::store::{AuditEntry, DeadLetter, DocumentWrite, Group};
use crate::time::Timestamp;

/// The entries of the audit log about the receipts of a batch.
pub(crate) fn entries_about_receipts(
    batch: &Batch,
    log: &dyn ReceiptLog,
    at: Timestamp,
) -> Vec<AuditEntry> {
    let turns = batch.turns.iter();
    let hashes: Vec<ReceiptHash> = turns.flat_map(|turn| turn.receipt_hashes.clone()).collect();
    if hashes.is_empty() {
        return Vec::new();
    }
    log.entries(at, &hashes)
}

/// Merge turns into one group.
pub(crate) fn group(batch: &Batch) -> Group {
    let mut merging = Merging::begun(batch);
    for turn in batch.turns.iter() {
        merging.add(turn);
    }
    merging.ended(batch)
}

/// A group that is being made.
struct Merging {
    group: Group,
    /// Where each document is in the group.
    documents: HashMap<DocumentKey, usize>,
    /// The last change of each reminder, by component and id.
    reminders: HashMap<(Name, Name), ReminderChange>,
    /// The deliveries that the turns have staged.
    created: HashSet<u64>,
    /// The deliveries of events that the turns have handled.
    handled: HashSet<u64>,
    /// The outbound requests that the turns have staged.
    staged: HashSet<u64>,
}

impl Merging {
    fn begun(batch: &Batch) -> Self {
        let (lsn, turns) = (batch.lsn, batch.turns.len());
        assert!(
            turns > 0 && lsn.0 >= turns as u64,
            "a group of {turns} turns ends at position {}",
            lsn.0
        );
        let created = batch.turns.iter().flat_map(|turn| &turn.deliveries);
        let staged = batch.turns.iter().flat_map(|turn| &turn.outbound);
        Self {
            group: Group {
                lsn,
                turns,
                ..Group::default()
            },
            documents: HashMap::default(),
            reminders: HashMap::default(),
            created: created.map(|delivery| delivery.id).collect(),
            handled: HashSet::default(),
            staged: staged.map(|request| request.id).collect(),
        }
    }

    fn add(&mut self, turn: &Executed) {
        for write in &turn.writes {
            self.write(write);
        }
        for change in &turn.reminders {
            let key = match change {
                ReminderChange::Set(r) => (r.component.clone(), r.id.clone()),
                ReminderChange::Cancel { component, id } => (component.clone(), id.clone()),
            };
            self.reminders.insert(key, change.clone());
        }
        if let Some(delivery) = &turn.handled {
            self.handled(delivery, turn);
        }
        for letter in &turn.dead_letters {
            assert_handled(letter, turn);
        }
        let group = &mut self.group;
        group.outbound_added.extend(turn.outbound.iter().cloned());
        group.receipts.extend(turn.receipts.iter().cloned());
        group.audit.extend(turn.audit.iter().cloned());
        group.publications.extend(turn.publications.iter().cloned());
        group.history.extend(turn.history.iter().cloned());
        let letters = turn.dead_letters.iter();
        group.dead_letters_added.extend(letters.cloned());
        let letters = &turn.dead_letters_removed;
        group.dead_letters_removed.extend(letters);
    }

    /// A later write of a document takes the place of an earlier one.
    fn write(&mut self, write: &DocumentWrite) {
        let key = DocumentKey {
            collection: write.collection,
            id: write.id.clone(),
        };
        let documents = &mut self.group.documents;
        let Some(&at) = self.documents.get(&key) else {
            self.documents.insert(key, documents.len());
            documents.push(write.clone());
            return;
        };
        let before = documents[at].version;
        assert!(
            write.version == before + 1,
            "document {:?} of collection {} is written as version {} after version {before}",
            write.id,
            write.collection.0,
            write.version
        );
        documents[at] = write.clone();
    }

    /// A turn has handled a delivery, which is pending no longer.
    fn handled(&mut self, delivery: &Arc<Delivery>, turn: &Executed) {
        match &delivery.cause {
            Cause::Event => {
                assert!(
                    self.handled.insert(delivery.id),
                    "delivery {} to {} is handled by two turns of a group",
                    delivery.id,
                    delivery.component
                );
                assert!(
                    turn.deliveries.iter().all(|staged| staged.id > delivery.id),
                    "the turn that handles delivery {} has staged one with an earlier id",
                    delivery.id
                );
                if !self.created.contains(&delivery.id) {
                    self.group.deliveries_removed.push(delivery.id);
                }
            }
            // The turn's own `reminders` say that it is gone, unless it was replaced.
            Cause::Reminder { .. } => {}
            Cause::Report { id } => {
                assert!(
                    !self.staged.contains(id),
                    "request {id} is reported by the group that is to send it"
                );
                self.group.outbound_removed.push(*id);
            }
        }
    }

    fn ended(mut self, batch: &Batch) -> Group {
        let pending = batch.turns.iter().flat_map(|turn| &turn.deliveries);
        let pending = pending.filter(|delivery| !self.handled.contains(&delivery.id));
        self.group.deliveries_added = pending.cloned().collect();
        for (key, change) in std::mem::take(&mut self.reminders) {
            match change {
                ReminderChange::Set(set) => self.group.reminders_set.push((*set).clone()),
                ReminderChange::Cancel { .. } => self.group.reminders_removed.push(key),
            }
        }
        self.assert_complete();
        self.group
    }

    fn assert_complete(&self) {
        let group = &self.group;
        assert!(
            group.deliveries_added.len() + self.handled.len()
                == self.created.len() + group.deliveries_removed.len(),
            "of {} new deliveries and {} that were handled, {} are to be added and {} to be removed",
            self.created.len(),
            self.handled.len(),
            group.deliveries_added.len(),
            group.deliveries_removed.len()
        );
        assert!(
            group.outbound_added.len() == self.staged.len(),
            "{} requests of a group have {} ids",
            group.outbound_added.len(),
            self.staged.len()
        );
        for letter in &group.dead_letters_added {
            let id = letter.delivery.id;
            assert!(
                !group.dead_letters_removed.contains(&id),
                "delivery {id} is parked and decided about in one group"
            );
        }
    }
}

/// A turn parks only the delivery that it handles.
fn assert_handled(letter: &DeadLetter, turn: &Executed) {
    let (id, handled) = (letter.delivery.id, turn.handled.as_ref());
    assert!(
        handled.is_some_and(|handled| handled.id == id),
        "delivery {id} is parked by a turn that handles {:?}",
        handled.map(|handled| handled.id)
    );
}
