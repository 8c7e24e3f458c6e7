//! The entries of one account, the newest first, each with the sums after it.
//!
//! Entries are numbered in the order of their commits. Their instants are those of their turns, so a later
//! entry may have a slightly earlier instant. A query by time uses the pages' instants with some slack, and
//! then compares each entry.

use super::views::{page_limit, to_posting};
use super::{Ledger, check_account_id};
use crate::accounts::{Account, Units};
use crate::bindings::exports::rialto::accounts_and_balances::request_account_position_history::{
    Request, Response,
};
use crate::bindings::rialto::accounts_and_balances::types::{Balances, LedgerError, Posting};
use crate::history::{PAGE, Page, page_id};
use crate::store::Store;
use rialto_sdk::money::money;

/// How far a turn's instant may be before that of an earlier commit, in milliseconds. Turns last at most a
/// second.
const SLACK: u64 = 300_000;
/// The most pages that an answer reads.
const PAGES_MAX: u64 = 100;

impl<S: Store> Ledger<'_, S> {
    /// The entries of an account.
    ///
    /// # Errors
    /// If there is no such account, or the cursor is not valid.
    pub fn position_history(&mut self, request: &Request) -> Result<Response, LedgerError> {
        check_account_id(&request.account)?;
        let account = self.store.view(&request.account);
        let account =
            account.ok_or_else(|| LedgerError::UnknownAccount(request.account.clone()))?;
        let mut end = match &request.cursor {
            Some(cursor) => read_cursor(cursor)?.min(account.tail.count),
            None => self.end_for(&account, request.to),
        };
        let limit = usize::try_from(page_limit(request.limit)).unwrap_or(1);
        let mut postings = Vec::new();
        for _ in 0..PAGES_MAX {
            if end == 0 {
                break;
            }
            let number = (end - 1) / PAGE;
            let Some(page) = self.page_of(&account, number) else {
                // It is archived; earlier ones may not be.
                let until = account
                    .archived
                    .as_ref()
                    .map_or(0, |archived| archived.until);
                let is_behind = request
                    .from
                    .is_some_and(|from| until.saturating_add(SLACK) < from);
                end = if is_behind { 0 } else { number * PAGE };
                continue;
            };
            let is_too_early = |from| page.latest.saturating_add(SLACK) < from;
            if request.from.is_some_and(is_too_early) {
                end = 0;
                break;
            }
            let mut of_page = self.postings_of(&account, &page);
            of_page.truncate(usize::try_from(end - number * PAGE).unwrap_or(0));
            while let Some(posting) = of_page.pop() {
                if postings.len() == limit {
                    return Ok(response(postings, end));
                }
                end -= 1;
                let Some(posting) = posting else {
                    continue;
                };
                let at = posting.posted_at;
                let is_asked_for = request.from.is_none_or(|from| from <= at)
                    && request.to.is_none_or(|to| at < to);
                if is_asked_for {
                    postings.push(posting);
                }
            }
        }
        Ok(response(postings, end))
    }

    /// The number of the first entry that is surely too late.
    fn end_for(&mut self, account: &Account, to: Option<u64>) -> u64 {
        let Some(to) = to else {
            return account.tail.count;
        };
        let (mut low, mut high) = (0, account.tail.count / PAGE);
        while low < high {
            let middle = low + (high - low) / 2;
            let page = self.page_of(account, middle);
            let is_too_late = page.is_some_and(|page| page.earliest >= to.saturating_add(SLACK));
            if is_too_late {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        if low == account.tail.count / PAGE {
            account.tail.count
        } else {
            low * PAGE
        }
    }

    fn page_of(&mut self, account: &Account, number: u64) -> Option<Page> {
        if number == account.tail.count / PAGE {
            return Some(account.tail.to_page());
        }
        self.store.page(&page_id(&account.id, number))
    }

    /// The entries of a page with the sums after each, the oldest first. An archived entry is none, and entries
    /// after it have no sums.
    fn postings_of(&mut self, account: &Account, page: &Page) -> Vec<Option<Posting>> {
        let (mut debits, mut credits) = (page.debit_before, page.credit_before);
        let ids = page.entries.split(' ').filter(|id| !id.is_empty());
        let mut postings = Vec::new();
        let mut are_all_here = true;
        for id in ids {
            let Some(entry) = self.store.entry(id) else {
                if account.archived.is_some() {
                    are_all_here = false;
                    postings.push(None);
                    continue;
                }
                // An account only lists entries that were posted with it.
                panic!(
                    "account {} names entry {id}, which does not exist",
                    account.id
                );
            };
            let sum = if entry.debit_account == account.id {
                &mut debits
            } else {
                &mut credits
            };
            // The account's own sum includes it.
            *sum = Units(sum.0.saturating_add(entry.amount.0));
            let money = |units: Units| money(&account.currency, account.scale, units.0);
            let balances = Balances {
                debit_balance: money(debits),
                credit_balance: money(credits),
            };
            postings.push(Some(Posting {
                balances_after: are_all_here.then_some(balances),
                ..to_posting(&entry)
            }));
        }
        postings
    }
}

fn response(postings: Vec<Posting>, end: u64) -> Response {
    Response {
        postings,
        cursor: (end > 0).then(|| end.to_string()),
    }
}

fn read_cursor(cursor: &str) -> Result<u64, LedgerError> {
    let read = cursor.parse();
    read.map_err(|_| LedgerError::Malformed(format!("{cursor:?} is not a cursor of this account")))
}
