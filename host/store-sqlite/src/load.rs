//! Loads a new store from another one, and keeps hosts out of a store that is read.

use std::sync::atomic::Ordering;

use rialto_engine::Timestamp;
use rialto_engine::store::StoreError;
use rialto_store::{
    Act, MOVED, NextNumbers, Redelivered, StoreLoad, StoredActivation, StoredCheckpoint,
    StoredSuspension, StoredTile, UNFINISHED_LOAD,
};
use sqlx::SqliteConnection;

use crate::slices::Bound;
use crate::{SqliteStore, failed};

/// The mark of an unfinished load in `meta`.
const MARK: &str = "loading";
/// The mark of a store whose place another one has, in `meta`.
const MOVED_MARK: &str = "moved";

impl SqliteStore {
    /// Take the store over as a start does, and flush its journal into the tables. It counts no redelivery, so the contents
    /// stay the same. The folder's lock keeps hosts out while the store is open.
    ///
    /// # Errors
    /// When the store cannot be read or written, or was not wholly loaded.
    pub fn hold(&self) -> Result<(), StoreError> {
        self.inner.take_over()
    }
}

/// Refuse a store that was not wholly loaded.
pub(crate) async fn refuse_unfinished(connection: &mut SqliteConnection) -> Result<(), StoreError> {
    refuse_marked(connection, MARK, UNFINISHED_LOAD).await
}

/// Refuse a store whose place another one has.
pub(crate) async fn refuse_moved(connection: &mut SqliteConnection) -> Result<(), StoreError> {
    refuse_marked(connection, MOVED_MARK, MOVED).await
}

async fn refuse_marked(
    connection: &mut SqliteConnection,
    mark: &str,
    why: &str,
) -> Result<(), StoreError> {
    let mark: Option<i64> = sqlx::query_scalar("SELECT value FROM meta WHERE key = ?")
        .bind(mark)
        .fetch_optional(connection)
        .await
        .map_err(failed)?;
    match mark {
        Some(_) => Err(StoreError::Failed(why.to_owned())),
        None => Ok(()),
    }
}

impl StoreLoad for SqliteStore {
    fn begin_load(&self, store: u64) -> Result<(), StoreError> {
        let mut mark = Bound::default();
        mark.add(MARK)?;
        let mut slices = self.slices();
        slices.statement("INSERT INTO meta (key, value) VALUES (?, 1)", mark, 0)?;
        slices.set("store", store)?;
        slices.finish()
    }

    fn continue_from(&self, next: NextNumbers) -> Result<(), StoreError> {
        // A flush takes numbers in a row.
        self.flush()?;
        let mut slices = self.slices();
        slices.set("audit", next.audit)?;
        slices.set("publications", next.publication.saturating_sub(1))?;
        slices.finish()?;
        let inner = &*self.inner;
        inner.audit_next.store(next.audit, Ordering::Release);
        let publication = next.publication.max(1);
        inner.publication_next.store(publication, Ordering::Release);
        Ok(())
    }

    fn load_redelivered(&self, counts: &Redelivered) -> Result<(), StoreError> {
        // A flush sets the counts of new rows to 0.
        self.flush()?;
        let mut slices = self.slices();
        for (id, starts) in &counts.deliveries {
            let mut bound = Bound::default();
            bound.add(*starts)?;
            bound.number(*id)?;
            slices.statement("UPDATE deliveries SET starts = ? WHERE id = ?", bound, 1)?;
        }
        for (component, id, starts) in &counts.reminders {
            let mut bound = Bound::default();
            bound.add(*starts)?;
            bound.add(component.clone())?;
            bound.add(id.clone())?;
            let text = "UPDATE reminders SET starts = ? WHERE component = ? AND id = ?";
            slices.statement(text, bound, 1)?;
        }
        slices.finish()
    }

    fn load_activations(&self, all: &[StoredActivation]) -> Result<(), StoreError> {
        let mut slices = self.slices();
        for one in all {
            let mut bound = Bound::default();
            bound.number(one.release)?;
            bound.number(one.before)?;
            bound.add(instant(one.at))?;
            bound.add(one.person.clone())?;
            bound.add(one.operator.clone())?;
            bound.add(one.note.clone())?;
            bound.add(one.done)?;
            slices.statement(
                "INSERT INTO activations (release, before, at, person, operator, note, done)
                 VALUES (?, ?, ?, ?, ?, ?, ?)",
                bound,
                1,
            )?;
        }
        slices.finish()
    }

    fn load_suspensions(&self, all: &[StoredSuspension]) -> Result<(), StoreError> {
        let mut slices = self.slices();
        for one in all {
            let mut bound = Bound::default();
            bound.number(one.id)?;
            bound.add(one.rule.clone())?;
            bound.add(one.person.clone())?;
            bound.add(one.note.clone())?;
            bound.add(instant(one.at))?;
            bound.add(instant(one.until))?;
            for act in [&one.confirmed, &one.ended] {
                add_act(&mut bound, act.as_ref())?;
            }
            slices.statement(
                "INSERT INTO suspensions
                    (id, rule, person, note, at, until, confirmed_by, confirmed, ended_by, ended)
                 VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                bound,
                1,
            )?;
        }
        slices.finish()
    }

    fn load_tiles(&self, tiles: &[StoredTile]) -> Result<(), StoreError> {
        let mut slices = self.slices();
        let head = "INSERT OR REPLACE INTO audit_tiles (level, place, hashes) VALUES";
        slices.rows(head, "(?,?,?)", "", tiles, |b, tile| {
            b.add(tile.level)?;
            b.number(tile.index)?;
            b.add(tile.hashes.clone())
        })?;
        slices.finish()
    }

    fn load_checkpoints(&self, all: &[StoredCheckpoint]) -> Result<(), StoreError> {
        let mut slices = self.slices();
        let head = "INSERT OR REPLACE INTO audit_checkpoints (size, at, note) VALUES";
        slices.rows(head, "(?,?,?)", "", all, |b, checkpoint| {
            b.number(checkpoint.size)?;
            b.number(checkpoint.at.0)?;
            b.add(checkpoint.note.clone())
        })?;
        slices.finish()
    }

    fn flush(&self) -> Result<(), StoreError> {
        self.inner.flush_all()
    }

    fn end_load(&self) -> Result<(), StoreError> {
        self.flush()?;
        let mut mark = Bound::default();
        mark.add(MARK)?;
        let rows = self.change("DELETE FROM meta WHERE key = ?", mark)?;
        assert!(
            rows == 1,
            "the mark of an unfinished load was in {rows} rows"
        );
        Ok(())
    }

    fn mark_moved(&self) -> Result<(), StoreError> {
        let mut mark = Bound::default();
        mark.add(MOVED_MARK)?;
        let insert = "INSERT INTO meta (key, value) VALUES (?, 1) ON CONFLICT DO NOTHING";
        self.change(insert, mark).map(drop)
    }

    fn take_back(&self) -> Result<bool, StoreError> {
        let mut mark = Bound::default();
        mark.add(MOVED_MARK)?;
        let rows = self.change("DELETE FROM meta WHERE key = ?", mark)?;
        Ok(rows > 0)
    }
}

fn instant(at: Timestamp) -> i64 {
    i64::try_from(at.0).unwrap_or(i64::MAX)
}

/// Who has done something and when, in two columns.
fn add_act(bound: &mut Bound, act: Option<&Act>) -> Result<(), StoreError> {
    bound.add(act.map(|act| act.by.clone()))?;
    bound.add(act.map(|act| instant(act.at)))
}
