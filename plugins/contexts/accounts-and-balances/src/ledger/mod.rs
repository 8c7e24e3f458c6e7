//! The ledger's operations, pure over a store: what every operation shares.
//!
//! Every operation reads first, decides, and writes last, so that a refusal leaves nothing behind.
//! Accounts are read in the order of their ids, so that two operations never wait for each other,
//! and as late as possible, because they are what concurrent transfers have in common.

mod funds;
mod transfers;

#[cfg(test)]
mod invariants;
#[cfg(test)]
mod memory;
#[cfg(test)]
mod tests;

use crate::accounts::{Account, Units};
use crate::bindings::rialto::accounts_and_balances::types::LedgerError;
use crate::records::{Entry, EntryType};
use crate::store::Store;

/// The ledger at one instant.
#[derive(Debug)]
pub struct Ledger<'a, S> {
    store: &'a mut S,
    now: u64,
}

impl<'a, S: Store> Ledger<'a, S> {
    /// The ledger in this store; `now` is UTC in milliseconds since 1970.
    pub fn new(store: &'a mut S, now: u64) -> Self {
        Self { store, now }
    }

    /// Two accounts, held in the order of their ids, given in the order asked for.
    fn pair(&mut self, one: &str, other: &str) -> Result<(Account, Account), LedgerError> {
        let mut read = |id: &str| {
            self.store
                .account(id)
                .ok_or_else(|| LedgerError::UnknownAccount(id.to_owned()))
        };
        if one <= other {
            let first = read(one)?;
            Ok((first, read(other)?))
        } else {
            let second = read(other)?;
            Ok((read(one)?, second))
        }
    }

    /// Post an entry to two accounts in memory. The caller writes the accounts.
    fn entry(
        &self,
        entry_type: EntryType,
        correlation_id: &str,
        debit: &mut Account,
        credit: &mut Account,
        amount: Units,
    ) -> Result<Entry, LedgerError> {
        assert_eq!(
            (&debit.currency, debit.scale),
            (&credit.currency, credit.scale),
            "an entry stays inside one currency"
        );
        debit.debit(amount)?;
        credit.credit(amount)?;
        Ok(Entry {
            id: entry_type.entry_id(correlation_id),
            debit_account: debit.id.clone(),
            credit_account: credit.id.clone(),
            amount,
            currency: debit.currency.clone(),
            scale: debit.scale,
            entry_type,
            correlation_id: correlation_id.to_owned(),
            posted_at: self.now,
        })
    }
}
