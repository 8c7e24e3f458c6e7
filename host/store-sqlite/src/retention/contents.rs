//! The contents of segments: how many items of each class a segment has, and of which time. A flush counts its
//! items in its last transaction, so that each item counts once.

use rialto_engine::store::StoreError;
use sqlx::Row as _;
use sqlx::sqlite::SqliteRow;

use super::{Class, source};
use crate::rows::unsigned;
use crate::slices::{Bound, Slices};
use crate::{Inner, SqliteStore, failed, unreadable};

/// What one segment has of a class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contents {
    /// The segment.
    pub segment: u32,
    /// The class.
    pub class: Class,
    /// How many items. For a history from before items were counted: how many pages.
    pub items: u64,
    /// Bytes that they take, as the store has them.
    pub bytes: u64,
    /// The first and the last instant of an item, milliseconds since 1970.
    pub times: Option<(u64, u64)>,
    /// The last page of the history.
    pub(super) last_page: u64,
}

impl Contents {
    /// Whether all items are from this instant or earlier.
    pub(super) fn is_before(&self, instant: u64) -> bool {
        self.times.is_some_and(|(_, last)| last <= instant)
    }

    /// Whether an item is from this instant or later.
    pub(super) fn is_since(&self, instant: u64) -> bool {
        self.times.is_some_and(|(first, _)| first <= instant)
    }
}

/// What a flush adds to a segment.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Added {
    pub items: u64,
    pub bytes: u64,
    pub first_at: u64,
    pub last_at: u64,
    pub last_page: u64,
}

impl Added {
    /// Add an item.
    pub fn item(&mut self, at: u64) {
        self.first_at = if self.items == 0 {
            at
        } else {
            self.first_at.min(at)
        };
        self.last_at = self.last_at.max(at);
        self.items += 1;
    }
}

/// Count the items of a flush, in its last slice.
pub(crate) fn note(
    slices: &mut Slices<'_>,
    segment: u32,
    class: Class,
    added: &Added,
) -> Result<(), StoreError> {
    if added.items == 0 {
        return Ok(());
    }
    assert!(
        added.first_at <= added.last_at,
        "{} items of segment {segment} are from {} to {}",
        added.items,
        added.first_at,
        added.last_at
    );
    assert!(
        (class == Class::History) == (added.last_page > 0),
        "the last page of {class:?} that segment {segment} gets is {}",
        added.last_page
    );
    let mut row = Bound::default();
    row.add(segment)?;
    row.add(class.name())?;
    for number in [
        added.items,
        added.bytes,
        added.first_at.min(i64::MAX as u64),
        added.last_at.min(i64::MAX as u64),
        added.last_page,
    ] {
        row.number(number)?;
    }
    // While the instants of a segment's older items are not known, its times stay unknown.
    let text = "INSERT INTO era_contents (era, class, items, bytes, first_at, last_at, last_page)
         VALUES (?, ?, ?, ?, ?, ?, ?)
         ON CONFLICT (era, class) DO UPDATE SET
             items = items + excluded.items, bytes = bytes + excluded.bytes,
             first_at = min(first_at, excluded.first_at), last_at = max(last_at, excluded.last_at),
             last_page = max(last_page, excluded.last_page)";
    let rows = slices.statement(text, row, 0)?;
    assert!(rows == 1, "what segment {segment} has is in {rows} rows");
    Ok(())
}

/// The contents of all segments of a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClassContents {
    /// The class.
    pub class: Class,
    /// How many items.
    pub items: u64,
    /// Bytes that they take, as the store has them.
    pub bytes: u64,
    /// The first instant of an item, milliseconds since 1970, where it is known.
    pub first_at: Option<u64>,
}

/// The sizes of a store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sizes {
    /// The contents of each class.
    pub classes: Vec<ClassContents>,
    /// Archives, and the bytes of their files.
    pub archives: (u64, u64),
    /// Bytes of the database, and those of them that are free.
    pub database: (u64, u64),
}

const SELECT: &str =
    "SELECT era, class, items, bytes, first_at, last_at, last_page FROM era_contents";

fn contents(row: &SqliteRow) -> Result<Contents, StoreError> {
    let number = |column| unsigned(row.try_get(column).map_err(failed)?);
    let instant = |column| -> Result<Option<u64>, StoreError> {
        let instant: Option<i64> = row.try_get(column).map_err(failed)?;
        instant.map(unsigned).transpose()
    };
    let class: &str = row.try_get(1).map_err(failed)?;
    Ok(Contents {
        segment: row.try_get(0).map_err(failed)?,
        class: Class::of(class).ok_or_else(|| unreadable("a class", class))?,
        items: number(2)?,
        bytes: number(3)?,
        times: instant(4)?.zip(instant(5)?),
        last_page: number(6)?,
    })
}

impl Inner {
    /// The oldest segment with items of a class.
    pub(super) fn oldest(&self, class: Class) -> Result<Option<Contents>, StoreError> {
        let text = format!("{SELECT} WHERE class = ? ORDER BY era LIMIT 1");
        let row = self.runtime.block_on(
            sqlx::query(sqlx::AssertSqlSafe(text))
                .bind(class.name())
                .fetch_optional(&self.readers),
        );
        row.map_err(failed)?.as_ref().map(contents).transpose()
    }

    /// The contents of a segment.
    pub(super) fn contents_of(&self, segment: u32) -> Result<Vec<Contents>, StoreError> {
        let text = format!("{SELECT} WHERE era = ? ORDER BY class");
        let rows = self.runtime.block_on(
            sqlx::query(sqlx::AssertSqlSafe(text))
                .bind(segment)
                .fetch_all(&self.readers),
        );
        rows.map_err(failed)?.iter().map(contents).collect()
    }

    /// The same with the times of its items, which are read if they are not known yet.
    pub(super) fn with_times(&self, contents: Contents) -> Result<Contents, StoreError> {
        if contents.times.is_some() || contents.class != Class::History {
            return Ok(contents);
        }
        let times = source::history_times(self, contents.last_page)?;
        let mut row = Bound::default();
        row.number(times.0)?;
        row.number(times.1)?;
        row.add(contents.segment)?;
        let mut slices = self.slices();
        let rows = slices.statement(
            "UPDATE era_contents SET first_at = ?, last_at = ? WHERE era = ? AND class = 'history'",
            row,
            1,
        )?;
        assert!(
            rows == 1,
            "when the history of segment {} is from is in {rows} rows",
            contents.segment
        );
        slices.finish()?;
        Ok(Contents {
            times: Some(times),
            ..contents
        })
    }
}

impl SqliteStore {
    /// The sizes of the store. Cheap.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn sizes(&self) -> Result<Sizes, StoreError> {
        let inner = &*self.inner;
        inner.runtime.block_on(async {
            let mut reader = inner.readers.acquire().await.map_err(failed)?;
            let mut sizes = Sizes::default();
            for class in Class::WHOLE {
                let (items, bytes, first): (i64, i64, Option<i64>) = sqlx::query_as(
                    "SELECT coalesce(sum(items), 0), coalesce(sum(bytes), 0), min(first_at)
                     FROM era_contents WHERE class = ?",
                )
                .bind(class.name())
                .fetch_one(&mut *reader)
                .await
                .map_err(failed)?;
                sizes.classes.push(ClassContents {
                    class,
                    items: unsigned(items)?,
                    bytes: unsigned(bytes)?,
                    first_at: first.map(unsigned).transpose()?,
                });
            }
            let (count, bytes): (i64, i64) =
                sqlx::query_as("SELECT count(*), coalesce(sum(bytes), 0) FROM archives")
                    .fetch_one(&mut *reader)
                    .await
                    .map_err(failed)?;
            sizes.archives = (unsigned(count)?, unsigned(bytes)?);
            let (all, free): (i64, i64) = sqlx::query_as(
                "SELECT c.page_count * s.page_size, f.freelist_count * s.page_size
                 FROM pragma_page_count c, pragma_freelist_count f, pragma_page_size s",
            )
            .fetch_one(&mut *reader)
            .await
            .map_err(failed)?;
            sizes.database = (unsigned(all)?, unsigned(free)?);
            Ok(sizes)
        })
    }
}
