//! Releases that come into force at an instant, kept permanently: which, when, who wanted it, and who has withdrawn it.

use rialto_engine::Timestamp;
use rialto_engine::store::StoreError;
use sqlx::sqlite::SqliteRow;
use sqlx::{Row as _, SqlitePool};

use crate::passkeys::Act;
use crate::rows::unsigned;
use crate::slices::Bound;
use crate::{SqliteStore, failed};

/// A release that comes into force at an instant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScheduledRelease {
    /// The release.
    pub release: u64,
    /// The instant from which on turns run on it.
    pub from: Timestamp,
    /// When it was scheduled.
    pub at: Timestamp,
    /// The person who wanted it.
    pub person: String,
    /// The operator whose token was used; empty for an action without a token.
    pub operator: String,
    /// Why.
    pub note: String,
    /// Who has withdrawn it.
    pub withdrawn: Option<Act>,
}

impl SqliteStore {
    /// Keep that releases come into force: all of them, or none.
    ///
    /// # Errors
    /// When the store cannot write or belongs to a newer host.
    pub fn schedule_releases(&self, all: &[ScheduledRelease]) -> Result<(), StoreError> {
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

    /// Keep who has withdrawn the scheduled releases from a number on.
    ///
    /// # Errors
    /// When the store cannot write or belongs to a newer host.
    pub fn withdraw_scheduled(&self, from: u64, act: &Act) -> Result<(), StoreError> {
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

    /// The releases that were scheduled, the earliest instant first. Those that are or were current are among them.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn scheduled_releases(&self) -> Result<Vec<ScheduledRelease>, StoreError> {
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
