//! A store in memory for tests.

use crate::accounts::Account;
use crate::history::Page;
use crate::records::{Entry, Reservation, UnsettledChange};
use crate::store::Store;
use std::collections::BTreeMap;

/// Documents by their ids.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MemoryStore {
    pub accounts: BTreeMap<String, Account>,
    pub entries: BTreeMap<String, Entry>,
    pub pages: BTreeMap<String, Page>,
    pub unsettled_changes: BTreeMap<String, UnsettledChange>,
    pub reservations: BTreeMap<String, Reservation>,
}

impl Store for MemoryStore {
    fn account(&mut self, id: &str) -> Option<Account> {
        self.accounts.get(id).cloned()
    }

    fn view(&mut self, id: &str) -> Option<Account> {
        self.account(id)
    }

    fn accounts_between(&mut self, from: &str, to: &str, limit: u32) -> Vec<Account> {
        let range = self.accounts.range(from.to_owned()..to.to_owned());
        range.take(limit as usize).map(|(_, a)| a.clone()).collect()
    }

    fn put_account(&mut self, account: &Account) {
        let stored = Account {
            full_pages: Vec::new(),
            ..account.clone()
        };
        self.accounts.insert(account.id.clone(), stored);
    }

    fn entries_of(&mut self, cause: &str, after: Option<&str>, limit: u32) -> (Vec<Entry>, bool) {
        let after = after.unwrap_or_default();
        let of_cause = |entry: &&Entry| entry.correlation_id == cause && &*entry.id > after;
        let mut found: Vec<Entry> = self.entries.values().filter(of_cause).cloned().collect();
        let more = found.len() > limit as usize;
        found.truncate(limit as usize);
        (found, more)
    }

    fn page(&mut self, id: &str) -> Option<Page> {
        self.pages.get(id).cloned()
    }

    fn append_page(&mut self, id: &str, page: &Page) {
        let before = self.pages.insert(id.to_owned(), page.clone());
        assert_eq!(before, None, "pages are never changed");
    }

    fn unsettled_change(&mut self, id: &str) -> Option<UnsettledChange> {
        self.unsettled_changes.get(id).cloned()
    }

    fn append_unsettled_change(&mut self, change: &UnsettledChange) {
        let before = self
            .unsettled_changes
            .insert(change.id.clone(), change.clone());
        assert_eq!(before, None, "changes are never changed");
    }

    fn unsettled_changes_of(&mut self, cause: &str, limit: u32) -> (Vec<UnsettledChange>, bool) {
        let range = format!("{cause}:")..format!("{cause};");
        let found: Vec<_> = self.unsettled_changes.range(range).collect();
        let more = found.len() > limit as usize;
        let found = found.into_iter().take(limit as usize);
        (found.map(|(_, change)| change.clone()).collect(), more)
    }

    fn entry(&mut self, id: &str) -> Option<Entry> {
        self.entries.get(id).cloned()
    }

    fn append_entry(&mut self, entry: &Entry) {
        let before = self.entries.insert(entry.id.clone(), entry.clone());
        assert_eq!(before, None, "entries are never changed");
    }

    fn reservation(&mut self, transfer_id: &str) -> Option<Reservation> {
        self.reservations.get(transfer_id).cloned()
    }

    fn put_reservation(&mut self, reservation: &Reservation) {
        self.reservations
            .insert(reservation.transfer_id.clone(), reservation.clone());
    }
}
