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

const VERSIONS: [Version; 1] = [Version {
    number: 1,
    oldest_host: 1,
    statements: include_str!("../migrations/0001_store.sql"),
}];

/// The newest layout that this host knows.
pub const LAYOUT: i32 = VERSIONS[VERSIONS.len() - 1].number;

/// The key of the advisory lock: the bytes of "rialto".
const LOCK: i64 = 0x7269_616c_746f;
/// How long a change of a table may wait for those who use it. They wait behind it for as long.
const TABLE_WAIT: Duration = Duration::from_secs(2);

/// Bring the layout up to date, and make the tables of the coming months.
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
    let (there, oldest_host): (i32, i32) = sqlx::query_as(
        "SELECT coalesce(max(version), 0), coalesce(max(oldest_host), 0) FROM rialto.layouts",
    )
    .fetch_one(&mut *transaction)
    .await?;
    if oldest_host > LAYOUT {
        return Err(OpenError::TooNew {
            there,
            oldest_host,
            known: LAYOUT,
        });
    }
    for version in VERSIONS.iter().filter(|version| version.number > there) {
        transaction.execute(version.statements).await?;
        sqlx::query("INSERT INTO rialto.layouts (version, oldest_host) VALUES ($1, $2)")
            .bind(version.number)
            .bind(version.oldest_host)
            .execute(&mut *transaction)
            .await?;
    }
    transaction.execute("SELECT rialto.make_months_1()").await?;
    transaction.commit().await?;
    Ok(())
}
