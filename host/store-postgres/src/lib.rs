//! The store on PostgreSQL, through sqlx. It implements the engine's [`Store`](rialto_engine::store::Store).
//!
//! A group is one transaction, in one round trip: a row of the journal, and the rows of the other tables
//! (`migrations/0001_store.sql`, `columns.rs`). It is refused unless its host has the newest epoch of the partition's lease
//! and the group before it is committed (`commit.rs`, `lease.rs`). So several hosts may have the database open, and one of
//! them writes.
//!
//! The store has a runtime of its own. Every call blocks its thread, which must not be a thread of
//! a runtime. Any thread may drop it.

mod audit;
mod checks;
mod columns;
mod commit;
mod connections;
mod dump;
mod entry;
mod failures;
mod history;
mod hosts;
mod known_ids;
mod lease;
mod load;
mod migrations;
mod operators;
mod own_runtime;
mod plans;
mod publications;
mod receipts;
mod releases;
mod rows;
mod snapshot;
mod store;
mod text;

use std::time::Duration;

use rialto_engine::CollectionId;
use rialto_engine::store::{Group, StoreError};
use sqlx::postgres::{PgArguments, PgConnectOptions, PgRow};
use sqlx::query::Query;
use sqlx::{Acquire as _, PgConnection, Postgres};

use commit::Committer;
use connections::{Connector, Readers};
use failures::failed;
use known_ids::KnownIds;
use lease::Lease;
use own_runtime::OwnRuntime;

use text::stored;

pub use commit::Submitted;
pub use entry::ChangedDocument;
pub use history::JournalGroup;
pub use hosts::{Cluster, HostSaid, HostSeen, HostState};
pub use lease::{LeaseError, LeaseState};
pub use load::is_new;
pub use migrations::LAYOUT;
pub use receipts::PostgresReceipts;
pub use snapshot::PostgresSnapshot;

/// How long after a recovery the tables of the coming months are made first.
const MONTHS_AFTER: Duration = Duration::from_secs(60);
/// How often the tables of the coming months are made.
const MONTHS_EVERY: Duration = Duration::from_hours(6);

/// A query whose parameters are bound.
pub(crate) type Bound = Query<'static, Postgres, PgArguments>;

/// How a host uses the database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The partition of the scheme.
    pub partition: u32,
    /// This host's name, which no other host has. A host that takes over under the name of the one before it does not
    /// wait for the lease.
    pub owner: String,
    /// The scheme's name. A database that has another one is refused.
    pub scheme: Option<String>,
    /// How long a lease holds without renewal.
    pub lease: Duration,
    /// How often it is renewed: several times in its life.
    pub renew_every: Duration,
    /// How long the host waits for the lease when it recovers.
    pub wait_for_lease: Duration,
    /// Connections for reads.
    pub readers: usize,
    /// How long the server may take for an answer.
    pub answer_within: Duration,
    /// For how long a statement is tried again while the server is away.
    pub outage_max: Duration,
    /// Whether a server without a synchronous standby is refused.
    pub synchronous_standby: bool,
}

impl Default for Settings {
    /// One partition, and an owner whose name is drawn. A takeover takes at most the lease's two seconds and one renewal.
    fn default() -> Self {
        Self {
            partition: 0,
            owner: uuid::Uuid::new_v4().to_string(),
            scheme: None,
            lease: Duration::from_secs(2),
            renew_every: Duration::from_millis(400),
            wait_for_lease: Duration::from_secs(5),
            readers: 8,
            answer_within: Duration::from_secs(5),
            outage_max: Duration::from_secs(30),
            synchronous_standby: false,
        }
    }
}

impl Settings {
    /// The partition's number as the database keeps it.
    fn partition(&self) -> i32 {
        i32::try_from(self.partition).unwrap_or(i32::MAX)
    }
}

/// Why a store could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The URL is none.
    #[error("the URL of the database is malformed: {0}; write postgres://USER@HOST/DATABASE")]
    Url(String),
    /// The server is elsewhere, and the connection is not protected.
    #[error(
        "the database is on {0}, and its certificate would not be verified: add sslmode=verify-full and \
         sslrootcert=FILE to its URL"
    )]
    Unprotected(String),
    /// The server is too old.
    #[error("the server is PostgreSQL {0}: use 14 or newer")]
    OldServer(i32),
    /// The database is not UTF-8.
    #[error("the database's encoding is {0}: create one with ENCODING 'UTF8'")]
    Encoding(String),
    /// The server is a replica.
    #[error("the server is a replica: give the URL of the primary")]
    Replica,
    /// The server or the user is read-only.
    #[error("the database is read-only for this user: set default_transaction_read_only to off")]
    ReadOnly,
    /// The server does not sync.
    #[error("the server has fsync off, so it loses what it has acknowledged: set fsync = on")]
    NotDurable,
    /// The settings ask for a synchronous standby.
    #[error(
        "the server has no synchronous standby, which the settings ask for: set synchronous_standby_names"
    )]
    NoStandby,
    /// The database has another scheme.
    #[error("the database has the scheme {there}, not {wanted}: give each scheme its own database")]
    OtherScheme {
        /// The one that it has.
        there: String,
        /// The one that was asked for.
        wanted: String,
    },
    /// The layout is newer than this host.
    #[error(
        "the database has layout {there}, which needs a host that knows layout {oldest_host}, and this one knows {known}: \
         use a newer host"
    )]
    TooNew {
        /// The database's layout.
        there: i32,
        /// What a host must know at least.
        oldest_host: i32,
        /// What this host knows.
        known: i32,
    },
    /// The database refused.
    #[error("the database cannot be used: {0}")]
    Database(#[from] sqlx::Error),
    /// No connection was made.
    #[error("no connection to the database on {place}: {why}; {help}")]
    Unreachable {
        /// The server.
        place: String,
        /// What the server or the system said.
        why: String,
        /// What to do.
        help: &'static str,
    },
    /// The clocks differ.
    #[error("this machine's clock is {seconds} s {than} the database's: set both by NTP")]
    Clock {
        /// By how much.
        seconds: u64,
        /// In which direction.
        than: &'static str,
    },
    /// No host has served on the database.
    #[error("the database has no scheme: serve one on it first")]
    NoScheme,
    /// What the database has cannot be read.
    #[error(transparent)]
    Contents(StoreError),
    /// The runtime cannot be started.
    #[error("the store's threads cannot be started: {0}")]
    Threads(std::io::Error),
}

/// An open store. It has no lease yet. Dropping it hands its lease over.
pub struct PostgresStore {
    runtime: OwnRuntime,
    settings: Settings,
    connector: Connector,
    readers: Readers,
    committer: Committer,
    known_ids: KnownIds,
    lease: Lease,
    /// Where events for the outside were read last.
    cursor: publications::Cursor,
    /// The connection of changes that are no groups.
    changes: tokio::sync::Mutex<Option<PgConnection>>,
    /// Makes the tables of the coming months, while this host has the lease.
    months: parking_lot::Mutex<Option<tokio::task::JoinHandle<()>>>,
}

impl PostgresStore {
    /// Open the store in this database, and bring its layout up to date. Other hosts may have it open.
    ///
    /// # Errors
    /// When the database cannot be used, or must not be.
    pub fn open(url: &str, settings: Settings) -> Result<Self, OpenError> {
        let options = parsed(url)?;
        checks::protected(&options)?;
        let connector = Connector::new(options, &settings);
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("store")
            .enable_all()
            .build()
            .map_err(OpenError::Threads)?;
        runtime.block_on(prepare(&connector, &settings))?;
        let committer = Committer::new(runtime.handle(), &connector, settings.partition());
        Ok(Self {
            readers: Readers::new(connector.clone(), settings.readers),
            committer,
            known_ids: KnownIds::default(),
            lease: Lease::new(connector.clone(), settings.clone()),
            cursor: publications::Cursor::default(),
            changes: tokio::sync::Mutex::new(None),
            months: parking_lot::Mutex::new(None),
            runtime: OwnRuntime::new(runtime),
            connector,
            settings,
        })
    }

    /// Take the partition's lease, if it is free or expired. Fences off the host that had it. The store writes nothing until
    /// it recovers, because that host may have written since this one last looked.
    ///
    /// # Errors
    /// When another host has it, or the database fails.
    pub fn take_lease(&self) -> Result<u64, LeaseError> {
        // Of an earlier time with the lease.
        self.known_ids.end();
        let epoch = self.runtime.block_on(self.lease.take())?;
        self.committer.stop(commit::not_recovered());
        Ok(epoch.unsigned_abs())
    }

    /// The partition's lease as the database has it.
    ///
    /// # Errors
    /// When the database fails.
    pub fn lease(&self) -> Result<LeaseState, StoreError> {
        self.runtime.block_on(self.lease.state()).map_err(failed)
    }

    /// Whether this host has the lease, and it has not expired by the host's monotonic clock. Only then may the host answer
    /// from what it remembers.
    pub fn holds_lease(&self) -> bool {
        self.lease.holds()
    }

    /// Whether another host has the lease.
    ///
    /// # Errors
    /// When the database fails.
    pub fn is_taken(&self) -> Result<bool, StoreError> {
        let owner = self.settings.owner.clone();
        let rows = self.all(
            "SELECT FROM rialto.leases WHERE partition = $1 AND owner <> $2 AND expires_at > clock_timestamp()",
            |query| query.bind(owner.clone()),
        )?;
        Ok(!rows.is_empty())
    }

    /// Note by their names which keys of the scheme were made. They are in the files of the host that made them.
    ///
    /// # Errors
    /// When the database fails, or another host has taken over.
    pub fn note_keys(&self, names: &[&str]) -> Result<(), StoreError> {
        for name in names {
            self.execute(
                "INSERT INTO rialto.facts SELECT format('key-%s-%s', $1::int4, $2::text), 'made' ON CONFLICT DO NOTHING",
                |query| query.bind(text::owned(name)),
            )?;
        }
        Ok(())
    }

    /// Whether a key of this name was noted.
    ///
    /// # Errors
    /// When the database fails.
    pub fn has_noted_key(&self, name: &str) -> Result<bool, StoreError> {
        let rows = self.all(
            "SELECT 1 FROM rialto.facts WHERE key = format('key-%s-%s', $1::int4, $2::text)",
            |query| query.bind(text::owned(name)),
        )?;
        Ok(!rows.is_empty())
    }

    /// Whether another host has taken over, as far as this host knows. It then writes nothing more.
    pub fn has_lost_lease(&self) -> bool {
        self.lease.is_lost() || self.committer.failure() == Some(StoreError::Fenced)
    }

    /// Hand the lease over when all groups are written. This store writes nothing more until it recovers again.
    ///
    /// # Errors
    /// When the database fails. The lease then ends by itself.
    pub fn hand_over(&self) -> Result<(), StoreError> {
        if let Some(months) = self.months.lock().take() {
            months.abort();
        }
        self.runtime.block_on(async {
            self.committer.settled().await;
            self.committer.stop(StoreError::Fenced);
            self.known_ids.end();
            self.lease.hand_over().await
        })
    }

    /// Begin to write a group. The next one may be submitted before this one is durable; it is refused if this one is.
    /// [`Store::write`](rialto_engine::store::Store::write) is this and [`Submitted::wait`].
    ///
    /// # Errors
    /// When the group cannot be encoded, or nothing more can be written.
    pub fn submit(&self, group: &Group) -> Result<Submitted, StoreError> {
        if self.lease.is_lost() {
            return Err(StoreError::Fenced);
        }
        if let Some(failure) = self.committer.failure() {
            return Err(failure);
        }
        let epoch = self.lease.epoch().ok_or_else(commit::not_recovered)?;
        for written in group.documents.iter().filter(|one| one.body.is_some()) {
            self.known_ids
                .note(written.collection, &stored(&written.id));
        }
        self.committer.submit(group, epoch)
    }

    /// Whether a document is certainly in no table, as far as this host knows without the database.
    fn is_absent(&self, collection: CollectionId, id: &str) -> bool {
        self.known_ids.is_absent(collection, id) && self.lease.holds()
    }

    /// Follow what the host with the lease writes, so that a takeover need not read it. Recovering ends this.
    pub fn follow(&self) {
        let partition = self.settings.partition();
        self.known_ids
            .follow(self.runtime.handle(), &self.connector, partition);
    }

    /// The last group that this host has followed; none if it follows nothing, or knows too little yet.
    #[must_use]
    pub fn followed(&self) -> Option<u64> {
        self.known_ids.followed()
    }

    /// Whether this host knows the ids of all documents, so that it reads no new one in vain.
    #[must_use]
    pub fn knows_all_ids(&self) -> bool {
        self.known_ids.has_learnt()
    }

    /// Read with one of the readers' connections.
    fn read_with<T>(
        &self,
        reading: impl AsyncFn(&mut PgConnection) -> Result<T, sqlx::Error>,
    ) -> Result<T, StoreError> {
        let read = self.runtime.block_on(self.readers.read(reading));
        read.map_err(failed)
    }

    /// The rows of a query, whose first parameter is the partition.
    fn all(
        &self,
        text: &'static str,
        bind: impl Fn(Bound) -> Bound,
    ) -> Result<Vec<PgRow>, StoreError> {
        let partition = self.settings.partition();
        self.read_with(async |connection| {
            let query = bind(sqlx::query(text).bind(partition));
            query.fetch_all(connection).await
        })
    }

    /// Change rows by one statement, whose first parameter is the partition. Returns how many have changed.
    fn execute(
        &self,
        text: &'static str,
        bind: impl FnOnce(Bound) -> Bound,
    ) -> Result<u64, StoreError> {
        let partition = self.settings.partition();
        self.change(async |connection| {
            let query = bind(sqlx::query(text).bind(partition));
            Ok(query.execute(connection).await?.rows_affected())
        })
    }

    /// A counter; 0 if it was never set.
    fn counter(&self, name: &'static str) -> Result<u64, StoreError> {
        let rows = self.all(
            "SELECT value FROM rialto.counters WHERE partition = $1 AND name = $2",
            |query| query.bind(name),
        )?;
        rows.first()
            .map_or(Ok(0), |row| rows::Columns(row).number(0))
    }

    fn set_counter(&self, name: &'static str, value: u64) -> Result<(), StoreError> {
        let value = rows::signed(value)?;
        let set = |query: Bound| query.bind(name).bind(value);
        self.execute(releases::SET_COUNTER, set).map(drop)
    }

    /// Change what is no group, in one transaction. Fails unless this host has the newest epoch.
    fn change<T>(
        &self,
        change: impl AsyncFnOnce(&mut PgConnection) -> Result<T, sqlx::Error>,
    ) -> Result<T, StoreError> {
        self.change_within(self.connector.answer_within, change)
    }

    /// The same for a change that may take this long.
    fn change_within<T>(
        &self,
        most: Duration,
        change: impl AsyncFnOnce(&mut PgConnection) -> Result<T, sqlx::Error>,
    ) -> Result<T, StoreError> {
        let epoch = self.lease.epoch().ok_or(StoreError::Fenced)?;
        let changed = self.runtime.block_on(async {
            let mut kept = self.changes.lock().await;
            let mut connection = self.fresh(kept.take()).await?;
            let changing = fenced(&mut connection, self.settings.partition(), epoch, change);
            let late = |_| sqlx::Error::Io(std::io::ErrorKind::TimedOut.into());
            let changed = tokio::time::timeout(most, changing).await;
            let changed = changed.map_err(late)??;
            *kept = Some(connection);
            Ok(changed)
        });
        changed.map_err(failed)?.ok_or_else(|| {
            self.lease.note_lost();
            StoreError::Fenced
        })
    }

    /// Make the tables of the coming months soon and every few hours, until the lease is handed over or the store is dropped.
    fn keep_months(&self) {
        let connector = self.connector.clone();
        let making = self.runtime.spawn(async move {
            // A takeover has other things to do first.
            tokio::time::sleep(MONTHS_AFTER).await;
            loop {
                match connector.connect().await {
                    Ok(mut connection) => migrations::make_months(&mut connection).await,
                    Err(error) => {
                        tracing::warn!(%error, "the tables of the coming months could not be made; the host tries again");
                    }
                }
                tokio::time::sleep(MONTHS_EVERY).await;
            }
        });
        if let Some(before) = self.months.lock().replace(making) {
            before.abort();
        }
    }

    /// This connection if it still works, or another one.
    async fn fresh(&self, kept: Option<PgConnection>) -> Result<PgConnection, sqlx::Error> {
        use sqlx::Connection as _;
        if let Some(mut connection) = kept
            && self.connector.in_time(connection.ping()).await.is_ok()
        {
            return Ok(connection);
        }
        let mut attempts = self.connector.attempts();
        loop {
            match self.connector.connect().await {
                Ok(connection) => return Ok(connection),
                Err(error) => attempts.again(error).await?,
            }
        }
    }
}

impl Drop for PostgresStore {
    fn drop(&mut self) {
        own_runtime::blocking(|| {
            if let Err(error) = self.hand_over() {
                tracing::warn!(%error, "the lease could not be handed over; it expires by itself");
            }
        });
    }
}

/// The options of a URL. sqlx would take a URL of any scheme.
fn parsed(url: &str) -> Result<PgConnectOptions, OpenError> {
    let scheme = url.split_once("://").map_or("", |(scheme, _)| scheme);
    if !matches!(scheme, "postgres" | "postgresql") {
        return Err(OpenError::Url(format!("its scheme is {scheme:?}")));
    }
    let refused = |error: sqlx::Error| OpenError::Url(error.to_string());
    url.parse().map_err(refused)
}

/// Check the database and bring its layout up to date.
async fn prepare(connector: &Connector, settings: &Settings) -> Result<(), OpenError> {
    let mut connection = checks::reached(connector).await?;
    checks::usable(&mut connection, settings).await?;
    checks::clocks_agree(&mut connection).await?;
    migrations::migrate(&mut connection).await?;
    if let Some(scheme) = &settings.scheme {
        checks::of_scheme(&mut connection, scheme).await?;
    }
    Ok(())
}

/// Run a change in a transaction that holds the head of the partition. None if another host has taken over.
async fn fenced<T>(
    connection: &mut PgConnection,
    partition: i32,
    epoch: i64,
    change: impl AsyncFnOnce(&mut PgConnection) -> Result<T, sqlx::Error>,
) -> Result<Option<T>, sqlx::Error> {
    let mut transaction = connection.begin().await?;
    let newest: Option<i64> =
        sqlx::query_scalar("SELECT epoch FROM rialto.partitions WHERE partition = $1 FOR UPDATE")
            .bind(partition)
            .fetch_optional(&mut *transaction)
            .await?;
    if newest != Some(epoch) {
        // A transaction that is dropped keeps its locks until its connection is used again.
        transaction.rollback().await?;
        return Ok(None);
    }
    let changed = change(&mut transaction).await?;
    transaction.commit().await?;
    Ok(Some(changed))
}
