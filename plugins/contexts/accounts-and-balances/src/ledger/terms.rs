//! The terms of a participant's accounts: whether they take entries, the net debit cap (decision 8) and the
//! warning threshold (decision 9). This module posts no entries.

use super::Ledger;
use crate::accounts::{Account, AccountState, AccountType, Units, account_id};
use crate::bindings::exports::rialto::accounts_and_balances::{
    enabled_disabled_participant_account as status, update_participant_account_limit as limit,
    update_participant_account_threshold as threshold,
};
use crate::bindings::rialto::accounts_and_balances::types::{
    AccountPosition, AccountStatus, LedgerError,
};
use crate::limits::net_position;
use crate::store::Store;
use rialto_sdk::bindings::rialto::common::types::Money;
use rialto_sdk::money::money;

impl<S: Store> Ledger<'_, S> {
    /// Enables or disables a participant's accounts of one currency for new reservations and funds.
    ///
    /// # Errors
    /// When the participant has no accounts of the currency, or closed ones.
    pub fn set_status(
        &mut self,
        request: &status::Request,
    ) -> Result<Vec<AccountStatus>, LedgerError> {
        let state = match request.status {
            status::Status::Enabled => AccountState::Enabled,
            status::Status::Disabled => AccountState::Disabled,
        };
        let mut ids = AccountType::OF_PARTICIPANTS
            .map(|of| account_id(&request.participant, &request.currency, of));
        ids.sort();
        let mut accounts = Vec::with_capacity(ids.len());
        for id in &ids {
            let mut account = self.held(id)?;
            if account.state == AccountState::Closed {
                return Err(LedgerError::AccountClosed(account.id));
            }
            account.state = state;
            accounts.push(account);
        }
        for account in &accounts {
            self.write(account);
        }
        Ok(accounts.iter().map(Account::status).collect())
    }

    /// Sets the net debit cap.
    ///
    /// # Errors
    /// When the participant has no accounts of the currency, when the cap is of another currency, or
    /// when it is below what is in use.
    pub fn set_limit(&mut self, request: &limit::Request) -> Result<AccountPosition, LedgerError> {
        let id = |of| account_id(&request.participant, &request.currency, of);
        let (mut liquidity, position) =
            self.pair(&id(AccountType::Liquidity), &id(AccountType::Position))?;
        let cap = units_of(request.net_debit_cap.as_ref(), &liquidity)?;
        let in_use = net_position(&liquidity, &position).debit;
        if cap.is_some_and(|cap| cap < in_use) {
            let in_use = money(&liquidity.currency, liquidity.scale, in_use.0);
            return Err(LedgerError::LimitBelowUse(in_use));
        }
        liquidity.net_debit_cap = cap;
        self.write(&liquidity);
        Ok(liquidity.position())
    }

    /// Sets the warning thresholds.
    ///
    /// # Errors
    /// When the participant has no accounts of a currency, or a threshold is of another currency
    /// than its account.
    pub fn set_thresholds(
        &mut self,
        request: &threshold::Request,
    ) -> Result<Vec<AccountPosition>, LedgerError> {
        let id = |wanted: &threshold::AccountThreshold| {
            account_id(
                &request.participant,
                &wanted.currency,
                AccountType::Liquidity,
            )
        };
        let ids: Vec<String> = request.accounts.iter().map(id).collect();
        let mut accounts = self.all(&ids.iter().map(String::as_str).collect())?;
        let mut positions = Vec::with_capacity(ids.len());
        for (id, wanted) in ids.iter().zip(&request.accounts) {
            if let Some(account) = accounts.get_mut(id) {
                account.liquidity_threshold = units_of(wanted.threshold.as_ref(), account)?;
                positions.push(account.position());
            }
        }
        for account in accounts.values() {
            self.write(account);
        }
        Ok(positions)
    }
}

fn units_of(amount: Option<&Money>, account: &Account) -> Result<Option<Units>, LedgerError> {
    let units = |amount: &Money| account.holds(amount).map(|()| Units::of(amount));
    amount.map(units).transpose()
}
