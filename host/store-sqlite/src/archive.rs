//! What is kept for good: history, receipts, releases and their components. Read by operators'
//! commands, also while a host runs; releases are written by the host itself.

use std::path::Path;

use rialto_engine::Timestamp;
use rialto_engine::history::Record;
use rialto_engine::store::{Receipt, StoreError};
use sqlx::sqlite::SqlitePoolOptions;
use sqlx::{Row, SqlitePool};
use tokio::runtime::Runtime;

use crate::rows::unsigned;
use crate::{OpenError, SqliteStore, failed, options, unreadable};

/// The first byte of an encoded history: tells the layout of what follows.
const HISTORY_LAYOUT: u8 = 1;

/// A release as the store keeps it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredRelease {
    /// Its number; counts up from 1.
    pub number: u64,
    /// SHA-256 over everything in it.
    pub digest: String,
    /// The scheme's document and the digests of its components, as JSON.
    pub document: String,
    /// When it was made.
    pub created_at: Timestamp,
    /// Why.
    pub note: String,
}

pub(crate) fn encode_history(records: &[Record]) -> Result<Vec<u8>, StoreError> {
    postcard::to_extend(records, vec![HISTORY_LAYOUT])
        .map_err(|e| StoreError::Failed(format!("the history cannot be written: {e}")))
}

fn decode_history(bytes: &[u8]) -> Result<Vec<Record>, StoreError> {
    match bytes.split_first() {
        Some((&HISTORY_LAYOUT, rest)) => {
            postcard::from_bytes(rest).map_err(|e| unreadable("the history", e))
        }
        Some((layout, _)) => Err(unreadable(
            "the history",
            format!("unknown layout {layout}"),
        )),
        None => Ok(Vec::new()),
    }
}

async fn history(readers: &SqlitePool, subject: &str) -> Result<Vec<Record>, StoreError> {
    let rows = sqlx::query(
        "SELECT h.records FROM history_subjects s JOIN history h ON h.lsn = s.lsn
         WHERE s.subject = ? ORDER BY s.lsn",
    )
    .bind(subject)
    .fetch_all(readers)
    .await
    .map_err(failed)?;
    let mut found = Vec::new();
    for row in rows {
        let records = decode_history(row.try_get(0).map_err(failed)?)?;
        let about = |r: &Record| r.subjects.iter().any(|s| &**s == subject);
        found.extend(records.into_iter().filter(about));
    }
    Ok(found)
}

/// Subjects that end with this text after a colon, or are it: `transfer:<id>` for `<id>`.
async fn subjects_of(readers: &SqlitePool, id: &str) -> Result<Vec<String>, StoreError> {
    if id.contains(':') {
        return Ok(vec![id.to_owned()]);
    }
    // A subject's kind comes first, so every kind is tried by its own look into the index.
    let kinds: Vec<String> = sqlx::query_scalar(
        "WITH RECURSIVE kinds(kind) AS (
             SELECT substr(min(subject), 1, instr(min(subject), ':')) FROM history_subjects
             UNION ALL
             SELECT (SELECT substr(min(subject), 1, instr(min(subject), ':'))
                     FROM history_subjects
                     WHERE subject >= substr(kind, 1, length(kind) - 1) || ';')
             FROM kinds WHERE kind IS NOT NULL AND kind != ''
         ) SELECT kind FROM kinds WHERE kind IS NOT NULL AND kind != ''",
    )
    .fetch_all(readers)
    .await
    .map_err(failed)?;
    Ok(kinds
        .into_iter()
        .map(|kind| format!("{kind}{id}"))
        .collect())
}

async fn receipts(readers: &SqlitePool, subject: &str) -> Result<Vec<Receipt>, StoreError> {
    let rows =
        sqlx::query("SELECT id, subject, at, body FROM receipts WHERE subject = ? ORDER BY id")
            .bind(subject)
            .fetch_all(readers)
            .await
            .map_err(failed)?;
    rows.iter()
        .map(|row| {
            Ok(Receipt {
                id: unsigned(row.try_get(0).map_err(failed)?)?,
                subject: row.try_get::<&str, _>(1).map_err(failed)?.into(),
                at: Timestamp(unsigned(row.try_get(2).map_err(failed)?)?),
                body: row.try_get(3).map_err(failed)?,
            })
        })
        .collect()
}

async fn releases(readers: &SqlitePool) -> Result<Vec<StoredRelease>, StoreError> {
    let rows = sqlx::query(
        "SELECT number, digest, document, created_at, note FROM releases ORDER BY number",
    )
    .fetch_all(readers)
    .await
    .map_err(failed)?;
    rows.iter()
        .map(|row| {
            Ok(StoredRelease {
                number: unsigned(row.try_get(0).map_err(failed)?)?,
                digest: row.try_get(1).map_err(failed)?,
                document: row.try_get(2).map_err(failed)?,
                created_at: Timestamp(unsigned(row.try_get(3).map_err(failed)?)?),
                note: row.try_get(4).map_err(failed)?,
            })
        })
        .collect()
}

async fn component(readers: &SqlitePool, digest: &str) -> Result<Option<Vec<u8>>, StoreError> {
    sqlx::query_scalar("SELECT bytes FROM components WHERE digest = ?")
        .bind(digest)
        .fetch_optional(readers)
        .await
        .map_err(failed)
}

impl SqliteStore {
    /// What happened to a subject, in log order.
    pub fn history(&self, subject: &str) -> Result<Vec<Record>, StoreError> {
        self.runtime.block_on(history(&self.readers, subject))
    }

    /// The subjects that an id may stand for.
    pub fn subjects_of(&self, id: &str) -> Result<Vec<String>, StoreError> {
        self.runtime.block_on(subjects_of(&self.readers, id))
    }

    /// The verdicts about a subject, oldest first.
    pub fn receipts(&self, subject: &str) -> Result<Vec<Receipt>, StoreError> {
        self.runtime.block_on(receipts(&self.readers, subject))
    }

    /// All releases, oldest first.
    pub fn releases(&self) -> Result<Vec<StoredRelease>, StoreError> {
        self.runtime.block_on(releases(&self.readers))
    }

    /// The number of the current release; 0 before the first.
    pub fn current_release(&self) -> Result<u64, StoreError> {
        let number: i64 = self
            .runtime
            .block_on(
                sqlx::query_scalar("SELECT value FROM meta WHERE key = 'release'")
                    .fetch_one(&self.readers),
            )
            .map_err(failed)?;
        unsigned(number)
    }

    /// A component's bytes.
    pub fn component(&self, digest: &str) -> Result<Option<Vec<u8>>, StoreError> {
        self.runtime.block_on(component(&self.readers, digest))
    }

    /// Keep a component.
    pub fn add_component(&self, digest: &str, bytes: &[u8]) -> Result<(), StoreError> {
        let mut writer = self.writer.lock();
        let query = sqlx::query("INSERT OR IGNORE INTO components (digest, bytes) VALUES (?, ?)")
            .bind(digest)
            .bind(bytes);
        self.runtime
            .block_on(query.execute(&mut *writer))
            .map(|_| ())
            .map_err(failed)
    }

    /// Keep a release; it is not current by that.
    pub fn add_release(&self, release: &StoredRelease) -> Result<(), StoreError> {
        let mut writer = self.writer.lock();
        let number = i64::try_from(release.number).map_err(|e| unreadable("a number", e))?;
        let at = i64::try_from(release.created_at.0).unwrap_or(i64::MAX);
        let query = sqlx::query(
            "INSERT INTO releases (number, digest, document, created_at, note)
             VALUES (?, ?, ?, ?, ?)",
        )
        .bind(number)
        .bind(&release.digest)
        .bind(&release.document)
        .bind(at)
        .bind(&release.note);
        self.runtime
            .block_on(query.execute(&mut *writer))
            .map(|_| ())
            .map_err(failed)
    }

    /// Make a release the current one.
    pub fn set_current_release(&self, number: u64) -> Result<(), StoreError> {
        let mut writer = self.writer.lock();
        let number = i64::try_from(number).map_err(|e| unreadable("a number", e))?;
        let query = sqlx::query("UPDATE meta SET value = ? WHERE key = 'release'").bind(number);
        self.runtime
            .block_on(query.execute(&mut *writer))
            .map(|_| ())
            .map_err(failed)
    }
}

/// A store opened for reading only, beside a host that may be running.
pub struct Archive {
    runtime: Runtime,
    readers: SqlitePool,
}

impl Archive {
    pub(crate) fn open(path: &Path) -> Result<Self, OpenError> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|source| OpenError::Io {
                path: path.to_owned(),
                source,
            })?;
        let readers = runtime
            .block_on(
                SqlitePoolOptions::new()
                    .max_connections(1)
                    .connect_with(options(path).read_only(true).create_if_missing(false)),
            )
            .map_err(|source| OpenError::Sqlite {
                path: path.to_owned(),
                source,
            })?;
        Ok(Self { runtime, readers })
    }

    /// What happened to a subject, in log order.
    pub fn history(&self, subject: &str) -> Result<Vec<Record>, StoreError> {
        self.runtime.block_on(history(&self.readers, subject))
    }

    /// The subjects that an id may stand for.
    pub fn subjects_of(&self, id: &str) -> Result<Vec<String>, StoreError> {
        self.runtime.block_on(subjects_of(&self.readers, id))
    }

    /// The verdicts about a subject, oldest first.
    pub fn receipts(&self, subject: &str) -> Result<Vec<Receipt>, StoreError> {
        self.runtime.block_on(receipts(&self.readers, subject))
    }

    /// All releases, oldest first.
    pub fn releases(&self) -> Result<Vec<StoredRelease>, StoreError> {
        self.runtime.block_on(releases(&self.readers))
    }

    /// A component's bytes.
    pub fn component(&self, digest: &str) -> Result<Option<Vec<u8>>, StoreError> {
        self.runtime.block_on(component(&self.readers, digest))
    }
}
