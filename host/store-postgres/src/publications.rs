//! Events for the outside. They are in the entries of the journal, with the last number that was given until then. So the
//! group that has a number is found by bisection, and numbers need no table. They stay as long as the journal.

use parking_lot::Mutex;
use rialto_engine::Timestamp;
use rialto_engine::publications::{Outbox, PublicationsState, StoredPublication};
use rialto_engine::store::StoreError;
use sqlx::PgConnection;
use sqlx::postgres::PgRow;

use crate::entry::{Entry, Publications};
use crate::failures::unreadable;
use crate::rows::{Columns, signed};
use crate::text::owned;
use crate::{Bound, PostgresStore};

/// Groups that are read at a time.
const GROUPS: i64 = 64;
/// Bytes of events that are read at a time, roughly.
const PAGE_BYTES_MAX: usize = 1 << 20;
/// What the facts have: which store it is, and the last number that was acknowledged, by partition.
const STORE: &str = "store";

/// Where the next events begin: their first number, and the group that has it or one before it.
#[derive(Debug, Default)]
pub(crate) struct Cursor(Mutex<Option<(u64, u64)>>);

/// The events of an entry: its layout and its bytes.
pub(crate) fn of_entry(row: &PgRow) -> Result<Publications, StoreError> {
    let row = Columns(row);
    Ok(Entry::decode(row.number(0)?, row.bytes(1)?)?.publications)
}

/// Give the store a number by which others know it, unless it has one.
pub(crate) async fn name_store(connection: &mut PgConnection) -> Result<(), sqlx::Error> {
    let number = (uuid::Uuid::new_v4().as_u128() >> 65).to_string();
    sqlx::query("INSERT INTO rialto.facts VALUES ($1, $2) ON CONFLICT DO NOTHING")
        .bind(STORE)
        .bind(number)
        .execute(connection)
        .await?;
    Ok(())
}

/// What reads rows of a partition.
pub(crate) trait Rows {
    /// The rows of a query, whose first parameter is the partition.
    fn rows(
        &mut self,
        text: &'static str,
        bind: impl Fn(Bound) -> Bound,
    ) -> Result<Vec<PgRow>, StoreError>;
}

impl Rows for &PostgresStore {
    fn rows(
        &mut self,
        text: &'static str,
        bind: impl Fn(Bound) -> Bound,
    ) -> Result<Vec<PgRow>, StoreError> {
        self.all(text, bind)
    }
}

/// What the facts have of the last number that was acknowledged.
fn published_fact(partition: i32) -> String {
    format!("published-{partition}")
}

fn number_fact(rows: &mut impl Rows, key: &str) -> Result<u64, StoreError> {
    let found = rows.rows(
        "SELECT $1::int4, value FROM rialto.facts WHERE key = $2",
        |query| query.bind(owned(key)),
    )?;
    let value = found.first().map(|row| Columns(row).text(1)).transpose()?;
    let number = value.map_or(Ok(0), str::parse);
    number.map_err(|error| unreadable("a number among the facts", error))
}

/// The number of a group of the journal and its events.
type NumberedGroup = (u64, Publications);

fn numbered(row: &PgRow) -> Result<NumberedGroup, StoreError> {
    Ok((Columns(row).number(2)?, of_entry(row)?))
}

/// At most so many groups from a number on.
fn groups_from(rows: &mut impl Rows, seq: u64, most: i64) -> Result<Vec<PgRow>, StoreError> {
    let seq = signed(seq)?;
    rows.rows(
        "SELECT layout::int8, entry, seq FROM rialto.journal
         WHERE partition = $1 AND seq >= $2 ORDER BY seq LIMIT $3",
        |query| query.bind(seq).bind(most),
    )
}

/// The first group from a number on.
fn group_from(rows: &mut impl Rows, seq: u64) -> Result<Option<NumberedGroup>, StoreError> {
    let found = groups_from(rows, seq, 1)?;
    found.first().map(numbered).transpose()
}

fn last_group(rows: &mut impl Rows) -> Result<Option<NumberedGroup>, StoreError> {
    let found = rows.rows(
        "SELECT layout::int8, entry, seq FROM rialto.journal
         WHERE partition = $1 ORDER BY seq DESC LIMIT 1",
        |query| query,
    )?;
    found.first().map(numbered).transpose()
}

/// The first group whose events, or those after it, have this number or a later one.
fn group_of(rows: &mut impl Rows, cursor: &Cursor, number: u64) -> Result<u64, StoreError> {
    if let Some((first, seq)) = *cursor.0.lock()
        && first == number
    {
        return Ok(seq);
    }
    let mut low = group_from(rows, 0)?.map_or(1, |(seq, _)| seq);
    let mut high = last_group(rows)?.map_or(low, |(seq, _)| seq + 1);
    while low < high {
        let middle = low + (high - low) / 2;
        match group_from(rows, middle)? {
            Some((seq, events)) if events.last < number => low = seq + 1,
            _ => high = middle,
        }
    }
    Ok(low)
}

/// Events from a number on, at most so many.
pub(crate) fn publications(
    rows: &mut impl Rows,
    cursor: &Cursor,
    (first, limit): (u64, u32),
) -> Result<Vec<StoredPublication>, StoreError> {
    let mut seq = group_of(rows, cursor, first)?;
    let mut found: Vec<StoredPublication> = Vec::new();
    let mut bytes = 0;
    loop {
        let page = groups_from(rows, seq, GROUPS)?;
        for row in &page {
            let (group, events) = numbered(row)?;
            for stored in events.numbered() {
                if stored.number < first {
                    continue;
                }
                bytes += stored.publication.data.len();
                if !found.is_empty() && (bytes > PAGE_BYTES_MAX || found.len() >= limit as usize) {
                    *cursor.0.lock() = Some((stored.number, group));
                    return Ok(found);
                }
                found.push(stored);
            }
            seq = group + 1;
        }
        if page.len() < usize::try_from(GROUPS).unwrap_or(usize::MAX) {
            let next = found.last().map_or(first, |stored| stored.number + 1);
            *cursor.0.lock() = Some((next, seq));
            return Ok(found);
        }
    }
}

/// How far events are sent.
pub(crate) fn state(rows: &mut impl Rows, partition: i32) -> Result<PublicationsState, StoreError> {
    let last = last_group(rows)?.map_or(0, |(_, events)| events.last);
    let oldest = group_from(rows, 0)?.map(|(_, events)| {
        // The first number of the oldest group that is left.
        events.last + 1 - events.events.len() as u64
    });
    Ok(PublicationsState {
        first: oldest.filter(|first| *first <= last),
        last,
        published: number_fact(rows, &published_fact(partition))?,
        store: number_fact(rows, STORE)?,
    })
}

impl Outbox for PostgresStore {
    fn publications(&self, first: u64, limit: u32) -> Result<Vec<StoredPublication>, StoreError> {
        publications(&mut &*self, &self.cursor, (first, limit))
    }

    fn publications_state(&self) -> Result<PublicationsState, StoreError> {
        state(&mut &*self, self.settings.partition())
    }

    fn set_published(&self, number: u64) -> Result<(), StoreError> {
        let key = published_fact(self.settings.partition());
        self.change(async |connection| {
            sqlx::query(
                "INSERT INTO rialto.facts VALUES ($1, $2)
                 ON CONFLICT (key) DO UPDATE SET value = excluded.value
                 WHERE facts.value::numeric < excluded.value::numeric",
            )
            .bind(&key)
            .bind(number.to_string())
            .execute(connection)
            .await
            .map(|_| ())
        })
    }

    /// The journal keeps them.
    fn remove_publications(
        &self,
        _before: Timestamp,
        _most: u64,
    ) -> Result<Option<u64>, StoreError> {
        Ok(None)
    }
}
