//! Writing a group: for each table one statement of many rows, all statements in one script.
//!
//! A script goes to the connection's thread once, so a group costs two hand-overs between threads
//! whatever it holds: one that opens the transaction and moves the counters if the fencing token is
//! still the newest, one that writes the rows and commits.

use rialto_engine::store::{Group, StoreError};
use sqlx::sqlite::SqliteArguments;
use sqlx::{Arguments as _, AssertSqlSafe, Encode, Executor as _, Sqlite, SqliteConnection, Type};

use crate::rows::Head;
use crate::{failed, unreadable};

/// Rows of one statement; SQLite takes 32766 parameters, and no row here has more than six.
const ROWS_MAX: usize = 4_096;

/// Statements with their parameters, in order.
#[derive(Default)]
struct Script {
    text: String,
    arguments: Bound,
}

/// Parameters, bound in the order of the question marks.
#[derive(Default)]
struct Bound(SqliteArguments);

impl Bound {
    fn add<'v, T: Encode<'v, Sqlite> + Type<Sqlite>>(
        &mut self,
        value: T,
    ) -> Result<(), StoreError> {
        self.0
            .add(value)
            .map_err(|e| StoreError::Failed(format!("a value cannot be bound: {e}")))
    }

    fn number(&mut self, value: u64) -> Result<(), StoreError> {
        self.add(signed(value)?)
    }
}

/// Write the group: all of it or nothing.
pub(crate) async fn write(
    connection: &mut SqliteConnection,
    group: &Group,
    fence: i64,
) -> Result<(), StoreError> {
    let script = script(group)?;
    let written = async {
        begin(connection, group, fence).await?;
        run(connection, script).await.map(|_| ())
    }
    .await;
    if written.is_err() {
        // Also when there is no transaction: then this says so, and nothing is lost by it.
        let _ = connection.execute("ROLLBACK").await;
    }
    written
}

fn script(group: &Group) -> Result<Script, StoreError> {
    let mut script = Script::default();
    collections(&mut script, group)?;
    documents(&mut script, group)?;
    deliveries(&mut script, group)?;
    reminders(&mut script, group)?;
    outbound(&mut script, group)?;
    dead_letters(&mut script, group)?;
    receipts(&mut script, group)?;
    history(&mut script, group)?;
    script.text.push_str("COMMIT");
    Ok(script)
}

/// Open a transaction and move the counters. Only the newest writer's token may.
async fn begin(
    connection: &mut SqliteConnection,
    group: &Group,
    fence: i64,
) -> Result<(), StoreError> {
    let mut script = Script {
        text: "BEGIN IMMEDIATE;
               UPDATE meta SET value = CASE key WHEN 'lsn' THEN ? ELSE ? END
               WHERE key IN ('lsn', 'next_id')
               AND (SELECT value FROM meta WHERE key = 'fence') = ?
               RETURNING key"
            .into(),
        ..Script::default()
    };
    script.arguments.number(group.lsn.0)?;
    script.arguments.number(group.next_id)?;
    script.arguments.add(fence)?;
    match run(connection, script).await? {
        2 => Ok(()),
        _ => Err(StoreError::Fenced),
    }
}

/// Run a script. Answers how many rows it gave back.
async fn run(connection: &mut SqliteConnection, script: Script) -> Result<usize, StoreError> {
    // Made of this file's own constants only.
    let query = sqlx::query_with(AssertSqlSafe(script.text), script.arguments.0);
    let rows = query.persistent(false).fetch_all(connection).await;
    Ok(rows.map_err(failed)?.len())
}

fn signed(value: u64) -> Result<i64, StoreError> {
    i64::try_from(value).map_err(|e| unreadable("a number", e))
}

/// Add `INSERT … VALUES (…), (…) …` over all rows.
fn rows<T>(
    script: &mut Script,
    head: &str,
    row: &str,
    tail: &str,
    all: &[T],
    bind: impl Fn(&mut Bound, &T) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    for chunk in all.chunks(ROWS_MAX) {
        script.text.push_str(head);
        for (n, item) in chunk.iter().enumerate() {
            script.text.push_str(if n == 0 { " " } else { "," });
            script.text.push_str(row);
            bind(&mut script.arguments, item)?;
        }
        script.text.push_str(tail);
        script.text.push_str(";\n");
    }
    Ok(())
}

fn collections(script: &mut Script, group: &Group) -> Result<(), StoreError> {
    let head = "INSERT INTO collections (id, component, name) VALUES";
    rows(script, head, "(?,?,?)", "", &group.collections, |b, c| {
        b.add(c.id.0)?;
        b.add(c.component.clone())?;
        b.add(c.name.clone())
    })
}

fn documents(script: &mut Script, group: &Group) -> Result<(), StoreError> {
    let written: Vec<_> = group
        .documents
        .iter()
        .filter_map(|d| d.body.as_ref().map(|body| (d, body)))
        .collect();
    let head = "INSERT INTO documents (collection, id, version, body) VALUES";
    let tail = " ON CONFLICT (collection, id) DO UPDATE
                SET version = excluded.version, body = excluded.body";
    rows(script, head, "(?,?,?,?)", tail, &written, |b, (d, body)| {
        b.add(d.collection.0)?;
        b.add(d.id.clone())?;
        b.number(d.version)?;
        b.add((*body).clone())
    })?;
    let removed: Vec<_> = group
        .documents
        .iter()
        .filter(|d| d.body.is_none())
        .collect();
    let head = "DELETE FROM documents WHERE (collection, id) IN (VALUES";
    rows(script, head, "(?,?)", ")", &removed, |b, d| {
        b.add(d.collection.0)?;
        b.add(d.id.clone())
    })
}

fn deliveries(script: &mut Script, group: &Group) -> Result<(), StoreError> {
    let head = "INSERT INTO deliveries (id, head, payload) VALUES";
    rows(
        script,
        head,
        "(?,?,?)",
        "",
        &group.deliveries_added,
        |b, d| {
            b.number(d.id)?;
            b.add(json(&Head::of(d))?)?;
            b.add(d.payload.encode())
        },
    )?;
    let head = "DELETE FROM deliveries WHERE id IN (VALUES";
    rows(
        script,
        head,
        "(?)",
        ")",
        &group.deliveries_removed,
        |b, id| b.number(*id),
    )
}

fn reminders(script: &mut Script, group: &Group) -> Result<(), StoreError> {
    let head = "INSERT INTO reminders (component, id, due, generation, payload, subjects) VALUES";
    let tail = " ON CONFLICT (component, id) DO UPDATE SET due = excluded.due,
                generation = excluded.generation, payload = excluded.payload,
                subjects = excluded.subjects";
    rows(
        script,
        head,
        "(?,?,?,?,?,?)",
        tail,
        &group.reminders_set,
        |b, r| {
            b.add(r.component.clone())?;
            b.add(r.id.clone())?;
            b.add(i64::try_from(r.due.0).unwrap_or(i64::MAX))?;
            b.number(r.generation)?;
            b.add(r.payload.as_str())?;
            b.add(json(&r.subjects)?)
        },
    )?;
    let head = "DELETE FROM reminders WHERE (component, id) IN (VALUES";
    rows(
        script,
        head,
        "(?,?)",
        ")",
        &group.reminders_removed,
        |b, (component, id)| {
            b.add(component.clone())?;
            b.add(id.clone())
        },
    )
}

fn outbound(script: &mut Script, group: &Group) -> Result<(), StoreError> {
    let head = "INSERT INTO outbound (id, request) VALUES";
    rows(script, head, "(?,?)", "", &group.outbound_added, |b, o| {
        b.number(o.id)?;
        b.add(json(&**o)?)
    })?;
    let head = "DELETE FROM outbound WHERE id IN (VALUES";
    rows(
        script,
        head,
        "(?)",
        ")",
        &group.outbound_removed,
        |b, id| b.number(*id),
    )
}

fn dead_letters(script: &mut Script, group: &Group) -> Result<(), StoreError> {
    let head = "INSERT INTO dead_letters (id, head, payload, attempts, error, at) VALUES";
    rows(
        script,
        head,
        "(?,?,?,?,?,?)",
        "",
        &group.dead_letters_added,
        |b, l| {
            b.number(l.delivery.id)?;
            b.add(json(&Head::of(&l.delivery))?)?;
            b.add(l.delivery.payload.encode())?;
            b.add(l.attempts)?;
            b.add(l.error.as_str())?;
            b.number(l.at.0)
        },
    )?;
    let head = "DELETE FROM dead_letters WHERE id IN (VALUES";
    rows(
        script,
        head,
        "(?)",
        ")",
        &group.dead_letters_removed,
        |b, id| b.number(*id),
    )
}

fn receipts(script: &mut Script, group: &Group) -> Result<(), StoreError> {
    let head = "INSERT INTO receipts (id, subject, at, body) VALUES";
    rows(script, head, "(?,?,?,?)", "", &group.receipts, |b, r| {
        b.number(r.id)?;
        b.add(r.subject.clone())?;
        b.number(r.at.0)?;
        b.add(r.body.as_str())
    })
}

/// The group's turns in one row, and one row for each subject that they were about.
fn history(script: &mut Script, group: &Group) -> Result<(), StoreError> {
    if group.history.is_empty() {
        return Ok(());
    }
    let lsn = signed(group.lsn.0)?;
    let records = crate::archive::encode_history(&group.history)?;
    script
        .text
        .push_str("INSERT INTO history (lsn, records) VALUES (?, ?);\n");
    script.arguments.add(lsn)?;
    script.arguments.add(records)?;
    let mut subjects: Vec<_> = group.history.iter().flat_map(|r| &r.subjects).collect();
    subjects.sort_unstable();
    subjects.dedup();
    let head = "INSERT INTO history_subjects (subject, lsn) VALUES";
    rows(script, head, "(?,?)", "", &subjects, |b, subject| {
        b.add((*subject).clone())?;
        b.add(lsn)
    })
}

fn json<T: serde::Serialize>(value: &T) -> Result<String, StoreError> {
    serde_json::to_string(value)
        .map_err(|e| StoreError::Failed(format!("a row cannot be written as JSON: {e}")))
}
