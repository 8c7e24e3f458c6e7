//! The audit log: the actions of operators in the host's own API, with person, time and outcome, refused ones
//! included. An entry is on disk before its action begins, so that no change is without an entry.
//!
//! Strangers could fill the disk with refused requests: those without a token are counted ([`crate::denials`]), and the
//! entries of refused sign-ins have a bounded rate.
//!
//! Each entry is in a table for people, and in the log that cannot be changed unseen ([`rialto_audit`]): there its
//! beginning and its outcome are two entries, because what is in that log stays as it is.

use std::sync::Arc;

use parking_lot::Mutex;
use rialto_audit::ActorKind;
use rialto_engine::store::{AuditEntry, StoreError};
use rialto_engine::{Clock, Engine};
use rialto_store::{Credential, HostStore, Operation, Outcome};
use serde::{Deserialize, Serialize};

use crate::access::Access;
use crate::operators::{Caller, TokenChange};

/// Who writes these entries.
const WRITER: &str = "host";
/// The longest text of an entry, in bytes. The whole text is in the release, or in the log.
const TEXT_BYTES_MAX: usize = 2 << 10;

/// The person of an action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Actor {
    /// The person's name.
    pub person: Arc<str>,
    /// The operator whose token was used; empty for an action without a token.
    pub operator: Arc<str>,
    /// The public name of the personal token or the session that was shown; empty for any other credential.
    pub credential: Arc<str>,
}

impl Actor {
    /// The user of the machine who started this process, without a token.
    #[must_use]
    pub fn started() -> Self {
        use std::os::unix::fs::MetadataExt as _;
        let user = std::fs::metadata("/proc/self").map(|process| process.uid());
        let user = user.map_or_else(|_| "unknown".to_owned(), |user| user.to_string());
        Self {
            // Not an operator's name, because those have no blanks.
            person: format!("start by user {user}").into(),
            operator: "".into(),
            credential: "".into(),
        }
    }
}

impl From<&Caller> for Actor {
    fn from(caller: &Caller) -> Self {
        Self {
            person: caller.person.clone(),
            operator: caller.name.clone(),
            credential: caller.credential().into(),
        }
    }
}

/// An action: what is done, to what, and why.
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
    /// An action without a note.
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
    /// The person or the host itself.
    pub person: String,
    /// The operator whose token was used; empty for an action without a token.
    pub operator: String,
    /// What was done, in one word.
    pub action: String,
    /// What it was done to.
    pub about: String,
    /// Why, in the operator's words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
    /// `done`, `refused`, `failed`, or `unknown` if the host ended meanwhile or the action still runs.
    pub outcome: String,
    /// The outcome in words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

impl From<Operation> for Entry {
    fn from(operation: Operation) -> Self {
        let (outcome, reason) = operation.outcome.as_ref().map_or(("unknown", ""), worded);
        let (outcome, reason) = (outcome.to_owned(), reason.to_owned());
        Self {
            id: operation.id,
            at: operation.at.0,
            person: operation.person,
            operator: operation.operator,
            action: operation.action,
            about: operation.about,
            note: operation.note,
            outcome,
            reason,
        }
    }
}

/// An outcome as a word, and why.
fn worded(outcome: &Outcome) -> (&'static str, &str) {
    match outcome {
        Outcome::Done(reason) => ("done", reason),
        Outcome::Refused(reason) => ("refused", reason),
        Outcome::Failed(reason) => ("failed", reason),
    }
}

/// The audit log of a host.
pub struct Audit {
    store: Arc<dyn HostStore>,
    engine: Engine,
    clock: Arc<dyn Clock>,
    /// The lock for giving an entry its number.
    adding: Mutex<()>,
}

impl Audit {
    /// The audit log of a store that this host has recovered.
    pub fn new(store: Arc<dyn HostStore>, engine: Engine, clock: Arc<dyn Clock>) -> Self {
        Self {
            store,
            engine,
            clock,
            adding: Mutex::new(()),
        }
    }

    /// Store an entry, run an action, and store its outcome (by `outcome`). The action does not run if the entry cannot
    /// be stored.
    ///
    /// # Errors
    /// When the entry cannot be written; those of what is done.
    pub fn keep<T, E: From<StoreError>>(
        &self,
        who: &Actor,
        audited: &AuditedAction<'_>,
        outcome: impl FnOnce(&Result<T, E>) -> Outcome,
        run: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, E> {
        let id = self.add(who, audited, None)?;
        let durable = self.engine.wait_until_durable();
        durable.map_err(|failure| StoreError::Failed(failure.to_string()))?;
        let ran = run();
        let outcome = cut(outcome(&ran));
        let ended = self.store.end_operation(id, &outcome);
        let ended = ended.and_then(|()| self.write(Some(id), who, audited, Some(&outcome)));
        if let Err(error) = ended {
            let action = audited.action;
            // The action has run, but its entry says that the outcome is not known.
            tracing::error!(%error, id, action, "the outcome of an operation could not be stored in the audit trail");
        }
        ran
    }

    /// Store an entry of an action that has already ended, for example a refusal.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn note(
        &self,
        who: &Actor,
        audited: &AuditedAction<'_>,
        outcome: Outcome,
    ) -> Result<(), StoreError> {
        self.add(who, audited, Some(cut(outcome))).map(|_| ())
    }

    /// Store an entry of the host's start, with its operators and the changes of tokens and sessions.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn start(&self, access: &Access) -> Result<(), StoreError> {
        let who = Actor::started();
        let operators = access.operators();
        for change in operators.changes() {
            let (action, name) = match change {
                TokenChange::Drawn(name) => ("token-draw", name),
                TokenChange::Removed(name) => ("token-remove", name),
            };
            let audited = AuditedAction::new(action, name);
            self.note(&who, &audited, Outcome::Done(String::new()))?;
        }
        for credential in access.void() {
            let about = about(credential);
            let audited = AuditedAction::new("token-end", &about);
            let audited = audited.because("rialto.toml says something else of the operator");
            self.note(&who, &audited, Outcome::Done(String::new()))?;
        }
        let people: Vec<String> = operators.all().map(described).collect();
        let about = format!("{} with {}", env!("CARGO_PKG_VERSION"), people.join("; "));
        let audited = AuditedAction::new("host-start", &about);
        self.note(&who, &audited, Outcome::Done(String::new()))
    }

    /// Store entries of what the host does or refuses by itself, such as reading a file again, and wait until they are on disk.
    pub fn of_host(&self, audited: Vec<(AuditedAction<'_>, Outcome)>) {
        let who = Actor {
            person: WRITER.into(),
            operator: "".into(),
            credential: "".into(),
        };
        let kept = audited.into_iter().try_for_each(|(audited, outcome)| {
            let kept = self.note(&who, &audited, outcome);
            kept.inspect_err(|_| {
                let (action, about) = (audited.action, audited.about);
                tracing::error!(
                    action,
                    about,
                    "what the host has done has no entry in the audit trail"
                );
            })
        });
        let durable = kept.and_then(|()| {
            let durable = self.engine.wait_until_durable();
            durable.map_err(|failure| StoreError::Failed(failure.to_string()))
        });
        if let Err(error) = durable {
            tracing::error!(%error, "what the host has done could not be stored in the audit trail");
        }
    }

    /// The newest entries whose `about` contains this text, which may be empty; the oldest of them first.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn last(&self, about: &str, most: u32) -> Result<Vec<Entry>, StoreError> {
        let operations = self.store.operations(about, most)?;
        Ok(operations.into_iter().map(Entry::from).collect())
    }

    /// Write that somebody has read the table of entries, to the log that cannot be changed: the table would grow by each look
    /// at it.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn was_read(&self, who: &Actor, about: &str) -> Result<(), StoreError> {
        let read = AuditedAction::new("audit.read", about);
        let outcome = Outcome::Done(String::new());
        self.write(None, who, &read, Some(&outcome))
    }

    fn add(
        &self,
        who: &Actor,
        audited: &AuditedAction<'_>,
        outcome: Option<Outcome>,
    ) -> Result<u64, StoreError> {
        let _one = self.adding.lock();
        let id = self.store.last_operation()? + 1;
        self.write(Some(id), who, audited, outcome.as_ref())?;
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

    /// Write an entry of the log that cannot be changed. It is on disk with the engine's next group.
    fn write(
        &self,
        id: Option<u64>,
        who: &Actor,
        audited: &AuditedAction<'_>,
        outcome: Option<&Outcome>,
    ) -> Result<(), StoreError> {
        let at = self.clock.now();
        let (outcome, reason) = outcome.map_or(("begun", ""), worded);
        let mut details = serde_json::Map::new();
        details.extend(id.map(|id| ("operation".to_owned(), id.into())));
        if !reason.is_empty() {
            details.insert("reason".to_owned(), reason.into());
        }
        let is_person = !who.operator.is_empty();
        let entry = rialto_audit::Entry {
            at: at.0,
            actor: rialto_audit::Actor {
                kind: if is_person {
                    ActorKind::Operator
                } else {
                    ActorKind::Host
                },
                name: who.person.to_string(),
                operator: if who.operator == who.person {
                    String::new()
                } else {
                    who.operator.to_string()
                },
                credential: who.credential.to_string(),
            },
            writer: WRITER.to_owned(),
            action: audited.action.to_owned(),
            about: beginning(audited.about),
            outcome: outcome.to_owned(),
            note: beginning(audited.note),
            details: (!details.is_empty()).then(|| details.into()),
            sealed: String::new(),
            release: None,
            turn: None,
            trace: String::new(),
        };
        let body = serde_json::to_string(&entry);
        let body = body.map_err(|error| StoreError::Failed(error.to_string()))?;
        let entry = AuditEntry {
            at,
            body: body.into(),
        };
        let written = self.engine.audit(entry);
        written.map_err(|failure| StoreError::Failed(failure.to_string()))
    }
}

/// A session or a personal token in words: `token 0123456789abcdef of anna: nightly export`.
pub(crate) fn about(credential: &Credential) -> String {
    let (kind, label) = (credential.kind.word(), &credential.label);
    let colon = if label.is_empty() { "" } else { ": " };
    format!(
        "{kind} {} of {}{colon}{label}",
        credential.id, credential.operator
    )
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

/// The part of a text that is kept.
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
