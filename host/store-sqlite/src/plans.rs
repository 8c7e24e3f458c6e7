//! Plans of releases and the officers' approvals, kept permanently.

use rialto_engine::Timestamp;
use rialto_engine::store::StoreError;
use rialto_store::{PlanSignature, PlanStore, StoredPlan};
use sqlx::sqlite::SqliteRow;
use sqlx::{Row as _, SqlitePool};

use crate::rows::unsigned;
use crate::slices::Bound;
use crate::{SqliteStore, failed};

impl PlanStore for SqliteStore {
    fn add_plan(&self, plan: &StoredPlan) -> Result<(), StoreError> {
        let mut bound = Bound::default();
        bound.add(plan.digest.clone())?;
        bound.add(plan.content.clone())?;
        bound.add(plan.maker.clone())?;
        bound.number(plan.made.0)?;
        self.change(
            "INSERT OR IGNORE INTO plans (digest, content, maker, made) VALUES (?, ?, ?, ?)",
            bound,
        )
        .map(|_| ())
    }

    fn plan_applied(&self, digest: &str, release: Option<u64>) -> Result<(), StoreError> {
        let mut bound = Bound::default();
        let release = release.map(i64::try_from);
        bound.add(release.transpose().unwrap_or(Some(i64::MAX)))?;
        bound.add(digest.to_owned())?;
        self.change("UPDATE plans SET release = ? WHERE digest = ?", bound)
            .map(|_| ())
    }

    fn sign_plan(&self, signature: &PlanSignature) -> Result<(), StoreError> {
        let mut bound = Bound::default();
        bound.add(signature.plan.clone())?;
        bound.add(signature.officer.clone())?;
        bound.add(signature.kind.clone())?;
        bound.add(signature.signature.clone())?;
        bound.number(signature.at.0)?;
        self.change(
            "INSERT OR REPLACE INTO plan_signatures (plan, officer, kind, signature, at) VALUES (?, ?, ?, ?, ?)",
            bound,
        )
        .map(|_| ())
    }

    fn plan(&self, digest: &str) -> Result<Option<StoredPlan>, StoreError> {
        let inner = &self.inner;
        inner.runtime.block_on(plan(&inner.readers, digest))
    }

    fn plan_digests(&self, most: u32) -> Result<Vec<String>, StoreError> {
        let inner = &self.inner;
        inner.runtime.block_on(digests(&inner.readers, most))
    }

    fn plan_signatures(&self, plan: &str) -> Result<Vec<PlanSignature>, StoreError> {
        let inner = &self.inner;
        inner.runtime.block_on(signatures(&inner.readers, plan))
    }
}

async fn plan(readers: &SqlitePool, digest: &str) -> Result<Option<StoredPlan>, StoreError> {
    let row =
        sqlx::query("SELECT digest, content, maker, made, release FROM plans WHERE digest = ?")
            .bind(digest)
            .fetch_optional(readers)
            .await
            .map_err(failed)?;
    row.as_ref().map(read).transpose()
}

async fn digests(readers: &SqlitePool, most: u32) -> Result<Vec<String>, StoreError> {
    sqlx::query_scalar("SELECT digest FROM plans ORDER BY made DESC, digest LIMIT ?")
        .bind(most)
        .fetch_all(readers)
        .await
        .map_err(failed)
}

fn read(row: &SqliteRow) -> Result<StoredPlan, StoreError> {
    let release: Option<i64> = row.try_get(4).map_err(failed)?;
    Ok(StoredPlan {
        digest: row.try_get(0).map_err(failed)?,
        content: row.try_get(1).map_err(failed)?,
        maker: row.try_get(2).map_err(failed)?,
        made: Timestamp(unsigned(row.try_get(3).map_err(failed)?)?),
        release: release.map(unsigned).transpose()?,
    })
}

async fn signatures(readers: &SqlitePool, plan: &str) -> Result<Vec<PlanSignature>, StoreError> {
    let rows = sqlx::query(
        "SELECT plan, officer, kind, signature, at FROM plan_signatures WHERE plan = ? ORDER BY officer",
    )
    .bind(plan)
    .fetch_all(readers)
    .await
    .map_err(failed)?;
    let read = |row: &SqliteRow| {
        Ok(PlanSignature {
            plan: row.try_get(0).map_err(failed)?,
            officer: row.try_get(1).map_err(failed)?,
            kind: row.try_get(2).map_err(failed)?,
            signature: row.try_get(3).map_err(failed)?,
            at: Timestamp(unsigned(row.try_get(4).map_err(failed)?)?),
        })
    };
    rows.iter().map(read).collect()
}
