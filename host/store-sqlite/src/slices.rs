//! Writes many rows in slices: short transactions, between which the writer's connection is released. So the
//! commit of a group never waits long.

use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};
use rialto_engine::store::StoreError;
use sqlx::sqlite::SqliteArguments;
use sqlx::{Arguments as _, AssertSqlSafe, Encode, Executor as _, Sqlite, SqliteConnection, Type};
use tokio::runtime::Runtime;

use crate::rows::signed;
use crate::{failed, unreadable};

/// Rows of one slice, roughly: a few milliseconds of work.
const SLICE_ROWS: usize = 256;
/// The numbers of rows of one statement. They are few, so that there are few prepared statements.
pub(crate) const STATEMENT_ROWS: [usize; 3] = [64, 8, 1];

const _: () = {
    let [first, .., last] = STATEMENT_ROWS;
    assert!(
        last == 1,
        "any number of rows is written by some statements"
    );
    assert!(first <= SLICE_ROWS, "a slice has room for each statement");
};

/// Parameters, bound in the order of the question marks.
#[derive(Default)]
pub(crate) struct Bound(SqliteArguments);

impl Bound {
    pub fn add<'v, T: Encode<'v, Sqlite> + Type<Sqlite>>(
        &mut self,
        value: T,
    ) -> Result<(), StoreError> {
        self.0
            .add(value)
            .map_err(|e| StoreError::Failed(format!("a value cannot be bound: {e}")))
    }

    pub fn number(&mut self, value: u64) -> Result<(), StoreError> {
        self.add(signed(value)?)
    }
}

/// The writer's connection, taken for one slice at a time. If this is dropped without `finish`, the open slice
/// is rolled back; earlier ones stay.
pub(crate) struct Slices<'s> {
    runtime: &'s Runtime,
    writer: &'s Mutex<SqliteConnection>,
    fence: i64,
    open: Option<MutexGuard<'s, SqliteConnection>>,
    rows: usize,
    /// When the open slice was begun.
    since: Instant,
    /// Called between two slices, with the time that the first one took.
    between: Option<&'s dyn Fn(Duration)>,
}

impl<'s> Slices<'s> {
    pub fn new(runtime: &'s Runtime, writer: &'s Mutex<SqliteConnection>, fence: i64) -> Self {
        Self {
            runtime,
            writer,
            fence,
            open: None,
            rows: 0,
            since: Instant::now(),
            between: None,
        }
    }

    /// The same, with something to do between two slices: it is told how long the first one took.
    pub fn with_pauses(mut self, between: &'s dyn Fn(Duration)) -> Self {
        self.between = Some(between);
        self
    }

    /// Run a statement of the form `head row, row, … tail` for many rows, as often as needed.
    pub fn rows<T>(
        &mut self,
        head: &str,
        row: &str,
        tail: &str,
        all: &[T],
        bind: impl Fn(&mut Bound, &T) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        self.count_rows(head, row, tail, all, bind).map(|_| ())
    }

    /// The same. Returns how many rows it changed.
    pub fn count_rows<T>(
        &mut self,
        head: &str,
        row: &str,
        tail: &str,
        all: &[T],
        bind: impl Fn(&mut Bound, &T) -> Result<(), StoreError>,
    ) -> Result<u64, StoreError> {
        let mut rest = all;
        let mut changed = 0;
        for length in STATEMENT_ROWS {
            if rest.len() < length {
                continue;
            }
            let values = vec![row; length].join(",");
            let text = format!("{head} {values}{tail}");
            while rest.len() >= length {
                let (chunk, others) = rest.split_at(length);
                let mut bound = Bound::default();
                for item in chunk {
                    bind(&mut bound, item)?;
                }
                changed += self.statement(&text, bound, length)?;
                rest = others;
            }
        }
        assert!(
            rest.is_empty(),
            "of {} rows {} are left out",
            all.len(),
            rest.len()
        );
        Ok(changed)
    }

    /// Set a counter in `meta`.
    pub fn set(&mut self, key: &str, value: u64) -> Result<(), StoreError> {
        let mut bound = Bound::default();
        bound.number(value)?;
        bound.add(key.to_owned())?;
        let rows = self.statement("UPDATE meta SET value = ? WHERE key = ?", bound, 0)?;
        assert!(rows == 1, "the counter `{key}` is set in {rows} rows");
        Ok(())
    }

    /// Raise a counter in `meta`; never lowers it.
    pub fn raise(&mut self, key: &str, value: u64) -> Result<(), StoreError> {
        let mut bound = Bound::default();
        bound.number(value)?;
        bound.add(key.to_owned())?;
        let rows = self.statement(
            "UPDATE meta SET value = max(value, ?) WHERE key = ?",
            bound,
            0,
        )?;
        assert!(rows == 1, "the counter `{key}` is raised in {rows} rows");
        Ok(())
    }

    /// Run a statement in the open slice, or in a new one. With no rows it does not end the slice.
    /// Returns how many rows it changed.
    pub fn statement(&mut self, text: &str, bound: Bound, rows: usize) -> Result<u64, StoreError> {
        if self.rows >= SLICE_ROWS {
            let took = self.since.elapsed();
            self.finish()?;
            if let Some(between) = self.between {
                between(took);
            }
        }
        if self.open.is_none() {
            self.begin()?;
        }
        let Some(connection) = self.open.as_mut() else {
            return Err(StoreError::Failed("a slice was lost".into()));
        };
        // The text consists of this crate's own constants.
        let query = sqlx::query_with(AssertSqlSafe(text.to_owned()), bound.0);
        let done = self.runtime.block_on(query.execute(&mut **connection));
        self.rows += rows;
        done.map(|done| done.rows_affected()).map_err(failed)
    }

    /// Commit the open slice and give the connection back.
    pub fn finish(&mut self) -> Result<(), StoreError> {
        let Some(mut connection) = self.open.take() else {
            return Ok(());
        };
        self.rows = 0;
        let done = self.runtime.block_on(connection.execute("COMMIT"));
        if done.is_err() {
            let _ = self.runtime.block_on(connection.execute("ROLLBACK"));
        }
        // A waiting thread gets it next.
        MutexGuard::unlock_fair(connection);
        done.map(|_| ()).map_err(failed)
    }

    fn begin(&mut self) -> Result<(), StoreError> {
        assert!(
            self.open.is_none() && self.rows == 0,
            "a slice begins with {} rows of the one before, which is open: {}",
            self.rows,
            self.open.is_some()
        );
        let mut connection = self.writer.lock();
        let fence = self.runtime.block_on(async {
            connection.execute("BEGIN IMMEDIATE").await?;
            sqlx::query_scalar("SELECT value FROM meta WHERE key = 'fence'")
                .fetch_one(&mut *connection)
                .await
        });
        let fence: i64 = fence
            .map_err(failed)
            .inspect_err(|_| self.roll_back(&mut connection))?;
        if fence != self.fence {
            self.roll_back(&mut connection);
            return Err(StoreError::Fenced);
        }
        self.open = Some(connection);
        self.since = Instant::now();
        Ok(())
    }

    fn roll_back(&self, connection: &mut SqliteConnection) {
        // Without a transaction this fails, which does no harm.
        let _ = self.runtime.block_on(connection.execute("ROLLBACK"));
    }
}

impl Drop for Slices<'_> {
    fn drop(&mut self) {
        if let Some(mut connection) = self.open.take() {
            self.roll_back(&mut connection);
        }
    }
}

/// A counter of `meta`.
pub(crate) async fn counter(
    connection: &mut SqliteConnection,
    key: &str,
) -> Result<u64, StoreError> {
    let value: i64 = sqlx::query_scalar("SELECT value FROM meta WHERE key = ?")
        .bind(key)
        .fetch_one(connection)
        .await
        .map_err(failed)?;
    u64::try_from(value).map_err(|e| unreadable("a counter", e))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

    use std::cell::Cell;

    use sqlx::Connection as _;

    use super::*;

    #[test]
    fn between_slices_the_writer_is_free_and_others_have_their_time() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        let writer = runtime.block_on(async {
            let mut writer = SqliteConnection::connect("sqlite::memory:").await.unwrap();
            let tables = "CREATE TABLE meta (key TEXT, value INTEGER); INSERT INTO meta VALUES ('fence', 7); \
                          CREATE TABLE numbers (number INTEGER)";
            writer.execute(tables).await.unwrap();
            Mutex::new(writer)
        });
        let pauses = Cell::new(0);
        let between = |_| {
            assert!(writer.try_lock().is_some(), "the writer is free");
            pauses.set(pauses.get() + 1);
        };
        let mut slices = Slices::new(&runtime, &writer, 7).with_pauses(&between);
        let numbers: Vec<u64> = (0..2 * SLICE_ROWS as u64 + 1).collect();
        let head = "INSERT INTO numbers VALUES";
        let written = slices.count_rows(head, "(?)", "", &numbers, |b, n| b.number(*n));
        assert_eq!(written.unwrap(), numbers.len() as u64);
        slices.finish().unwrap();
        assert_eq!(pauses.get(), 2, "none after the last slice");
    }
}
