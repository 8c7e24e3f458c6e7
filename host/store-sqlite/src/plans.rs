//! Plans of releases and the officers' approvals, kept permanently.

use rialto_engine::Timestamp;
use rialto_engine::store::StoreError;
use sqlx::sqlite::SqliteRow;
use sqlx::{Row as _, SqlitePool};

use crate::rows::unsigned;
use crate::slices::Bound;
use crate::{SqliteStore, failed};

/// A plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredPlan {
    /// SHA-256 of the content.
    pub digest: String,
    /// The plan's text.
    pub content: String,
    /// The person who made it.
    pub maker: String,
    /// When it was made.
    pub made: Timestamp,
    /// The release that it became, if it was applied.
    pub release: Option<u64>,
}

/// An officer's approval of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanSignature {
    /// The plan's digest.
    pub plan: String,
    /// The officer's name.
    pub officer: String,
    /// The signature's algorithm, or `passkey`.
    pub kind: String,
    /// The signature, base64url; empty for a passkey.
    pub signature: String,
    /// When the host took it.
    pub at: Timestamp,
}

impl SqliteStore {
    /// Keep a plan. One that is there stays as it is.
    ///
    /// # Errors
    /// When the store cannot write or belongs to a newer host.
    pub fn add_plan(&self, plan: &StoredPlan) -> Result<(), StoreError> {
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

    /// Keep that a plan became a release, or that it did not.
    ///
    /// # Errors
    /// When the store cannot write or belongs to a newer host.
    pub fn plan_applied(&self, digest: &str, release: Option<u64>) -> Result<(), StoreError> {
        let mut bound = Bound::default();
        let release = release.map(i64::try_from);
        bound.add(release.transpose().unwrap_or(Some(i64::MAX)))?;
        bound.add(digest.to_owned())?;
        self.change("UPDATE plans SET release = ? WHERE digest = ?", bound)
            .map(|_| ())
    }

    /// Keep an officer's approval of a plan, instead of an earlier one of the same officer.
    ///
    /// # Errors
    /// When the store cannot write or belongs to a newer host.
    pub fn sign_plan(&self, signature: &PlanSignature) -> Result<(), StoreError> {
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

    /// A plan, if there is one of this digest.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn plan(&self, digest: &str) -> Result<Option<StoredPlan>, StoreError> {
        let inner = &self.inner;
        inner.runtime.block_on(plan(&inner.readers, digest))
    }

    /// The digests of the last plans, the newest first, at most this many.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn plan_digests(&self, most: u32) -> Result<Vec<String>, StoreError> {
        let inner = &self.inner;
        inner.runtime.block_on(digests(&inner.readers, most))
    }

    /// The approvals of a plan, in the order of the officers' names.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn plan_signatures(&self, plan: &str) -> Result<Vec<PlanSignature>, StoreError> {
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
