//! The settled funds of a model that a participant has to keep, so that each of its batches can be settled,
//! alone and in any order.
//!
//! | Kept | Read from |
//! |---|---|
//! | what it owes in each batch of the model; what it is owed in others is none of it | its settlement positions (`naming.rs`) |
//! | what it has paid and is recorded in no batch yet | its position account: what is unsettled, less what the positions explain |
//! | what is reserved for transfers under way, unless settled funds are held for them | its position account |
//!
//! The amounts that settlements have set aside are subtracted. The model of a transfer is not known before it
//! is recorded, so unrecorded amounts are kept of each model. In a store of an earlier release, or during a
//! settlement, more may be kept than is owed, but never less: a position's transfers explain unsettled amounts
//! only while it has no other entries.

use super::Ledger;
use crate::account_types::account_id_of;
use crate::accounts::{Account, AccountState, AccountType, Recorded, account_id};
use crate::store::Store;

/// Transfers on a settlement position that wait for settlement.
struct Waiting {
    transfers: Recorded,
    /// Whether their settlement was undone.
    is_undone: bool,
}

/// The transfers of a position, if it has no other balance. A closed position with equal sums may be settled or
/// not, so it explains nothing.
fn waiting(position: &Account) -> Option<Waiting> {
    let transfers = position.recorded?;
    let debits = (position.debit_balance.0).checked_sub(transfers.debits.0)?;
    let credits = (position.credit_balance.0).checked_sub(transfers.credits.0)?;
    let is_even = transfers.debits == transfers.credits;
    if debits != credits || (is_even && position.state == AccountState::Closed) {
        return None;
    }
    Some(Waiting {
        transfers,
        is_undone: debits > 0,
    })
}

/// Sums over a participant's positions.
#[derive(Default)]
struct Sums {
    owed: u128,
    explained: u128,
    /// The amounts of transfers whose settlement was undone.
    undone: u128,
}

impl Sums {
    fn add(&mut self, position: &Account, pays: bool) {
        let found = waiting(position);
        let on_it = Recorded {
            debits: position.debit_balance,
            credits: position.credit_balance,
        };
        let of = found.as_ref().map_or(on_it, |found| found.transfers);
        if pays {
            let owed = of.debits.0.saturating_sub(of.credits.0);
            self.owed = self.owed.saturating_add(owed);
        }
        match found {
            Some(of) if of.is_undone => add(&mut self.undone, of.transfers.debits.0),
            Some(of) => add(&mut self.explained, of.transfers.debits.0),
            None => {}
        }
    }

    /// The part of `unsettled` that no position explains. Until an undoing has ended, its transfers are on
    /// positions but do not count as unsettled.
    fn unexplained(&self, unsettled: u128) -> u128 {
        let all = self.explained.saturating_add(self.undone);
        let explained = if all <= unsettled {
            all
        } else {
            self.explained
        };
        unsettled.saturating_sub(explained)
    }
}

fn add(sum: &mut u128, more: u128) {
    *sum = sum.saturating_add(more);
}

impl<S: Store> Ledger<'_, S> {
    /// The settled funds that the owner has to keep, in minor units.
    pub(super) fn kept_of(&mut self, funds: &mut Account) -> u128 {
        let (owner, currency) = (funds.participant.clone(), funds.currency.clone());
        let first = account_id(&owner, &currency, AccountType::Settlement);
        let mut sums = Sums::default();
        for position in self.named_positions(funds, &first) {
            // Funds without a model belong to the first model that uses them.
            let pays = funds.settlement_model.is_none()
                || funds.settlement_model == position.settlement_model;
            sums.add(&position, pays);
        }
        let mut kept = sums.owed;
        let position = account_id(&owner, &currency, AccountType::Position);
        if let Some(position) = self.store.view(&position) {
            add(&mut kept, sums.unexplained(position.unsettled.0));
            let reserved = position.balance().saturating_sub(position.apart());
            add(&mut kept, reserved);
        }
        let model = funds.settlement_model.as_deref();
        let of = model.filter(|_| first != funds.id);
        let aside = account_id_of(&owner, &currency, AccountType::SettlementReserved, of);
        let aside = self.store.view(&aside);
        kept.saturating_sub(aside.map_or(0, |aside| aside.apart()))
    }
}
