//! The hosts of a partition: each one says something of itself each second, and everybody can read what all have said.
//!
//! Nothing is decided by these rows. The lease says who serves (`lease.rs`).

use std::time::{Duration, Instant};

use rialto_engine::Timestamp;
use rialto_engine::store::StoreError;
use sqlx::{PgConnection, Row as _};

use crate::PostgresStore;
use crate::failures::failed;
use crate::rows::{Columns, signed};
use crate::text::owned;

/// A host that has said nothing for this long is gone.
const GONE_AFTER: Duration = Duration::from_secs(5);

/// What a host says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostSaid {
    /// The machine's name.
    pub name: String,
    /// The version of the program.
    pub version: String,
    /// The address of its operators' listener; empty if it has none.
    pub operators: String,
    /// The address at which it takes requests from other hosts; empty if it takes none.
    pub relay: String,
    /// Whether it takes over no more: it has handed over, and passes requests until it is stopped.
    pub passes: bool,
    /// The newest release that it has prepared; 0 if none.
    pub release: u64,
    /// The last group of the journal that it has followed; none if it follows nothing.
    pub followed: Option<u64>,
}

/// Whether a host serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostState {
    /// It has the lease.
    Serving,
    /// It waits for the lease.
    Standby,
    /// It has handed over, and passes requests until it is stopped.
    Passing,
    /// It has not been heard of lately.
    Gone,
}

/// A host, as the others see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostSeen {
    /// The host's id, which is drawn at its start.
    pub id: String,
    /// What it says of itself.
    pub said: HostSaid,
    /// Whether it serves.
    pub state: HostState,
    /// By how many milliseconds its clock is ahead of the database's; negative if it is behind. Half of the time that the
    /// database took to answer is how exact this is.
    pub clock_ahead_ms: i64,
    /// How many groups a standby still had to follow when it last said something of itself; none if it follows nothing.
    pub groups_behind: Option<u64>,
    /// When it started, by the database's clock.
    pub started: Timestamp,
    /// How long ago it last said something.
    pub seen_ago: Duration,
}

/// The hosts of a partition, and its lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cluster {
    /// The lease's epoch: how often it was taken.
    pub epoch: u64,
    /// When it was taken last, by the database's clock; none if it never was.
    pub taken: Option<Timestamp>,
    /// Until it expires if it is not renewed; none if nobody has it.
    pub expires_in: Option<Duration>,
    /// The hosts, those that started first at the front.
    pub hosts: Vec<HostSeen>,
}

impl PostgresStore {
    /// Say something of this host, and how far its clock is from the database's. `clock` reads this host's.
    ///
    /// # Errors
    /// When the database fails.
    pub fn say(&self, said: &HostSaid, clock: impl Fn() -> Timestamp) -> Result<(), StoreError> {
        let release = signed(said.release)?;
        let followed = said.followed.map(signed).transpose()?;
        let partition = self.settings.partition();
        self.read_with(async |connection| {
            let ahead = clock_ahead(connection, &clock).await?;
            sqlx::query(
                "INSERT INTO rialto.hosts (partition, host, name, version, operators, relay, passes, release, clock_ahead_ms, followed)
                 VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
                 ON CONFLICT (partition, host) DO UPDATE SET name = excluded.name, version = excluded.version,
                    operators = excluded.operators, relay = excluded.relay, passes = excluded.passes, release = excluded.release,
                    clock_ahead_ms = excluded.clock_ahead_ms, followed = excluded.followed, seen_at = clock_timestamp()",
            )
            .bind(partition)
            .bind(owned(&self.settings.owner))
            .bind(owned(&said.name))
            .bind(owned(&said.version))
            .bind(owned(&said.operators))
            .bind(owned(&said.relay))
            .bind(said.passes)
            .bind(release)
            .bind(ahead)
            .bind(followed)
            .execute(&mut *connection)
            .await?;
            // Hosts that ended without a word are shown for a day.
            sqlx::query(
                "DELETE FROM rialto.hosts WHERE partition = $1 AND seen_at < clock_timestamp() - interval '1 day'",
            )
            .bind(partition)
            .execute(&mut *connection)
            .await?;
            Ok(())
        })
    }

    /// Take back what this host said of itself: it ends.
    ///
    /// # Errors
    /// When the database fails.
    pub fn say_no_more(&self) -> Result<(), StoreError> {
        let partition = self.settings.partition();
        self.read_with(async |connection| {
            sqlx::query("DELETE FROM rialto.hosts WHERE partition = $1 AND host = $2")
                .bind(partition)
                .bind(owned(&self.settings.owner))
                .execute(&mut *connection)
                .await
                .map(drop)
        })
    }

    /// This host's id, by which [`Cluster`] has it.
    pub fn host_id(&self) -> &str {
        &self.settings.owner
    }

    /// The partition's number.
    pub fn partition(&self) -> u32 {
        self.settings.partition
    }

    /// The hosts of the partition, and its lease.
    ///
    /// # Errors
    /// When the database fails.
    pub fn cluster(&self) -> Result<Cluster, StoreError> {
        let lease = self.all(
            "SELECT epoch, CASE WHEN taken_at > 'epoch' THEN (extract(epoch FROM taken_at) * 1000)::bigint END,
                greatest(0, extract(epoch FROM expires_at - clock_timestamp()) * 1000)::bigint
             FROM rialto.leases WHERE partition = $1",
            |query| query,
        )?;
        let rows = self.all(
            "SELECT h.host, h.name, h.version, h.operators, h.release, h.clock_ahead_ms,
                (extract(epoch FROM h.started_at) * 1000)::bigint,
                greatest(0, extract(epoch FROM clock_timestamp() - h.seen_at) * 1000)::bigint,
                l.owner IS NOT NULL, h.relay, h.passes, h.followed, greatest(0, p.seq - h.followed)
             FROM rialto.hosts h LEFT JOIN rialto.partitions p ON p.partition = h.partition
             LEFT JOIN rialto.leases l
                ON l.partition = h.partition AND l.owner = h.host AND l.expires_at > clock_timestamp()
             WHERE h.partition = $1 ORDER BY h.started_at, h.host",
            |query| query,
        )?;
        let mut cluster = Cluster {
            epoch: 0,
            taken: None,
            expires_in: None,
            hosts: Vec::with_capacity(rows.len()),
        };
        if let Some(row) = lease.first() {
            let columns = Columns(row);
            cluster.epoch = columns.number(0)?;
            let taken: Option<i64> = row.try_get(1).map_err(failed)?;
            cluster.taken = taken.and_then(|ms| u64::try_from(ms).ok()).map(Timestamp);
            let left: u64 = columns.number(2)?;
            cluster.expires_in = (left > 0).then(|| Duration::from_millis(left));
        }
        for row in &rows {
            let columns = Columns(row);
            let seen_ago = Duration::from_millis(columns.number(7)?);
            let serves: bool = row.try_get(8).map_err(failed)?;
            let passes: bool = row.try_get(10).map_err(failed)?;
            let clock_ahead_ms: i64 = row.try_get(5).map_err(failed)?;
            let groups = |at: usize| -> Result<Option<u64>, StoreError> {
                let groups: Option<i64> = row.try_get(at).map_err(failed)?;
                Ok(groups.map(i64::unsigned_abs))
            };
            let followed = groups(11)?;
            // `greatest` leaves out what is null.
            let groups_behind = groups(12)?.filter(|_| followed.is_some());
            cluster.hosts.push(HostSeen {
                id: columns.original(0)?,
                said: HostSaid {
                    name: columns.original(1)?,
                    version: columns.original(2)?,
                    operators: columns.original(3)?,
                    relay: columns.original(9)?,
                    passes,
                    release: columns.number(4)?,
                    followed,
                },
                state: state(serves, passes, seen_ago),
                clock_ahead_ms,
                groups_behind,
                started: Timestamp(columns.number(6)?),
                seen_ago,
            });
        }
        Ok(cluster)
    }
}

/// A host that has the lease serves, even if its last word is old: the lease is renewed more often.
fn state(serves: bool, passes: bool, seen_ago: Duration) -> HostState {
    if serves {
        HostState::Serving
    } else if seen_ago > GONE_AFTER {
        HostState::Gone
    } else if passes {
        HostState::Passing
    } else {
        HostState::Standby
    }
}

/// By how many milliseconds this host's clock is ahead of the database's, which is taken to have looked at its own in the
/// middle of its answer's time.
async fn clock_ahead(
    connection: &mut PgConnection,
    clock: impl Fn() -> Timestamp,
) -> Result<i64, sqlx::Error> {
    let (asked, asked_at) = (Instant::now(), clock());
    let there: i64 =
        sqlx::query_scalar("SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint")
            .fetch_one(connection)
            .await?;
    let half = i64::try_from(asked.elapsed().as_millis() / 2).unwrap_or(i64::MAX);
    let here = i64::try_from(asked_at.0).unwrap_or(i64::MAX);
    Ok(here.saturating_add(half).saturating_sub(there))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_has_the_lease_serves_and_who_is_silent_is_gone() {
        let soon = Duration::from_secs(1);
        let late = Duration::from_secs(6);
        assert_eq!(state(true, false, soon), HostState::Serving);
        assert_eq!(state(true, false, late), HostState::Serving);
        assert_eq!(state(false, false, soon), HostState::Standby);
        assert_eq!(state(false, true, soon), HostState::Passing);
        assert_eq!(state(false, true, late), HostState::Gone);
    }
}
