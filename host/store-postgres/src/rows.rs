//! Converts rows of the database to the engine's types, and back.

use std::sync::Arc;

use rialto_engine::network::OutboundRequest;
use rialto_engine::store::{Collection, DeadLetter, StoreError, StoredDocument, StoredReminder};
use rialto_engine::{CollectionId, Delivery, Name, Timestamp, Trace};
use rialto_store::{Act, DeliveryHead};
use serde::{Deserialize, Serialize};
use sqlx::Row as _;
use sqlx::postgres::PgRow;

use crate::failures::{failed, unreadable};
use crate::text::original;

/// A number as the database keeps it. Its integers are signed; the engine's ids and instants never reach the sign.
pub(crate) fn signed(value: u64) -> Result<i64, StoreError> {
    i64::try_from(value).map_err(|_| {
        StoreError::Failed(format!(
            "the number {value} is more than the database can keep"
        ))
    })
}

pub(crate) fn json<T: Serialize>(value: &T) -> Result<String, StoreError> {
    serde_json::to_string(value)
        .map_err(|e| StoreError::Failed(format!("a row cannot be written as JSON: {e}")))
}

fn parse<T: for<'de> Deserialize<'de>>(what: &str, text: &str) -> Result<T, StoreError> {
    serde_json::from_str(text).map_err(|e| unreadable(what, e))
}

/// A row whose columns are read by their position.
pub(crate) struct Columns<'r>(pub &'r PgRow);

impl<'r> Columns<'r> {
    pub fn number<T: TryFrom<i64>>(&self, column: usize) -> Result<T, StoreError>
    where
        T::Error: std::fmt::Display,
    {
        let number: i64 = self.0.try_get(column).map_err(failed)?;
        T::try_from(number).map_err(|e| unreadable("a number", format!("{number}: {e}")))
    }

    pub fn text(&self, column: usize) -> Result<&'r str, StoreError> {
        self.0.try_get(column).map_err(failed)
    }

    pub fn original(&self, column: usize) -> Result<String, StoreError> {
        Ok(original(self.text(column)?)?.into_owned())
    }

    pub fn name(&self, column: usize) -> Result<Name, StoreError> {
        Ok(original(self.text(column)?)?.into())
    }

    pub fn bytes(&self, column: usize) -> Result<&'r [u8], StoreError> {
        self.0.try_get(column).map_err(failed)
    }

    pub fn is(&self, column: usize) -> Result<bool, StoreError> {
        self.0.try_get(column).map_err(failed)
    }

    pub fn instant(&self, column: usize) -> Result<Timestamp, StoreError> {
        Ok(Timestamp(self.number(column)?))
    }

    /// A number, unless it is NULL.
    pub fn some_number(&self, column: usize) -> Result<Option<u64>, StoreError> {
        let number: Option<i64> = self.0.try_get(column).map_err(failed)?;
        number.map(|_| self.number(column)).transpose()
    }

    /// A text, unless it is NULL.
    pub fn some_text(&self, column: usize) -> Result<Option<String>, StoreError> {
        let text: Option<&str> = self.0.try_get(column).map_err(failed)?;
        text.map(|text| Ok(original(text)?.into_owned()))
            .transpose()
    }

    /// Who has done something and when, in two columns, unless both are NULL.
    pub fn act(&self, by: usize) -> Result<Option<Act>, StoreError> {
        match (self.some_text(by)?, self.some_number(by + 1)?) {
            (None, None) => Ok(None),
            (Some(by), Some(at)) => Ok(Some(Act {
                by,
                at: Timestamp(at),
            })),
            _ => Err(unreadable("an act", "who has done it, or when, is missing")),
        }
    }
}

/// `id, version, body`.
pub(crate) fn document(row: &PgRow) -> Result<StoredDocument, StoreError> {
    let row = Columns(row);
    Ok(StoredDocument {
        id: row.name(0)?,
        version: row.number(1)?,
        body: row.name(2)?,
    })
}

/// `id, component, name`.
pub(crate) fn collection(row: &PgRow) -> Result<Collection, StoreError> {
    let row = Columns(row);
    Ok(Collection {
        id: CollectionId(row.number(0)?),
        component: row.name(1)?,
        name: row.name(2)?,
    })
}

/// `id, head, payload, starts`.
pub(crate) fn delivery(row: &PgRow) -> Result<Delivery, StoreError> {
    let row = Columns(row);
    let head: DeliveryHead = parse("a delivery", row.text(1)?)?;
    Ok(head.delivery(row.number(0)?, row.bytes(2)?.to_vec(), row.number(3)?))
}

/// `id, head, payload, attempts, error, at`.
pub(crate) fn dead_letter(row: &PgRow) -> Result<DeadLetter, StoreError> {
    let row = Columns(row);
    let head: DeliveryHead = parse("a dead letter", row.text(1)?)?;
    let delivery = head.delivery(row.number(0)?, row.bytes(2)?.to_vec(), 0);
    Ok(DeadLetter {
        delivery: Arc::new(delivery),
        attempts: row.number(3)?,
        error: row.original(4)?,
        at: Timestamp(row.number(5)?),
    })
}

/// `component, id, due, generation, payload, subjects, trace`.
pub(crate) fn reminder(row: &PgRow) -> Result<StoredReminder, StoreError> {
    let row = Columns(row);
    Ok(StoredReminder {
        component: row.name(0)?,
        id: row.name(1)?,
        due: Timestamp(row.number(2)?),
        generation: row.number(3)?,
        payload: row.original(4)?,
        subjects: parse("a reminder's subjects", row.text(5)?)?,
        // One that was never begun has no valid form.
        trace: Trace::parse(row.text(6)?).unwrap_or_default(),
    })
}

/// `request`.
pub(crate) fn outbound(row: &PgRow) -> Result<OutboundRequest, StoreError> {
    parse("an outbound request", Columns(row).text(0)?)
}
