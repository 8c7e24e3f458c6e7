//! The operators' log (audit log): who did what, when, and with which outcome. It is kept permanently. An
//! entry is durable before its action begins.

use rialto_engine::Timestamp;
use rialto_engine::store::StoreError;
use rialto_store::{Operation, OperationStore, Outcome};
use sqlx::sqlite::SqliteRow;
use sqlx::{Row, SqlitePool};

use crate::rows::unsigned;
use crate::slices::Bound;
use crate::{SqliteStore, failed, unreadable};

impl OperationStore for SqliteStore {
    fn add_operation(&self, operation: &Operation) -> Result<(), StoreError> {
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

    fn end_operation(&self, id: u64, outcome: &Outcome) -> Result<(), StoreError> {
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

    fn last_operation(&self) -> Result<u64, StoreError> {
        let newest = sqlx::query_scalar("SELECT coalesce(max(id), 0) FROM operations");
        let inner = &self.inner;
        let newest: i64 = inner
            .runtime
            .block_on(newest.fetch_one(&inner.readers))
            .map_err(failed)?;
        unsigned(newest)
    }

    fn has_operation(
        &self,
        (action, about): (&str, &str),
        since: Timestamp,
    ) -> Result<bool, StoreError> {
        let found = sqlx::query_scalar(
            "SELECT EXISTS (SELECT 1 FROM operations WHERE at >= ? AND action = ? AND about = ?)",
        );
        let since = i64::try_from(since.0).unwrap_or(i64::MAX);
        let found = found.bind(since).bind(action).bind(about);
        let inner = &self.inner;
        let read = found.fetch_one(&inner.readers);
        inner.runtime.block_on(read).map_err(failed)
    }

    fn operations(&self, about: &str, most: u32) -> Result<Vec<Operation>, StoreError> {
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
    rows.iter().rev().map(operation).collect()
}

/// `id, at, person, operator, action, about, outcome, reason, note`.
pub(crate) fn operation(row: &SqliteRow) -> Result<Operation, StoreError> {
    let outcome: Option<String> = row.try_get(6).map_err(failed)?;
    let reason: String = row.try_get(7).map_err(failed)?;
    let outcome = outcome.map(|word| {
        Outcome::of(&word, reason).ok_or_else(|| unreadable("the operators' log", word))
    });
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
}
