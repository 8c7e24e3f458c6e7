//! What people decide about releases and rules: plans and their approvals, suspensions, and canaries that were held back.

use rialto_engine::Timestamp;
use rialto_engine::store::StoreError;
use rialto_store::{
    Act, CanaryStore, HeldBack, PlanSignature, PlanStore, StoredPlan, StoredSuspension,
    SuspensionStore,
};
use sqlx::postgres::PgRow;

use crate::PostgresStore;
use crate::failures::unreadable;
use crate::rows::{Columns, signed};
use crate::text::owned;

impl PlanStore for PostgresStore {
    fn add_plan(&self, plan: &StoredPlan) -> Result<(), StoreError> {
        let made = signed(plan.made.0)?;
        self.execute(
            "INSERT INTO rialto.plans (partition, digest, content, maker, made) VALUES ($1, $2, $3, $4, $5)
             ON CONFLICT DO NOTHING",
            |query| {
                query
                    .bind(owned(&plan.digest))
                    .bind(owned(&plan.content))
                    .bind(owned(&plan.maker))
                    .bind(made)
            },
        )
        .map(drop)
    }

    fn plan_applied(&self, digest: &str, release: Option<u64>) -> Result<(), StoreError> {
        let release = release.map(signed).transpose()?;
        self.execute(
            "UPDATE rialto.plans SET release = $3 WHERE partition = $1 AND digest = $2",
            |query| query.bind(owned(digest)).bind(release),
        )
        .map(drop)
    }

    fn sign_plan(&self, signature: &PlanSignature) -> Result<(), StoreError> {
        let at = signed(signature.at.0)?;
        self.execute(
            "INSERT INTO rialto.plan_signatures (partition, plan, officer, kind, signature, at)
             VALUES ($1, $2, $3, $4, $5, $6)
             ON CONFLICT (partition, plan, officer) DO UPDATE
             SET kind = excluded.kind, signature = excluded.signature, at = excluded.at",
            |query| {
                query
                    .bind(owned(&signature.plan))
                    .bind(owned(&signature.officer))
                    .bind(owned(&signature.kind))
                    .bind(owned(&signature.signature))
                    .bind(at)
            },
        )
        .map(drop)
    }

    fn plan(&self, digest: &str) -> Result<Option<StoredPlan>, StoreError> {
        let rows = self.all(
            "SELECT digest, content, maker, made, release FROM rialto.plans WHERE partition = $1 AND digest = $2",
            |query| query.bind(owned(digest)),
        )?;
        let plan = |row: &PgRow| {
            let row = Columns(row);
            Ok(StoredPlan {
                digest: row.original(0)?,
                content: row.original(1)?,
                maker: row.original(2)?,
                made: row.instant(3)?,
                release: row.some_number(4)?,
            })
        };
        rows.first().map(plan).transpose()
    }

    fn plan_digests(&self, most: u32) -> Result<Vec<String>, StoreError> {
        let rows = self.all(
            "SELECT digest FROM rialto.plans WHERE partition = $1 ORDER BY made DESC, digest LIMIT $2",
            |query| query.bind(i64::from(most)),
        )?;
        rows.iter().map(|row| Columns(row).original(0)).collect()
    }

    fn plan_signatures(&self, plan: &str) -> Result<Vec<PlanSignature>, StoreError> {
        let rows = self.all(
            "SELECT plan, officer, kind, signature, at FROM rialto.plan_signatures
             WHERE partition = $1 AND plan = $2 ORDER BY officer",
            |query| query.bind(owned(plan)),
        )?;
        let signature = |row: &PgRow| {
            let row = Columns(row);
            Ok(PlanSignature {
                plan: row.original(0)?,
                officer: row.original(1)?,
                kind: row.original(2)?,
                signature: row.original(3)?,
                at: row.instant(4)?,
            })
        };
        rows.iter().map(signature).collect()
    }
}

impl SuspensionStore for PostgresStore {
    fn add_suspension(&self, suspension: &StoredSuspension) -> Result<(), StoreError> {
        let (at, until) = (signed(suspension.at.0)?, signed(suspension.until.0)?);
        self.execute(
            "INSERT INTO rialto.suspensions (partition, rule, person, note, at, until)
             VALUES ($1, $2, $3, $4, $5, $6)",
            |query| {
                query
                    .bind(owned(&suspension.rule))
                    .bind(owned(&suspension.person))
                    .bind(owned(&suspension.note))
                    .bind(at)
                    .bind(until)
            },
        )
        .map(drop)
    }

    fn confirm_suspension(&self, id: u64, act: &Act) -> Result<(), StoreError> {
        let (id, at) = (signed(id)?, signed(act.at.0)?);
        self.execute(
            "UPDATE rialto.suspensions SET confirmed_by = $3, confirmed = $4 WHERE partition = $1 AND id = $2",
            |query| query.bind(id).bind(owned(&act.by)).bind(at),
        )
        .map(drop)
    }

    fn end_suspension(&self, id: u64, act: &Act) -> Result<(), StoreError> {
        let (id, at) = (signed(id)?, signed(act.at.0)?);
        self.execute(
            "UPDATE rialto.suspensions SET ended_by = $3, ended = $4 WHERE partition = $1 AND id = $2",
            |query| query.bind(id).bind(owned(&act.by)).bind(at),
        )
        .map(drop)
    }

    fn suspensions(&self, now: Timestamp, most: u32) -> Result<Vec<StoredSuspension>, StoreError> {
        let now = i64::try_from(now.0).unwrap_or(i64::MAX);
        let rows = self.all(
            "(SELECT id, rule, person, note, at, until, confirmed_by, confirmed, ended_by, ended
              FROM rialto.suspensions
              WHERE partition = $1 AND ended IS NULL AND (confirmed IS NOT NULL OR until > $2)
              ORDER BY id DESC)
             UNION ALL
             (SELECT id, rule, person, note, at, until, confirmed_by, confirmed, ended_by, ended
              FROM rialto.suspensions
              WHERE partition = $1 AND (ended IS NOT NULL OR (confirmed IS NULL AND until <= $2))
              ORDER BY id DESC LIMIT $3)",
            |query| query.bind(now).bind(i64::from(most)),
        )?;
        let suspension = |row: &PgRow| {
            let row = Columns(row);
            Ok(StoredSuspension {
                id: row.number(0)?,
                rule: row.original(1)?,
                person: row.original(2)?,
                note: row.original(3)?,
                at: row.instant(4)?,
                until: row.instant(5)?,
                confirmed: row.act(6)?,
                ended: row.act(8)?,
            })
        };
        rows.iter().map(suspension).collect()
    }
}

impl CanaryStore for PostgresStore {
    fn hold_back(&self, held: &HeldBack) -> Result<(), StoreError> {
        let at = signed(held.at.0)?;
        self.execute(
            "INSERT INTO rialto.held_back (partition, component, settings, at, why) VALUES ($1, $2, $3, $4, $5)
             ON CONFLICT DO NOTHING",
            |query| {
                query
                    .bind(owned(&held.component))
                    .bind(owned(&held.settings))
                    .bind(at)
                    .bind(owned(&held.why))
            },
        )
        .map(drop)
    }

    fn held_back(&self) -> Result<Vec<HeldBack>, StoreError> {
        let rows = self.all(
            "SELECT component, settings, at, why FROM rialto.held_back WHERE partition = $1 ORDER BY at",
            |query| query,
        )?;
        let held = |row: &PgRow| {
            let row = Columns(row);
            Ok(HeldBack {
                component: row.original(0)?,
                settings: row.original(1)?,
                at: row.instant(2)?,
                why: row.original(3)?,
            })
        };
        rows.iter().map(held).collect()
    }

    fn canary_secret(&self, made: [u8; 32]) -> Result<[u8; 32], StoreError> {
        self.execute(
            "INSERT INTO rialto.secrets (partition, name, bytes) VALUES ($1, 'canaries', $2)
             ON CONFLICT DO NOTHING",
            |query| query.bind(made.to_vec()),
        )?;
        let rows = self.all(
            "SELECT bytes FROM rialto.secrets WHERE partition = $1 AND name = 'canaries'",
            |query| query,
        )?;
        let missing = || unreadable("a secret", "its bytes");
        let row = rows.first().ok_or_else(missing)?;
        Columns(row).bytes(0)?.try_into().map_err(|_| missing())
    }
}
