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
use super::naming::is_over;
use super::recorded::Counted;
use crate::account_types::account_id_of;
use crate::accounts::{Account, AccountType, account_id};
use crate::store::Store;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

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
        let mut kept = self.unrecorded(&owner, &currency, &positions);
        for position in &positions {
            // Funds without a model belong to the first model that uses them.
            let pays = funds.settlement_model.is_none()
                || funds.settlement_model == position.settlement_model;
            if pays {
                let (debits, credits) = (position.debit_balance.0, position.credit_balance.0);
                add(&mut kept, debits.saturating_sub(credits));
            }
        }
        let paid_from = account_id(&owner, &currency, AccountType::Position);
        if let Some(position) = self.store.view(&paid_from) {
            let reserved = position.balance().saturating_sub(position.apart());
            add(&mut kept, reserved);
        }
        let model = funds.settlement_model.as_deref();
        let of = model.filter(|_| first != funds.id);
        let aside = account_id_of(&owner, &currency, AccountType::SettlementReserved, of);
        let aside = self.store.view(&aside);
        kept.saturating_sub(aside.map_or(0, |aside| aside.apart()))
    }

    /// The amount that the owner has paid and that is recorded on none of its unfinished positions.
    fn unrecorded(&mut self, owner: &str, currency: &str, positions: &[Account]) -> u128 {
        let paid_from = account_id(owner, currency, AccountType::Position);
        let mut counted = Counted::on(&paid_from);
        let mut recorded = 0;
        for position in positions {
            add(&mut recorded, self.unsettled_on(position, &mut counted));
        }
        let position = self.store.view(&paid_from);
        position.map_or(0, |position| position.unsettled.0.saturating_sub(recorded))
    }

    /// The settled funds that an immediate transfer has to leave:
    ///
    /// | Listed positions of the model | Left |
    /// |---|---|
    /// | an unfinished one, of a batch from before the model became immediate | the whole kept amount |
    /// | none of these | what is paid and not recorded yet: it may come into such a batch |
    /// | none at all, and all is recorded | nothing, until the list changes |
    ///
    /// The last result is noted in the funds with a digest of the list; the caller writes them. Each release adds
    /// a position to the list when it opens one, also an earlier release that does not know of the note.
    pub(super) fn kept_from_holds(&mut self, funds: &mut Account) -> u128 {
        let (owner, currency) = (funds.participant.clone(), funds.currency.clone());
        let first = account_id(&owner, &currency, AccountType::Settlement);
        let listed = self.listed(funds, &first);
        let digest = digest(&listed);
        if funds.without_batches.as_ref() == Some(&digest) {
            return 0;
        }
        let Some(positions) = self.view_listed(&listed) else {
            return ALL;
        };
        let (of_model, mut others): (Vec<Account>, Vec<Account>) = positions
            .into_iter()
            .partition(|position| position.settlement_model == funds.settlement_model);
        if !of_model.iter().all(is_over) {
            return self.kept_of(funds);
        }
        others.retain(|position| !is_over(position));
        let unrecorded = self.unrecorded(&owner, &currency, &others);
        if of_model.is_empty() && unrecorded == 0 {
            funds.without_batches = Some(digest);
        }
        unrecorded
    }
}

/// A digest of a list of positions. A release whose digests are others looks once more.
fn digest(listed: &[String]) -> String {
    let mut hasher = DefaultHasher::new();
    listed.hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}
