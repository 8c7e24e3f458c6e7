//! A group as columns: an array for each column of each table, so that one statement writes it in one round trip.

use std::collections::BTreeSet;

use rialto_engine::store::{Group, StoreError};
use rialto_store::DeliveryHead;
use sqlx::PgConnection;

use crate::entry::{Entry, LAYOUT};
use crate::rows::{json, signed};
use crate::text::owned;

/// The function's parameters are those of `migrations/0001_store.sql`.
const WRITE: &str = "SELECT rialto.write_group_1($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, \
     $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26, $27, $28, $29, $30, $31, $32, $33, $34, $35, $36, $37, \
     $38, $39, $40, $41, $42, $43, $44, $45, $46, $47)";

/// What the database made of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It is committed, by this call or an earlier one.
    Written,
    /// Another host has taken over.
    Fenced,
    /// The group before it is not there.
    Gap,
}

/// See the module's documentation.
#[derive(Debug, Default)]
pub(crate) struct Columns {
    lsn: i64,
    next_id: i64,
    turns: i32,
    entry: Vec<u8>,
    collections: (Vec<i64>, Vec<String>, Vec<String>),
    documents: (Vec<i64>, Vec<String>, Vec<i64>, Vec<String>),
    removed: (Vec<i64>, Vec<String>),
    deliveries: (Vec<i64>, Vec<String>, Vec<Vec<u8>>),
    deliveries_removed: Vec<i64>,
    reminders: Reminders,
    cancelled: (Vec<String>, Vec<String>),
    outbound: (Vec<i64>, Vec<String>),
    outbound_removed: Vec<i64>,
    letters: Letters,
    letters_removed: Vec<i64>,
    receipts: (Vec<i64>, Vec<String>, Vec<i64>, Vec<String>),
    audit: (Vec<i64>, Vec<String>),
    subjects: Vec<String>,
}

#[derive(Debug, Default)]
struct Reminders {
    components: Vec<String>,
    ids: Vec<String>,
    dues: Vec<i64>,
    generations: Vec<i64>,
    payloads: Vec<String>,
    subjects: Vec<String>,
    traces: Vec<String>,
}

#[derive(Debug, Default)]
struct Letters {
    ids: Vec<i64>,
    heads: Vec<String>,
    payloads: Vec<Vec<u8>>,
    attempts: Vec<i64>,
    errors: Vec<String>,
    ats: Vec<i64>,
}

fn all(numbers: &[u64]) -> Result<Vec<i64>, StoreError> {
    numbers.iter().map(|n| signed(*n)).collect()
}

impl Columns {
    /// The columns of a group. `published` is the last number of an event for the outside before it.
    ///
    /// # Errors
    /// When a part of it cannot be encoded.
    pub fn of(group: &Group, published: u64) -> Result<Self, StoreError> {
        let mut columns = Self {
            lsn: signed(group.lsn.0)?,
            next_id: signed(group.next_id)?,
            turns: i32::try_from(group.turns).unwrap_or(i32::MAX),
            entry: Entry::of(group, published).encode()?,
            deliveries_removed: all(&group.deliveries_removed)?,
            outbound_removed: all(&group.outbound_removed)?,
            letters_removed: all(&group.dead_letters_removed)?,
            ..Self::default()
        };
        columns.add_documents(group)?;
        columns.add_work(group)?;
        columns.add_letters(group)?;
        columns.add_records(group)?;
        Ok(columns)
    }

    fn add_documents(&mut self, group: &Group) -> Result<(), StoreError> {
        for collection in &group.collections {
            self.collections.0.push(i64::from(collection.id.0));
            self.collections.1.push(owned(&collection.component));
            self.collections.2.push(owned(&collection.name));
        }
        for document in &group.documents {
            let collection = i64::from(document.collection.0);
            let Some(body) = &document.body else {
                self.removed.0.push(collection);
                self.removed.1.push(owned(&document.id));
                continue;
            };
            self.documents.0.push(collection);
            self.documents.1.push(owned(&document.id));
            self.documents.2.push(signed(document.version)?);
            self.documents.3.push(owned(body));
        }
        Ok(())
    }

    fn add_work(&mut self, group: &Group) -> Result<(), StoreError> {
        for delivery in &group.deliveries_added {
            self.deliveries.0.push(signed(delivery.id)?);
            self.deliveries.1.push(json(&DeliveryHead::of(delivery))?);
            self.deliveries.2.push(delivery.payload.encode());
        }
        for reminder in &group.reminders_set {
            let reminders = &mut self.reminders;
            reminders.components.push(owned(&reminder.component));
            reminders.ids.push(owned(&reminder.id));
            reminders.dues.push(signed(reminder.due.0)?);
            reminders.generations.push(signed(reminder.generation)?);
            reminders.payloads.push(owned(&reminder.payload));
            reminders.subjects.push(json(&reminder.subjects)?);
            reminders.traces.push(reminder.trace.to_string());
        }
        for (component, id) in &group.reminders_removed {
            self.cancelled.0.push(owned(component));
            self.cancelled.1.push(owned(id));
        }
        for request in &group.outbound_added {
            self.outbound.0.push(signed(request.id)?);
            self.outbound.1.push(json(&**request)?);
        }
        Ok(())
    }

    fn add_letters(&mut self, group: &Group) -> Result<(), StoreError> {
        let letters = &mut self.letters;
        for letter in &group.dead_letters_added {
            letters.ids.push(signed(letter.delivery.id)?);
            letters
                .heads
                .push(json(&DeliveryHead::of(&letter.delivery))?);
            letters.payloads.push(letter.delivery.payload.encode());
            letters.attempts.push(i64::from(letter.attempts));
            letters.errors.push(owned(&letter.error));
            letters.ats.push(signed(letter.at.0)?);
        }
        Ok(())
    }

    fn add_records(&mut self, group: &Group) -> Result<(), StoreError> {
        for receipt in &group.receipts {
            self.receipts.0.push(signed(receipt.id)?);
            self.receipts.1.push(owned(&receipt.subject));
            self.receipts.2.push(signed(receipt.at.0)?);
            self.receipts.3.push(owned(&receipt.body));
        }
        for entry in &group.audit {
            self.audit.0.push(signed(entry.at.0)?);
            self.audit.1.push(owned(&entry.body));
        }
        let subjects = group.history.iter().flat_map(|record| &record.subjects);
        let subjects: BTreeSet<_> = subjects.collect();
        self.subjects = subjects.into_iter().map(|subject| owned(subject)).collect();
        Ok(())
    }

    /// Write the group, in one transaction.
    ///
    /// # Errors
    /// As the database or the connection has it. The group may have been written.
    pub async fn write(
        &self,
        connection: &mut PgConnection,
        (partition, epoch, seq): (i32, i64, i64),
    ) -> Result<Outcome, sqlx::Error> {
        let (reminders, letters) = (&self.reminders, &self.letters);
        let code: i32 = sqlx::query_scalar(WRITE)
            .bind(partition)
            .bind(epoch)
            .bind(seq)
            .bind(self.lsn)
            .bind(self.next_id)
            .bind(self.turns)
            .bind(LAYOUT)
            .bind(&self.entry)
            .bind(&self.collections.0)
            .bind(&self.collections.1)
            .bind(&self.collections.2)
            .bind(&self.documents.0)
            .bind(&self.documents.1)
            .bind(&self.documents.2)
            .bind(&self.documents.3)
            .bind(&self.removed.0)
            .bind(&self.removed.1)
            .bind(&self.deliveries.0)
            .bind(&self.deliveries.1)
            .bind(&self.deliveries.2)
            .bind(&self.deliveries_removed)
            .bind(&reminders.components)
            .bind(&reminders.ids)
            .bind(&reminders.dues)
            .bind(&reminders.generations)
            .bind(&reminders.payloads)
            .bind(&reminders.subjects)
            .bind(&reminders.traces)
            .bind(&self.cancelled.0)
            .bind(&self.cancelled.1)
            .bind(&self.outbound.0)
            .bind(&self.outbound.1)
            .bind(&self.outbound_removed)
            .bind(&letters.ids)
            .bind(&letters.heads)
            .bind(&letters.payloads)
            .bind(&letters.attempts)
            .bind(&letters.errors)
            .bind(&letters.ats)
            .bind(&self.letters_removed)
            .bind(&self.receipts.0)
            .bind(&self.receipts.1)
            .bind(&self.receipts.2)
            .bind(&self.receipts.3)
            .bind(&self.audit.0)
            .bind(&self.audit.1)
            .bind(&self.subjects)
            .fetch_one(connection)
            .await?;
        match code {
            0 | 1 => Ok(Outcome::Written),
            2 => Ok(Outcome::Fenced),
            3 => Ok(Outcome::Gap),
            other => Err(sqlx::Error::Decode(
                format!("write_group_1 has answered {other}").into(),
            )),
        }
    }
}
