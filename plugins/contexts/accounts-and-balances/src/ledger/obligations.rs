//! The settled funds of a model that a participant has to keep, so that each of its batches can be settled,
//! alone and in any order.
//!
//! | Kept | Read from |
//! |---|---|
//! | what it owes in each batch of the model; what it is owed in others is none of it | its settlement positions (`naming.rs`) |
//! | what it has paid and is recorded in no batch yet | its position account: what is unsettled, less the transfers on its positions that are (`recorded.rs`) |
//! | what is reserved for transfers under way, unless settled funds are held for them | its position account |
//!
//! Less what settlements have set aside of what is owed. Of a transfer nobody knows the model before it is
//! recorded, so what is not recorded is kept of each model.
//!
//! More may be kept than is owed, and never less: where nothing is left on a closed position until its settlement
//! has counted its transfers, where a store was written by an earlier release, and where a participant has more
//! positions than a turn can look at: then all is kept.

use super::Ledger;
use super::recorded::Counted;
use crate::account_types::account_id_of;
use crate::accounts::{Account, AccountType, account_id};
use crate::store::Store;

/// More than anybody has.
const ALL: u128 = u128::MAX;

fn add(sum: &mut u128, more: u128) {
    *sum = sum.saturating_add(more);
}

impl<S: Store> Ledger<'_, S> {
    /// The settled funds that the owner has to keep, in minor units.
    pub(super) fn kept_of(&mut self, funds: &mut Account) -> u128 {
        let (owner, currency) = (funds.participant.clone(), funds.currency.clone());
        let first = account_id(&owner, &currency, AccountType::Settlement);
        let Some(positions) = self.named_positions(funds, &first) else {
            return ALL;
        };
        let paid_from = account_id(&owner, &currency, AccountType::Position);
        let mut counted = Counted::on(&paid_from);
        let (mut kept, mut recorded) = (0, 0);
        for position in &positions {
            // Funds that belong to no model yet are those of whichever comes first.
            let pays = funds.settlement_model.is_none()
                || funds.settlement_model == position.settlement_model;
            if pays {
                let (debits, credits) = (position.debit_balance.0, position.credit_balance.0);
                add(&mut kept, debits.saturating_sub(credits));
            }
            add(&mut recorded, self.unsettled_on(position, &mut counted));
        }
        if let Some(position) = self.store.view(&paid_from) {
            add(&mut kept, position.unsettled.0.saturating_sub(recorded));
            let reserved = position.balance().saturating_sub(position.apart());
            add(&mut kept, reserved);
        }
        let model = funds.settlement_model.as_deref();
        let of = model.filter(|_| first != funds.id);
        let aside = account_id_of(&owner, &currency, AccountType::SettlementReserved, of);
        let aside = self.store.view(&aside);
        kept.saturating_sub(aside.map_or(0, |aside| aside.apart()))
    }

    /// What a transfer that is settled at once has to leave of settled funds. While transfers of their model wait
    /// in batches, for the scheme has settled by it in batches before, that is all that is kept; else nothing, for
    /// what else is under way is of other models. The caller writes the funds: what was found is noted in them.
    pub(super) fn kept_from_holds(&mut self, funds: &mut Account) -> u128 {
        if funds.without_batches {
            return 0;
        }
        let first = account_id(&funds.participant, &funds.currency, AccountType::Settlement);
        let Some(positions) = self.named_positions(funds, &first) else {
            return ALL;
        };
        let waits = |position: &Account| {
            position.settlement_model == funds.settlement_model
                && (position.recorded.is_some()
                    || position.debit_balance != position.credit_balance)
        };
        if positions.iter().any(waits) {
            return self.kept_of(funds);
        }
        funds.without_batches = true;
        0
    }
}
