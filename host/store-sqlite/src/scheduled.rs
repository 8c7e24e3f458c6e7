//! Releases that come into force at an instant, kept permanently: which, when, who wanted it, and who has withdrawn it.

use rialto_engine::Timestamp;
use rialto_engine::store::StoreError;
use rialto_store::{Act, ScheduleStore, ScheduledRelease};
use sqlx::sqlite::SqliteRow;
use sqlx::{Row as _, SqlitePool};

use crate::rows::unsigned;
use crate::slices::Bound;
use crate::{SqliteStore, failed};

impl ScheduleStore for SqliteStore {
    fn schedule_releases(&self, all: &[ScheduledRelease]) -> Result<(), StoreError> {
        let mut slices = self.slices();
        // One transaction: no statement ends it.
        for one in all {
            let mut bound = Bound::default();
            bound.number(one.release)?;
            bound.number(one.from.0)?;
            bound.number(one.at.0)?;
            bound.add(one.person.clone())?;
            bound.add(one.operator.clone())?;
            bound.add(one.note.clone())?;
            slices.statement(
                "INSERT INTO scheduled_releases (release, effective, at, person, operator, note)
                 VALUES (?, ?, ?, ?, ?, ?)",
                bound,
                0,
            )?;
        }
        slices.finish()
    }

    fn withdraw_scheduled(&self, from: u64, act: &Act) -> Result<(), StoreError> {
        let mut bound = Bound::default();
        bound.add(act.by.clone())?;
        bound.number(act.at.0)?;
        bound.number(from)?;
        self.change(
            "UPDATE scheduled_releases SET withdrawn_by = ?, withdrawn = ?
             WHERE release >= ? AND withdrawn IS NULL
               AND NOT EXISTS (SELECT 1 FROM releases WHERE number = release AND was_current)",
            bound,
        )
        .map(|_| ())
    }

    fn scheduled_releases(&self) -> Result<Vec<ScheduledRelease>, StoreError> {
        let inner = &self.inner;
        inner.runtime.block_on(scheduled(&inner.readers))
    }
}

async fn scheduled(readers: &SqlitePool) -> Result<Vec<ScheduledRelease>, StoreError> {
    let rows = sqlx::query(
        "SELECT release, effective, at, person, operator, note, withdrawn_by, withdrawn
         FROM scheduled_releases ORDER BY effective, release",
    )
    .fetch_all(readers)
    .await
    .map_err(failed)?;
    rows.iter().map(one).collect()
}

fn one(row: &SqliteRow) -> Result<ScheduledRelease, StoreError> {
    let instant = |column: usize| {
        let at: i64 = row.try_get(column).map_err(failed)?;
        unsigned(at).map(Timestamp)
    };
    let by: Option<String> = row.try_get(6).map_err(failed)?;
    let withdrawn = by.map(|by| {
        Ok::<_, StoreError>(Act {
            by,
            at: instant(7)?,
        })
    });
    Ok(ScheduledRelease {
        release: unsigned(row.try_get(0).map_err(failed)?)?,
        from: instant(1)?,
        at: instant(2)?,
        person: row.try_get(3).map_err(failed)?,
        operator: row.try_get(4).map_err(failed)?,
        note: row.try_get(5).map_err(failed)?,
        withdrawn: withdrawn.transpose()?,
    })
}
