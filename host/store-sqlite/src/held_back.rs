//! Canaries that were held back, kept permanently, and the secret by which requests are chosen for canaries.

use rialto_engine::Timestamp;
use rialto_engine::store::StoreError;
use rialto_store::{CanaryStore, HeldBack};
use sqlx::{Row as _, SqlitePool};

use crate::rows::unsigned;
use crate::slices::Bound;
use crate::{SqliteStore, failed, unreadable};

/// What the secret is for.
pub(crate) const CANARIES: &str = "canaries";

impl CanaryStore for SqliteStore {
    fn hold_back(&self, held: &HeldBack) -> Result<(), StoreError> {
        let mut bound = Bound::default();
        bound.add(held.component.clone())?;
        bound.add(held.settings.clone())?;
        bound.number(held.at.0)?;
        bound.add(held.why.clone())?;
        self.change(
            "INSERT OR IGNORE INTO held_back (component, settings, at, why) VALUES (?, ?, ?, ?)",
            bound,
        )
        .map(|_| ())
    }

    fn held_back(&self) -> Result<Vec<HeldBack>, StoreError> {
        let inner = &self.inner;
        inner.runtime.block_on(held_back(&inner.readers))
    }

    fn canary_secret(&self, made: [u8; 32]) -> Result<[u8; 32], StoreError> {
        let mut bound = Bound::default();
        bound.add(CANARIES.to_owned())?;
        bound.add(made.to_vec())?;
        self.change(
            "INSERT OR IGNORE INTO secrets (name, bytes) VALUES (?, ?)",
            bound,
        )?;
        let inner = &self.inner;
        let kept = inner.runtime.block_on(secret(&inner.readers, CANARIES))?;
        kept.try_into()
            .map_err(|_| unreadable("a secret", "its bytes"))
    }
}

async fn held_back(readers: &SqlitePool) -> Result<Vec<HeldBack>, StoreError> {
    let rows = sqlx::query("SELECT component, settings, at, why FROM held_back ORDER BY at")
        .fetch_all(readers)
        .await
        .map_err(failed)?;
    let read = |row: &sqlx::sqlite::SqliteRow| {
        Ok(HeldBack {
            component: row.try_get(0).map_err(failed)?,
            settings: row.try_get(1).map_err(failed)?,
            at: Timestamp(unsigned(row.try_get(2).map_err(failed)?)?),
            why: row.try_get(3).map_err(failed)?,
        })
    };
    rows.iter().map(read).collect()
}

async fn secret(readers: &SqlitePool, name: &str) -> Result<Vec<u8>, StoreError> {
    sqlx::query_scalar("SELECT bytes FROM secrets WHERE name = ?")
        .bind(name)
        .fetch_one(readers)
        .await
        .map_err(failed)
}
