//! The settled funds of a model that a participant has to keep, so that each of its batches can be settled,
//! alone and in any order.
//!
//! | Kept | Read from |
//! |---|---|
//! | what it owes in each batch of the model; what it is owed in others is none of it | its settlement positions (`naming.rs`) |
//! | what it has paid and is recorded in no batch yet | its position account: what is unsettled, less the transfers on its positions that are (`recorded.rs`) |
//! | what is reserved for transfers under way, unless settled funds are held for them | its position account |
//!
//! The amounts that settlements have set aside are subtracted. The model of a transfer is not known before it
//! is recorded, so unrecorded amounts are kept of each model.
//!
//! More may be kept than is owed, but never less: for an empty closed position until its settlement has counted
//! its transfers; in a store of an earlier release; and for a participant with more positions than a turn can
//! read, for which all funds are kept.

use super::Ledger;
use super::recorded::Counted;
use crate::account_types::account_id_of;
use crate::accounts::{Account, AccountType, account_id};
use crate::store::Store;

/// More than any balance.
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
            if pays_for(funds, position) {
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

    /// The settled funds that an immediate transfer has to leave. If transfers of its model still wait in
    /// batches, from before it became immediate, that is the whole kept amount. Otherwise it is zero, since other
    /// work under way has other models. Reads each listed position of the payer FSP.
    pub(super) fn kept_from_holds(&mut self, funds: &mut Account) -> u128 {
        let first = account_id(&funds.participant, &funds.currency, AccountType::Settlement);
        let Some(positions) = self.named_positions(funds, &first) else {
            return ALL;
        };
        // The position through which an immediate model pays is empty again after each transfer.
        let waits = |position: &Account| {
            pays_for(funds, position)
                && (position.recorded.is_some()
                    || position.debit_balance != position.credit_balance)
        };
        if positions.iter().any(waits) {
            self.kept_of(funds)
        } else {
            0
        }
    }
}

/// Whether the funds are of the position's model. Funds without a model belong to the first model that uses them.
fn pays_for(funds: &Account, position: &Account) -> bool {
    funds.settlement_model.is_none() || funds.settlement_model == position.settlement_model
}
