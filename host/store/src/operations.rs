//! The operators' log (audit log): who did what, when, and with which outcome. An entry is durable before its action begins.

use rialto_engine::Timestamp;
use rialto_engine::store::StoreError;

/// An entry of the operators' log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation {
    /// Its number; counts up from 1.
    pub id: u64,
    /// When it began.
    pub at: Timestamp,
    /// The person's name.
    pub person: String,
    /// The operator of `rialto.toml` whose token was used. Empty for an action without a token.
    pub operator: String,
    /// What was done, in one word.
    pub action: String,
    /// What it was done to.
    pub about: String,
    /// Why, in the operator's words; empty where they said nothing.
    pub note: String,
    /// The outcome; none while the action runs, and permanently if the host ended meanwhile.
    pub outcome: Option<Outcome>,
}

/// The outcome of an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It was done; with its result in words, if there is any.
    Done(String),
    /// It was not allowed or not possible, and why.
    Refused(String),
    /// The host failed to do it, and why.
    Failed(String),
}

impl Outcome {
    /// Its kind, in one word.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Done(_) => "done",
            Self::Refused(_) => "refused",
            Self::Failed(_) => "failed",
        }
    }

    /// Its result or reason, in words.
    #[must_use]
    pub fn reason(&self) -> &str {
        let (Self::Done(reason) | Self::Refused(reason) | Self::Failed(reason)) = self;
        reason
    }

    /// The outcome of this kind; none if there is no such kind.
    #[must_use]
    pub fn of(word: &str, reason: String) -> Option<Self> {
        match word {
            "done" => Some(Self::Done(reason)),
            "refused" => Some(Self::Refused(reason)),
            "failed" => Some(Self::Failed(reason)),
            _ => None,
        }
    }
}

/// Keeps the operators' log.
pub trait OperationStore {
    /// Keep an entry.
    ///
    /// # Errors
    /// When its number is taken, or the store cannot write or belongs to a newer host.
    fn add_operation(&self, operation: &Operation) -> Result<(), StoreError>;
    /// Store the outcome of an operation that has none yet.
    ///
    /// # Errors
    /// When the store cannot write or belongs to a newer host.
    fn end_operation(&self, id: u64, outcome: &Outcome) -> Result<(), StoreError>;
    /// The number of the newest entry; 0 for none.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn last_operation(&self) -> Result<u64, StoreError>;
    /// Whether there is an entry of an action that was done to exactly this, since an instant. It reads all entries since
    /// then.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn has_operation(&self, about: (&str, &str), since: Timestamp) -> Result<bool, StoreError>;
    /// The newest entries whose `about` contains this text, which may be empty; the oldest of them first.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn operations(&self, about: &str, most: u32) -> Result<Vec<Operation>, StoreError>;
}
