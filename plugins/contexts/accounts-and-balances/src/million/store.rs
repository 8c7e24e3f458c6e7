//! A store that checks each write, and counts them.

use crate::accounts::Account;
use crate::history::Page;
use crate::records::{Entry, Reservation, UnsettledChange};
use crate::store::Store;
use std::collections::BTreeMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

#[derive(Debug, Default)]
pub struct Memory {
    pub accounts: BTreeMap<String, Account>,
    pub entries: BTreeMap<String, Entry>,
    pub pages: BTreeMap<String, Page>,
    pub changes: BTreeMap<String, UnsettledChange>,
    pub reservations: BTreeMap<String, Reservation>,
    /// The number of documents written, which a refusal must not change.
    pub writes: u64,
    /// Sum of the digests of entries as they were when they were added.
    pub digest: u64,
}

/// The digest of an entry.
pub fn digest(entry: &Entry) -> u64 {
    let mut hasher = DefaultHasher::new();
    format!("{entry:?}").hash(&mut hasher);
    hasher.finish()
}

impl Store for Memory {
    fn account(&mut self, id: &str) -> Option<Account> {
        self.accounts.get(id).cloned()
    }

    fn view(&mut self, id: &str) -> Option<Account> {
        self.account(id)
    }

    fn accounts_between(&mut self, from: &str, to: &str, limit: u32) -> Vec<Account> {
        let range = self.accounts.range(from.to_owned()..to.to_owned());
        range
            .take(limit as usize)
            .map(|(_, account)| account.clone())
            .collect()
    }

    fn put_account(&mut self, account: &Account) {
        self.writes += 1;
        let stored = Account {
            full_pages: Vec::new(),
            ..account.clone()
        };
        self.accounts.insert(account.id.clone(), stored);
    }

    fn entry(&mut self, id: &str) -> Option<Entry> {
        self.entries.get(id).cloned()
    }

    fn entries_of(&mut self, _: &str, _: Option<&str>, _: u32) -> (Vec<Entry>, bool) {
        (Vec::new(), false)
    }

    fn append_entry(&mut self, entry: &Entry) {
        self.writes += 1;
        self.digest = self.digest.wrapping_add(digest(entry));
        let before = self.entries.insert(entry.id.clone(), entry.clone());
        assert_eq!(before, None, "entries are never changed");
    }

    fn page(&mut self, id: &str) -> Option<Page> {
        self.pages.get(id).cloned()
    }

    fn append_page(&mut self, id: &str, page: &Page) {
        self.writes += 1;
        let before = self.pages.insert(id.to_owned(), page.clone());
        assert_eq!(before, None, "pages are never changed");
    }

    fn reservation(&mut self, transfer_id: &str) -> Option<Reservation> {
        self.reservations.get(transfer_id).cloned()
    }

    fn put_reservation(&mut self, reservation: &Reservation) {
        self.writes += 1;
        self.reservations
            .insert(reservation.transfer_id.clone(), reservation.clone());
    }

    fn unsettled_change(&mut self, id: &str) -> Option<UnsettledChange> {
        self.changes.get(id).cloned()
    }

    fn append_unsettled_change(&mut self, change: &UnsettledChange) {
        self.writes += 1;
        let before = self.changes.insert(change.id.clone(), change.clone());
        assert_eq!(before, None, "changes are never changed");
    }

    fn unsettled_changes_of(&mut self, cause: &str, limit: u32) -> (Vec<UnsettledChange>, bool) {
        let range = format!("{cause}:")..format!("{cause};");
        let mut found: Vec<UnsettledChange> = (self.changes.range(range))
            .map(|(_, change)| change.clone())
            .collect();
        let more = found.len() > limit as usize;
        found.truncate(limit as usize);
        (found, more)
    }
}
