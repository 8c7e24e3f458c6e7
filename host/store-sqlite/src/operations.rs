//! The operators' log (audit log): who did what, when, and with which outcome. It is kept permanently. An
//! entry is durable before its action begins.

use rialto_engine::Timestamp;
use rialto_engine::store::StoreError;
use sqlx::{Row, SqlitePool};

use crate::rows::unsigned;
use crate::slices::Bound;
use crate::{SqliteStore, failed};

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
    fn word(&self) -> &'static str {
        match self {
            Self::Done(_) => "done",
            Self::Refused(_) => "refused",
            Self::Failed(_) => "failed",
        }
    }

    fn reason(&self) -> &str {
        let (Self::Done(reason) | Self::Refused(reason) | Self::Failed(reason)) = self;
        reason
    }

    fn read(word: &str, reason: String) -> Result<Self, StoreError> {
        match word {
            "done" => Ok(Self::Done(reason)),
            "refused" => Ok(Self::Refused(reason)),
            "failed" => Ok(Self::Failed(reason)),
            other => Err(crate::unreadable("the operators' log", other)),
        }
    }
}

impl SqliteStore {
    /// Keep an entry.
    ///
    /// # Errors
    /// When its number is taken, or the store cannot write or belongs to a newer host.
    pub fn add_operation(&self, operation: &Operation) -> Result<(), StoreError> {
        let outcome = operation.outcome.as_ref();
        let mut bound = Bound::default();
        bound.number(operation.id)?;
        bound.add(i64::try_from(operation.at.0).unwrap_or(i64::MAX))?;
        bound.add(operation.person.clone())?;
        bound.add(operation.operator.clone())?;
        bound.add(operation.action.clone())?;
        bound.add(operation.about.clone())?;
        bound.add(operation.note.clone())?;
        bound.add(outcome.map(Outcome::word))?;
        bound.add(outcome.map_or("", Outcome::reason).to_owned())?;
        let rows = self.change(
            "INSERT INTO operations (id, at, person, operator, action, about, note, outcome, reason)
             VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            bound,
        )?;
        assert!(
            rows == 1,
            "operation {} is kept in {rows} rows",
            operation.id
        );
        Ok(())
    }

    /// Store the outcome of an operation that has none yet.
    ///
    /// # Errors
    /// When the store cannot write or belongs to a newer host.
    pub fn end_operation(&self, id: u64, outcome: &Outcome) -> Result<(), StoreError> {
        let mut bound = Bound::default();
        bound.add(outcome.word())?;
        bound.add(outcome.reason().to_owned())?;
        bound.number(id)?;
        let rows = self.change(
            "UPDATE operations SET outcome = ?, reason = ? WHERE id = ? AND outcome IS NULL",
            bound,
        )?;
        assert!(rows <= 1, "operation {id} ends in {rows} rows");
        Ok(())
    }

    /// The number of the newest entry; 0 for none.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn last_operation(&self) -> Result<u64, StoreError> {
        let newest = sqlx::query_scalar("SELECT coalesce(max(id), 0) FROM operations");
        let inner = &self.inner;
        let newest: i64 = inner
            .runtime
            .block_on(newest.fetch_one(&inner.readers))
            .map_err(failed)?;
        unsigned(newest)
    }

    /// The newest entries whose `about` contains this text, which may be empty; the oldest of them first.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn operations(&self, about: &str, most: u32) -> Result<Vec<Operation>, StoreError> {
        let inner = &self.inner;
        let read = operations(&inner.readers, about, most);
        inner.runtime.block_on(read)
    }
}

async fn operations(
    readers: &SqlitePool,
    about: &str,
    most: u32,
) -> Result<Vec<Operation>, StoreError> {
    let rows = sqlx::query(
        "SELECT id, at, person, operator, action, about, outcome, reason, note
         FROM operations WHERE instr(about, ?) > 0 ORDER BY id DESC LIMIT ?",
    )
    .bind(about)
    .bind(most)
    .fetch_all(readers)
    .await
    .map_err(failed)?;
    rows.iter()
        .rev()
        .map(|row| {
            let outcome: Option<String> = row.try_get(6).map_err(failed)?;
            let reason: String = row.try_get(7).map_err(failed)?;
            let outcome = outcome.map(|word| Outcome::read(&word, reason));
            Ok(Operation {
                id: unsigned(row.try_get(0).map_err(failed)?)?,
                at: Timestamp(unsigned(row.try_get(1).map_err(failed)?)?),
                person: row.try_get(2).map_err(failed)?,
                operator: row.try_get(3).map_err(failed)?,
                action: row.try_get(4).map_err(failed)?,
                about: row.try_get(5).map_err(failed)?,
                note: row.try_get(8).map_err(failed)?,
                outcome: outcome.transpose()?,
            })
        })
        .collect()
}
