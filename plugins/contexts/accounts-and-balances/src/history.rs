//! The history of an account: its document has the latest entries, and every sixteen entries become a page. A
//! posting writes the account's document anyway, so the history costs one small document per sixteen entries.

use crate::accounts::Units;
use serde::{Deserialize, Serialize};

/// Entries of a full page.
pub const PAGE: u64 = 16;

/// The latest entries of an account, part of its document.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Tail {
    /// The number of entries since the account has a history, those on pages included.
    pub count: u64,
    /// Ids of the entries on no page yet, the oldest first, separated by spaces.
    pub entries: String,
    /// The sum of debits before them.
    pub debit_before: Units,
    /// The sum of credits before them.
    pub credit_before: Units,
    /// The earliest instant of them: UTC, milliseconds since 1970.
    pub earliest: u64,
    /// The latest one.
    pub latest: u64,
}

/// A document of the collection `entry-pages`: sixteen entries of an account, in the order in which
/// they were posted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Page {
    /// Ids of the entries, the oldest first, separated by spaces.
    pub entries: String,
    /// The sum of debits before them.
    pub debit_before: Units,
    /// The sum of credits before them.
    pub credit_before: Units,
    /// The earliest instant of them: UTC, milliseconds since 1970.
    pub earliest: u64,
    /// The latest one.
    pub latest: u64,
}

impl Tail {
    /// Whether the account has no entry. Documents leave this value out.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Adds an entry. The sums are the account's before it. Returns the page that it fills, with its number.
    pub fn note(
        &mut self,
        entry: &str,
        posted_at: u64,
        debit_before: Units,
        credit_before: Units,
    ) -> Option<(u64, Page)> {
        if self.entries.is_empty() {
            (self.debit_before, self.credit_before) = (debit_before, credit_before);
            (self.earliest, self.latest) = (posted_at, posted_at);
        } else {
            self.entries.push(' ');
            self.earliest = self.earliest.min(posted_at);
            self.latest = self.latest.max(posted_at);
        }
        self.entries.push_str(entry);
        self.count += 1;
        if !self.count.is_multiple_of(PAGE) {
            return None;
        }
        Some((self.count / PAGE - 1, self.page()))
    }

    /// Takes the entries on no page yet, as a page.
    fn page(&mut self) -> Page {
        Page {
            entries: std::mem::take(&mut self.entries),
            debit_before: self.debit_before,
            credit_before: self.credit_before,
            earliest: self.earliest,
            latest: self.latest,
        }
    }

    /// The entries on no page yet, as a page.
    #[must_use]
    pub fn to_page(&self) -> Page {
        self.clone().page()
    }
}

/// The id of a page. Pages of an account are neighbours, the oldest first.
#[must_use]
pub fn page_id(account: &str, number: u64) -> String {
    format!("{account}/{number:010}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sixteen_entries_become_a_page_and_the_tail_begins_anew() {
        let mut tail = Tail::default();
        for n in 0..15_u64 {
            let before = Units(u128::from(n) * 10);
            let id = format!("t{n}:prepare");
            assert_eq!(tail.note(&id, 100 + n, before, Units(7)), None);
        }
        assert_eq!(tail.count, 15);
        // A turn with an earlier clock may commit later.
        let (number, page) = tail.note("last", 50, Units(150), Units(7)).unwrap();
        assert_eq!(number, 0);
        assert_eq!(page.entries.split(' ').count(), 16);
        assert!(page.entries.starts_with("t0:prepare t1:prepare"));
        assert!(page.entries.ends_with(" last"));
        assert_eq!(
            (page.debit_before, page.credit_before),
            (Units(0), Units(7))
        );
        assert_eq!((page.earliest, page.latest), (50, 114));
        assert_eq!(tail.entries, "");
        assert_eq!(tail.note("next", 60, Units(160), Units(7)), None);
        assert_eq!((tail.count, &*tail.entries), (17, "next"));
        assert_eq!(tail.debit_before, Units(160));
        assert_eq!(tail.to_page().earliest, 60);
    }

    #[test]
    fn pages_of_an_account_are_in_order() {
        assert_eq!(page_id("a:USD:LIQUIDITY", 7), "a:USD:LIQUIDITY/0000000007");
        assert!(page_id("a", 9) < page_id("a", 10));
    }
}
