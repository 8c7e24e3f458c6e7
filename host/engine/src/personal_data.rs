//! Records that name people. What a turn leaves for ever – its record in the history, its receipts, its entries of the
//! audit log – can be encrypted for each person before it goes to the log, so that it can be made unreadable later.
//!
//! The engine knows neither kinds of people nor keys. Documents, deliveries and requests are not encrypted: they are
//! the scheme's state, not its records.

use std::sync::Arc;

use crate::engine::Shared;
use crate::history::Record;
use crate::ids::Name;
use crate::limits;
use crate::publications::Publication;
use crate::store::{AuditEntry, Receipt};
use crate::turn::Staged;

/// What a turn leaves for ever.
pub struct Left<'a> {
    /// Its record in the history.
    pub record: &'a mut Record,
    /// The people whom it named. As many as have room are among the record's subjects too.
    pub people: Vec<Name>,
    /// Its receipts.
    pub receipts: &'a mut Vec<Receipt>,
    /// Its entries of the audit log.
    pub audit: &'a mut Vec<AuditEntry>,
    /// What it has published for the outside. Their subjects are those of the record.
    pub publications: &'a mut Vec<Publication>,
}

/// The keys of people.
pub trait PersonalData: Send + Sync + 'static {
    /// Whether a subject is a person.
    fn is_person(&self, subject: &str) -> bool;
    /// Encrypt what may name people, if the record's subjects or `people` have any. What cannot be encrypted is taken away.
    fn seal(&self, left: Left<'_>);
}

impl Shared {
    /// A turn's record as it goes to the log. What names people is encrypted in it, and in the turn's receipts and entries.
    pub(crate) fn sealed(&self, mut record: Record, staged: &mut Staged) -> Arc<Record> {
        self.with_subjects(&mut staged.publications, &record);
        if let Some(personal_data) = &self.environment.personal_data {
            let people = std::mem::take(&mut staged.people);
            for person in &people {
                let subjects = &mut record.subjects;
                if subjects.len() < limits::SUBJECTS_PER_TURN_MAX && !subjects.contains(person) {
                    subjects.push(person.clone());
                }
            }
            personal_data.seal(Left {
                record: &mut record,
                people,
                receipts: &mut staged.receipts,
                audit: &mut staged.audit,
                publications: &mut staged.publications,
            });
        }
        Arc::new(record)
    }
}
