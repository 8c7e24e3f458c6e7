//! What a participant owes in settlement batches that are not settled yet, so that it cannot withdraw the
//! settled funds that these need.
//!
//! Its settlement positions are named in the document of its first settlement account: each from when it is
//! opened, until it is closed and at zero, or again from when an undone settlement has reopened it. Opening
//! one and undoing a settlement are rare, so a transfer touches no account more. What a participant owes in
//! one batch and is owed in another of the same model is taken together, because these can be settled
//! together; other models' batches are paid from other funds. A transfer counts from when it is recorded in
//! its batch; until then the liquidity alone sees to it.

use super::Ledger;
use crate::account_types::account_id_of;
use crate::accounts::{Account, AccountState, AccountType, account_id};
use crate::store::Store;

/// Each time that so many more are named, those that are over are left out.
const LOOKED_THROUGH_EACH: usize = 16;
/// What stands in the id of a settlement position between its owner with the currency, and its batch.
const OF_BATCH: &str = ":SETTLEMENT_POSITION:";

/// The id of the account whose document names this settlement position; none if it is none.
pub(super) fn named_by(position: &str) -> Option<String> {
    // Owners and currencies have no colon.
    let (owner, _) = position.split_once(OF_BATCH)?;
    Some(format!("{owner}:{}", AccountType::Settlement.name()))
}

impl<S: Store> Ledger<'_, S> {
    /// Name a settlement position with its owner's first settlement account, in memory.
    pub(super) fn name_position(&mut self, first: &mut Account, position: &str) {
        if first.positions.iter().any(|named| named == position) {
            return;
        }
        first.positions.push(position.to_owned());
        if first.positions.len().is_multiple_of(LOOKED_THROUGH_EACH) {
            let named = std::mem::take(&mut first.positions);
            let may_move = |id: &String| id == position || !self.is_over(id);
            first.positions = named.into_iter().filter(may_move).collect();
        }
    }

    /// Whether nothing is recorded on a position any more, and nothing is left of what was.
    fn is_over(&mut self, position: &str) -> bool {
        let position = self.store.view(position);
        position.is_none_or(|position| {
            position.state == AccountState::Closed
                && position.debit_balance == position.credit_balance
        })
    }

    /// What the owner of settled funds has to keep of them for batches of their model, in minor units:
    /// what it owes there, but for what a settlement has set aside already.
    pub(super) fn owed_from(&mut self, funds: &Account) -> u128 {
        let (owner, currency) = (&funds.participant, &funds.currency);
        let first = account_id(owner, currency, AccountType::Settlement);
        let named = if first == funds.id {
            funds.positions.clone()
        } else {
            let first = self.store.view(&first);
            first.map(|first| first.positions).unwrap_or_default()
        };
        let (mut debits, mut credits) = (0_u128, 0_u128);
        for id in &named {
            let Some(position) = self.store.view(id) else {
                continue;
            };
            // Funds that belong to no model yet are those of whichever comes first.
            let pays = funds.settlement_model.is_none()
                || funds.settlement_model == position.settlement_model;
            if pays {
                debits = debits.saturating_add(position.debit_balance.0);
                credits = credits.saturating_add(position.credit_balance.0);
            }
        }
        let owed = debits.saturating_sub(credits);
        if owed == 0 {
            return 0;
        }
        let model = funds.settlement_model.as_deref();
        let of = model.filter(|_| first != funds.id);
        let reserved = account_id_of(owner, currency, AccountType::SettlementReserved, of);
        let aside = self.store.view(&reserved);
        owed.saturating_sub(aside.map_or(0, |aside| aside.balance()))
    }
}
