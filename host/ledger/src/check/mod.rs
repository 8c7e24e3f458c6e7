//! Checks the ledger: the invariants of the account model, and that entries, pages, reservations and histories agree
//! with the accounts. All of it is computed from documents alone.
//!
//! Accounts are kept in memory. Everything else is read once, in the order of the disk. Documents that belong together
//! are near each other there, so few wait for their counterpart: entries on no page yet, open reservations, transfers
//! in no settlement batch.
//!
//! The reservation and the entries of an archived transfer no longer exist. The opening balance of each account that it
//! touched has the number of missing entries and pages, and their sums. Sums begin there, and exactly that many entries
//! and pages must be missing. Listings of archived entries wait until the end: fewer than sixteen of each page. Pages
//! with only archived entries are read again instead, if they still exist.

mod accounts;
mod archives;
mod chains;
mod histories;
mod report;
mod transfers;

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::Path;

use rialto_engine::CollectionId;
use rialto_engine::store::StoredDocument;
use rialto_store::Order;
use serde::de::DeserializeOwned;

use crate::documents::{Entry, PAGE, Page, Reservation, UnsettledChange, page_id};
use crate::source::{self, Collections};
use crate::{Ledger, LedgerError};
use accounts::{Accounts, Side};
use archives::Archives;
use chains::Chains;
use histories::{Histories, PageKey};
use transfers::Transfers;

pub use archives::InArchives;
pub use report::{Breach, Check, Checked, Report};

impl Ledger {
    /// Checks everything, or one currency, without archives.
    ///
    /// # Errors
    /// When the store cannot be read, or no account is in the currency. What is wrong in the store is in
    /// the report.
    pub fn check(&mut self, currency: Option<&str>) -> Result<Report, LedgerError> {
        self.check_watched(currency, None, &mut |_| ControlFlow::Continue(()))
    }

    /// Checks the same, and compares opening balances with the sums of archived entries. Without archives,
    /// errors in two opening balances may cancel out.
    ///
    /// # Errors
    /// As [`Self::check`], and when an archive that is there cannot be read.
    pub fn check_with_archives(
        &mut self,
        currency: Option<&str>,
        folder: &Path,
    ) -> Result<Report, LedgerError> {
        self.check_watched(currency, Some(folder), &mut |_| ControlFlow::Continue(()))
    }

    /// Checks the same, with archives if their folder is named. `watch` hears again and again how many documents were read, and
    /// may stop the check between two of them. Archives are read without it.
    ///
    /// # Errors
    /// As [`Self::check_with_archives`], and [`LedgerError::Stopped`].
    pub fn check_watched(
        &mut self,
        currency: Option<&str>,
        archives: Option<&Path>,
        watch: &mut dyn FnMut(u64) -> ControlFlow<()>,
    ) -> Result<Report, LedgerError> {
        let mut documents = 0_u64;
        let mut goes_on = || {
            documents += 1;
            match watch(documents) {
                ControlFlow::Continue(()) => Ok(()),
                ControlFlow::Break(()) => Err(LedgerError::Stopped),
            }
        };
        let mut report = Report::new(self.lsn());
        let read = |folder| Archives::read(&mut *self.snapshot, folder, &mut report);
        let archives = archives.map(read).transpose()?;
        let mut checking = Checking {
            currency: currency.map(str::to_owned),
            others: BTreeSet::new(),
            report,
            archives,
            accounts: Accounts::default(),
            histories: Histories::default(),
            transfers: Transfers::default(),
            chains: Chains::default(),
        };
        let all = self.collections;
        let accounts = [all.accounts];
        self.snapshot
            .visit(&accounts, Order::ById, &mut |_, found| {
                checking.account(&found);
                goes_on()
            })?;
        checking.has_currency()?;
        let rest = [
            all.entries,
            all.pages,
            all.reservations,
            all.unsettled,
            all.participants,
            all.changes,
            all.requests,
        ];
        let rest: Vec<_> = rest.into_iter().flatten().collect();
        self.snapshot
            .visit(&rest, Order::AsStored, &mut |collection, found| {
                checking.document(&all, collection, &found);
                goes_on()
            })?;
        for page_key in checking.histories.later() {
            let account = &checking.accounts.get(page_key.account).id;
            let id = page_id(account, page_key.number);
            let Some(pages) = all.pages else {
                break;
            };
            if let Some(page) = self.document::<Page>(pages, source::PAGES, &id)? {
                checking.histories.again(page_key, &page);
            }
        }
        Ok(checking.end())
    }
}

struct Checking {
    currency: Option<String>,
    /// Currencies of accounts that are not checked.
    others: BTreeSet<String>,
    report: Report,
    archives: Option<Archives>,
    accounts: Accounts,
    histories: Histories,
    transfers: Transfers,
    chains: Chains,
}

impl Checking {
    fn is_wanted(&self, currency: &str) -> bool {
        self.currency.as_deref().is_none_or(|only| only == currency)
    }

    fn account(&mut self, found: &StoredDocument) {
        let Some(account) = self.read::<crate::Account>(source::ACCOUNTS, found) else {
            return;
        };
        if *account.id != *found.id {
            let says = &account.id;
            let text = format!("the account document {} says that it is {says}", found.id);
            self.report.breach(Check::Readable, text);
        }
        if self.is_wanted(&account.currency) {
            self.accounts.add(account, &mut self.report);
        } else {
            self.others.insert(account.currency);
        }
    }

    /// Refuses a currency that no account has: its check would find nothing.
    fn has_currency(&self) -> Result<(), LedgerError> {
        match &self.currency {
            Some(wanted) if self.accounts.iter().next().is_none() => {
                let others: Vec<&str> = self.others.iter().map(String::as_str).collect();
                let others = match others.as_slice() {
                    [] => "there are no accounts at all".to_owned(),
                    others => format!("there are accounts in {}", others.join(", ")),
                };
                Err(LedgerError::NoCurrency(wanted.clone(), others))
            }
            _ => Ok(()),
        }
    }

    fn document(&mut self, all: &Collections, collection: CollectionId, found: &StoredDocument) {
        let is = |wanted: Option<CollectionId>| wanted == Some(collection);
        if is(all.entries) {
            if let Some(entry) = self.read::<Entry>(source::ENTRIES, found) {
                self.entry(&entry, &found.id);
            }
        } else if is(all.pages) {
            if let Some(page) = self.read::<Page>(source::PAGES, found) {
                self.page(&page, &found.id);
            }
        } else if is(all.reservations) {
            let read = self.read::<Reservation>(source::RESERVATIONS, found);
            if let Some(reservation) = read.filter(|r| self.is_wanted(&r.currency)) {
                self.transfers
                    .reservation(reservation, &mut self.accounts, &mut self.report);
            }
        } else if is(all.unsettled) {
            if let Some(change) = self.read::<UnsettledChange>(source::UNSETTLED, found) {
                self.unsettled(&change, &found.id);
            }
        } else if is(all.participants) {
            if let Some(value) = self.read(source::PARTICIPANTS, found) {
                self.chains.participant(&found.id, &value);
            }
        } else if is(all.requests) {
            if let Some(value) = self.read(source::REQUESTS, found) {
                self.chains.request(&found.id, &value, &mut self.report);
            }
        } else if let Some(value) = self.read(source::CHANGES, found) {
            self.chains.change(&found.id, value, &mut self.report);
        }
    }

    fn read<T: DeserializeOwned>(
        &mut self,
        collection: &'static str,
        found: &StoredDocument,
    ) -> Option<T> {
        self.report.looked_at(Check::Readable);
        match serde_json::from_str(&found.body) {
            Ok(read) => Some(read),
            Err(error) => {
                let text = format!("the document {} of `{collection}`: {error}", found.id);
                self.report.breach(Check::Readable, text);
                None
            }
        }
    }

    fn entry(&mut self, entry: &Entry, id: &str) {
        if !self.is_wanted(&entry.currency) {
            return;
        }
        if entry.id != id || entry.step().is_none() {
            let text = format!(
                "the entry document {id} says that it is {} of {}",
                entry.id, entry.correlation_id
            );
            self.report.breach(Check::Entries, text);
        }
        if let Some(archives) = &mut self.archives {
            archives.is_here(entry);
        }
        let sides = self.accounts.post(entry, &mut self.report);
        let (amount, at) = (entry.amount.0, entry.posted_at);
        for (account, side) in sides {
            let (debit, credit) = match side {
                Side::Debit => (amount, 0),
                Side::Credit => (0, amount),
            };
            self.histories.posted(id, account, (debit, credit), at);
        }
        self.transfers.entry(entry, &mut self.report);
    }

    fn page(&mut self, page: &Page, id: &str) {
        let parts = id.rsplit_once('/');
        let parts = parts.and_then(|(account, number)| {
            let number = number.parse().ok()?;
            Some((self.accounts.index(account)?, account, number))
        });
        let Some((account, name, number)) = parts else {
            if self.currency.is_none() {
                let text = format!("the page {id} belongs to no account");
                self.report.breach(Check::Histories, text);
            }
            return;
        };
        self.report.looked_at(Check::Histories);
        let listed = page.ids().count() as u64;
        let of = self.accounts.get(account);
        if number >= of.tail.count / PAGE || listed != PAGE {
            let count = of.tail.count;
            let text = format!(
                "page {number} of {name} lists {listed} entries; the account has {count} in all"
            );
            self.report.breach(Check::Histories, text);
        }
        let is_in_archives = of.archived.is_some();
        let page_key = PageKey { account, number };
        self.histories.page(page_key, page, is_in_archives);
    }

    fn unsettled(&mut self, change: &UnsettledChange, id: &str) {
        for of in &change.accounts {
            let Some(account) = self.accounts.index(&of.account) else {
                if self.currency.is_none() {
                    let text = format!("{id} settles transfers of {}, no account", of.account);
                    self.report.breach(Check::Unsettled, text);
                }
                continue;
            };
            let sign = if of.settled { -1 } else { 1 };
            self.accounts.explain_unsettled(account, sign * of.amount.0);
        }
    }

    fn end(mut self) -> Report {
        if let Some(archives) = self.archives {
            let accounts = self.accounts.iter().map(|(_, account)| account);
            archives.end(accounts, self.currency.is_none(), &mut self.report);
        }
        self.transfers.end(&mut self.accounts, &mut self.report);
        self.accounts.end(&mut self.report);
        self.histories.end(&self.accounts, &mut self.report);
        self.chains.end(&mut self.report);
        self.report
    }
}
