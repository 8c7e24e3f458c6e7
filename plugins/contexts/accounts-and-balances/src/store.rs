//! The storage that the ledger needs, and the host's.

use crate::accounts::Account;
use crate::records::{Entry, Reservation};
use rialto_sdk::documents::Collection;

/// What the ledger reads and writes. All writes of one operation become true together.
pub trait Store {
    /// The account, held for this operation until it has ended.
    fn account(&mut self, id: &str) -> Option<Account>;
    /// Write an account.
    fn put_account(&mut self, account: &Account);
    /// An entry.
    fn entry(&mut self, id: &str) -> Option<Entry>;
    /// Add an entry.
    ///
    /// # Panics
    /// When there is one of the same id: entries are never changed.
    fn append_entry(&mut self, entry: &Entry);
    /// The reservation of a transfer, held for this operation until it has ended.
    fn reservation(&mut self, transfer_id: &str) -> Option<Reservation>;
    /// Write a reservation.
    fn put_reservation(&mut self, reservation: &Reservation);
}

const ACCOUNTS: Collection<Account> = Collection::new("accounts");
const ENTRIES: Collection<Entry> = Collection::new("entries");
const RESERVATIONS: Collection<Reservation> = Collection::new("reservations");

/// The host's storage, within the current turn.
#[derive(Debug, Clone, Copy)]
pub struct HostStore;

impl Store for HostStore {
    fn account(&mut self, id: &str) -> Option<Account> {
        ACCOUNTS.get_for_update(id)
    }

    fn put_account(&mut self, account: &Account) {
        ACCOUNTS.put(&account.id, account);
    }

    fn entry(&mut self, id: &str) -> Option<Entry> {
        ENTRIES.get(id)
    }

    fn append_entry(&mut self, entry: &Entry) {
        let added = ENTRIES.insert_if_absent(&entry.id, entry);
        assert!(added, "entry {:?} is already posted", entry.id);
    }

    fn reservation(&mut self, transfer_id: &str) -> Option<Reservation> {
        RESERVATIONS.get_for_update(transfer_id)
    }

    fn put_reservation(&mut self, reservation: &Reservation) {
        RESERVATIONS.put(&reservation.transfer_id, reservation);
    }
}
