//! Pages of lists: parsing the query, and filling a page through a filter.

use super::{Kind, Problem, parameter};
use crate::documents::{Collection, Range, Store};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The default number of items of a page.
const LIMIT: u32 = 100;
/// The most items of a page.
const LIMIT_MAX: u32 = 1000;
/// The most documents that a turn reads: a selective filter must not make a turn long.
const LOOKED_AT_MAX: u32 = 1000;
/// Follows any id in a collection's order.
const AFTER_ALL: &str = "\u{10ffff}";

/// The requested page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Paging {
    /// The cursor.
    pub cursor: Option<String>,
    /// The most items.
    pub limit: u32,
}

/// A page of a list.
#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Items<T> {
    /// The items.
    pub items: Vec<T>,
    /// The cursor of the next page; none on the last. A short page may have one: then the filter dropped many
    /// items.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

impl Paging {
    /// Parses `limit` and `cursor`.
    ///
    /// # Errors
    /// If `limit` is not valid.
    pub fn of(query: &[(String, String)]) -> Result<Self, Problem> {
        let limit = parameter(query, "limit").map_or(Ok(LIMIT), str::parse);
        let limit = limit.ok().filter(|limit| (1..=LIMIT_MAX).contains(limit));
        Ok(Self {
            cursor: parameter(query, "cursor").map(str::to_owned),
            limit: limit.ok_or_else(|| {
                Problem::new(Kind::Malformed, format!("`limit` must be 1 to {LIMIT_MAX}"))
            })?,
        })
    }

    /// Fills a page with the results of `keep` for documents whose ids begin with `prefix`.
    ///
    /// # Errors
    /// When the cursor is not of this list.
    pub fn fill<T: DeserializeOwned, I, S: Store + ?Sized>(
        &self,
        store: &mut S,
        collection: &Collection<T>,
        prefix: &str,
        mut keep: impl FnMut(&mut S, &str, T) -> Option<I>,
    ) -> Result<Items<I>, Problem> {
        let mut from = match &self.cursor {
            None => prefix.to_owned(),
            Some(cursor) if cursor.starts_with(prefix) => after(cursor),
            Some(_) => {
                let detail =
                    "`cursor` does not belong to this list: use `nextCursor` of the previous page";
                return Err(Problem::new(Kind::Malformed, detail));
            }
        };
        let end = format!("{prefix}{AFTER_ALL}");
        let wanted = usize::try_from(self.limit).unwrap_or(usize::MAX);
        let mut items = Vec::new();
        let mut looked_at = 0;
        loop {
            let range = Range::Between((from, end.clone()));
            let room = u32::try_from(wanted - items.len()).unwrap_or(LIMIT_MAX);
            // A little more than the page has room for, so that scans are not of single documents.
            let step = room.max(LIMIT).min(LOOKED_AT_MAX - looked_at);
            let page = collection.within(store).scan(&range, None, step);
            let mut last = String::new();
            for (id, document) in page.documents {
                looked_at += 1;
                items.extend(keep(store, &id, document));
                last = id;
                if items.len() == wanted {
                    break;
                }
            }
            // If nothing follows, the next page is empty and the last.
            let is_over = page.cursor.is_none() && items.len() < wanted;
            if last.is_empty() || is_over {
                return Ok(Items {
                    items,
                    next_cursor: None,
                });
            }
            if items.len() == wanted || looked_at >= LOOKED_AT_MAX {
                return Ok(Items {
                    items,
                    next_cursor: Some(last),
                });
            }
            from = after(&last);
        }
    }
}

/// The smallest id after this one.
fn after(id: &str) -> String {
    format!("{id}\0")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::documents::Memory;

    const NUMBERS: Collection<u32> = Collection::new("numbers");

    fn all(limit: u32, keep: impl Fn(u32) -> bool) -> (Vec<u32>, usize) {
        let mut store = Memory::default();
        for n in 0..2500 {
            NUMBERS.within(&mut store).put(&format!("a/{n:04}"), &n);
        }
        NUMBERS.within(&mut store).put("b/0000", &1);
        NUMBERS.within(&mut store).put("Z", &1);
        let (mut found, mut pages) = (Vec::new(), 0);
        let mut cursor = None;
        loop {
            let paging = Paging { cursor, limit };
            let page = paging.fill(&mut store, &NUMBERS, "a/", |_, _, n| keep(n).then_some(n));
            let page = page.unwrap();
            assert!(page.items.len() <= limit as usize);
            found.extend(page.items);
            pages += 1;
            cursor = page.next_cursor;
            if cursor.is_none() {
                return (found, pages);
            }
        }
    }

    #[test]
    fn pages_hold_every_document_once_in_order_whatever_their_size() {
        for limit in [1, 7, 100, 999, 1000] {
            let (found, pages) = all(limit, |_| true);
            assert!(found.iter().copied().eq(0..2500), "{limit}");
            assert!(pages >= 2500 / limit as usize);
        }
    }

    #[test]
    fn selective_filter_gives_short_pages_and_loses_nothing() {
        for limit in [1, 3, 1000] {
            let (found, _) = all(limit, |n| n % 700 == 699);
            assert_eq!(found, [699, 1399, 2099], "{limit}");
        }
        let (found, pages) = all(100, |_| false);
        assert_eq!((found.len(), pages), (0, 3), "1000 documents a turn");
    }

    #[test]
    fn what_is_no_page_is_refused() {
        let of = |name: &str, value: &str| Paging::of(&[(name.to_owned(), value.to_owned())]);
        assert_eq!(of("limit", "1000").map(|page| page.limit), Ok(1000));
        for wrong in ["0", "1001", "x", "-1", ""] {
            assert_eq!(of("limit", wrong).unwrap_err().kind, Kind::Malformed);
        }
        let foreign = of("cursor", "b/0000").unwrap();
        let mut store = Memory::default();
        let refused = foreign.fill(&mut store, &NUMBERS, "a/", |_, _, n| Some(n));
        assert_eq!(refused.unwrap_err().kind, Kind::Malformed);
    }
}
