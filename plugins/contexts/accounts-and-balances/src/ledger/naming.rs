//! The list of a participant's settlement positions that may have a balance, in the document of its first
//! settlement account.
//!
//! A position is added when it is opened, and again when an entry gives an empty one a balance. An empty
//! position is removed when it is closed, or when another one is added, since each addition checks a few
//! earlier ones. Positions with recorded transfers stay until they are closed. Opening, closing and reversing
//! are rare, so transfers touch no further account.

use super::Ledger;
use crate::accounts::{Account, AccountState, AccountType};
use crate::store::Store;
use std::collections::{BTreeMap, BTreeSet};

/// The number of earlier positions that an addition checks. It is more than one, so the list has about as many
/// entries as there are positions with a balance.
const LOOKED_AT_EACH: usize = 4;
/// The number of positions that a deposit checks. A store of an earlier release may have thousands of finished
/// ones, and a turn may touch 4096 documents.
const LOOKED_AT_BY_DEPOSITS: usize = 1_000;
/// The most positions that are read together.
const LOOKED_AT_MAX: usize = 3_400;
/// The part of a settlement position's id between owner with currency, and batch.
const OF_BATCH: &str = ":SETTLEMENT_POSITION:";

/// The id of the account whose document lists this settlement position; none for another account.
fn named_by(position: &str) -> Option<String> {
    // Owners and currencies have no colon.
    let (owner, _) = position.split_once(OF_BATCH)?;
    Some(format!("{owner}:{}", AccountType::Settlement.name()))
}

/// Whether a settlement position is empty and has no transfers in an open batch.
fn is_over(position: &Account) -> bool {
    // A position that a settlement opened has only the settlement's entries.
    let of_settlement = |batch: &String| {
        let first = position.tail.entries.split(' ').next();
        let step = first.and_then(|entry| entry.strip_prefix(batch.as_str()));
        step.is_some_and(|step| step.starts_with(':'))
    };
    position.debit_balance == position.credit_balance
        && (position.state == AccountState::Closed
            || position.tail.is_empty()
            || position.batch.as_ref().is_some_and(of_settlement))
}

/// Empty settlement positions.
pub(super) fn empty_positions(accounts: &BTreeMap<String, Account>) -> BTreeSet<String> {
    let empty = accounts.values().filter(|account| {
        account.account_type == AccountType::SettlementPosition
            && account.debit_balance == account.credit_balance
    });
    empty.map(|account| account.id.clone()).collect()
}

impl<S: Store> Ledger<'_, S> {
    /// Adds a settlement position to its owner's first settlement account, in memory. Reads the balances of
    /// others from the store, so the caller must have written them.
    pub(super) fn name_position(&mut self, first: &mut Account, position: &str) {
        if first.positions.iter().any(|named| named == position) {
            return;
        }
        self.leave_out(first, LOOKED_AT_EACH);
        first.positions.push(position.to_owned());
    }

    /// Adds positions that an entry has given a balance. The caller has written them.
    pub(super) fn name_again(&mut self, positions: &[&Account]) {
        for position in positions {
            // A missing account lists nothing: each position was opened beside it.
            let first = named_by(&position.id).and_then(|first| self.store.account(&first));
            let Some(mut first) = first else { continue };
            if first.positions.contains(&position.id) {
                continue;
            }
            self.name_position(&mut first, &position.id);
            self.write(&first);
        }
    }

    /// Removes finished positions, among those that were checked the longest ago, in memory.
    fn leave_out(&mut self, first: &mut Account, looks: usize) {
        let looks = looks.min(first.positions.len());
        let looked_at: Vec<String> = first.positions.drain(..looks).collect();
        for id in looked_at {
            let position = self.store.view(&id);
            if position.is_some_and(|position| !is_over(&position)) {
                first.positions.push(id);
            }
        }
    }

    /// The same for a deposit, which must work for any number of positions.
    pub(super) fn leave_out_many(&mut self, first: &mut Account) {
        self.leave_out(first, LOOKED_AT_BY_DEPOSITS);
    }

    /// The listed positions of the owner of settled funds, without finished ones; none if there are more than a
    /// turn can read. Removes finished ones in memory too, if this is the owner's first settlement account.
    pub(super) fn named_positions(
        &mut self,
        funds: &mut Account,
        first: &str,
    ) -> Option<Vec<Account>> {
        let named = if first == funds.id {
            funds.positions.clone()
        } else {
            let first = self.store.view(first);
            first.map(|first| first.positions).unwrap_or_default()
        };
        if named.len() > LOOKED_AT_MAX {
            return None;
        }
        let found = named.iter().filter_map(|id| self.store.view(id));
        let found: Vec<Account> = found.filter(|position| !is_over(position)).collect();
        // They are read anyway.
        if first == funds.id {
            funds.positions = found.iter().map(|position| position.id.clone()).collect();
        }
        Some(found)
    }

    /// Removes positions that are closed and empty. The caller has written them.
    pub(super) fn name_no_more(&mut self, closed: &BTreeMap<String, Account>) {
        let mut of: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
        for position in closed.values().filter(|account| is_over(account)) {
            if let Some(first) = named_by(&position.id) {
                of.entry(first).or_default().insert(&position.id);
            }
        }
        for (first, over) in of {
            let Some(mut first) = self.store.account(&first) else {
                continue;
            };
            let before = first.positions.len();
            first
                .positions
                .retain(|named| !over.contains(named.as_str()));
            if first.positions.len() < before {
                self.write(&first);
            }
        }
    }
}
