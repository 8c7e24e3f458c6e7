//! Records that name people: which of their parts are encrypted, and how they are read again.
//!
//! | What | Encrypted | Left |
//! |---|---|---|
//! | the record of a turn (`turns`) | the path of a request, ids of documents and reminders, URLs, outcomes of requests, the reason of a failure | who ran, when and how long, calls, events, verdicts, statuses |
//! | a receipt (`receipts`) | all of it | its subject, unless that is a person |
//! | an entry of the audit log (`entries`) | note and details that name a person | all else, with a pseudonym for a person |
//! | an event for the outside (`publications`) | nothing: what names a person is taken away, unless the operator lets the event name people | all else |
//! | a document in an archive (`documents`) | all of it | collection, id, and the subject of its bundle |
//!
//! The keys are in a file outside the store ([`rialto_personal_data`]). The store remembers which file, and how often keys
//! were destroyed in it; so an older copy of the file is refused (`opening`).

mod documents;
mod entries;
mod opening;
mod publications;
mod reader;
mod receipts;
#[cfg(test)]
mod tests;
mod turns;

use std::fmt;
use std::sync::Arc;

use data_encoding::BASE64;
use rialto_engine::Name;
use rialto_engine::history::Record;
use rialto_engine::personal_data::{Left, PersonalData};
use rialto_engine::store::{Receipt, StoreError};
use rialto_personal_data::{FileId, KeysError, Leaf, Opened, People};
use rialto_store::{HostStore, PeopleKeys};

pub use reader::Reader;
pub use receipts::OpenedReceipt;

/// What stands in place of what could not be encrypted.
const TAKEN_AWAY: &str = "";

/// The people of a scheme.
pub struct HostPeople {
    people: People,
    store: Arc<dyn HostStore>,
}

impl fmt::Debug for HostPeople {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.people.fmt(f)
    }
}

/// Why keys of people were not destroyed, or may not have been.
#[derive(Debug, thiserror::Error)]
pub enum ShredError {
    /// They were not.
    #[error(transparent)]
    Keys(#[from] KeysError),
    /// They were, and the store does not know.
    #[error("the keys are destroyed, and the store could not note that: {0}")]
    Store(#[from] StoreError),
}

/// A turn's people: each one's name and key.
struct Named {
    /// The subjects that are people, and those named beside.
    names: Vec<Name>,
    /// The places of their keys.
    leaves: Vec<Leaf>,
}

impl HostPeople {
    /// The pseudonym of a person in records that are written now; none if the subject is no person.
    #[must_use]
    pub fn pseudonym(&self, subject: &str) -> Option<String> {
        self.people.pseudonym(subject)
    }

    /// A subject in words that are kept for ever: a person by the pseudonym.
    #[must_use]
    pub fn kept_name(&self, subject: &str) -> String {
        let pseudonym = self.pseudonym(subject);
        pseudonym.unwrap_or_else(|| subject.to_owned())
    }

    /// The people whom an id may mean, with their pseudonyms. The id may have its kind before it, as a subject.
    #[must_use]
    pub fn people_of(&self, id: &str) -> Vec<(String, String)> {
        let names: Vec<String> = if self.is_person(id) {
            vec![id.to_owned()]
        } else {
            let kinds = self.people.kinds();
            kinds.map(|kind| format!("{kind}:{id}")).collect()
        };
        let names = names.into_iter();
        let named = names.filter_map(|name| self.pseudonym(&name).map(|kept| (name, kept)));
        named.collect()
    }

    /// Whether a subject is a person whose key can be destroyed.
    #[must_use]
    pub fn is_person(&self, subject: &str) -> bool {
        self.people.is_person(subject)
    }

    /// The kinds of subjects that are people.
    #[must_use]
    pub fn kinds(&self) -> Vec<&str> {
        self.people.kinds().collect()
    }

    /// The id of the file of keys, and how often keys in it were destroyed.
    #[must_use]
    pub fn file(&self) -> (FileId, u64) {
        self.people.state()
    }

    /// Destroy the keys of people, for ever. Returns their pseudonyms.
    ///
    /// # Errors
    /// When the file of keys cannot be written; or the store, when it is too late.
    pub fn shred(&self, subjects: &[&str]) -> Result<Vec<String>, ShredError> {
        let shredded = self.people.shred(subjects);
        if matches!(shredded, Ok(_) | Err(KeysError::NotSynced(_))) {
            self.remember()?;
        }
        Ok(shredded?.into_iter().map(|one| one.pseudonym).collect())
    }

    /// An entry of the audit log as people read it; none if nothing in it is encrypted, or its keys are not there.
    #[must_use]
    pub fn open_entry(&self, body: &str) -> Option<String> {
        entries::open(&self.people, body)
    }

    /// Note in the store which file has the keys, and how often keys in it were destroyed. The store must be recovered.
    ///
    /// # Errors
    /// When the store cannot write or belongs to a newer host.
    pub fn remember(&self) -> Result<(), StoreError> {
        let (id, shreddings) = self.people.state();
        let id = id.0;
        self.store.set_people_keys(PeopleKeys { id, shreddings })
    }

    fn named(&self, record: &Record, beside: Vec<Name>) -> Option<Named> {
        let subjects = record.subjects.iter().cloned();
        let mut names: Vec<Name> = subjects.chain(beside).collect();
        names.retain(|name| self.people.is_person(name));
        names.sort_unstable();
        names.dedup();
        let leaves = names.iter().filter_map(|name| self.people.leaf(name));
        let leaves: Vec<Leaf> = leaves.collect();
        (!names.is_empty()).then_some(Named { names, leaves })
    }

    /// Encrypt; none, with a line in the log, if that fails. It fails if a key is destroyed in this moment.
    fn sealed(&self, named: &Named, kind: &str, plain: &[u8]) -> Option<Vec<u8>> {
        let sealed = self.people.seal(&named.leaves, kind, plain);
        if sealed.is_none() {
            tracing::warn!(
                kind,
                "what names people in a record could not be encrypted, and is not kept"
            );
        }
        sealed
    }
}

/// What was encrypted as a text, from its Base64; none if its keys are not there.
fn opened_text(people: &People, kind: &str, sealed: &str) -> Option<String> {
    let sealed = BASE64.decode(sealed.as_bytes()).ok()?;
    match people.unseal(kind, &sealed) {
        Opened::Plain(plain) => String::from_utf8(plain).ok(),
        Opened::Shredded(_) | Opened::Damaged => None,
    }
}

impl PersonalData for HostPeople {
    fn is_person(&self, subject: &str) -> bool {
        self.people.is_person(subject)
    }

    fn seal(&self, left: Left<'_>) {
        let Left {
            record,
            people,
            receipts,
            audit,
            publications,
        } = left;
        let Some(named) = self.named(record, people) else {
            turns::cut_path(record);
            turns::without_bodies(record);
            return;
        };
        for receipt in receipts {
            self.seal_receipt(&named, receipt);
        }
        for entry in audit {
            self.seal_entry(&named, entry);
        }
        for publication in publications {
            self.strip_publication(&named, publication);
        }
        self.seal_record(&named, record);
    }
}

/// The records of a host, readable again.
pub trait Readable {
    /// The record of a turn, with what is encrypted in it if its keys are there.
    fn readable(&self, record: Record) -> Record;
    /// A receipt's body, if its keys are there.
    fn readable_receipt(&self, receipt: Receipt) -> OpenedReceipt;
    /// The people whom an id may mean: the names, and the subjects under which records about them are kept.
    fn people_of(&self, id: &str) -> Vec<(String, String)>;
}

impl Readable for Option<Arc<HostPeople>> {
    fn readable(&self, record: Record) -> Record {
        match self {
            Some(people) => turns::open(&people.people, record),
            None => record,
        }
    }

    fn readable_receipt(&self, receipt: Receipt) -> OpenedReceipt {
        match self {
            Some(people) => receipts::open(&people.people, receipt),
            None => OpenedReceipt::plain(receipt),
        }
    }

    fn people_of(&self, id: &str) -> Vec<(String, String)> {
        self.as_ref()
            .map_or_else(Vec::new, |people| people.people_of(id))
    }
}
