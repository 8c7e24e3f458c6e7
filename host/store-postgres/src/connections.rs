//! Connections to the database: how they are made, and the readers' pool.
//!
//! sqlx's own pool asks the server after each use whether the connection is well, which doubles the round trips of short
//! reads. A connection of this pool that failed is dropped, and the next reader makes a new one.

use std::time::{Duration, Instant};

use parking_lot::Mutex;
use sqlx::postgres::PgConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions as _, Executor as _, PgConnection};
use tokio::sync::Semaphore;

use crate::Settings;
use crate::failures::may_pass;

/// What every connection is set to. Plans by index alone: a table's statistics may be from when it was empty; and not by bitmap,
/// which leaves entries of dead rows in the index, so that the next scan visits them again. What a group brings is a few
/// megabytes, and need not go to a file. A host that is
/// gone or frozen in the middle of a change keeps no lock for longer than the takeover's time. A commit that is
/// acknowledged is on disk, whatever the server's default is; a stronger default stays.
const SETTINGS: &str = "
    SET idle_in_transaction_session_timeout = '2s'; SET lock_timeout = '4s';
    SET tcp_keepalives_idle = 4; SET tcp_keepalives_interval = 2; SET tcp_keepalives_count = 3;
    SET default_transaction_isolation = 'read committed';
    SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off; SET enable_bitmapscan = off;
    SET work_mem = '64MB';
    SET plan_cache_mode = force_generic_plan; SET client_min_messages = warning;
    SELECT set_config('synchronous_commit', 'on', false)
    WHERE current_setting('synchronous_commit') IN ('off', 'local')";

/// The first pause before the same thing is tried again.
const PAUSE: Duration = Duration::from_millis(20);
/// The longest pause.
const PAUSE_MAX: Duration = Duration::from_millis(500);

/// How connections are made.
#[derive(Clone, Debug)]
pub(crate) struct Connector {
    pub options: PgConnectOptions,
    /// How long a connection may take to be made, and a statement to be answered.
    pub answer_within: Duration,
    /// For how long a statement is tried again while the server is away.
    pub outage_max: Duration,
}

impl Connector {
    /// Connections with these options, for a host with these settings.
    pub fn new(options: PgConnectOptions, settings: &Settings) -> Self {
        Self {
            options: options
                .application_name(&format!("rialto {}", settings.owner))
                .disable_statement_logging(),
            answer_within: settings.answer_within,
            outage_max: settings.outage_max,
        }
    }

    /// A new connection.
    pub async fn connect(&self) -> Result<PgConnection, sqlx::Error> {
        self.in_time(async {
            let mut connection = self.options.connect().await?;
            connection.execute(SETTINGS).await?;
            Ok(connection)
        })
        .await
    }

    /// Work that fails when it takes longer than a statement may.
    pub async fn in_time<T>(
        &self,
        work: impl Future<Output = Result<T, sqlx::Error>>,
    ) -> Result<T, sqlx::Error> {
        let late = |_| sqlx::Error::Io(std::io::ErrorKind::TimedOut.into());
        tokio::time::timeout(self.answer_within, work)
            .await
            .map_err(late)?
    }

    /// Tries for as long as an outage may last.
    pub fn attempts(&self) -> Attempts {
        Attempts {
            until: Instant::now() + self.outage_max,
            pause: PAUSE,
        }
    }

    /// How long the server may work on one read. A read that takes longer is ended by the server, so that no second one
    /// works beside it.
    fn read_max(&self) -> Duration {
        self.answer_within.mul_f64(0.9)
    }
}

/// The attempts at one thing.
pub(crate) struct Attempts {
    until: Instant,
    pause: Duration,
}

impl Attempts {
    /// Wait before the next attempt.
    ///
    /// # Errors
    /// With the last failure, when it cannot pass or the time is over.
    pub async fn again(&mut self, error: sqlx::Error) -> Result<(), sqlx::Error> {
        if !may_pass(&error) || Instant::now() + self.pause > self.until {
            return Err(error);
        }
        tracing::warn!(%error, "the database did not answer; the host tries again");
        tokio::time::sleep(self.pause).await;
        self.pause = (self.pause * 2).min(PAUSE_MAX);
        Ok(())
    }
}

/// Connections for reads.
pub(crate) struct Readers {
    connector: Connector,
    idle: Mutex<Vec<PgConnection>>,
    permits: Semaphore,
}

impl Readers {
    pub fn new(connector: Connector, connections: usize) -> Self {
        Self {
            connector,
            idle: Mutex::new(Vec::with_capacity(connections)),
            permits: Semaphore::new(connections),
        }
    }

    /// Read with a connection, and again with another one if the server was away.
    pub async fn read<T>(
        &self,
        reading: impl AsyncFn(&mut PgConnection) -> Result<T, sqlx::Error>,
    ) -> Result<T, sqlx::Error> {
        let mut attempts = self.connector.attempts();
        let permit = tokio::time::timeout_at(attempts.until.into(), self.permits.acquire()).await;
        let late = |_| sqlx::Error::PoolTimedOut;
        let _permit = permit.map_err(late)?.map_err(|_| sqlx::Error::PoolClosed)?;
        loop {
            match self.attempt(&reading).await {
                Ok(read) => return Ok(read),
                Err(error) => attempts.again(error).await?,
            }
        }
    }

    async fn connect(&self) -> Result<PgConnection, sqlx::Error> {
        let mut connection = self.connector.connect().await?;
        let most = format!(
            "SET statement_timeout = {}",
            self.connector.read_max().as_millis()
        );
        let set = connection.execute(AssertSqlSafe(most));
        self.connector.in_time(set).await?;
        Ok(connection)
    }

    async fn attempt<T>(
        &self,
        reading: &impl AsyncFn(&mut PgConnection) -> Result<T, sqlx::Error>,
    ) -> Result<T, sqlx::Error> {
        let idle = self.idle.lock().pop();
        let mut connection = match idle {
            Some(connection) => connection,
            None => self.connect().await?,
        };
        let read = self.connector.in_time(reading(&mut connection)).await;
        match &read {
            Ok(_) => self.idle.lock().push(connection),
            // The other ones were most likely cut, too.
            Err(error) if may_pass(error) => self.idle.lock().clear(),
            Err(_) => (),
        }
        read
    }
}
