//! What a participant owes in settlement batches that are not settled yet, so that it cannot withdraw the
//! settled funds that these need.
//!
//! Its settlement positions are named in the document of its first settlement account (`naming.rs`). What a participant owes in
//! one batch and is owed in another of the same model is taken together, because these can be settled
//! together; other models' batches are paid from other funds. A transfer counts from when it is recorded in
//! its batch; until then the liquidity alone sees to it.

use super::Ledger;
use crate::account_types::account_id_of;
use crate::accounts::{Account, AccountType, account_id};
use crate::store::Store;

impl<S: Store> Ledger<'_, S> {
    /// What the owner of settled funds has to keep of them for batches of their model, in minor units:
    /// what it owes there, but for what a settlement has set aside already.
    pub(super) fn owed_from(&mut self, funds: &mut Account) -> u128 {
        let (owner, currency) = (funds.participant.clone(), funds.currency.clone());
        let first = account_id(&owner, &currency, AccountType::Settlement);
        let named = self.named_positions(funds, &first);
        let (mut debits, mut credits) = (0_u128, 0_u128);
        for position in &named {
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
        let reserved = account_id_of(&owner, &currency, AccountType::SettlementReserved, of);
        let aside = self.store.view(&reserved);
        owed.saturating_sub(aside.map_or(0, |aside| aside.balance()))
    }
}
