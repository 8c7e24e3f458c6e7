//! Suspensions of rules, kept permanently: who has suspended which rule, who has confirmed it, and who has ended it.

use rialto_engine::Timestamp;
use rialto_engine::store::StoreError;
use rialto_store::{Act, StoredSuspension, SuspensionStore};
use sqlx::sqlite::SqliteRow;
use sqlx::{Row as _, SqlitePool};

use crate::rows::unsigned;
use crate::slices::Bound;
use crate::{SqliteStore, failed, unreadable};

impl SuspensionStore for SqliteStore {
    fn add_suspension(&self, suspension: &StoredSuspension) -> Result<(), StoreError> {
        let mut bound = Bound::default();
        bound.add(suspension.rule.clone())?;
        bound.add(suspension.person.clone())?;
        bound.add(suspension.note.clone())?;
        bound.number(suspension.at.0)?;
        bound.number(suspension.until.0)?;
        self.change(
            "INSERT INTO suspensions (rule, person, note, at, until) VALUES (?, ?, ?, ?, ?)",
            bound,
        )
        .map(|_| ())
    }

    fn confirm_suspension(&self, id: u64, act: &Act) -> Result<(), StoreError> {
        self.change(
            "UPDATE suspensions SET confirmed_by = ?, confirmed = ? WHERE id = ?",
            bound(id, act)?,
        )
        .map(|_| ())
    }

    fn end_suspension(&self, id: u64, act: &Act) -> Result<(), StoreError> {
        self.change(
            "UPDATE suspensions SET ended_by = ?, ended = ? WHERE id = ?",
            bound(id, act)?,
        )
        .map(|_| ())
    }

    fn suspensions(&self, now: Timestamp, most: u32) -> Result<Vec<StoredSuspension>, StoreError> {
        let inner = &self.inner;
        let now = i64::try_from(now.0).unwrap_or(i64::MAX);
        inner
            .runtime
            .block_on(suspensions(&inner.readers, now, most))
    }
}

fn bound(id: u64, act: &Act) -> Result<Bound, StoreError> {
    let mut bound = Bound::default();
    bound.add(act.by.clone())?;
    bound.number(act.at.0)?;
    bound.number(id)?;
    Ok(bound)
}

async fn suspensions(
    readers: &SqlitePool,
    now: i64,
    most: u32,
) -> Result<Vec<StoredSuspension>, StoreError> {
    let rows = sqlx::query(
        "SELECT * FROM (
             SELECT id, rule, person, note, at, until, confirmed_by, confirmed, ended_by, ended FROM suspensions
             WHERE ended IS NULL AND (confirmed IS NOT NULL OR until > ?1) ORDER BY id DESC)
         UNION ALL
         SELECT * FROM (
             SELECT id, rule, person, note, at, until, confirmed_by, confirmed, ended_by, ended FROM suspensions
             WHERE ended IS NOT NULL OR (confirmed IS NULL AND until <= ?1) ORDER BY id DESC LIMIT ?2)",
    )
    .bind(now)
    .bind(most)
    .fetch_all(readers)
    .await
    .map_err(failed)?;
    rows.iter().map(read).collect()
}

fn read(row: &SqliteRow) -> Result<StoredSuspension, StoreError> {
    let text = |column: &str| row.try_get::<String, _>(column).map_err(failed);
    let number = |column: &str| unsigned(row.try_get(column).map_err(failed)?);
    Ok(StoredSuspension {
        id: number("id")?,
        rule: text("rule")?,
        person: text("person")?,
        note: text("note")?,
        at: Timestamp(number("at")?),
        until: Timestamp(number("until")?),
        confirmed: act(row, "confirmed_by", "confirmed")?,
        ended: act(row, "ended_by", "ended")?,
    })
}

fn act(row: &SqliteRow, by: &str, at: &str) -> Result<Option<Act>, StoreError> {
    let by: Option<String> = row.try_get(by).map_err(failed)?;
    let at: Option<i64> = row.try_get(at).map_err(failed)?;
    match (by, at) {
        (None, None) => Ok(None),
        (Some(by), Some(at)) => Ok(Some(Act {
            by,
            at: Timestamp(unsigned(at)?),
        })),
        _ => Err(unreadable("a suspension", "who has done what, and when")),
    }
}
