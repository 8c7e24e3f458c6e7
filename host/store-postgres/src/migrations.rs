//! The versions of the layout, oldest first. A released version never changes.
//!
//! Hosts of two versions serve side by side while one takes over from the other. So each version names the oldest host
//! that can still work with it. A host works with a newer layout as far as that allows. The versions are applied in one
//! transaction under an advisory lock that ends with the transaction, so hosts that start together do no harm.

use std::time::Duration;

use sqlx::{Acquire as _, AssertSqlSafe, Executor as _, PgConnection};

use crate::OpenError;

/// A version of the layout.
struct Version {
    number: i32,
    /// The layout of the oldest host that can work with this one.
    oldest_host: i32,
    statements: &'static str,
}

const VERSIONS: [Version; 5] = [
    Version {
        number: 1,
        oldest_host: 1,
        statements: include_str!("../migrations/0001_store.sql"),
    },
    // A host of layout 1 served no scheme.
    Version {
        number: 2,
        oldest_host: 2,
        statements: include_str!("../migrations/0002_host.sql"),
    },
    // Its entries have events for the outside, which hosts of layout 2 do not write.
    Version {
        number: 3,
        oldest_host: 3,
        statements: include_str!("../migrations/0003_events.sql"),
    },
    // A host of layout 3 says nothing of itself, and does no harm.
    Version {
        number: 4,
        oldest_host: 3,
        statements: include_str!("../migrations/0004_hosts.sql"),
    },
    // How values lie in their tables, and how groups find their rows, which no host sees.
    Version {
        number: 5,
        oldest_host: 3,
        statements: include_str!("../migrations/0005_speed.sql"),
    },
];

/// The newest layout that this host knows.
pub const LAYOUT: i32 = VERSIONS[VERSIONS.len() - 1].number;

/// The key of the advisory lock: the bytes of "rialto".
const LOCK: i64 = 0x7269_616c_746f;
/// The same for a change that only saves time.
const TUNE_WAIT: Duration = Duration::from_millis(100);
/// How long a change of a table may wait for those who use it. They wait behind it for as long.
const TABLE_WAIT: Duration = Duration::from_secs(2);

/// Check that this host can read the database's layout.
///
/// # Errors
/// When the database has none, or one that is too new.
pub(crate) async fn readable(connection: &mut PgConnection) -> Result<(), OpenError> {
    let has_layout = "SELECT to_regclass('rialto.layouts') IS NOT NULL";
    let has_layout = sqlx::query_scalar(has_layout).fetch_one(&mut *connection);
    if !has_layout.await? {
        return Err(OpenError::NoScheme);
    }
    let (there, oldest_host) = layout(connection).await?;
    if there < LAYOUT {
        return Err(OpenError::NoScheme);
    }
    not_too_new(there, oldest_host)
}

/// The database's layout, and the layout of the oldest host that can work with it.
async fn layout(connection: &mut PgConnection) -> Result<(i32, i32), sqlx::Error> {
    sqlx::query_as(
        "SELECT coalesce(max(version), 0), coalesce(max(oldest_host), 0) FROM rialto.layouts",
    )
    .fetch_one(connection)
    .await
}

fn not_too_new(there: i32, oldest_host: i32) -> Result<(), OpenError> {
    if oldest_host <= LAYOUT {
        return Ok(());
    }
    Err(OpenError::TooNew {
        there,
        oldest_host,
        known: LAYOUT,
    })
}

/// Bring the layout up to date, and make the tables of the coming months if that is possible now.
///
/// # Errors
/// When the database fails, or its layout is too new for this host.
pub(crate) async fn migrate(connection: &mut PgConnection) -> Result<(), OpenError> {
    let mut transaction = connection.begin().await?;
    sqlx::query("SELECT pg_advisory_xact_lock($1)")
        .bind(LOCK)
        .execute(&mut *transaction)
        .await?;
    let wait = format!("SET LOCAL lock_timeout = {}", TABLE_WAIT.as_millis());
    transaction.execute(AssertSqlSafe(wait)).await?;
    transaction
        .execute(
            "CREATE SCHEMA IF NOT EXISTS rialto;
             CREATE TABLE IF NOT EXISTS rialto.layouts (
                 version     integer     NOT NULL PRIMARY KEY,
                 oldest_host integer     NOT NULL,
                 applied_at  timestamptz NOT NULL DEFAULT clock_timestamp()
             )",
        )
        .await?;
    let (there, oldest_host) = layout(&mut transaction).await?;
    not_too_new(there, oldest_host)?;
    for version in VERSIONS.iter().filter(|version| version.number > there) {
        transaction.execute(version.statements).await?;
        sqlx::query("INSERT INTO rialto.layouts (version, oldest_host) VALUES ($1, $2)")
            .bind(version.number)
            .bind(version.oldest_host)
            .execute(&mut *transaction)
            .await?;
    }
    transaction.commit().await?;
    make_months(connection).await;
    tune(connection).await;
    Ok(())
}

/// Say how values lie in their tables, if that is possible at once. It only makes groups cheaper, so nobody waits for it: a table
/// that somebody reads for long is left to the next start of a host.
async fn tune(connection: &mut PgConnection) {
    if let Err(error) = alone(connection, TUNE_WAIT, "SELECT rialto.tune_1()").await {
        tracing::warn!(%error, "how large values are compressed could not be changed now; the next start of a host tries again");
    }
}

/// Make the tables of the coming months. Without them rows go to the tables of other months, where they are found as well:
/// so a failure is told, and stops nobody.
pub(crate) async fn make_months(connection: &mut PgConnection) {
    if let Err(error) = alone(connection, TABLE_WAIT, "SELECT rialto.make_months_1()").await {
        tracing::warn!(%error, "ALERT: the tables of the coming months could not be made; the host tries again");
    }
}

/// Run a statement in a transaction of its own, which waits for tables no longer than this.
async fn alone(
    connection: &mut PgConnection,
    wait: Duration,
    statement: &'static str,
) -> Result<(), sqlx::Error> {
    let mut transaction = connection.begin().await?;
    let wait = format!("SET LOCAL lock_timeout = {}", wait.as_millis());
    transaction.execute(AssertSqlSafe(wait)).await?;
    transaction.execute(statement).await?;
    transaction.commit().await
}
