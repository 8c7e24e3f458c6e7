//! Which transfers of a settlement position are unsettled: those that are recorded on it, until its settlement
//! has counted them as settled, and again when that was undone and has counted them as waiting.
//!
//! Nothing is guessed from sums. A settlement posts all its entries and counts under one cause. A position that
//! it has touched has an entry of it, its last one; and with each count a document says of each account whether
//! its transfers are settled now, or wait again (`UnsettledChange`). So it is known after each step of a
//! settlement, and of an undoing.

use super::Ledger;
use crate::accounts::{Account, AccountState};
use crate::history::{PAGE, page_id};
use crate::records::{Entry, EntryType};
use crate::store::Store;
use std::collections::BTreeMap;

/// Settlements of one participant that are looked for: a turn may touch 4096 documents. What those beyond have
/// counted is not known, and their transfers explain nothing.
const SETTLEMENTS_MAX: usize = 8;
/// Counts of one settlement that are looked at; it has one for 200 participants.
const COUNTS_MAX: u32 = 50;
/// Entries that are looked at to find settlements.
const ENTRIES_MAX: usize = 64;

/// What is known of the settlements that have touched a participant's positions.
pub(super) struct Counted<'a> {
    /// Its position account: they count there what they have settled.
    account: &'a str,
    /// Whether the transfers of positions that a settlement has touched last are unsettled, by its cause.
    unsettled: BTreeMap<String, bool>,
    looked_at: usize,
}

impl<'a> Counted<'a> {
    /// Nothing yet, of the owner of this position account.
    pub(super) const fn on(account: &'a str) -> Self {
        Self {
            account,
            unsettled: BTreeMap::new(),
            looked_at: 0,
        }
    }

    /// What is known of the settlement that has posted an entry of this id.
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
    /// What was paid with the transfers of a position that are unsettled, as far as that is known.
    pub(super) fn unsettled_on(&mut self, position: &Account, counted: &mut Counted<'_>) -> u128 {
        let Some(transfers) = position.recorded else {
            return 0;
        };
        let on_it = (position.debit_balance, position.credit_balance);
        // Where as much was paid as received no settlement posts anything.
        if position.state == AccountState::Closed && on_it.0 == on_it.1 {
            return 0;
        }
        let is_touched = on_it != (transfers.debits, transfers.credits);
        if is_touched && !self.are_unsettled(position, counted) {
            return 0;
        }
        transfers.debits.0
    }

    /// Whether the transfers of a position are unsettled on which more is posted than these.
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
        // Nothing is recorded where a settlement was.
        if last.entry_type == EntryType::SettlementRecord {
            return true;
        }
        let are_unsettled = self.counts_as_unsettled(&last, counted.account);
        counted.unsettled.insert(last.correlation_id, are_unsettled);
        are_unsettled
    }

    /// Whether the settlement that has posted an entry leaves the transfers unsettled that count on this account.
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
            // It goes on still. What is turned round was settled, by whomever.
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
