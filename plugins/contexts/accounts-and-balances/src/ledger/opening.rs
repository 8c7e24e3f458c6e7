//! Opening the accounts of participants.

use super::Ledger;
use crate::account_types::{is_currency, is_owner};
use crate::accounts::{Account, AccountType, Units, account_id};
use crate::bindings::exports::rialto::accounts_and_balances::{
    create_participant_account_with_limits as create_account,
    create_participant_accounts_with_limits as create_accounts,
};
use crate::bindings::rialto::accounts_and_balances::types::{
    AccountWithLimit, LedgerError, ParticipantAccountIds,
};
use crate::store::Store;
use rialto_sdk::bindings::rialto::common::types::Money;
use std::collections::BTreeMap;

impl<S: Store> Ledger<'_, S> {
    /// Opens a participant's accounts. Existing ones do not change.
    ///
    /// # Errors
    /// When a net debit cap is of another currency than its account, or an account exists with
    /// another scale.
    pub fn create_accounts(
        &mut self,
        request: &create_accounts::Request,
    ) -> Result<Vec<ParticipantAccountIds>, LedgerError> {
        if !is_owner(&request.participant) {
            let why = "a participant's id is 1 to 32 letters, digits, `.`, `_` or `-`";
            return Err(LedgerError::Malformed(why.to_owned()));
        }
        let mut opened = BTreeMap::new();
        for wanted in &request.accounts {
            if !is_currency(&wanted.currency) {
                let why = "a currency is three letters of ISO 4217";
                return Err(LedgerError::Malformed(why.to_owned()));
            }
            let cap = wanted.net_debit_cap.as_ref();
            let threshold = wanted.liquidity_threshold.as_ref();
            let is_other =
                |money: &&Money| (&money.currency, money.scale) != (&wanted.currency, wanted.scale);
            if cap.iter().chain(&threshold).any(is_other) {
                return Err(LedgerError::CurrencyMismatch);
            }
            for account_type in AccountType::OF_PARTICIPANTS {
                let id = account_id(&request.participant, &wanted.currency, account_type);
                if let Some(existing) = self.store.account(&id) {
                    if existing.scale != wanted.scale {
                        return Err(LedgerError::CurrencyMismatch);
                    }
                    continue;
                }
                let mut account = Account::new(
                    &request.participant,
                    account_type,
                    &wanted.currency,
                    wanted.scale,
                    self.now,
                );
                if account_type == AccountType::Liquidity {
                    account.net_debit_cap = cap.map(Units::of);
                    account.liquidity_threshold = threshold.map(Units::of);
                }
                opened.entry(id).or_insert(account);
            }
        }
        for account in opened.values() {
            self.store.put_account(account);
        }
        let ids = |wanted: &AccountWithLimit| ids(&request.participant, &wanted.currency);
        Ok(request.accounts.iter().map(ids).collect())
    }

    /// Opens a participant's accounts in one more currency.
    ///
    /// # Errors
    /// As [`Self::create_accounts`].
    pub fn create_account(
        &mut self,
        request: create_account::Request,
    ) -> Result<ParticipantAccountIds, LedgerError> {
        let opened = ids(&request.participant, &request.account.currency);
        self.create_accounts(&create_accounts::Request {
            participant: request.participant,
            accounts: vec![request.account],
        })?;
        Ok(opened)
    }
}

fn ids(participant: &str, currency: &str) -> ParticipantAccountIds {
    let id = |account_type| account_id(participant, currency, account_type);
    ParticipantAccountIds {
        participant: participant.to_owned(),
        currency: currency.to_owned(),
        liquidity: id(AccountType::Liquidity),
        position: id(AccountType::Position),
        liquidity_cover: id(AccountType::LiquidityCover),
        settlement: id(AccountType::Settlement),
    }
}
