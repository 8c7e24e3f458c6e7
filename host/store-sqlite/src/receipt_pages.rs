//! The bodies of receipts, in pages. A body is JSON whose names and digests are those of the receipts before it: together
//! they compress to a tenth. The rows of the table `receipts` have the rest: id, subject, time and page.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use rialto_engine::Timestamp;
use rialto_engine::store::{Receipt, StoreError};
use sqlx::sqlite::SqliteRow;
use sqlx::{Row as _, SqliteConnection};
use zstd::zstd_safe::CCtx;

use crate::journal::Verdict;
use crate::records::encoded;
use crate::rows::unsigned;
use crate::{failed, pages, unreadable};

/// Receipts of a page: all of them are read to see one.
const PAGE_RECEIPTS: usize = 64;
/// Bytes of bodies after which a page ends early.
const PAGE_BYTES: usize = 256 << 10;

/// Part receipts, in the order of their ids, into pages.
pub(crate) fn pages<'r>(receipts: &'r [&'r Verdict]) -> impl Iterator<Item = &'r [&'r Verdict]> {
    let mut rest = receipts;
    std::iter::from_fn(move || {
        let mut bytes = 0;
        let fitting = rest.iter().take(PAGE_RECEIPTS).take_while(|receipt| {
            let fits = bytes < PAGE_BYTES;
            bytes += receipt.body.len();
            fits
        });
        let (page, others) = rest.split_at(fitting.count());
        rest = others;
        (!page.is_empty()).then_some(page)
    })
}

/// A page: the ids and bodies of receipts.
pub(crate) fn encode(context: &mut CCtx<'_>, page: &[&Verdict]) -> Result<Vec<u8>, StoreError> {
    /// At most, of an id and the length of a body.
    const NUMBERS: usize = 20;
    let bodies: Vec<(u64, &str)> = page.iter().map(|one| (one.id, &*one.body)).collect();
    let length: usize = bodies.iter().map(|(_, body)| NUMBERS + body.len()).sum();
    let plain = encoded(&bodies, Vec::with_capacity(NUMBERS + length))?;
    pages::pack(context, &plain)
}

fn decode(bytes: &[u8]) -> Result<Vec<(u64, Arc<str>)>, StoreError> {
    let plain = pages::unpack("a page of receipts", bytes)?;
    postcard::from_bytes(&plain).map_err(|e| unreadable("a page of receipts", e))
}

/// The receipts of rows `id, subject, at, body, page`. Their pages must be those of the rows' instant, so both belong into one
/// transaction.
pub(crate) async fn receipts(
    connection: &mut SqliteConnection,
    rows: &[SqliteRow],
) -> Result<Vec<Receipt>, StoreError> {
    let page = |row: &SqliteRow| row.try_get::<Option<i64>, _>(4).map_err(failed);
    let mut wanted = BTreeSet::new();
    for row in rows {
        wanted.extend(page(row)?);
    }
    let mut bodies: HashMap<u64, Arc<str>> = HashMap::new();
    for page in wanted {
        let bytes: Option<Vec<u8>> =
            sqlx::query_scalar("SELECT bodies FROM receipt_pages WHERE page = ?")
                .bind(page)
                .fetch_optional(&mut *connection)
                .await
                .map_err(failed)?;
        let missing = || unreadable("a receipt", format!("its page {page} is missing"));
        bodies.extend(decode(&bytes.ok_or_else(missing)?)?);
    }
    let receipt = |row: &SqliteRow| {
        let id = unsigned(row.try_get(0).map_err(failed)?)?;
        let body = match page(row)? {
            None => row.try_get::<&str, _>(3).map_err(failed)?.into(),
            Some(page) => {
                let missing = || unreadable("a receipt", format!("page {page} does not have it"));
                bodies.get(&id).cloned().ok_or_else(missing)?
            }
        };
        Ok(Receipt {
            id,
            subject: row.try_get::<&str, _>(1).map_err(failed)?.into(),
            at: Timestamp(unsigned(row.try_get(2).map_err(failed)?)?),
            body,
        })
    };
    rows.iter().map(receipt).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

    use super::*;

    fn verdict(id: u64, bytes: usize) -> Verdict {
        Verdict {
            id,
            subject: "transfer:1".into(),
            at: 7,
            body: "x".repeat(bytes).into(),
        }
    }

    #[test]
    fn pages_have_all_receipts_in_order_and_are_not_long() {
        for bytes in [0, 10, 2_000, 100_000, 1_000_000] {
            for count in [0, 1, 63, 64, 65, 300] {
                let all: Vec<Verdict> = (0..count).map(|id| verdict(id, bytes)).collect();
                let all: Vec<&Verdict> = all.iter().collect();
                let parted: Vec<&[&Verdict]> = pages(&all).collect();
                let ids: Vec<u64> = parted.concat().iter().map(|one| one.id).collect();
                assert_eq!(ids, (0..count).collect::<Vec<_>>());
                for page in parted {
                    assert!((1..=PAGE_RECEIPTS).contains(&page.len()));
                    assert!(page.len() == 1 || (page.len() - 1) * bytes < PAGE_BYTES + bytes);
                }
            }
        }
    }

    #[test]
    fn a_page_is_read_as_it_was_written() {
        let all = [verdict(3, 10), verdict(5, 0), verdict(u64::MAX, 2_000)];
        let page: Vec<&Verdict> = all.iter().collect();
        let read = decode(&encode(&mut pages::context().unwrap(), &page).unwrap()).unwrap();
        let written: Vec<(u64, Arc<str>)> = all.iter().map(|v| (v.id, v.body.clone())).collect();
        assert_eq!(read, written);
    }

    #[test]
    fn a_broken_page_is_an_error() {
        let one = verdict(1, 100);
        let bytes = encode(&mut pages::context().unwrap(), &[&one]).unwrap();
        for cut in 0..bytes.len() {
            assert!(decode(&bytes[..cut]).is_err(), "{cut} bytes");
        }
        let mut unknown = bytes;
        unknown[0] = 9;
        assert!(decode(&unknown).is_err());
    }
}
