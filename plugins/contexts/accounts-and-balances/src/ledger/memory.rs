//! A store in memory for tests.

use crate::accounts::Account;
use crate::records::{Entry, Reservation};
use crate::store::Store;
use std::collections::BTreeMap;

/// Documents by their ids.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MemoryStore {
    pub accounts: BTreeMap<String, Account>,
    pub entries: BTreeMap<String, Entry>,
    pub reservations: BTreeMap<String, Reservation>,
}

impl Store for MemoryStore {
    fn account(&mut self, id: &str) -> Option<Account> {
        self.accounts.get(id).cloned()
    }

    fn put_account(&mut self, account: &Account) {
        self.accounts.insert(account.id.clone(), account.clone());
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
