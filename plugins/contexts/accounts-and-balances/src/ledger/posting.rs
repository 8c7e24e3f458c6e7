//! Posting of an entry to two accounts in memory: one debit and one credit in one book.

use super::Ledger;
use crate::accounts::{Account, Units};
use crate::bindings::rialto::accounts_and_balances::types::LedgerError;
use crate::records::{Entry, EntryType, entry_id};
use crate::store::Store;

/// The id and the reason of an entry.
#[derive(Debug, Clone, Copy)]
pub(super) struct Posting<'a> {
    pub entry_type: EntryType,
    /// The transfer, instruction or settlement.
    pub cause: &'a str,
    /// Unique within the cause.
    pub step: &'a str,
    pub amount: Units,
}

impl<S: Store> Ledger<'_, S> {
    /// Posts an entry to two accounts in memory. The caller writes the accounts.
    pub(super) fn post(
        &self,
        posting: Posting<'_>,
        debit: &mut Account,
        credit: &mut Account,
    ) -> Result<Entry, LedgerError> {
        assert_eq!(
            (&debit.currency, debit.scale),
            (&credit.currency, credit.scale),
            "an entry stays inside one currency"
        );
        assert_eq!(
            debit.account_type.book(),
            credit.account_type.book(),
            "an entry stays inside one book"
        );
        let id = entry_id(posting.cause, posting.step);
        debit.debit(posting.amount, &id, self.now)?;
        credit.credit(posting.amount, &id, self.now)?;
        Ok(Entry {
            id,
            debit_account: debit.id.clone(),
            credit_account: credit.id.clone(),
            amount: posting.amount,
            currency: debit.currency.clone(),
            scale: debit.scale,
            entry_type: posting.entry_type,
            correlation_id: posting.cause.to_owned(),
            posted_at: self.now,
        })
    }
}
