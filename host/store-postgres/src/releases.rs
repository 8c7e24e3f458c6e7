//! Releases, their components, their activations, and when they come into force.

use rialto_engine::store::StoreError;
use rialto_store::{
    Act, ActivationStore, ReleaseStore, ScheduleStore, ScheduledRelease, StoredActivation,
    StoredRelease,
};
use sqlx::postgres::PgRow;

use crate::PostgresStore;
use crate::rows::{Columns, signed};
use crate::text::owned;

/// Sets a counter.
pub(crate) const SET_COUNTER: &str =
    "INSERT INTO rialto.counters (partition, name, value) VALUES ($1, $2, $3)
     ON CONFLICT (partition, name) DO UPDATE SET value = excluded.value";

impl ReleaseStore for PostgresStore {
    fn releases(&self) -> Result<Vec<StoredRelease>, StoreError> {
        let rows = self.all(
            "SELECT number, digest, document, created_at, note, maker, approver, waits_on
             FROM rialto.releases WHERE partition = $1 ORDER BY number",
            |query| query,
        )?;
        rows.iter().map(release).collect()
    }

    fn release(&self, number: u64) -> Result<Option<StoredRelease>, StoreError> {
        let number = signed(number)?;
        let rows = self.all(
            "SELECT number, digest, document, created_at, note, maker, approver, waits_on
             FROM rialto.releases WHERE partition = $1 AND number = $2",
            |query| query.bind(number),
        )?;
        rows.first().map(release).transpose()
    }

    fn releases_once_current(&self) -> Result<Vec<u64>, StoreError> {
        let rows = self.all(
            "SELECT number FROM rialto.releases WHERE partition = $1 AND was_current ORDER BY number",
            |query| query,
        )?;
        rows.iter().map(|row| Columns(row).number(0)).collect()
    }

    fn current_release(&self) -> Result<u64, StoreError> {
        self.counter("release")
    }

    fn activating_release(&self) -> Result<u64, StoreError> {
        self.counter("activating")
    }

    fn component(&self, digest: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let rows = self.all(
            "SELECT bytes FROM rialto.components WHERE partition = $1 AND digest = $2",
            |query| query.bind(owned(digest)),
        )?;
        let bytes = |row: &PgRow| Ok(Columns(row).bytes(0)?.to_vec());
        rows.first().map(bytes).transpose()
    }

    fn add_component(&self, digest: &str, bytes: &[u8]) -> Result<(), StoreError> {
        let known = self.all(
            "SELECT 1 FROM rialto.components WHERE partition = $1 AND digest = $2",
            |query| query.bind(owned(digest)),
        )?;
        if !known.is_empty() {
            return Ok(());
        }
        self.execute(
            "INSERT INTO rialto.components (partition, digest, bytes) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
            |query| query.bind(owned(digest)).bind(bytes.to_vec()),
        )
        .map(drop)
    }

    fn add_release(&self, release: &StoredRelease) -> Result<(), StoreError> {
        let number = signed(release.number)?;
        let created_at = signed(release.created_at.0)?;
        let waits_on = release.waits_on.map(signed).transpose()?;
        self.execute(
            "INSERT INTO rialto.releases
                (partition, number, digest, document, created_at, note, maker, approver, waits_on)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
            |query| {
                query
                    .bind(number)
                    .bind(owned(&release.digest))
                    .bind(owned(&release.document))
                    .bind(created_at)
                    .bind(owned(&release.note))
                    .bind(owned(&release.maker))
                    .bind(release.approver.as_deref().map(owned))
                    .bind(waits_on)
            },
        )
        .map(drop)
    }

    fn approve_release(&self, number: u64, approver: &str) -> Result<(), StoreError> {
        let number = signed(number)?;
        self.execute(
            "UPDATE rialto.releases SET approver = $3, waits_on = NULL
             WHERE partition = $1 AND number = $2 AND waits_on IS NOT NULL",
            |query| query.bind(number).bind(owned(approver)),
        )
        .map(drop)
    }

    fn set_activating_release(&self, number: u64) -> Result<(), StoreError> {
        self.set_counter("activating", number)
    }
}

impl ActivationStore for PostgresStore {
    fn begin_activation(&self, begun: &StoredActivation) -> Result<(), StoreError> {
        let partition = self.settings.partition();
        let (release, at) = (signed(begun.release)?, signed(begun.at.0)?);
        self.change(async |connection| {
            sqlx::query(
                "INSERT INTO rialto.activations (partition, release, before, at, person, operator, note)
                 VALUES ($1, $2, coalesce(
                     (SELECT value FROM rialto.counters WHERE partition = $1 AND name = 'release'), 0),
                     $3, $4, $5, $6)",
            )
            .bind(partition)
            .bind(release)
            .bind(at)
            .bind(owned(&begun.person))
            .bind(owned(&begun.operator))
            .bind(owned(&begun.note))
            .execute(&mut *connection)
            .await?;
            let mark = sqlx::query(SET_COUNTER).bind(partition).bind("activating");
            mark.bind(release).execute(connection).await.map(drop)
        })
    }

    fn set_current_release(&self, number: u64) -> Result<(), StoreError> {
        let (partition, number) = (self.settings.partition(), signed(number)?);
        self.change(async |connection| {
            for text in [
                "UPDATE rialto.activations SET done = true
                 WHERE partition = $1
                   AND id = (SELECT max(id) FROM rialto.activations WHERE partition = $1 AND release = $2)
                   AND $2 = (SELECT value FROM rialto.counters WHERE partition = $1 AND name = 'activating')",
                "UPDATE rialto.releases SET was_current = true WHERE partition = $1 AND number = $2",
            ] {
                let query = sqlx::query(text).bind(partition).bind(number);
                query.execute(&mut *connection).await?;
            }
            for (name, value) in [("release", number), ("activating", 0)] {
                let query = sqlx::query(SET_COUNTER).bind(partition);
                query.bind(name).bind(value).execute(&mut *connection).await?;
            }
            Ok(())
        })
    }

    fn activations(&self) -> Result<Vec<StoredActivation>, StoreError> {
        let rows = self.all(
            "SELECT release, before, at, person, operator, note, done
             FROM rialto.activations WHERE partition = $1 ORDER BY id",
            |query| query,
        )?;
        let activation = |row: &PgRow| {
            let row = Columns(row);
            Ok(StoredActivation {
                release: row.number(0)?,
                before: row.number(1)?,
                at: row.instant(2)?,
                person: row.original(3)?,
                operator: row.original(4)?,
                note: row.original(5)?,
                done: row.is(6)?,
            })
        };
        rows.iter().map(activation).collect()
    }
}

impl ScheduleStore for PostgresStore {
    fn schedule_releases(&self, all: &[ScheduledRelease]) -> Result<(), StoreError> {
        let partition = self.settings.partition();
        let numbers = all
            .iter()
            .map(|one| Ok((signed(one.release)?, signed(one.from.0)?, signed(one.at.0)?)))
            .collect::<Result<Vec<_>, StoreError>>()?;
        self.change(async |connection| {
            for (one, (release, from, at)) in all.iter().zip(numbers) {
                sqlx::query(
                    "INSERT INTO rialto.scheduled_releases
                        (partition, release, effective, at, person, operator, note)
                     VALUES ($1, $2, $3, $4, $5, $6, $7)",
                )
                .bind(partition)
                .bind(release)
                .bind(from)
                .bind(at)
                .bind(owned(&one.person))
                .bind(owned(&one.operator))
                .bind(owned(&one.note))
                .execute(&mut *connection)
                .await?;
            }
            Ok(())
        })
    }

    fn withdraw_scheduled(&self, from: u64, act: &Act) -> Result<(), StoreError> {
        let (from, at) = (signed(from)?, signed(act.at.0)?);
        self.execute(
            "UPDATE rialto.scheduled_releases s SET withdrawn_by = $3, withdrawn = $4
             WHERE s.partition = $1 AND s.release >= $2 AND s.withdrawn IS NULL
               AND NOT EXISTS (SELECT 1 FROM rialto.releases r
                   WHERE r.partition = s.partition AND r.number = s.release AND r.was_current)",
            |query| query.bind(from).bind(owned(&act.by)).bind(at),
        )
        .map(drop)
    }

    fn scheduled_releases(&self) -> Result<Vec<ScheduledRelease>, StoreError> {
        let rows = self.all(
            "SELECT release, effective, at, person, operator, note, withdrawn_by, withdrawn
             FROM rialto.scheduled_releases WHERE partition = $1 ORDER BY effective, release",
            |query| query,
        )?;
        let scheduled = |row: &PgRow| {
            let row = Columns(row);
            Ok(ScheduledRelease {
                release: row.number(0)?,
                from: row.instant(1)?,
                at: row.instant(2)?,
                person: row.original(3)?,
                operator: row.original(4)?,
                note: row.original(5)?,
                withdrawn: row.act(6)?,
            })
        };
        rows.iter().map(scheduled).collect()
    }
}

fn release(row: &PgRow) -> Result<StoredRelease, StoreError> {
    let row = Columns(row);
    Ok(StoredRelease {
        number: row.number(0)?,
        digest: row.original(1)?,
        document: row.original(2)?,
        created_at: row.instant(3)?,
        note: row.original(4)?,
        maker: row.original(5)?,
        approver: row.some_text(6)?,
        waits_on: row.some_number(7)?,
    })
}
