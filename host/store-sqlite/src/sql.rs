//! Reads the tables of a store with SQL, whether a host runs or not. Bodies of documents are compressed, so the reader has the
//! function `document`, and the view `named_documents` shows JSON.
//!
//! A query reads one commit. A flush makes several, so a query may see a part of it. It can change nothing: the database is opened for reading, and statements that may write are
//! refused.

use std::path::Path;

use rusqlite::functions::{Context, FunctionFlags};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags};
use serde_json::Value;

use crate::backup::DATABASE;
use crate::dictionaries::{ALL, StoredDictionary, Unpacking};
use crate::snapshot::{SnapshotError, check_layout};

/// Why a query has no answer.
#[derive(Debug, thiserror::Error)]
pub enum SqlError {
    /// There is no store, or it has another layout.
    #[error(transparent)]
    Store(#[from] SnapshotError),
    /// SQLite does not take the statement, or cannot read the store.
    #[error("SQLite refuses this: {0}")]
    Refused(#[from] rusqlite::Error),
    /// It is not a query.
    #[error("this statement is not a query; a store is only read")]
    Writes,
}

/// A store that is read with SQL.
pub struct Sql {
    connection: Connection,
    is_flushing: bool,
}

/// A row: the values of its columns. A blob is its bytes in hexadecimal, as `X'00FF'`.
pub type SqlRow = Vec<Value>;

impl Sql {
    /// Open the store in this folder, as of now.
    ///
    /// # Errors
    /// When there is no store, it has another layout, or it cannot be read.
    pub fn open(folder: &Path) -> Result<Self, SqlError> {
        let path = folder.join(DATABASE);
        if !path.is_file() {
            return Err(SnapshotError::NoStore(folder.to_owned()).into());
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(&path, flags)?;
        connection.execute_batch(
            "PRAGMA temp_store = memory;
             CREATE TEMP VIEW named_documents AS
             SELECT c.component, c.name AS collection, d.id, d.version, document(d.body) AS body
             FROM main.documents d JOIN main.collections c ON c.id = d.collection;
             PRAGMA query_only = on;
             BEGIN",
        )?;
        // The first read fixes the commit.
        let layout = connection.query_row(
            "SELECT coalesce(max(version), 0) FROM _sqlx_migrations",
            [],
            |row| row.get(0),
        )?;
        check_layout(&path, layout)?;
        let is_flushing = connection.query_row(
            "SELECT max(value) <> min(value) FROM meta WHERE key IN ('folding', 'folded')",
            [],
            |row| row.get(0),
        )?;
        let unpacking = Unpacking::of(&dictionaries(&connection)?);
        connection.create_scalar_function(
            "document",
            1,
            FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC,
            move |context| document(context, &unpacking),
        )?;
        Ok(Self {
            connection,
            is_flushing,
        })
    }

    /// Whether a flush is under way, or was interrupted by a crash: the tables have a part of what some turns have written.
    pub fn is_flushing(&self) -> bool {
        self.is_flushing
    }

    /// Run a query. Returns the names of its columns, and gives each row to `each` until that wants no more.
    ///
    /// # Errors
    /// When the text is not one query, or a row cannot be read.
    pub fn query(
        &self,
        text: &str,
        each: &mut dyn FnMut(&[String], SqlRow) -> bool,
    ) -> Result<Vec<String>, SqlError> {
        let mut statement = self.connection.prepare(text)?;
        if !statement.readonly() || statement.column_count() == 0 {
            return Err(SqlError::Writes);
        }
        let names = statement.column_names();
        let names: Vec<String> = names.into_iter().map(str::to_owned).collect();
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let values = (0..names.len()).map(|n| row.get_ref(n).map(value));
            if !each(&names, values.collect::<Result<SqlRow, _>>()?) {
                break;
            }
        }
        Ok(names)
    }
}

fn dictionaries(connection: &Connection) -> Result<Vec<StoredDictionary>, rusqlite::Error> {
    let mut statement = connection.prepare(ALL)?;
    let rows = statement.query_map([], |row| {
        Ok(StoredDictionary {
            id: row.get(0)?,
            collection: row.get(1)?,
            content: row.get(2)?,
            remains: row.get(3)?,
            checksum: row.get(4)?,
        })
    })?;
    rows.collect()
}

/// The SQL function `document(body)`: the JSON of a body. Anything that is no blob stays as it is.
fn document(
    context: &Context<'_>,
    unpacking: &Unpacking,
) -> rusqlite::Result<rusqlite::types::Value> {
    match context.get_raw(0) {
        ValueRef::Blob(frame) => match unpacking.unpacked(frame) {
            Ok(body) => Ok(body.to_string().into()),
            Err(error) => Err(rusqlite::Error::UserFunctionError(error.into())),
        },
        other => Ok(other.try_into()?),
    }
}

fn value(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => number.into(),
        ValueRef::Real(number) => number.into(),
        ValueRef::Text(text) => String::from_utf8_lossy(text).into(),
        ValueRef::Blob(bytes) => {
            let digits: Vec<String> = bytes.iter().map(|byte| format!("{byte:02X}")).collect();
            format!("X'{}'", digits.concat()).into()
        }
    }
}
