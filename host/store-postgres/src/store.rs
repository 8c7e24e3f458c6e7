//! The engine's `Store` on PostgreSQL: it makes groups durable, reads documents, and returns the state after a restart.

use std::time::Instant;

use rialto_engine::network::OutboundRequest;
use rialto_engine::store::{
    DeadLetter, Group, Recovered, ScanRange, Store, StoreError, StoredDocument, Submitted,
};
use rialto_engine::{CollectionId, Delivery, Lsn, Name, Timestamp};
use sqlx::PgConnection;
use sqlx::postgres::PgRow;

use crate::PostgresStore;
use crate::lease::LeaseError;
use crate::load;
use crate::publications;
use crate::rows::{self, Columns, signed};
use crate::text::{original, stored};

/// The pause between two attempts to take a lease.
const LEASE_PAUSE: std::time::Duration = std::time::Duration::from_millis(50);

/// How long it may take to read back all that is pending: much may have come together while a destination was away.
const RECOVER_MAX: std::time::Duration = std::time::Duration::from_mins(10);

/// Groups that are on their way behind one that is not durable: as many as there are connections beside its own.
const GROUPS_AHEAD: usize = 1;

impl Store for PostgresStore {
    fn recover(&self) -> Result<Recovered, StoreError> {
        let epoch = self.take_over()?;
        let partition = self.settings.partition();
        let recovered = self.change_within(RECOVER_MAX, async |connection| {
            if let Some(why) = load::refusal(connection).await? {
                return Ok(Err(why));
            }
            // Counted before any turn runs, so that a poison message is counted too.
            sqlx::query("UPDATE rialto.deliveries SET starts = starts + 1 WHERE partition = $1")
                .bind(partition)
                .execute(&mut *connection)
                .await?;
            publications::name_store(connection).await?;
            Rows::read(connection, partition).await.map(Ok)
        })?;
        let recovered = recovered.map_err(|why| StoreError::Failed(why.to_owned()))?;
        let (recovered, last) = recovered.parsed()?;
        self.known_ids
            .begin(self.runtime.handle(), &self.connector, partition);
        self.committer.begin(last, epoch);
        self.keep_months();
        Ok(recovered)
    }

    fn count_overdue(&self, now: Timestamp) -> Result<Vec<(Name, Name, u32)>, StoreError> {
        let partition = self.settings.partition();
        let now = i64::try_from(now.0).unwrap_or(i64::MAX);
        let rows = self.change_within(RECOVER_MAX, async |connection| {
            sqlx::query(
                "UPDATE rialto.reminders SET starts = starts + 1 WHERE partition = $1 AND due <= $2
                 RETURNING component, id, starts",
            )
            .bind(partition)
            .bind(now)
            .fetch_all(connection)
            .await
        })?;
        let counted = rows.iter().map(|row| {
            let row = Columns(row);
            Ok((row.name(0)?, row.name(1)?, row.number(2)?))
        });
        let mut counted: Vec<(Name, Name, u32)> = counted.collect::<Result<_, StoreError>>()?;
        counted.sort();
        Ok(counted)
    }

    fn note_poison_candidate(&self, candidate: Option<&str>) -> Result<(), StoreError> {
        let partition = self.settings.partition();
        let candidate = candidate.map(stored);
        self.change(async |connection| {
            sqlx::query("DELETE FROM rialto.poison_candidates WHERE partition = $1")
                .bind(partition)
                .execute(&mut *connection)
                .await?;
            if let Some(what) = candidate {
                sqlx::query("INSERT INTO rialto.poison_candidates VALUES ($1, $2)")
                    .bind(partition)
                    .bind(&*what)
                    .execute(connection)
                    .await?;
            }
            Ok(())
        })
    }

    fn poison_candidate(&self) -> Result<Option<String>, StoreError> {
        let partition = self.settings.partition();
        let what: Option<String> = self.read_with(async |connection| {
            sqlx::query_scalar("SELECT what FROM rialto.poison_candidates WHERE partition = $1")
                .bind(partition)
                .fetch_optional(connection)
                .await
        })?;
        what.map(|what| Ok(original(&what)?.into_owned()))
            .transpose()
    }

    fn read(
        &self,
        collection: CollectionId,
        id: &str,
    ) -> Result<Option<StoredDocument>, StoreError> {
        let partition = self.settings.partition();
        let id = stored(id);
        if self.is_absent(collection, &id) {
            return Ok(None);
        }
        let row = self.read_with(async |connection| {
            sqlx::query(
                "SELECT id, version, body FROM rialto.documents
                 WHERE partition = $1 AND collection = $2 AND id = $3",
            )
            .bind(partition)
            .bind(i64::from(collection.0))
            .bind(&*id)
            .fetch_optional(connection)
            .await
        })?;
        row.as_ref().map(rows::document).transpose()
    }

    fn scan(
        &self,
        collection: CollectionId,
        range: &ScanRange,
        limit: u32,
    ) -> Result<Vec<StoredDocument>, StoreError> {
        let partition = self.settings.partition();
        let (from, to) = (stored(&range.from), range.to.as_deref().map(stored));
        let rows = self.read_with(async |connection| {
            let query = match &to {
                Some(to) => sqlx::query(
                    "SELECT id, version, body FROM rialto.documents
                     WHERE partition = $1 AND collection = $2 AND id >= $3 AND id < $5
                     ORDER BY id LIMIT $4",
                )
                .bind(partition)
                .bind(i64::from(collection.0))
                .bind(&*from)
                .bind(i64::from(limit))
                .bind(&**to),
                None => sqlx::query(
                    "SELECT id, version, body FROM rialto.documents
                     WHERE partition = $1 AND collection = $2 AND id >= $3
                     ORDER BY id LIMIT $4",
                )
                .bind(partition)
                .bind(i64::from(collection.0))
                .bind(&*from)
                .bind(i64::from(limit)),
            };
            query.fetch_all(connection).await
        })?;
        rows.iter().map(rows::document).collect()
    }

    fn write(&self, group: &Group) -> Result<(), StoreError> {
        self.submit(group)?.wait()
    }

    fn submit(&self, group: &Group) -> Result<Box<dyn Submitted>, StoreError> {
        Ok(Box::new(Self::submit(self, group)?))
    }

    fn groups_ahead(&self) -> usize {
        GROUPS_AHEAD
    }

    fn deliveries(&self, ids: &[u64]) -> Result<Vec<Delivery>, StoreError> {
        let rows = self.those(
            "SELECT id, head, payload, starts FROM rialto.deliveries
             WHERE partition = $1 AND id = ANY ($2) ORDER BY id",
            ids,
        )?;
        rows.iter().map(rows::delivery).collect()
    }

    fn outbound(&self, ids: &[u64]) -> Result<Vec<OutboundRequest>, StoreError> {
        let rows = self.those(
            "SELECT request FROM rialto.outbound
             WHERE partition = $1 AND id = ANY ($2) ORDER BY id",
            ids,
        )?;
        rows.iter().map(rows::outbound).collect()
    }

    fn dead_letters(&self) -> Result<Vec<DeadLetter>, StoreError> {
        let partition = self.settings.partition();
        let rows = self.read_with(async |connection| {
            sqlx::query(
                "SELECT id, head, payload, attempts, error, at FROM rialto.dead_letters
                 WHERE partition = $1 ORDER BY id",
            )
            .bind(partition)
            .fetch_all(connection)
            .await
        })?;
        rows.iter().map(rows::dead_letter).collect()
    }
}

impl Submitted for crate::Submitted {
    fn wait(self: Box<Self>) -> Result<(), StoreError> {
        Self::wait(*self)
    }
}

impl PostgresStore {
    /// Take the lease, also if this store has it: a group of its own may still be on its way, which the new epoch fences
    /// off. Waits for another host that has it, for a while. Returns the epoch.
    fn take_over(&self) -> Result<i64, StoreError> {
        let until = Instant::now() + self.settings.wait_for_lease;
        loop {
            match self.take_lease() {
                Ok(epoch) => return signed(epoch),
                Err(LeaseError::Store(error)) => return Err(error),
                Err(lost @ LeaseError::Lost { .. }) => {
                    return Err(StoreError::Failed(lost.to_string()));
                }
                Err(taken @ LeaseError::Taken { .. }) if Instant::now() > until => {
                    return Err(StoreError::Failed(taken.to_string()));
                }
                Err(LeaseError::Taken { .. }) => std::thread::sleep(LEASE_PAUSE),
            }
        }
    }

    /// Rows with these ids. Where some are missing, another host may have taken over and removed them.
    fn those(&self, text: &'static str, ids: &[u64]) -> Result<Vec<PgRow>, StoreError> {
        let wanted: Vec<i64> = ids.iter().map(|id| signed(*id)).collect::<Result<_, _>>()?;
        let rows = self.all(text, |query| query.bind(wanted.clone()))?;
        if rows.len() < ids.len() && self.is_overtaken()? {
            self.lease.note_lost();
            return Err(StoreError::Fenced);
        }
        Ok(rows)
    }

    /// Whether the database has a newer epoch than this host, if it has one.
    fn is_overtaken(&self) -> Result<bool, StoreError> {
        let Some(epoch) = self.lease.epoch() else {
            return Ok(false);
        };
        let rows = self.all(
            "SELECT 1 FROM rialto.partitions WHERE partition = $1 AND epoch > $2",
            |query| query.bind(epoch),
        )?;
        Ok(!rows.is_empty())
    }
}

/// What is read at a start.
struct Rows {
    head: PgRow,
    /// The entry of the last group.
    last: Option<PgRow>,
    collections: Vec<PgRow>,
    deliveries: Vec<PgRow>,
    reminders: Vec<PgRow>,
    outbound: Vec<PgRow>,
}

impl Rows {
    async fn read(connection: &mut PgConnection, partition: i32) -> Result<Self, sqlx::Error> {
        let head = "SELECT seq, lsn, next_id FROM rialto.partitions WHERE partition = $1";
        let head = sqlx::query(head).bind(partition);
        let head = head.fetch_one(&mut *connection).await?;
        let last = "SELECT layout::int8, entry FROM rialto.journal
             WHERE partition = $1 ORDER BY seq DESC LIMIT 1";
        let last = sqlx::query(last).bind(partition);
        let last = last.fetch_optional(&mut *connection).await?;
        let mut all = async |text: &'static str| {
            let query = sqlx::query(text).bind(partition);
            query.fetch_all(&mut *connection).await
        };
        Ok(Self {
            head,
            last,
            collections: all(
                "SELECT id, component, name FROM rialto.collections WHERE partition = $1 ORDER BY id",
            )
            .await?,
            deliveries: all(
                "SELECT id, head, payload, starts FROM rialto.deliveries WHERE partition = $1 ORDER BY id",
            )
            .await?,
            reminders: all(
                "SELECT component, id, due, generation, payload, subjects, trace FROM rialto.reminders
                 WHERE partition = $1 ORDER BY component, id",
            )
            .await?,
            outbound: all(
                "SELECT request FROM rialto.outbound WHERE partition = $1 ORDER BY id",
            )
            .await?,
        })
    }

    /// What the engine needs, the number of the last group, and that of the last event for the outside.
    fn parsed(self) -> Result<(Recovered, (u64, u64)), StoreError> {
        let head = Columns(&self.head);
        let recovered = Recovered {
            lsn: Lsn(head.number(1)?),
            next_id: head.number(2)?,
            collections: each(&self.collections, rows::collection)?,
            deliveries: each(&self.deliveries, rows::delivery)?,
            reminders: each(&self.reminders, rows::reminder)?,
            outbound: each(&self.outbound, rows::outbound)?,
        };
        let last = self.last.as_ref().map(publications::of_entry).transpose()?;
        let published = last.map_or(0, |publications| publications.last);
        Ok((recovered, (head.number(0)?, published)))
    }
}

fn each<T>(
    rows: &[PgRow],
    parse: impl Fn(&PgRow) -> Result<T, StoreError>,
) -> Result<Vec<T>, StoreError> {
    rows.iter().map(parse).collect()
}
