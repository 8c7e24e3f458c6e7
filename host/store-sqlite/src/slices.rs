//! Writes many rows in slices: short transactions, between which the writer's connection is released. So nobody else who
//! writes waits long.
//!
//! What a flush writes is in the journal too until the flush ends. So only its end is synced, which takes all before with it.

use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};
use rialto_engine::store::StoreError;
use sqlx::sqlite::SqliteArguments;
use sqlx::{Arguments as _, AssertSqlSafe, Encode, Executor as _, Sqlite, SqliteConnection, Type};
use tokio::runtime::Runtime;

use crate::rows::signed;
use crate::{failed, unreadable};

/// Rows of one slice, roughly: some ten milliseconds of work. A page that two slices change is written twice.
const SLICE_ROWS: usize = 1_024;
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
    /// Whether the next slice need not be on the disk when it is committed.
    lazy: bool,
    /// Whether the open slice need not.
    open_lazy: bool,
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
            lazy: false,
            open_lazy: false,
        }
    }

    /// The same, whose slices need not be on the disk when they are committed, until [`sync_all`](Self::sync_all). After a
    /// power cut the last of them may be missing.
    pub fn lazily(mut self) -> Self {
        self.lazy = true;
        self
    }

    /// End the open slice. From now on each slice is on the disk when it is committed, with all slices before it.
    pub fn sync_all(&mut self) -> Result<(), StoreError> {
        self.finish()?;
        self.lazy = false;
        Ok(())
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
        let committed = self.runtime.block_on(connection.execute("COMMIT"));
        if committed.is_err() {
            let _ = self.runtime.block_on(connection.execute("ROLLBACK"));
        }
        let eager = self.eager(&mut connection);
        // A waiting thread gets it next.
        MutexGuard::unlock_fair(connection);
        committed.map_err(failed)?;
        eager
    }

    fn begin(&mut self) -> Result<(), StoreError> {
        assert!(
            self.open.is_none() && self.rows == 0,
            "a slice begins with {} rows of the one before, which is open: {}",
            self.rows,
            self.open.is_some()
        );
        let mut connection = self.writer.lock();
        self.open_lazy = self.lazy;
        let fence = self.runtime.block_on(async {
            if self.lazy {
                connection.execute("PRAGMA synchronous = NORMAL").await?;
            }
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
        let _ = self.eager(connection);
    }

    /// Have what others commit with this connection be on the disk.
    fn eager(&self, connection: &mut SqliteConnection) -> Result<(), StoreError> {
        if !self.open_lazy {
            return Ok(());
        }
        let set = connection.execute("PRAGMA synchronous = FULL");
        self.runtime.block_on(set).map(|_| ()).map_err(failed)
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

    fn runtime() -> Runtime {
        tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap()
    }

    fn writer(runtime: &Runtime) -> Mutex<SqliteConnection> {
        runtime.block_on(async {
            let mut writer = SqliteConnection::connect("sqlite::memory:").await.unwrap();
            let tables = "CREATE TABLE meta (key TEXT, value INTEGER); INSERT INTO meta VALUES ('fence', 7); \
                          CREATE TABLE numbers (number INTEGER)";
            writer.execute(tables).await.unwrap();
            writer.execute("PRAGMA synchronous = FULL").await.unwrap();
            Mutex::new(writer)
        })
    }

    /// How a connection syncs: 1 is `NORMAL`, 2 is `FULL`.
    fn synchronous(runtime: &Runtime, connection: &mut SqliteConnection) -> i64 {
        let asked = sqlx::query_scalar("PRAGMA synchronous").fetch_one(connection);
        runtime.block_on(asked).unwrap()
    }

    #[test]
    fn only_lazy_slices_are_not_synced() {
        let runtime = runtime();
        let writer = writer(&runtime);
        let levels = Cell::new(0);
        let between = |_| {
            assert_eq!(synchronous(&runtime, &mut writer.lock()), 2, "others sync");
            levels.set(levels.get() + 1);
        };
        let mut slices = Slices::new(&runtime, &writer, 7)
            .with_pauses(&between)
            .lazily();
        let numbers: Vec<u64> = (0..2 * SLICE_ROWS as u64 + 1).collect();
        let add = |slices: &mut Slices<'_>, numbers: &[u64]| {
            let head = "INSERT INTO numbers VALUES";
            slices
                .rows(head, "(?)", "", numbers, |b, n| b.number(*n))
                .unwrap();
            synchronous(&runtime, slices.open.as_mut().unwrap())
        };
        assert_eq!((add(&mut slices, &numbers), levels.get()), (1, 2));
        slices.sync_all().unwrap();
        assert_eq!(add(&mut slices, &numbers[..1]), 2, "the end is synced");
        slices.finish().unwrap();
        for fence in [7, 8] {
            let mut given_up = Slices::new(&runtime, &writer, fence).lazily();
            let head = "INSERT INTO numbers VALUES";
            let added = given_up.rows(head, "(?)", "", &[1_u64], |b, n| b.number(*n));
            assert_eq!(added.is_ok(), fence == 7);
            drop(given_up);
            assert_eq!(synchronous(&runtime, &mut writer.lock()), 2, "given up");
        }
    }

    #[test]
    fn between_slices_the_writer_is_free_and_others_have_their_time() {
        let runtime = runtime();
        let writer = writer(&runtime);
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
