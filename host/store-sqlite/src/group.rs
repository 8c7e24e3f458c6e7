//! Writing a group: for each table a few statements of many rows, in one transaction.
//!
//! Rows are cut into chunks of fixed sizes, so that only a handful of statement texts exist and
//! every one is prepared once.

use rialto_engine::store::{Group, StoreError};
use sqlx::query::Query;
use sqlx::sqlite::SqliteArguments;
use sqlx::{AssertSqlSafe, Sqlite, SqliteConnection};

use crate::rows::Head;
use crate::{failed, unreadable};

/// Sizes of chunks, largest first; the last is 1.
const CHUNKS: [usize; 4] = [64, 16, 4, 1];

type Statement<'q> = Query<'q, Sqlite, SqliteArguments>;

pub(crate) async fn write(
    connection: &mut SqliteConnection,
    group: &Group,
    fence: i64,
) -> Result<(), StoreError> {
    check_fence(connection, group, fence).await?;
    collections(connection, group).await?;
    documents(connection, group).await?;
    deliveries(connection, group).await?;
    reminders(connection, group).await?;
    outbound(connection, group).await?;
    dead_letters(connection, group).await?;
    receipts(connection, group).await?;
    history(connection, group).await
}

/// Only the newest writer's token may move the counters.
async fn check_fence(
    connection: &mut SqliteConnection,
    group: &Group,
    fence: i64,
) -> Result<(), StoreError> {
    let moved = sqlx::query(
        "UPDATE meta SET value = CASE key WHEN 'lsn' THEN ?1 ELSE ?2 END
         WHERE key IN ('lsn', 'next_id')
         AND (SELECT value FROM meta WHERE key = 'fence') = ?3",
    )
    .bind(signed(group.lsn.0)?)
    .bind(signed(group.next_id)?)
    .bind(fence)
    .execute(connection)
    .await
    .map_err(failed)?;
    if moved.rows_affected() == 2 {
        Ok(())
    } else {
        Err(StoreError::Fenced)
    }
}

fn signed(value: u64) -> Result<i64, StoreError> {
    i64::try_from(value).map_err(|e| unreadable("a number", e))
}

/// Run `INSERT … VALUES (…), (…) …` over all rows.
async fn rows<'q, T>(
    connection: &mut SqliteConnection,
    head: &str,
    row: &str,
    tail: &str,
    all: &'q [T],
    bind: impl Fn(Statement<'q>, &'q T) -> Result<Statement<'q>, StoreError>,
) -> Result<(), StoreError> {
    let mut rest = all;
    for size in CHUNKS {
        if rest.len() < size {
            continue;
        }
        let values = vec![row; size].join(", ");
        let text = format!("{head} {values} {tail}");
        while rest.len() >= size {
            let (chunk, after) = rest.split_at(size);
            rest = after;
            // Made of this file's own constants only.
            let mut statement = sqlx::query(AssertSqlSafe(text.clone()));
            for item in chunk {
                statement = bind(statement, item)?;
            }
            statement.execute(&mut *connection).await.map_err(failed)?;
        }
    }
    Ok(())
}

async fn collections(connection: &mut SqliteConnection, group: &Group) -> Result<(), StoreError> {
    let head = "INSERT INTO collections (id, component, name) VALUES";
    rows(connection, head, "(?, ?, ?)", "", &group.collections, |s, c| {
        Ok(s.bind(c.id.0).bind(&*c.component).bind(&*c.name))
    })
    .await
}

async fn documents(connection: &mut SqliteConnection, group: &Group) -> Result<(), StoreError> {
    let written: Vec<_> = group
        .documents
        .iter()
        .filter_map(|d| d.body.as_deref().map(|body| (d, body)))
        .collect();
    let head = "INSERT INTO documents (collection, id, version, body) VALUES";
    let tail = "ON CONFLICT (collection, id) DO UPDATE
                SET version = excluded.version, body = excluded.body";
    rows(connection, head, "(?, ?, ?, ?)", tail, &written, |s, (d, body)| {
        let version = signed(d.version)?;
        Ok(s.bind(d.collection.0).bind(&*d.id).bind(version).bind(*body))
    })
    .await?;
    let removed: Vec<_> = group.documents.iter().filter(|d| d.body.is_none()).collect();
    let head = "DELETE FROM documents WHERE (collection, id) IN (VALUES";
    rows(connection, head, "(?, ?)", ")", &removed, |s, d| {
        Ok(s.bind(d.collection.0).bind(&*d.id))
    })
    .await
}

async fn deliveries(connection: &mut SqliteConnection, group: &Group) -> Result<(), StoreError> {
    let head = "INSERT INTO deliveries (id, head, payload) VALUES";
    rows(connection, head, "(?, ?, ?)", "", &group.deliveries_added, |s, d| {
        let head = json(&Head::of(d))?;
        Ok(s.bind(signed(d.id)?).bind(head).bind(d.payload.encode()))
    })
    .await?;
    let head = "DELETE FROM deliveries WHERE id IN (VALUES";
    rows(connection, head, "(?)", ")", &group.deliveries_removed, |s, id| {
        Ok(s.bind(signed(*id)?))
    })
    .await
}

async fn reminders(connection: &mut SqliteConnection, group: &Group) -> Result<(), StoreError> {
    let head = "INSERT INTO reminders (component, id, due, generation, payload, subjects) VALUES";
    let tail = "ON CONFLICT (component, id) DO UPDATE SET due = excluded.due,
                generation = excluded.generation, payload = excluded.payload,
                subjects = excluded.subjects";
    let row = "(?, ?, ?, ?, ?, ?)";
    rows(connection, head, row, tail, &group.reminders_set, |s, r| {
        Ok(s.bind(&*r.component)
            .bind(&*r.id)
            .bind(i64::try_from(r.due.0).unwrap_or(i64::MAX))
            .bind(signed(r.generation)?)
            .bind(&r.payload)
            .bind(json(&r.subjects)?))
    })
    .await?;
    let head = "DELETE FROM reminders WHERE (component, id) IN (VALUES";
    rows(connection, head, "(?, ?)", ")", &group.reminders_removed, |s, (component, id)| {
        Ok(s.bind(&**component).bind(&**id))
    })
    .await
}

async fn outbound(connection: &mut SqliteConnection, group: &Group) -> Result<(), StoreError> {
    let head = "INSERT INTO outbound (id, request) VALUES";
    rows(connection, head, "(?, ?)", "", &group.outbound_added, |s, o| {
        Ok(s.bind(signed(o.id)?).bind(json(&**o)?))
    })
    .await?;
    let head = "DELETE FROM outbound WHERE id IN (VALUES";
    rows(connection, head, "(?)", ")", &group.outbound_removed, |s, id| {
        Ok(s.bind(signed(*id)?))
    })
    .await
}

async fn dead_letters(connection: &mut SqliteConnection, group: &Group) -> Result<(), StoreError> {
    let head = "INSERT INTO dead_letters (id, head, payload, attempts, error, at) VALUES";
    let row = "(?, ?, ?, ?, ?, ?)";
    rows(connection, head, row, "", &group.dead_letters_added, |s, l| {
        Ok(s.bind(signed(l.delivery.id)?)
            .bind(json(&Head::of(&l.delivery))?)
            .bind(l.delivery.payload.encode())
            .bind(l.attempts)
            .bind(&l.error)
            .bind(signed(l.at.0)?))
    })
    .await?;
    let head = "DELETE FROM dead_letters WHERE id IN (VALUES";
    rows(connection, head, "(?)", ")", &group.dead_letters_removed, |s, id| {
        Ok(s.bind(signed(*id)?))
    })
    .await
}

async fn receipts(connection: &mut SqliteConnection, group: &Group) -> Result<(), StoreError> {
    let head = "INSERT INTO receipts (id, subject, at, body) VALUES";
    rows(connection, head, "(?, ?, ?, ?)", "", &group.receipts, |s, r| {
        Ok(s.bind(signed(r.id)?)
            .bind(&*r.subject)
            .bind(signed(r.at.0)?)
            .bind(&r.body))
    })
    .await
}

/// The group's turns in one row, and one row for each subject that they were about.
async fn history(connection: &mut SqliteConnection, group: &Group) -> Result<(), StoreError> {
    if group.history.is_empty() {
        return Ok(());
    }
    let lsn = signed(group.lsn.0)?;
    let records = crate::archive::encode_history(&group.history)?;
    sqlx::query("INSERT INTO history (lsn, records) VALUES (?, ?)")
        .bind(lsn)
        .bind(records)
        .execute(&mut *connection)
        .await
        .map_err(failed)?;
    let mut subjects: Vec<_> = group.history.iter().flat_map(|r| &r.subjects).collect();
    subjects.sort_unstable();
    subjects.dedup();
    let head = "INSERT INTO history_subjects (subject, lsn) VALUES";
    rows(connection, head, "(?, ?)", "", &subjects, |s, subject| {
        Ok(s.bind(&***subject).bind(lsn))
    })
    .await
}

fn json<T: serde::Serialize>(value: &T) -> Result<String, StoreError> {
    serde_json::to_string(value)
        .map_err(|e| StoreError::Failed(format!("a row cannot be written as JSON: {e}")))
}
