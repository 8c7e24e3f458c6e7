//! The lease of a partition: which host may write it, and until when by the database's clock.
//!
//! A lease is a row with an epoch. Taking it raises the epoch, in the lease and at the head of the log, in one
//! transaction; that waits for the group that is being written. From then on the database refuses the groups of the host
//! before, whatever that host believes. The clock decides only when a lease may be taken. The epoch decides who writes.
//!
//! A host whose lease has expired still has it while nobody has taken it: after an outage of the database it goes on.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rialto_engine::store::StoreError;
use sqlx::{Acquire as _, PgConnection, Row as _};
use tokio::task::JoinHandle;

use crate::Settings;
use crate::connections::Connector;
use crate::failures::failed;

/// Why a lease was not taken.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum LeaseError {
    /// Another host has it.
    #[error(
        "partition {partition} belongs to the host {owner} for {} ms more: stop that host, or wait", expires_in.as_millis()
    )]
    Taken {
        /// The partition.
        partition: u32,
        /// The other host's name.
        owner: String,
        /// Until its lease expires, if it is not renewed.
        expires_in: Duration,
    },
    /// The database has lost what it had acknowledged, and nobody has accepted that.
    #[error(
        "the database has lost the group with number {seq}, and perhaps more, after it was acknowledged: find out with those who \
         use the scheme what is missing; `DELETE FROM rialto.facts WHERE key = '{fact}'` accepts the loss, and a host serves"
    )]
    Lost {
        /// The first group that is known to be missing.
        seq: String,
        /// What the database remembers it by.
        fact: String,
    },
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A lease as the database has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaseState {
    /// The fencing token. It counts the times that the lease was taken.
    pub epoch: u64,
    /// The host that took it last; empty if that host has handed it over.
    pub owner: String,
    /// Until it expires; none if it has.
    pub expires_in: Option<Duration>,
}

/// Why the database does not give the lease.
enum Refused {
    /// Another host has it.
    Taken(LeaseState),
    /// It has lost this group.
    Lost(String),
}

/// By what the database remembers that it has lost a group of a partition.
pub(crate) fn lost_fact(partition: i32) -> String {
    format!("lost-{partition}")
}

/// What this host knows of its own lease.
#[derive(Debug, Default)]
struct Held {
    epoch: Option<i64>,
    /// By this host's monotonic clock.
    until: Option<Instant>,
    lost: bool,
}

/// This host's side of the lease.
pub(crate) struct Lease {
    connector: Connector,
    settings: Settings,
    held: Arc<Mutex<Held>>,
    renewing: Mutex<Option<JoinHandle<()>>>,
}

impl Lease {
    pub fn new(connector: Connector, settings: Settings) -> Self {
        Self {
            connector,
            settings,
            held: Arc::default(),
            renewing: Mutex::new(None),
        }
    }

    /// The epoch, if this host has taken the lease and knows of no other that has.
    pub fn epoch(&self) -> Option<i64> {
        let held = self.held.lock();
        held.epoch.filter(|_| !held.lost)
    }

    /// Whether the lease has not expired by this host's monotonic clock. The database's answer came after the database
    /// looked at its clock, so this ends before the lease does.
    pub fn holds(&self) -> bool {
        let held = self.held.lock();
        let until = held.until.filter(|_| !held.lost);
        until.is_some_and(|until| Instant::now() < until)
    }

    /// Whether another host has taken over, as far as this host knows.
    pub fn is_lost(&self) -> bool {
        self.held.lock().lost
    }

    /// Note that another host has taken over.
    pub fn note_lost(&self) {
        self.held.lock().lost = true;
    }

    /// The lease as the database has it.
    pub async fn state(&self) -> Result<LeaseState, sqlx::Error> {
        let mut connection = self.connector.connect().await?;
        let reading = read(&mut connection, self.settings.partition(), false);
        self.connector.in_time(reading).await
    }

    /// Take the lease, if it is free or expired. Begins to renew it. Returns the epoch.
    pub async fn take(&self) -> Result<i64, LeaseError> {
        let asked = Instant::now();
        let mut connection = self.connector.connect().await.map_err(failed)?;
        let taking = self.take_with(&mut connection);
        let taken = self.connector.in_time(taking).await.map_err(failed)?;
        let epoch = taken.map_err(|refused| match refused {
            Refused::Taken(state) => LeaseError::Taken {
                partition: self.settings.partition,
                owner: state.owner,
                expires_in: state.expires_in.unwrap_or_default(),
            },
            Refused::Lost(seq) => LeaseError::Lost {
                seq,
                fact: lost_fact(self.settings.partition()),
            },
        })?;
        if let Some(before) = self.renewing.lock().take() {
            before.abort();
        }
        *self.held.lock() = Held {
            epoch: Some(epoch),
            until: Some(asked + self.settings.lease),
            lost: false,
        };
        let renewal = Renewal {
            connector: self.connector.clone(),
            settings: self.settings.clone(),
            held: self.held.clone(),
            epoch,
        };
        *self.renewing.lock() = Some(tokio::spawn(renewal.run(connection)));
        Ok(epoch)
    }

    async fn take_with(
        &self,
        connection: &mut PgConnection,
    ) -> Result<Result<i64, Refused>, sqlx::Error> {
        let partition = self.settings.partition();
        for table in [
            "INSERT INTO rialto.partitions (partition) VALUES ($1) ON CONFLICT DO NOTHING",
            "INSERT INTO rialto.leases (partition) VALUES ($1) ON CONFLICT DO NOTHING",
        ] {
            let made = sqlx::query(table).bind(partition);
            made.execute(&mut *connection).await?;
        }
        let mut transaction = connection.begin().await?;
        let state = read(&mut transaction, partition, true).await?;
        if state.expires_in.is_some() && state.owner != self.settings.owner {
            transaction.rollback().await?;
            return Ok(Err(Refused::Taken(state)));
        }
        let lost = sqlx::query_scalar("SELECT value FROM rialto.facts WHERE key = $1");
        let lost = lost.bind(lost_fact(partition));
        if let Some(seq) = lost.fetch_optional(&mut *transaction).await? {
            transaction.rollback().await?;
            return Ok(Err(Refused::Lost(seq)));
        }
        let epoch: i64 = sqlx::query_scalar(
            "UPDATE rialto.leases SET epoch = epoch + 1, owner = $2, taken_at = clock_timestamp(),
                expires_at = clock_timestamp() + $3 * interval '1 ms'
             WHERE partition = $1 RETURNING epoch",
        )
        .bind(partition)
        .bind(&self.settings.owner)
        .bind(milliseconds(self.settings.lease))
        .fetch_one(&mut *transaction)
        .await?;
        // Waits for the group that is being written, and fences off those after it.
        sqlx::query("UPDATE rialto.partitions SET epoch = $2 WHERE partition = $1")
            .bind(partition)
            .bind(epoch)
            .execute(&mut *transaction)
            .await?;
        transaction.commit().await?;
        Ok(Ok(epoch))
    }

    /// Give the lease back, so that the next host need not wait. This one writes nothing more.
    pub async fn hand_over(&self) -> Result<(), StoreError> {
        if let Some(renewing) = self.renewing.lock().take() {
            renewing.abort();
        }
        let Some(epoch) = self.epoch() else {
            return Ok(());
        };
        *self.held.lock() = Held::default();
        let handing = async {
            let mut connection = self.connector.connect().await?;
            sqlx::query(
                "UPDATE rialto.leases SET owner = '', expires_at = 'epoch'
                 WHERE partition = $1 AND epoch = $2",
            )
            .bind(self.settings.partition())
            .bind(epoch)
            .execute(&mut connection)
            .await
        };
        let handed = self.connector.in_time(handing).await;
        handed.map(drop).map_err(failed)
    }
}

fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1_000.0
}

async fn read(
    connection: &mut PgConnection,
    partition: i32,
    to_change: bool,
) -> Result<LeaseState, sqlx::Error> {
    let query = if to_change {
        sqlx::query(
            "SELECT epoch, owner, greatest(-1, extract(epoch FROM expires_at - clock_timestamp()))::float8
             FROM rialto.leases WHERE partition = $1 FOR UPDATE",
        )
    } else {
        sqlx::query(
            "SELECT epoch, owner, greatest(-1, extract(epoch FROM expires_at - clock_timestamp()))::float8
             FROM rialto.leases WHERE partition = $1",
        )
    };
    let row = query.bind(partition).fetch_optional(connection).await?;
    let Some(row) = row else {
        return Ok(LeaseState {
            epoch: 0,
            owner: String::new(),
            expires_in: None,
        });
    };
    let (epoch, left): (i64, f64) = (row.try_get(0)?, row.try_get(2)?);
    Ok(LeaseState {
        epoch: epoch.unsigned_abs(),
        owner: row.try_get(1)?,
        expires_in: (left > 0.0).then(|| Duration::from_secs_f64(left)),
    })
}

/// The task that renews a lease.
struct Renewal {
    connector: Connector,
    settings: Settings,
    held: Arc<Mutex<Held>>,
    epoch: i64,
}

impl Renewal {
    async fn run(self, connection: PgConnection) {
        let mut connection = Some(connection);
        loop {
            tokio::time::sleep(self.settings.renew_every).await;
            let asked = Instant::now();
            match self.renew(&mut connection).await {
                Ok(true) => {
                    let mut held = self.held.lock();
                    if held.epoch == Some(self.epoch) {
                        held.until = Some(asked + self.settings.lease);
                    }
                }
                Ok(false) => {
                    tracing::error!(
                        partition = self.settings.partition,
                        "another host has taken over the partition; this one writes nothing more"
                    );
                    let mut held = self.held.lock();
                    // The host may have taken it again meanwhile.
                    if held.epoch == Some(self.epoch) {
                        held.lost = true;
                    }
                    return;
                }
                Err(error) => {
                    tracing::warn!(%error, "the lease could not be renewed; the host tries again");
                    connection = None;
                }
            }
        }
    }

    /// Whether this host still has the lease.
    async fn renew(&self, connection: &mut Option<PgConnection>) -> Result<bool, sqlx::Error> {
        let current = match connection {
            Some(current) => current,
            None => connection.insert(self.connector.connect().await?),
        };
        let renewing = sqlx::query(
            "UPDATE rialto.leases SET expires_at = clock_timestamp() + $3 * interval '1 ms'
             WHERE partition = $1 AND epoch = $2",
        )
        .bind(self.settings.partition())
        .bind(self.epoch)
        .bind(milliseconds(self.settings.lease))
        .execute(current);
        // An answer that comes later is of no use.
        let renewed = tokio::time::timeout(self.settings.lease, renewing).await;
        let late = |_| sqlx::Error::Io(std::io::ErrorKind::TimedOut.into());
        Ok(renewed.map_err(late)??.rows_affected() == 1)
    }
}
