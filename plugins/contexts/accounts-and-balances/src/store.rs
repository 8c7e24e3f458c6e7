//! The ledger's storage as a trait, and the host's implementation.

use crate::accounts::Account;
use crate::history::Page;
use crate::records::{Entry, Reservation, UnsettledChange};
use rialto_sdk::documents::{Collection, Range, Store as Documents};

/// The documents of the ledger. All writes of one operation are committed together.
pub trait Store {
    /// The account, held until the operation has ended.
    fn account(&mut self, id: &str) -> Option<Account>;
    /// The account, read only.
    fn view(&mut self, id: &str) -> Option<Account>;
    /// Accounts with ids between these (the second excluded), in order, read only: at most `limit` (1 to 1000).
    fn accounts_between(&mut self, from: &str, to: &str, limit: u32) -> Vec<Account>;
    /// Write an account.
    fn put_account(&mut self, account: &Account);
    /// An entry.
    fn entry(&mut self, id: &str) -> Option<Entry>;
    /// Entries of a cause in the order of their ids, after this id: at most `limit` (1 to 1000). Also returns
    /// whether there may be more.
    fn entries_of(&mut self, cause: &str, after: Option<&str>, limit: u32) -> (Vec<Entry>, bool);
    /// Add an entry.
    ///
    /// # Panics
    /// If there is one with the same id: entries are never changed.
    fn append_entry(&mut self, entry: &Entry);
    /// A full page of an account's entries.
    fn page(&mut self, id: &str) -> Option<Page>;
    /// Add a full page.
    ///
    /// # Panics
    /// If there is one with the same id: pages are never changed.
    fn append_page(&mut self, id: &str, page: &Page);
    /// The reservation of a transfer, held until the operation has ended.
    fn reservation(&mut self, transfer_id: &str) -> Option<Reservation>;
    /// Write a reservation.
    fn put_reservation(&mut self, reservation: &Reservation);
    /// A change of unsettled amounts.
    fn unsettled_change(&mut self, id: &str) -> Option<UnsettledChange>;
    /// Adds a change of unsettled amounts.
    ///
    /// # Panics
    /// If there is one with the same id: they are never changed.
    fn append_unsettled_change(&mut self, change: &UnsettledChange);
    /// The changes of what is unsettled by a cause: at most `limit` (1 to 1000). Also returns whether there may
    /// be more.
    fn unsettled_changes_of(&mut self, cause: &str, limit: u32) -> (Vec<UnsettledChange>, bool);
}

pub(crate) const ACCOUNTS: Collection<Account> = Collection::new("accounts");
pub(crate) const ENTRIES: Collection<Entry> = Collection::new("entries");
pub(crate) const PAGES: Collection<Page> = Collection::new("entry-pages");
pub(crate) const RESERVATIONS: Collection<Reservation> = Collection::new("reservations");
pub(crate) const UNSETTLED_CHANGES: Collection<UnsettledChange> =
    Collection::new("unsettled-changes");

/// The ledger's documents: in the host's storage, or in a test's store.
#[derive(Debug, Clone, Default)]
pub struct Stored<D>(pub D);

impl<D: Documents> Store for Stored<D> {
    fn account(&mut self, id: &str) -> Option<Account> {
        ACCOUNTS.within(&mut self.0).get_for_update(id)
    }

    fn view(&mut self, id: &str) -> Option<Account> {
        ACCOUNTS.within(&mut self.0).get(id)
    }

    fn accounts_between(&mut self, from: &str, to: &str, limit: u32) -> Vec<Account> {
        let range = Range::Between((from.to_owned(), to.to_owned()));
        let page = ACCOUNTS.within(&mut self.0).scan(&range, None, limit);
        page.documents
            .into_iter()
            .map(|(_, account)| account)
            .collect()
    }

    fn put_account(&mut self, account: &Account) {
        ACCOUNTS.within(&mut self.0).put(&account.id, account);
    }

    fn entry(&mut self, id: &str) -> Option<Entry> {
        ENTRIES.within(&mut self.0).get(id)
    }

    fn entries_of(&mut self, cause: &str, after: Option<&str>, limit: u32) -> (Vec<Entry>, bool) {
        // `;` follows `:`, and ids hold no character before `!`.
        let from = after.map_or_else(|| format!("{cause}:"), |after| format!("{after}!"));
        let range = Range::Between((from, format!("{cause};")));
        let page = ENTRIES.within(&mut self.0).scan(&range, None, limit);
        let more = page.cursor.is_some();
        let entries = page.documents.into_iter().map(|(_, entry)| entry);
        // Ids of a cause with this id and a colon as its prefix lie in between.
        let entries = entries.filter(|entry| entry.correlation_id == cause);
        (entries.collect(), more)
    }

    fn append_entry(&mut self, entry: &Entry) {
        let added = ENTRIES
            .within(&mut self.0)
            .insert_if_absent(&entry.id, entry);
        assert!(added, "entry {:?} is already posted", entry.id);
    }

    fn page(&mut self, id: &str) -> Option<Page> {
        PAGES.within(&mut self.0).get(id)
    }

    fn append_page(&mut self, id: &str, page: &Page) {
        let added = PAGES.within(&mut self.0).insert_if_absent(id, page);
        assert!(added, "page {id:?} is already written");
    }

    fn reservation(&mut self, transfer_id: &str) -> Option<Reservation> {
        RESERVATIONS.within(&mut self.0).get_for_update(transfer_id)
    }

    fn put_reservation(&mut self, reservation: &Reservation) {
        RESERVATIONS
            .within(&mut self.0)
            .put(&reservation.transfer_id, reservation);
    }

    fn unsettled_change(&mut self, id: &str) -> Option<UnsettledChange> {
        UNSETTLED_CHANGES.within(&mut self.0).get(id)
    }

    fn append_unsettled_change(&mut self, change: &UnsettledChange) {
        let added = UNSETTLED_CHANGES
            .within(&mut self.0)
            .insert_if_absent(&change.id, change);
        assert!(added, "change {:?} is already written", change.id);
    }

    fn unsettled_changes_of(&mut self, cause: &str, limit: u32) -> (Vec<UnsettledChange>, bool) {
        // `;` follows `:`.
        let range = Range::Between((format!("{cause}:"), format!("{cause};")));
        let page = UNSETTLED_CHANGES
            .within(&mut self.0)
            .scan(&range, None, limit);
        let more = page.cursor.is_some();
        let changes = page.documents.into_iter().map(|(_, change)| change);
        (changes.collect(), more)
    }
}
