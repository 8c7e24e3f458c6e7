//! Liquidity cover: liquidity that an approved reservation sets aside (decision 7).
//!
//! | Case | Debit | Credit |
//! |---|---|---|
//! | more than now | participant's liquidity | participant's liquidity cover |
//! | less than now | participant's liquidity cover | participant's liquidity |
//!
//! The request has the total to set aside, and the difference is posted.

use super::posting::Posting;
use super::{Ledger, check_cause};
use crate::accounts::{Account, AccountType, Units, account_id};
use crate::bindings::exports::rialto::accounts_and_balances::record_liquidity_reservation_entries as cover;
use crate::bindings::rialto::accounts_and_balances::types::LedgerError;
use crate::records::{Entry, EntryType, entry_id, steps};
use crate::store::Store;

impl<S: Store> Ledger<'_, S> {
    /// Sets liquidity aside, or gives it back. A repeat, or a request for the current total, posts nothing and
    /// returns the current accounts.
    ///
    /// # Errors
    /// When the participant has no accounts of the currency or disabled ones, when the liquidity
    /// cannot cover the difference, or when the instruction was posted on other accounts.
    pub fn reserve_cover(
        &mut self,
        request: &cover::Request,
    ) -> Result<cover::Response, LedgerError> {
        check_cause("the instruction id", &request.instruction_id)?;
        let currency = &request.total.currency;
        let id = |account_type| account_id(&request.participant, currency, account_type);
        let (mut liquidity, mut reserved) = self.pair(
            &id(AccountType::Liquidity),
            &id(AccountType::LiquidityCover),
        )?;
        let cause = &request.instruction_id;
        if let Some(posted) = self.store.entry(&entry_id(cause, steps::COVER)) {
            return repeat(&posted, &liquidity, &reserved, &request.instruction_id);
        }
        for account in [&liquidity, &reserved] {
            account.holds(&request.total)?;
            account.takes_entries()?;
        }
        let (total, now) = (Units::of(&request.total).0, reserved.balance());
        let posting = |entry_type, amount| Posting {
            entry_type,
            cause,
            step: steps::COVER,
            amount: Units(amount),
        };
        let posted = if total >= now {
            let more = posting(EntryType::CoverReserve, total - now);
            self.post(more, &mut liquidity, &mut reserved)?
        } else {
            let less = posting(EntryType::CoverRelease, now - total);
            self.post(less, &mut reserved, &mut liquidity)?
        };
        // No entry is needed: the request has the total.
        if posted.amount.0 > 0 {
            self.write(&liquidity);
            self.write(&reserved);
            self.store.append_entry(&posted);
        }
        Ok(response(&liquidity, &reserved))
    }
}

fn response(liquidity: &Account, reserved: &Account) -> cover::Response {
    cover::Response {
        liquidity: liquidity.position(),
        liquidity_cover: reserved.position(),
    }
}

fn repeat(
    posted: &Entry,
    liquidity: &Account,
    reserved: &Account,
    instruction_id: &str,
) -> Result<cover::Response, LedgerError> {
    let mut accounts = [&posted.debit_account, &posted.credit_account];
    accounts.sort();
    if accounts == [&liquidity.id, &reserved.id] {
        return Ok(response(liquidity, reserved));
    }
    Err(LedgerError::PostedOtherwise(format!(
        "instruction {instruction_id} is already posted on other accounts"
    )))
}
