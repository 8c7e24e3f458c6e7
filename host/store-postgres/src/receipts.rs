//! Reads all receipts of a time from a database, in one read-only transaction: as of one commit, whether a host runs or not.

use rialto_engine::Timestamp;
use rialto_engine::store::{Receipt, StoreError};
use rialto_store::ReceiptPages;
use sqlx::PgConnection;
use tokio::runtime::Runtime;

use crate::failures::failed;
use crate::rows::{Columns, signed};
use crate::snapshot::{in_time, reading};
use crate::{OpenError, Settings};

/// How many receipts a page has at most.
const PAGE: i64 = 2_048;
/// The end of the year 9999, in milliseconds since 1970: later than any receipt, and an instant for the database.
const AT_MAX: i64 = 253_402_300_799_999;

/// The receipts of a database from one instant to another.
pub struct PostgresReceipts {
    // Before the runtime, which it needs until it is closed.
    connection: PgConnection,
    runtime: Runtime,
    since: i64,
    until: i64,
}

impl PostgresReceipts {
    /// Those of the scheme in this database with `since <= at < until`.
    ///
    /// # Errors
    /// When the database cannot be read, or has no scheme.
    pub fn open(url: &str, since: Timestamp, until: Timestamp) -> Result<Self, OpenError> {
        let (runtime, connection) = reading(url)?;
        let instant = |at: Timestamp| i64::try_from(at.0).unwrap_or(AT_MAX).min(AT_MAX);
        Ok(Self {
            connection,
            runtime,
            since: instant(since),
            until: instant(until),
        })
    }

    /// Receipts behind an id. The tables of months that ended an hour before the first instant are not looked at: the
    /// host's clock is nearer to the database's.
    fn page(&mut self, after: i64) -> Result<Vec<Receipt>, StoreError> {
        let query = sqlx::query(
            "SELECT id, subject, at, body FROM rialto.receipts
             WHERE partition = $1 AND id > $2 AND at >= $3 AND at < $4
               AND written >= to_timestamp(($3 - 3600000) / 1000)
             ORDER BY id LIMIT $5",
        )
        .bind(Settings::default().partition())
        .bind(after)
        .bind(self.since)
        .bind(self.until)
        .bind(PAGE);
        let rows = query.fetch_all(&mut self.connection);
        let rows = self.runtime.block_on(in_time(rows)).map_err(failed)?;
        let receipts = rows.iter().map(|row| {
            let row = Columns(row);
            Ok(Receipt {
                id: row.number(0)?,
                subject: row.original(1)?.into(),
                at: row.instant(2)?,
                body: row.original(3)?.into(),
            })
        });
        receipts.collect()
    }
}

impl ReceiptPages for PostgresReceipts {
    fn visit_while(
        &mut self,
        visit: &mut dyn FnMut(Vec<Receipt>) -> bool,
    ) -> Result<(), StoreError> {
        let mut after = -1;
        loop {
            let page = self.page(after)?;
            let Some(last) = page.last() else {
                return Ok(());
            };
            after = signed(last.id)?;
            if !visit(page) {
                return Ok(());
            }
        }
    }

    /// None: nothing is moved out of the tables.
    fn unread(&self) -> &[String] {
        &[]
    }
}
