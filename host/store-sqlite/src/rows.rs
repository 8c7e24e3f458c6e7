//! Converts rows of the store to the engine's types.

use std::sync::Arc;

use rialto_engine::network::OutboundRequest;
use rialto_engine::store::{Collection, DeadLetter, StoreError, StoredDocument, StoredReminder};
use rialto_engine::{Delivery, Name, Timestamp, Trace};
use rialto_store::DeliveryHead;
use serde::{Deserialize, Serialize};
use sqlx::sqlite::SqliteRow;
use sqlx::{Row, SqliteConnection, SqlitePool};

use crate::dictionaries::Unpacking;
use crate::{failed, unreadable};

/// A delivery in its stored form.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Stored {
    pub id: u64,
    pub head: DeliveryHead,
    pub payload: Vec<u8>,
}

impl Stored {
    pub fn delivery(self) -> Delivery {
        self.head.delivery(self.id, self.payload, 0)
    }
}

pub(crate) fn signed(value: u64) -> Result<i64, StoreError> {
    i64::try_from(value).map_err(|e| unreadable("a number", e))
}

pub(crate) fn json<T: Serialize>(value: &T) -> Result<String, StoreError> {
    serde_json::to_string(value)
        .map_err(|e| StoreError::Failed(format!("a row cannot be written as JSON: {e}")))
}

/// SQLite's integers are signed; the engine's ids and instants never reach the sign.
pub(crate) fn unsigned(value: i64) -> Result<u64, StoreError> {
    u64::try_from(value).map_err(|e| unreadable("a number", e))
}

fn get<'r, T>(row: &'r SqliteRow, column: usize) -> Result<T, StoreError>
where
    T: sqlx::Decode<'r, sqlx::Sqlite> + sqlx::Type<sqlx::Sqlite>,
{
    row.try_get(column).map_err(failed)
}

pub(crate) fn parse<'r, T: Deserialize<'r>>(what: &str, text: &'r str) -> Result<T, StoreError> {
    serde_json::from_str(text).map_err(|e| unreadable(what, e))
}

/// A document of the columns `id, version, body`.
pub(crate) fn document(
    row: &SqliteRow,
    unpacking: &Unpacking,
) -> Result<StoredDocument, StoreError> {
    Ok(StoredDocument {
        id: get::<&str>(row, 0)?.into(),
        version: unsigned(get(row, 1)?)?,
        body: unpacking.body(row, 2)?,
    })
}

pub(crate) async fn collections(
    connection: &mut SqliteConnection,
) -> Result<Vec<Collection>, StoreError> {
    let rows = sqlx::query("SELECT id, component, name FROM collections ORDER BY id")
        .fetch_all(connection)
        .await
        .map_err(failed)?;
    rows.iter()
        .map(|row| Ok(crate::collection(get(row, 0)?, get(row, 1)?, get(row, 2)?)))
        .collect()
}

pub(crate) async fn deliveries(
    connection: &mut SqliteConnection,
) -> Result<Vec<Delivery>, StoreError> {
    let rows = sqlx::query("SELECT id, head, payload, starts FROM deliveries ORDER BY id")
        .fetch_all(connection)
        .await
        .map_err(failed)?;
    rows.iter().map(counted).collect()
}

/// A delivery with its redelivery count.
fn counted(row: &SqliteRow) -> Result<Delivery, StoreError> {
    Ok(Delivery {
        redeliveries: get(row, 3)?,
        ..delivery(row)?
    })
}

fn delivery(row: &SqliteRow) -> Result<Delivery, StoreError> {
    let stored = Stored {
        id: unsigned(get(row, 0)?)?,
        head: parse("a delivery", get(row, 1)?)?,
        payload: get(row, 2)?,
    };
    Ok(stored.delivery())
}

pub(crate) async fn reminders(
    connection: &mut SqliteConnection,
) -> Result<Vec<StoredReminder>, StoreError> {
    let rows = sqlx::query(
        "SELECT component, id, due, generation, payload, subjects, trace FROM reminders",
    )
    .fetch_all(connection)
    .await
    .map_err(failed)?;
    rows.iter()
        .map(|row| {
            Ok(StoredReminder {
                component: get::<&str>(row, 0)?.into(),
                id: get::<&str>(row, 1)?.into(),
                due: Timestamp(unsigned(get(row, 2)?)?),
                generation: unsigned(get(row, 3)?)?,
                payload: get(row, 4)?,
                subjects: parse("a reminder's subjects", get(row, 5)?)?,
                trace: Trace::parse(get(row, 6)?).unwrap_or_default(),
            })
        })
        .collect()
}

pub(crate) async fn count_overdue(
    writer: &mut SqliteConnection,
    now: Timestamp,
) -> Result<Vec<(Name, Name, u32)>, StoreError> {
    let rows = sqlx::query(
        "UPDATE reminders SET starts = starts + 1 WHERE due <= ? RETURNING component, id, starts",
    )
    .bind(i64::try_from(now.0).unwrap_or(i64::MAX))
    .fetch_all(writer)
    .await
    .map_err(failed)?;
    let mut counted = rows
        .iter()
        .map(|row| {
            let (component, id) = (get::<&str>(row, 0)?, get::<&str>(row, 1)?);
            Ok((component.into(), id.into(), get(row, 2)?))
        })
        .collect::<Result<Vec<(Name, Name, u32)>, StoreError>>()?;
    counted.sort();
    Ok(counted)
}

/// Store the name of the poison candidate that runs, or clear it. Only the newest writer's token may. The
/// table's name (`suspect`) and the columns `starts` (redelivery counts) are older than these words.
pub(crate) async fn note_poison_candidate(
    writer: &mut SqliteConnection,
    candidate: Option<&str>,
    fence: i64,
) -> Result<(), StoreError> {
    let change = match candidate {
        Some(what) => sqlx::query(
            "INSERT OR REPLACE INTO suspect (id, what) SELECT 1, ?
             WHERE (SELECT value FROM meta WHERE key = 'fence') = ?",
        )
        .bind(what.to_owned()),
        None => sqlx::query(
            "DELETE FROM suspect WHERE (SELECT value FROM meta WHERE key = 'fence') = ?",
        ),
    };
    change
        .bind(fence)
        .execute(writer)
        .await
        .map_err(failed)
        .map(drop)
}

pub(crate) async fn outbound(
    connection: &mut SqliteConnection,
) -> Result<Vec<OutboundRequest>, StoreError> {
    let rows = sqlx::query("SELECT request FROM outbound ORDER BY id")
        .fetch_all(connection)
        .await
        .map_err(failed)?;
    rows.iter()
        .map(|row| parse("an outbound request", get(row, 0)?))
        .collect()
}

pub(crate) async fn deliveries_of(
    readers: &SqlitePool,
    ids: &[u64],
) -> Result<Vec<Delivery>, StoreError> {
    let ids = serde_json::to_string(ids).map_err(|e| unreadable("a list of ids", e))?;
    let rows = sqlx::query(
        "SELECT id, head, payload, starts FROM deliveries
         WHERE id IN (SELECT value FROM json_each(?)) ORDER BY id",
    )
    .bind(ids)
    .fetch_all(readers)
    .await
    .map_err(failed)?;
    rows.iter().map(counted).collect()
}

pub(crate) async fn outbound_of(
    readers: &SqlitePool,
    ids: &[u64],
) -> Result<Vec<OutboundRequest>, StoreError> {
    let ids = serde_json::to_string(ids).map_err(|e| unreadable("a list of ids", e))?;
    let rows = sqlx::query(
        "SELECT request FROM outbound WHERE id IN (SELECT value FROM json_each(?)) ORDER BY id",
    )
    .bind(ids)
    .fetch_all(readers)
    .await
    .map_err(failed)?;
    rows.iter()
        .map(|row| parse("an outbound request", get(row, 0)?))
        .collect()
}

pub(crate) async fn dead_letters(readers: &SqlitePool) -> Result<Vec<DeadLetter>, StoreError> {
    let rows =
        sqlx::query("SELECT id, head, payload, attempts, error, at FROM dead_letters ORDER BY id")
            .fetch_all(readers)
            .await
            .map_err(failed)?;
    rows.iter()
        .map(|row| {
            Ok(DeadLetter {
                delivery: Arc::new(delivery(row)?),
                attempts: get(row, 3)?,
                error: get(row, 4)?,
                at: Timestamp(unsigned(get(row, 5)?)?),
            })
        })
        .collect()
}
