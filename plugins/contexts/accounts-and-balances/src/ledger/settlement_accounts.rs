//! Opening and closing accounts of settlement, for a model or a batch.

use super::Ledger;
use crate::account_types::{account_id_of, is_currency, is_name, is_owner};
use crate::accounts::{Account, AccountState, AccountType, account_id};
use crate::bindings::exports::rialto::accounts_and_balances::create_accounts::NewAccount;
use crate::bindings::rialto::accounts_and_balances::types::{
    AccountStatus, LedgerAccountType, LedgerError,
};
use crate::store::Store;
use std::collections::{BTreeMap, BTreeSet};

impl<S: Store> Ledger<'_, S> {
    /// Opens accounts of settlement, all or none. Existing ones do not change.
    ///
    /// # Errors
    /// If an account has another type or an invalid name, or its owner has no accounts of the currency.
    pub fn open_settlement_accounts(
        &mut self,
        wanted: &[NewAccount],
    ) -> Result<Vec<String>, LedgerError> {
        let mut opened = BTreeMap::new();
        let mut ids = Vec::with_capacity(wanted.len());
        for new in wanted {
            check_names(new)?;
            let account = match new.account_type {
                LedgerAccountType::Settlement => self.settlement_of_model(new, &opened)?,
                LedgerAccountType::SettlementReserved => self.reserved_of_model(new, &opened)?,
                LedgerAccountType::SettlementPosition => {
                    self.position_of_batch(new, &mut opened)?
                }
                other => {
                    return Err(LedgerError::Malformed(format!(
                        "accounts of type {other:?} are not opened for settlement"
                    )));
                }
            };
            ids.push(account.id.clone());
            opened.insert(account.id.clone(), account);
        }
        for account in opened.values() {
            self.write(account);
        }
        Ok(ids)
    }

    /// The account of a participant's settled funds of a model; without a model, of its first one.
    pub(super) fn settlement_account(
        &mut self,
        owner: &str,
        currency: &str,
        model: Option<&str>,
    ) -> String {
        let first = account_id(owner, currency, AccountType::Settlement);
        let Some(model) = model else {
            return first;
        };
        match self.store.view(&first) {
            Some(account) if account.settlement_model.as_deref() == Some(model) => first,
            _ => account_id_of(owner, currency, AccountType::Settlement, Some(model)),
        }
    }

    /// The account that exists or is about to be opened, or else a new one.
    fn existing_or_new(
        &mut self,
        id: String,
        new: &NewAccount,
        account_type: AccountType,
        opened: &BTreeMap<String, Account>,
    ) -> Result<Account, LedgerError> {
        let existing = opened.get(&id).cloned().or_else(|| self.store.account(&id));
        let account = existing.unwrap_or_else(|| Account {
            id,
            settlement_model: Some(new.settlement_model.clone()),
            batch: new.batch.clone(),
            ..Account::new(&new.owner, account_type, &new.currency, new.scale, self.now)
        });
        if account.scale == new.scale {
            Ok(account)
        } else {
            Err(LedgerError::CurrencyMismatch)
        }
    }

    fn settlement_of_model(
        &mut self,
        new: &NewAccount,
        opened: &BTreeMap<String, Account>,
    ) -> Result<Account, LedgerError> {
        let first = account_id(&new.owner, &new.currency, AccountType::Settlement);
        let held = opened.get(&first).cloned();
        let mut account = held.map_or_else(|| self.held(&first), Ok)?;
        let model = &new.settlement_model;
        if account.settlement_model.is_none() {
            account.settlement_model = Some(model.clone());
        }
        if account.settlement_model.as_ref() == Some(model) {
            return if account.scale == new.scale {
                Ok(account)
            } else {
                Err(LedgerError::CurrencyMismatch)
            };
        }
        let own = Some(model.as_str());
        let id = account_id_of(&new.owner, &new.currency, AccountType::Settlement, own);
        self.existing_or_new(id, new, AccountType::Settlement, opened)
    }

    fn reserved_of_model(
        &mut self,
        new: &NewAccount,
        opened: &BTreeMap<String, Account>,
    ) -> Result<Account, LedgerError> {
        let first = account_id(&new.owner, &new.currency, AccountType::Settlement);
        let held = opened.get(&first).cloned();
        let settlement = held.map_or_else(|| self.held(&first), Ok)?;
        let is_first = settlement.settlement_model.as_ref() == Some(&new.settlement_model);
        let own = (!is_first).then_some(new.settlement_model.as_str());
        let kind = AccountType::SettlementReserved;
        let id = account_id_of(&new.owner, &new.currency, kind, own);
        self.existing_or_new(id, new, kind, opened)
    }

    fn position_of_batch(
        &mut self,
        new: &NewAccount,
        opened: &mut BTreeMap<String, Account>,
    ) -> Result<Account, LedgerError> {
        let Some(batch) = &new.batch else {
            let why = "a settlement position belongs to a batch";
            return Err(LedgerError::Malformed(why.to_owned()));
        };
        let first = account_id(&new.owner, &new.currency, AccountType::Settlement);
        let held = opened.remove(&first);
        let mut first = held.map_or_else(|| self.held(&first), Ok)?;
        let kind = AccountType::SettlementPosition;
        let id = account_id_of(&new.owner, &new.currency, kind, Some(batch));
        let account = self.existing_or_new(id, new, kind, opened)?;
        if account.settlement_model.as_ref() != Some(&new.settlement_model) {
            return Err(LedgerError::Malformed(format!(
                "batch {batch} is of another settlement model"
            )));
        }
        self.name_position(&mut first, &account.id);
        opened.insert(first.id.clone(), first);
        Ok(account)
    }

    /// Closes accounts, all or none. A settlement position may have a balance, any other must be empty.
    ///
    /// # Errors
    /// If an account is unknown, or is not empty.
    pub fn close(&mut self, ids: &[String]) -> Result<Vec<AccountStatus>, LedgerError> {
        let order: BTreeSet<&str> = ids.iter().map(String::as_str).collect();
        let mut accounts = self.all(&order)?;
        for account in accounts.values_mut() {
            if account.state == AccountState::Closed {
                continue;
            }
            let is_empty = account.debit_balance == account.credit_balance;
            if !account.account_type.is_boundless() && !is_empty {
                return Err(LedgerError::BalanceNotZero(account.position()));
            }
            account.state = AccountState::Closed;
        }
        for account in accounts.values() {
            self.write(account);
        }
        self.name_no_more(&accounts);
        let status = |id: &String| accounts.get(id).map(Account::status);
        Ok(ids.iter().filter_map(status).collect())
    }
}

fn check_names(new: &NewAccount) -> Result<(), LedgerError> {
    let malformed = |what: &str, text: &str| {
        let rule = "letters, digits, `.`, `_` and `-`";
        Err(LedgerError::Malformed(format!(
            "{what} {text:?}: use only {rule}"
        )))
    };
    if !is_owner(&new.owner) {
        return malformed("owner", &new.owner);
    }
    if !is_currency(&new.currency) {
        return malformed("currency", &new.currency);
    }
    if !is_name(&new.settlement_model) {
        return malformed("settlement model", &new.settlement_model);
    }
    match &new.batch {
        Some(batch) if !is_name(batch) => malformed("batch", batch),
        _ => Ok(()),
    }
}
