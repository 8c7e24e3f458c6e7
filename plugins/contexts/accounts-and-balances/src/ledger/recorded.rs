//! The unsettled transfers of a settlement position. A recorded transfer is unsettled until its settlement
//! counts it as settled, and again after an undoing counts it as waiting.
//!
//! Sums are not used to guess this. A settlement posts all its entries and counts under one cause, and the last
//! entry of a position is of the settlement that touched it. Each count has a document that says for each
//! account whether its transfers are settled, or wait again (`UnsettledChange`). So the state is known after
//! each step of a settlement or an undoing.

use super::Ledger;
use crate::accounts::{Account, AccountState};
use crate::history::{PAGE, page_id};
use crate::records::{Entry, EntryType};
use crate::store::Store;
use std::collections::BTreeMap;

/// The most settlements of one participant that are read: a turn may touch 4096 documents. The transfers of
/// further settlements explain nothing.
const SETTLEMENTS_MAX: usize = 8;
/// The most counts of one settlement that are read; it has one per 200 participants.
const COUNTS_MAX: u32 = 50;
/// The most entries that are read to find settlements.
const ENTRIES_MAX: usize = 64;

/// The settlements that have touched a participant's positions.
pub(super) struct Counted<'a> {
    /// Its position account, where settlements count.
    account: &'a str,
    /// By a settlement's cause: whether the transfers of positions that it touched last are unsettled.
    unsettled: BTreeMap<String, bool>,
    looked_at: usize,
}

impl<'a> Counted<'a> {
    /// Empty, for the owner of this position account.
    pub(super) const fn on(account: &'a str) -> Self {
        Self {
            account,
            unsettled: BTreeMap::new(),
            looked_at: 0,
        }
    }

    /// The state of the settlement that posted the entry with this id.
    fn known(&self, entry: &str) -> Option<bool> {
        let is_of = |cause: &str| {
            let step = entry.strip_prefix(cause);
            step.is_some_and(|step| step.starts_with(':'))
        };
        let mut known = self.unsettled.iter();
        known
            .find(|(cause, _)| is_of(cause))
            .map(|(_, known)| *known)
    }
}

impl<S: Store> Ledger<'_, S> {
    /// The paid amount of a position's unsettled transfers, as far as known.
    pub(super) fn unsettled_on(&mut self, position: &Account, counted: &mut Counted<'_>) -> u128 {
        let Some(transfers) = position.recorded else {
            return 0;
        };
        let on_it = (position.debit_balance, position.credit_balance);
        // If the sums are equal, no settlement posts an entry.
        if position.state == AccountState::Closed && on_it.0 == on_it.1 {
            return 0;
        }
        let is_touched = on_it != (transfers.debits, transfers.credits);
        if is_touched && !self.are_unsettled(position, counted) {
            return 0;
        }
        transfers.debits.0
    }

    /// Whether the transfers of a position with further entries are unsettled.
    fn are_unsettled(&mut self, position: &Account, counted: &mut Counted<'_>) -> bool {
        let Some(last) = self.last_entry(position) else {
            return false;
        };
        if let Some(known) = counted.known(&last) {
            return known;
        }
        counted.looked_at += 1;
        if counted.looked_at > ENTRIES_MAX || counted.unsettled.len() >= SETTLEMENTS_MAX {
            return false;
        }
        let Some(last) = self.store.entry(&last) else {
            return false;
        };
        // A position with entries of a settlement gets no more records.
        if last.entry_type == EntryType::SettlementRecord {
            return true;
        }
        let are_unsettled = self.counts_as_unsettled(&last, counted.account);
        counted.unsettled.insert(last.correlation_id, are_unsettled);
        are_unsettled
    }

    /// Whether the settlement of an entry leaves this account's transfers unsettled.
    fn counts_as_unsettled(&mut self, entry: &Entry, account: &str) -> bool {
        let (changes, more) = self
            .store
            .unsettled_changes_of(&entry.correlation_id, COUNTS_MAX);
        if more {
            return false;
        }
        let own = changes.iter().flat_map(|change| &change.accounts);
        let own = own.filter(|of| of.account == account);
        let (settled, waiting): (Vec<_>, Vec<_>) = own.partition(|of| of.settled);
        match (settled.len(), waiting.len()) {
            // The settlement is not over. Reversed entries were settled before, by any settlement.
            (0, 0) => entry.entry_type != EntryType::SettlementReversal,
            (settled, waiting) => settled <= waiting,
        }
    }

    /// The id of an account's last entry.
    fn last_entry(&mut self, account: &Account) -> Option<String> {
        let tail = &account.tail;
        let entries = if tail.entries.is_empty() {
            let last = (tail.count / PAGE).checked_sub(1)?;
            self.store.page(&page_id(&account.id, last))?.entries
        } else {
            tail.entries.clone()
        };
        entries.rsplit(' ').next().map(str::to_owned)
    }
}
