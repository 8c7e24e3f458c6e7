//! Loads a new database from another store, and keeps hosts out of a database that is read.

use rialto_engine::store::StoreError;
use rialto_store::{
    MOVED, NextNumbers, Redelivered, StoreLoad, StoredActivation, StoredCheckpoint,
    StoredSuspension, StoredTile, UNFINISHED_LOAD,
};
use sqlx::PgConnection;

use crate::connections::Connector;
use crate::lease::LeaseError;
use crate::rows::signed;
use crate::text::owned;
use crate::{OpenError, PostgresStore, Settings, checks, parsed};

/// The mark of an unfinished load among the facts.
const MARK: &str = "loading";
/// The mark of a database whose place another store has, among the facts.
const MOVED_MARK: &str = "moved";

/// Whether no host has ever opened this database: its schema `rialto` has no table.
///
/// # Errors
/// When the database cannot be read.
pub fn is_new(url: &str) -> Result<bool, OpenError> {
    let options = parsed(url)?;
    checks::protected(&options)?;
    let connector = Connector::new(options, &Settings::default());
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(OpenError::Threads)?;
    runtime.block_on(async {
        let mut connection = checks::reached(&connector).await?;
        let tables = "SELECT count(*) FROM pg_catalog.pg_tables WHERE schemaname = 'rialto'";
        let tables: i64 = sqlx::query_scalar(tables)
            .fetch_one(&mut connection)
            .await?;
        Ok::<_, OpenError>(tables == 0)
    })
}

/// Why no host may serve on the database, if that is so: it was not wholly loaded, or another store has its place.
pub(crate) async fn refusal(
    connection: &mut PgConnection,
) -> Result<Option<&'static str>, sqlx::Error> {
    if is_marked(connection, MARK).await? {
        return Ok(Some(UNFINISHED_LOAD));
    }
    let is_moved = is_marked(connection, MOVED_MARK).await?;
    Ok(is_moved.then_some(MOVED))
}

async fn is_marked(connection: &mut PgConnection, mark: &str) -> Result<bool, sqlx::Error> {
    sqlx::query_scalar("SELECT EXISTS (SELECT 1 FROM rialto.facts WHERE key = $1)")
        .bind(mark)
        .fetch_one(connection)
        .await
}

impl PostgresStore {
    /// Take the lease and keep it, so that no host serves while the store is read. It counts no redelivery, so the contents
    /// stay the same.
    ///
    /// # Errors
    /// When a host has the lease, the database fails, or it was not wholly loaded.
    pub fn hold(&self) -> Result<(), LeaseError> {
        self.take_lease()?;
        let unfinished_load =
            self.read_with(async |connection| is_marked(connection, MARK).await)?;
        if unfinished_load {
            return Err(StoreError::Failed(UNFINISHED_LOAD.into()).into());
        }
        Ok(())
    }
}

impl StoreLoad for PostgresStore {
    fn begin_load(&self, store: u64) -> Result<(), StoreError> {
        self.change(async |connection| {
            sqlx::query("INSERT INTO rialto.facts VALUES ($1, 'a copy is under way')")
                .bind(MARK)
                .execute(&mut *connection)
                .await?;
            sqlx::query(
                "INSERT INTO rialto.facts VALUES ('store', $1)
                 ON CONFLICT (key) DO UPDATE SET value = excluded.value",
            )
            .bind(store.to_string())
            .execute(connection)
            .await
            .map(drop)
        })
    }

    fn continue_from(&self, next: NextNumbers) -> Result<(), StoreError> {
        let audit = signed(next.audit)?;
        self.execute(
            "UPDATE rialto.partitions SET audit = $2 WHERE partition = $1",
            |query| query.bind(audit),
        )?;
        // The next group's entry has it.
        let last = next.publication.saturating_sub(1);
        self.committer.continue_after(last);
        Ok(())
    }

    fn load_redelivered(&self, counts: &Redelivered) -> Result<(), StoreError> {
        let partition = self.settings.partition();
        let ids = counts.deliveries.iter().map(|(id, _)| signed(*id));
        let ids = ids.collect::<Result<Vec<i64>, _>>()?;
        let starts = counts.deliveries.iter().map(|(_, n)| i64::from(*n));
        let starts: Vec<i64> = starts.collect();
        let reminders = counts.reminders.iter();
        let components: Vec<String> = reminders.clone().map(|(of, ..)| owned(of)).collect();
        let names: Vec<String> = reminders.clone().map(|(_, id, _)| owned(id)).collect();
        let due: Vec<i64> = reminders.map(|(.., n)| i64::from(*n)).collect();
        self.change(async |connection| {
            sqlx::query(
                "UPDATE rialto.deliveries d SET starts = counted.starts
                 FROM unnest($2::int8[], $3::int8[]) AS counted (id, starts)
                 WHERE d.partition = $1 AND d.id = counted.id",
            )
            .bind(partition)
            .bind(ids)
            .bind(starts)
            .execute(&mut *connection)
            .await?;
            sqlx::query(
                "UPDATE rialto.reminders r SET starts = counted.starts
                 FROM unnest($2::text[], $3::text[], $4::int8[]) AS counted (component, id, starts)
                 WHERE r.partition = $1 AND r.component = counted.component AND r.id = counted.id",
            )
            .bind(partition)
            .bind(components)
            .bind(names)
            .bind(due)
            .execute(connection)
            .await
            .map(drop)
        })
    }

    fn load_activations(&self, all: &[StoredActivation]) -> Result<(), StoreError> {
        let partition = self.settings.partition();
        let numbers = all
            .iter()
            .map(|one| Ok((signed(one.release)?, signed(one.before)?, signed(one.at.0)?)))
            .collect::<Result<Vec<_>, StoreError>>()?;
        self.change(async |connection| {
            // One after the other: their order is that of the numbers that they get.
            for (one, (release, before, at)) in all.iter().zip(numbers) {
                sqlx::query(
                    "INSERT INTO rialto.activations (partition, release, before, at, person, operator, note, done)
                     VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
                )
                .bind(partition)
                .bind(release)
                .bind(before)
                .bind(at)
                .bind(owned(&one.person))
                .bind(owned(&one.operator))
                .bind(owned(&one.note))
                .bind(one.done)
                .execute(&mut *connection)
                .await?;
            }
            Ok(())
        })
    }

    fn load_suspensions(&self, all: &[StoredSuspension]) -> Result<(), StoreError> {
        let partition = self.settings.partition();
        let numbers = all
            .iter()
            .map(|one| Ok((signed(one.id)?, signed(one.at.0)?, signed(one.until.0)?)))
            .collect::<Result<Vec<_>, StoreError>>()?;
        let instant = |at: u64| i64::try_from(at).unwrap_or(i64::MAX);
        self.change(async |connection| {
            for (one, (id, at, until)) in all.iter().zip(numbers) {
                let (confirmed, ended) = (one.confirmed.as_ref(), one.ended.as_ref());
                sqlx::query(
                    "INSERT INTO rialto.suspensions
                        (partition, id, rule, person, note, at, until, confirmed_by, confirmed, ended_by, ended)
                     OVERRIDING SYSTEM VALUE VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
                )
                .bind(partition)
                .bind(id)
                .bind(owned(&one.rule))
                .bind(owned(&one.person))
                .bind(owned(&one.note))
                .bind(at)
                .bind(until)
                .bind(confirmed.map(|act| owned(&act.by)))
                .bind(confirmed.map(|act| instant(act.at.0)))
                .bind(ended.map(|act| owned(&act.by)))
                .bind(ended.map(|act| instant(act.at.0)))
                .execute(&mut *connection)
                .await?;
            }
            // The next suspension gets the number after the last one.
            sqlx::query(
                "SELECT setval(pg_get_serial_sequence('rialto.suspensions', 'id'), max(id))
                 FROM rialto.suspensions HAVING max(id) > 0",
            )
            .execute(connection)
            .await
            .map(drop)
        })
    }

    fn load_tiles(&self, tiles: &[StoredTile]) -> Result<(), StoreError> {
        let levels: Vec<i32> = tiles.iter().map(|tile| i32::from(tile.level)).collect();
        let indexes = tiles.iter().map(|tile| signed(tile.index));
        let indexes = indexes.collect::<Result<Vec<i64>, _>>()?;
        let hashes: Vec<Vec<u8>> = tiles.iter().map(|tile| tile.hashes.clone()).collect();
        self.execute(
            "INSERT INTO rialto.audit_tiles (partition, level, index, hashes)
             SELECT $1, * FROM unnest($2::int4[], $3::int8[], $4::bytea[])",
            |query| query.bind(levels).bind(indexes).bind(hashes),
        )
        .map(drop)
    }

    fn load_checkpoints(&self, all: &[StoredCheckpoint]) -> Result<(), StoreError> {
        let sizes = all.iter().map(|one| signed(one.size));
        let sizes = sizes.collect::<Result<Vec<i64>, _>>()?;
        let ats = all.iter().map(|one| signed(one.at.0));
        let ats = ats.collect::<Result<Vec<i64>, _>>()?;
        let notes: Vec<String> = all.iter().map(|one| owned(&one.note)).collect();
        self.execute(
            "INSERT INTO rialto.audit_checkpoints (partition, size, at, note)
             SELECT $1, * FROM unnest($2::int8[], $3::int8[], $4::text[])",
            |query| query.bind(sizes).bind(ats).bind(notes),
        )
        .map(drop)
    }

    /// Everything is in the tables already.
    fn flush(&self) -> Result<(), StoreError> {
        Ok(())
    }

    fn end_load(&self) -> Result<(), StoreError> {
        let ended = self.change(async |connection| {
            let ended = sqlx::query("DELETE FROM rialto.facts WHERE key = $1").bind(MARK);
            Ok(ended.execute(connection).await?.rows_affected())
        })?;
        assert!(
            ended == 1,
            "the mark of an unfinished load was in {ended} rows"
        );
        Ok(())
    }

    fn mark_moved(&self) -> Result<(), StoreError> {
        self.change(async |connection| {
            let mark = "INSERT INTO rialto.facts VALUES ($1, 'another store has its place')
                        ON CONFLICT DO NOTHING";
            let marked = sqlx::query(mark).bind(MOVED_MARK);
            marked.execute(connection).await.map(drop)
        })
    }

    fn take_back(&self) -> Result<bool, StoreError> {
        self.change(async |connection| {
            let taken = sqlx::query("DELETE FROM rialto.facts WHERE key = $1").bind(MOVED_MARK);
            Ok(taken.execute(connection).await?.rows_affected() > 0)
        })
    }
}
