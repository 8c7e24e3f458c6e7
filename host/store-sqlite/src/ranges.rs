//! Documents in the order of their ids, from all eras.
//!
//! Each era is in order by itself. Of each at most as many documents are read as are wanted, and what
//! has been found bounds what is read of the next.

use std::collections::BTreeMap;

use rialto_engine::store::{ScanRange, StoreError, StoredDocument};
use rialto_engine::{CollectionId, Name};
use sqlx::{AssertSqlSafe, SqliteConnection};

use crate::rows::{self, signed};
use crate::slices::STATEMENT_ROWS;
use crate::{failed, filter::ERA_BITS};

/// The first documents of a range, at most `limit`.
pub(crate) async fn first(
    connection: &mut SqliteConnection,
    collection: CollectionId,
    range: &ScanRange,
    limit: usize,
) -> Result<BTreeMap<Name, StoredDocument>, StoreError> {
    let last: i64 = sqlx::query_scalar("SELECT coalesce(max(place), 0) FROM documents")
        .fetch_one(&mut *connection)
        .await
        .map_err(failed)?;
    let eras: Vec<i64> = (0..=last >> ERA_BITS).rev().collect();
    let mut found: BTreeMap<Name, StoredDocument> = BTreeMap::new();
    let mut to: Option<Name> = range.to.as_deref().map(Into::into);
    let mut rest = &eras[..];
    for length in STATEMENT_ROWS {
        let each: Vec<String> = (0..length).map(of_one_era).collect();
        let text = each.join(" UNION ALL ");
        while rest.len() >= length {
            let (chunk, others) = rest.split_at(length);
            // Made of this crate's own constants only.
            let mut query = sqlx::query(AssertSqlSafe(text.clone()))
                .bind(collection.0)
                .bind(&range.from)
                .bind(to.as_deref().map(ToOwned::to_owned))
                .bind(signed(limit as u64).unwrap_or(i64::MAX));
            for era in chunk {
                query = query.bind(era);
            }
            let rows = query.fetch_all(&mut *connection).await.map_err(failed)?;
            for row in &rows {
                let document = rows::document(row)?;
                found.insert(document.id.clone(), document);
            }
            while found.len() > limit {
                to = found.pop_last().map(|(id, _)| id);
            }
            rest = others;
        }
    }
    Ok(found)
}

/// One id.
pub(crate) fn just(id: &str) -> ScanRange {
    ScanRange {
        from: id.to_owned(),
        to: Some(behind(id).from),
    }
}

/// Behind this id.
pub(crate) fn behind(id: &str) -> ScanRange {
    ScanRange {
        // The next text in byte order.
        from: format!("{id}\0"),
        to: None,
    }
}

/// The first of the nth era of a statement. Without an end the bound is one that every id is below: a
/// blob is above all texts.
fn of_one_era(n: usize) -> String {
    let era = n + 5;
    format!(
        "SELECT * FROM (
             SELECT id, version, body FROM documents INDEXED BY documents_by_era
             WHERE place >> 16 = ?{era} AND collection = ?1 AND id >= ?2 AND id < coalesce(?3, x'')
             ORDER BY id LIMIT ?4)"
    )
}
