//! The audit log: what operators did with the host by its own API, who, when, and what came of it; refusals
//! too. An entry is on disk before what it tells of begins, so that nothing is changed that nobody sees.
//!
//! Who shows no token at all leaves no entry: strangers could fill the disk. What operators ask of components
//! is in the components' own documents.

use std::sync::Arc;

use parking_lot::Mutex;
use rialto_engine::Clock;
use rialto_engine::store::StoreError;
use rialto_store_sqlite::{Operation, Outcome, SqliteStore};
use serde::{Deserialize, Serialize};

use crate::operators::{Caller, Operators, TokenChange};

/// Bytes of what an entry says of one thing: what is longer is in the release, or in the log.
const TEXT_BYTES_MAX: usize = 2 << 10;

/// Who did something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Who {
    /// The person's one name.
    pub person: Arc<str>,
    /// The operator whose token was shown; empty where none was needed.
    pub operator: Arc<str>,
}

impl Who {
    /// Who started this process: a user of the machine, who has shown no token.
    #[must_use]
    pub fn started() -> Self {
        use std::os::unix::fs::MetadataExt as _;
        let user = std::fs::metadata("/proc/self").map(|process| process.uid());
        let user = user.map_or_else(|_| "unknown".to_owned(), |user| user.to_string());
        Self {
            // No operator's name: those have no blanks.
            person: format!("start by user {user}").into(),
            operator: "".into(),
        }
    }
}

impl From<&Caller> for Who {
    fn from(caller: &Caller) -> Self {
        Self {
            person: caller.person.clone(),
            operator: caller.name.clone(),
        }
    }
}

/// What is done, to what, and why.
#[derive(Clone, Copy, Debug)]
pub struct AuditedAction<'a> {
    /// In one word.
    pub action: &'a str,
    /// What it is done to.
    pub about: &'a str,
    /// The operator's words; empty where they said nothing.
    pub note: &'a str,
}

impl<'a> AuditedAction<'a> {
    /// One for which nobody said why.
    #[must_use]
    pub const fn new(action: &'a str, about: &'a str) -> Self {
        Self {
            action,
            about,
            note: "",
        }
    }

    /// The same, with the operator's words.
    #[must_use]
    pub const fn because(self, note: &'a str) -> Self {
        Self { note, ..self }
    }
}

/// An entry as `rialto audit` shows it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Entry {
    /// Its number.
    pub id: u64,
    /// When it began; milliseconds since 1970.
    pub at: u64,
    /// Who.
    pub person: String,
    /// Whose token was shown; empty where none was needed.
    pub operator: String,
    /// What was done, in one word.
    pub action: String,
    /// What it was done to.
    pub about: String,
    /// Why, in the operator's words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
    /// `done`, `refused`, `failed`, or `unknown` where the host ended meanwhile or it still goes on.
    pub outcome: String,
    /// What came of it, in words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

impl From<Operation> for Entry {
    fn from(operation: Operation) -> Self {
        let (outcome, reason) = match operation.outcome {
            Some(Outcome::Done(reason)) => ("done", reason),
            Some(Outcome::Refused(reason)) => ("refused", reason),
            Some(Outcome::Failed(reason)) => ("failed", reason),
            None => ("unknown", String::new()),
        };
        Self {
            id: operation.id,
            at: operation.at.0,
            person: operation.person,
            operator: operation.operator,
            action: operation.action,
            about: operation.about,
            note: operation.note,
            outcome: outcome.to_owned(),
            reason,
        }
    }
}

/// See the module's documentation.
pub struct Audit {
    store: Arc<SqliteStore>,
    clock: Arc<dyn Clock>,
    /// Held while an entry is given its number.
    adding: Mutex<()>,
}

impl Audit {
    /// Over a store that this host has recovered.
    pub fn new(store: Arc<SqliteStore>, clock: Arc<dyn Clock>) -> Self {
        Self {
            store,
            clock,
            adding: Mutex::new(()),
        }
    }

    /// Do something and keep what came of it, by `outcome`. It is not done if that could not be kept.
    ///
    /// # Errors
    /// When the entry cannot be written; those of what is done.
    pub fn keep<T, E: From<StoreError>>(
        &self,
        who: &Who,
        audited: &AuditedAction<'_>,
        outcome: impl FnOnce(&Result<T, E>) -> Outcome,
        run: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, E> {
        let id = self.add(who, audited, None)?;
        let ran = run();
        let ended = self.store.end_operation(id, &cut(outcome(&ran)));
        if let Err(error) = ended {
            let action = audited.action;
            // It is done or not, whatever is written of it; the entry says that nobody knows.
            tracing::error!(%error, id, action, "what came of an operation could not be kept");
        }
        ran
    }

    /// Keep what has ended already: a refusal, above all.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn note(
        &self,
        who: &Who,
        audited: &AuditedAction<'_>,
        outcome: Outcome,
    ) -> Result<(), StoreError> {
        self.add(who, audited, Some(cut(outcome))).map(|_| ())
    }

    /// Keep that the host was started, who may use it now, and what became of tokens.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn start(&self, operators: &Operators) -> Result<(), StoreError> {
        let who = Who::started();
        for change in operators.changes() {
            let (action, name) = match change {
                TokenChange::Drawn(name) => ("token-draw", name),
                TokenChange::Removed(name) => ("token-remove", name),
            };
            let audited = AuditedAction::new(action, name);
            self.note(&who, &audited, Outcome::Done(String::new()))?;
        }
        let people: Vec<String> = operators.all().map(described).collect();
        let about = format!("{} with {}", env!("CARGO_PKG_VERSION"), people.join("; "));
        let audited = AuditedAction::new("host-start", &about);
        self.note(&who, &audited, Outcome::Done(String::new()))
    }

    /// The newest entries about something that has this text in it, which may be empty; the oldest of them first.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn last(&self, about: &str, most: u32) -> Result<Vec<Entry>, StoreError> {
        let operations = self.store.operations(about, most)?;
        Ok(operations.into_iter().map(Entry::from).collect())
    }

    fn add(
        &self,
        who: &Who,
        audited: &AuditedAction<'_>,
        outcome: Option<Outcome>,
    ) -> Result<u64, StoreError> {
        let _one = self.adding.lock();
        let id = self.store.last_operation()? + 1;
        self.store.add_operation(&Operation {
            id,
            at: self.clock.now(),
            person: who.person.to_string(),
            operator: who.operator.to_string(),
            action: audited.action.to_owned(),
            about: beginning(audited.about),
            note: beginning(audited.note),
            outcome,
        })?;
        Ok(id)
    }
}

/// `anna (reader, maker)`, or `anna-checks as anna (checker)`.
fn described(caller: &Caller) -> String {
    let roles: Vec<&str> = caller.roles.iter().map(|role| role.name()).collect();
    let roles = roles.join(", ");
    let Caller { name, person, .. } = caller;
    if name == person {
        format!("{name} ({roles})")
    } else {
        format!("{name} as {person} ({roles})")
    }
}

/// What is kept of a text.
pub(crate) fn beginning(text: &str) -> String {
    text[..text.floor_char_boundary(TEXT_BYTES_MAX)].to_owned()
}

fn cut(outcome: Outcome) -> Outcome {
    match outcome {
        Outcome::Done(reason) => Outcome::Done(beginning(&reason)),
        Outcome::Refused(reason) => Outcome::Refused(beginning(&reason)),
        Outcome::Failed(reason) => Outcome::Failed(beginning(&reason)),
    }
}
