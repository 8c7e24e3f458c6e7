//! The entries of an account, found by its pages.

use super::{Book, funded};
use crate::bindings::exports::rialto::accounts_and_balances::{
    get_journal_entries as journal, request_account_position_history as history,
};
use crate::bindings::rialto::accounts_and_balances::types::{LedgerError, Posting};
use crate::records::Entry;
use rialto_sdk::money::minor_units;

const ACCOUNT: &str = "A:USD:LIQUIDITY";

impl Book {
    fn history(&mut self, from: Option<u64>, to: Option<u64>, limit: u32) -> Vec<Vec<Posting>> {
        let mut pages = Vec::new();
        let mut cursor = None;
        loop {
            let request = history::Request {
                account: ACCOUNT.to_owned(),
                from,
                to,
                cursor: cursor.take(),
                limit,
            };
            let response = self.ledger().position_history(&request).unwrap();
            assert!(response.postings.len() <= limit as usize);
            pages.push(response.postings);
            cursor = response.cursor;
            if cursor.is_none() {
                return pages;
            }
        }
    }

    /// The entries of the account by themselves, the newest first, with the sums after each.
    fn counted(&self, is_asked_for: impl Fn(u64) -> bool) -> Vec<(String, u128, u128)> {
        let mut entries: Vec<&Entry> = self
            .store
            .entries
            .values()
            .filter(|e| e.debit_account == ACCOUNT || e.credit_account == ACCOUNT)
            .collect();
        entries.sort_by_key(|entry| entry.posted_at);
        let (mut debits, mut credits) = (0, 0);
        let mut counted = Vec::new();
        for entry in entries {
            if entry.debit_account == ACCOUNT {
                debits += entry.amount.0;
            } else {
                credits += entry.amount.0;
            }
            if is_asked_for(entry.posted_at) {
                counted.push((entry.id.clone(), debits, credits));
            }
        }
        counted.reverse();
        counted
    }
}

fn shown(pages: &[Vec<Posting>]) -> Vec<(String, u128, u128)> {
    let row = |posting: &Posting| {
        let after = posting.balances_after.as_ref().unwrap();
        (
            posting.entry_id.clone(),
            minor_units(&after.debit_balance),
            minor_units(&after.credit_balance),
        )
    };
    pages.iter().flatten().map(row).collect()
}

#[test]
fn each_entry_is_listed_once_with_its_sums() {
    // One entry, the deposit, is there already.
    for more in [0, 14, 15, 16, 31, 32, 999] {
        let mut book = funded();
        for n in 0..more {
            book.now += 9;
            book.prepare(&format!("t{n}"), "A", "USD", n % 2).unwrap();
        }
        let all = book.counted(|_| true);
        assert_eq!(all.len() as u128, more + 1);
        for limit in [1, 7, 16, 1000] {
            assert_eq!(
                shown(&book.history(None, None, limit)),
                all,
                "{more} {limit}"
            );
        }
    }
}

#[test]
fn entries_are_found_by_time() {
    let mut book = funded();
    for n in 0..500 {
        // A minute each: more than the slack that clocks are given.
        book.now += 60_000;
        book.prepare(&format!("t{n}"), "A", "USD", 1).unwrap();
    }
    let end = book.now;
    for (from, to) in [
        (None, Some(0)),
        (None, Some(6_000_000)),
        (Some(6_000_000), Some(6_060_000)),
        (Some(6_000_000), Some(12_345_678)),
        (Some(29_000_000), None),
        (Some(end + 1), None),
    ] {
        let is_asked_for =
            |at: u64| from.is_none_or(|from| from <= at) && to.is_none_or(|to| at < to);
        let counted = book.counted(is_asked_for);
        assert_eq!(
            shown(&book.history(from, to, 10)),
            counted,
            "{from:?} {to:?}"
        );
    }
}

#[test]
fn entries_of_a_cause_have_stable_ids() {
    let mut book = funded();
    book.prepare("t1", "A", "USD", 5).unwrap();
    book.prepare("t1:x", "A", "USD", 5).unwrap();
    book.fulfil("t1", "B", "USD").unwrap();
    let mut entries = |cursor: Option<String>| {
        book.ledger().entries_of(&journal::Request {
            cause: "t1".to_owned(),
            cursor,
            limit: 1,
        })
    };
    let first = entries(None);
    let second = entries(first.cursor);
    let third = entries(second.cursor.clone());
    assert_eq!(first.postings[0].entry_id, "t1:fulfil");
    assert_eq!(first.postings[0].entry_type, "TRANSFER_FULFIL");
    assert_eq!(second.postings[0].entry_id, "t1:prepare");
    assert!(third.postings.is_empty() || second.cursor.is_none());
    let again = entries(None);
    assert_eq!(again.postings, first.postings);
    assert_eq!(again.postings[0].journal_entry_id.len(), 36);
}

#[test]
fn unknown_account_or_cursor_is_refused() {
    let mut book = funded();
    let mut ask = |account: &str, cursor: Option<&str>| {
        book.ledger().position_history(&history::Request {
            account: account.to_owned(),
            from: None,
            to: None,
            cursor: cursor.map(str::to_owned),
            limit: 10,
        })
    };
    let unknown = ask("A:EUR:LIQUIDITY", None);
    let id = "A:EUR:LIQUIDITY".to_owned();
    assert_eq!(unknown, Err(LedgerError::UnknownAccount(id)));
    let long = "x".repeat(257);
    for no_id in ["", "a\nb", &long] {
        let refused = ask(no_id, None);
        assert!(
            matches!(refused, Err(LedgerError::Malformed(_))),
            "{no_id:?}"
        );
    }
    let refused = ask(ACCOUNT, Some("-1"));
    assert!(matches!(refused, Err(LedgerError::Malformed(_))));
    let beyond = ask(ACCOUNT, Some("99999999")).unwrap();
    assert_eq!(beyond.postings.len(), 1, "there is one entry");
}
