//! Activations of releases, kept permanently: which release was to become current instead of which, who
//! wanted it, why, and whether it became current.

use std::sync::atomic::Ordering;

use rialto_engine::Timestamp;
use rialto_engine::store::StoreError;
use rialto_store::{ActivationStore, StoredActivation};
use sqlx::{Row, SqlitePool};

use crate::rows::unsigned;
use crate::slices::{Bound, Slices};
use crate::{SqliteStore, failed};

impl ActivationStore for SqliteStore {
    fn begin_activation(&self, begun: &StoredActivation) -> Result<(), StoreError> {
        let mut bound = Bound::default();
        bound.number(begun.release)?;
        bound.add(i64::try_from(begun.at.0).unwrap_or(i64::MAX))?;
        bound.add(begun.person.clone())?;
        bound.add(begun.operator.clone())?;
        bound.add(begun.note.clone())?;
        let mut slices = self.slices();
        // One transaction: the first statement does not end it.
        let rows = slices.statement(
            "INSERT INTO activations (release, before, at, person, operator, note)
             VALUES (?, (SELECT value FROM meta WHERE key = 'release'), ?, ?, ?, ?)",
            bound,
            0,
        )?;
        assert!(rows == 1, "an activation is kept in {rows} rows");
        let mut bound = Bound::default();
        bound.number(begun.release)?;
        let rows = slices.statement(
            "INSERT OR REPLACE INTO meta (key, value) VALUES ('activating', ?)",
            bound,
            1,
        )?;
        assert!(
            rows == 1,
            "the mark of an activation is kept in {rows} rows"
        );
        slices.finish()
    }

    fn set_current_release(&self, number: u64) -> Result<(), StoreError> {
        let mut slices = self.slices();
        let mut bound = Bound::default();
        bound.number(number)?;
        bound.number(number)?;
        // One transaction. A host of an older version may have begun this without an activation.
        slices.statement(
            "UPDATE activations SET done = 1
             WHERE id = (SELECT max(id) FROM activations WHERE release = ?)
               AND ? = (SELECT value FROM meta WHERE key = 'activating')",
            bound,
            0,
        )?;
        let mut bound = Bound::default();
        bound.number(number)?;
        let rows = slices.statement(
            "UPDATE meta SET value = CASE key WHEN 'release' THEN ? ELSE 0 END
             WHERE key IN ('release', 'activating')",
            bound,
            1,
        )?;
        // The first activation of a store changes one row less.
        assert!(
            (1..=2).contains(&rows),
            "release {number} is made current in {rows} rows"
        );
        slices.finish()
    }

    fn activations(&self) -> Result<Vec<StoredActivation>, StoreError> {
        let inner = &self.inner;
        inner.runtime.block_on(activations(&inner.readers))
    }
}

impl SqliteStore {
    /// The writer's connection, with this host's token.
    pub(crate) fn slices(&self) -> Slices<'_> {
        let inner = &self.inner;
        let fence = inner.fence.load(Ordering::Acquire);
        Slices::new(&inner.runtime, &inner.writer, fence)
    }
}

async fn activations(readers: &SqlitePool) -> Result<Vec<StoredActivation>, StoreError> {
    let rows = sqlx::query(
        "SELECT release, before, at, person, operator, note, done FROM activations ORDER BY id",
    )
    .fetch_all(readers)
    .await
    .map_err(failed)?;
    rows.iter()
        .map(|row| {
            let done: i64 = row.try_get(6).map_err(failed)?;
            Ok(StoredActivation {
                release: unsigned(row.try_get(0).map_err(failed)?)?,
                before: unsigned(row.try_get(1).map_err(failed)?)?,
                at: Timestamp(unsigned(row.try_get(2).map_err(failed)?)?),
                person: row.try_get(3).map_err(failed)?,
                operator: row.try_get(4).map_err(failed)?,
                note: row.try_get(5).map_err(failed)?,
                done: done != 0,
            })
        })
        .collect()
}
