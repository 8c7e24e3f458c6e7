//! Reads documents in the order of their ids from several segments.
//!
//! The index of each run is in order. SQLite merges the runs of one statement and reads no further
//! than needed. The documents that were found bound the reads of the next statement.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use rialto_engine::store::{ScanRange, StoreError, StoredDocument};
use rialto_engine::{CollectionId, Name};
use sqlx::{AssertSqlSafe, SqliteConnection};

use crate::dictionaries::Unpacking;
use crate::rows::{self, signed};
use crate::slices::STATEMENT_ROWS;
use crate::{failed, row_ids};

/// The first documents of a range in these segments, at most `limit`. It runs several statements; call it in a
/// transaction for a consistent result.
pub(crate) async fn first(
    connection: &mut SqliteConnection,
    unpacking: &Unpacking,
    segments: &[u32],
    collection: CollectionId,
    range: &ScanRange,
    limit: usize,
) -> Result<BTreeMap<Name, StoredDocument>, StoreError> {
    let mut found: BTreeMap<Name, StoredDocument> = BTreeMap::new();
    let mut to = range.to.clone();
    let runs: Vec<u32> = segments
        .iter()
        .flat_map(|one| row_ids::runs(*one))
        .collect();
    let mut rest = &*runs;
    for (length, text) in STATEMENT_ROWS.into_iter().zip(&*TEXTS) {
        while rest.len() >= length {
            let (chunk, others) = rest.split_at(length);
            // Made of this crate's own constants only.
            let mut query = sqlx::query(AssertSqlSafe(text.as_str()))
                .bind(collection.0)
                .bind(&range.from)
                .bind(to.clone())
                .bind(signed(limit as u64).unwrap_or(i64::MAX));
            for run in chunk {
                query = query.bind(run);
            }
            let rows = query.fetch_all(&mut *connection).await.map_err(failed)?;
            for row in &rows {
                let document = rows::document(row, unpacking)?;
                found.insert(document.id.clone(), document);
            }
            while found.len() > limit {
                to = found.pop_last().map(|(id, _)| id.to_string());
            }
            rest = others;
        }
    }
    assert!(
        rest.is_empty(),
        "of {} runs {} are left out",
        runs.len(),
        rest.len()
    );
    assert!(
        found.len() <= limit,
        "{} documents of a range are found and {limit} were asked for",
        found.len()
    );
    Ok(found)
}

/// The range of one id.
pub(crate) fn just(id: &str) -> ScanRange {
    ScanRange {
        from: id.to_owned(),
        to: Some(behind(id).from),
    }
}

/// The range after this id.
pub(crate) fn behind(id: &str) -> ScanRange {
    ScanRange {
        // The next text in byte order.
        from: format!("{id}\0"),
        to: None,
    }
}

/// Statements over as many runs as `STATEMENT_ROWS` says.
static TEXTS: LazyLock<[String; STATEMENT_ROWS.len()]> = LazyLock::new(|| {
    STATEMENT_ROWS.map(|length| {
        let each: Vec<String> = (0..length).map(of_one_run).collect();
        format!("{} ORDER BY id LIMIT ?4", each.join(" UNION ALL "))
    })
});

/// The part of a statement for its nth run. Without an end, the bound is a blob, because a blob sorts after
/// all texts.
fn of_one_run(n: usize) -> String {
    let run = n + 5;
    format!(
        "SELECT id, version, body FROM documents INDEXED BY documents_by_run
         WHERE place >> 13 = ?{run} AND collection = ?1 AND id >= ?2 AND id < coalesce(?3, x'')"
    )
}
