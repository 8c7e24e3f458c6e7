//! Opening accounts, and deposits and withdrawals.
//!
//! | Step | Debit | Credit |
//! |---|---|---|
//! | deposit, settlement book | hub's reconciliation | participant's settlement |
//! | deposit, liquidity book | hub's liquidity control | participant's liquidity |
//! | withdrawal, settlement book | participant's settlement | hub's reconciliation |
//! | withdrawal, liquidity book | participant's liquidity | hub's liquidity control |
//!
//! Both pairs are posted or none: what is withdrawn must be spendable and settled.

use super::Ledger;
use crate::accounts::{Account, AccountType, Units, account_id};
use crate::bindings::exports::rialto::accounts_and_balances::{
    create_participant_accounts_with_limits as create_accounts,
    manage_funds_credit_debit_pair_instruction as manage_funds,
};
use crate::bindings::rialto::accounts_and_balances::types::{LedgerError, ParticipantAccountIds};
use crate::records::{Entry, EntryType};
use crate::store::Store;
use manage_funds::Direction;
use rialto_sdk::bindings::rialto::common::types::Money;
use std::collections::BTreeMap;

impl<S: Store> Ledger<'_, S> {
    /// Open a participant's accounts. Those that exist stay as they are.
    ///
    /// # Errors
    /// When a net debit cap is of another currency than its account, or an account exists with
    /// another scale.
    pub fn create_accounts(
        &mut self,
        request: &create_accounts::Request,
    ) -> Result<Vec<ParticipantAccountIds>, LedgerError> {
        let mut opened = BTreeMap::new();
        for wanted in &request.accounts {
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
        let ids = |wanted: &create_accounts::AccountWithLimit| {
            let id =
                |account_type| account_id(&request.participant, &wanted.currency, account_type);
            ParticipantAccountIds {
                participant: request.participant.clone(),
                currency: wanted.currency.clone(),
                liquidity: id(AccountType::Liquidity),
                position: id(AccountType::Position),
                liquidity_cover: id(AccountType::LiquidityCover),
                settlement: id(AccountType::Settlement),
            }
        };
        Ok(request.accounts.iter().map(ids).collect())
    }

    /// Post a deposit or a withdrawal. A repeat posts nothing and answers the accounts as they
    /// are. The accounts of the hub are opened when they are first needed.
    ///
    /// # Errors
    /// When the participant has no accounts of the currency or a disabled one, when a withdrawal
    /// is more than is spendable or settled, or when the instruction was posted on other terms.
    pub fn manage_funds(
        &mut self,
        request: &manage_funds::Request,
        hub: &str,
    ) -> Result<manage_funds::Response, LedgerError> {
        let mut accounts = self.funds_accounts(request, hub)?;
        let (settlement_entry, liquidity_entry) = match request.direction {
            Direction::Deposit => (EntryType::DepositSettlement, EntryType::DepositLiquidity),
            Direction::Withdrawal => (
                EntryType::WithdrawalSettlement,
                EntryType::WithdrawalLiquidity,
            ),
        };
        let liquidity_id = liquidity_entry.entry_id(&request.instruction_id);
        if let Some(posted) = self.store.entry(&liquidity_id) {
            return accounts.repeat(&posted, liquidity_entry, request);
        }
        for account in [&accounts.liquidity, &accounts.settlement] {
            account.takes_entries()?;
        }
        let amount = Units::of(&request.amount);
        let deposit = request.direction == Direction::Deposit;
        let post = |entry_type, hub, own| {
            let (debit, credit) = if deposit { (hub, own) } else { (own, hub) };
            self.entry(entry_type, &request.instruction_id, debit, credit, amount)
        };
        // The liquidity book first: its refusal is the one that a participant can do more about.
        let liquidity = post(
            liquidity_entry,
            &mut accounts.control,
            &mut accounts.liquidity,
        )?;
        let settlement = post(
            settlement_entry,
            &mut accounts.reconciliation,
            &mut accounts.settlement,
        )?;
        for account in [
            &accounts.liquidity,
            &accounts.settlement,
            &accounts.control,
            &accounts.reconciliation,
        ] {
            self.store.put_account(account);
        }
        self.store.append_entry(&settlement);
        self.store.append_entry(&liquidity);
        Ok(accounts.response())
    }

    /// The four accounts that a funds movement touches, held in the order of their ids.
    fn funds_accounts(
        &mut self,
        request: &manage_funds::Request,
        hub: &str,
    ) -> Result<FundsAccounts, LedgerError> {
        let currency = &request.amount.currency;
        let id = |owner: &str, account_type| account_id(owner, currency, account_type);
        let liquidity = id(&request.participant, AccountType::Liquidity);
        let settlement = id(&request.participant, AccountType::Settlement);
        let control = id(hub, AccountType::HubLiquidityControl);
        let reconciliation = id(hub, AccountType::HubReconciliation);
        let mut order = [&liquidity, &settlement, &control, &reconciliation];
        order.sort();
        let mut held: BTreeMap<&String, Option<Account>> = order
            .into_iter()
            .map(|id| (id, self.store.account(id)))
            .collect();
        let mut take = |id: &String| held.remove(id).flatten();
        let unknown = |id: &String| LedgerError::UnknownAccount(id.clone());
        let open = |account_type| {
            Account::new(hub, account_type, currency, request.amount.scale, self.now)
        };
        let accounts = FundsAccounts {
            liquidity: take(&liquidity).ok_or_else(|| unknown(&liquidity))?,
            settlement: take(&settlement).ok_or_else(|| unknown(&settlement))?,
            control: take(&control).unwrap_or_else(|| open(AccountType::HubLiquidityControl)),
            reconciliation: take(&reconciliation)
                .unwrap_or_else(|| open(AccountType::HubReconciliation)),
        };
        for account in [
            &accounts.liquidity,
            &accounts.settlement,
            &accounts.control,
            &accounts.reconciliation,
        ] {
            account.holds(&request.amount)?;
        }
        Ok(accounts)
    }
}

struct FundsAccounts {
    liquidity: Account,
    settlement: Account,
    control: Account,
    reconciliation: Account,
}

impl FundsAccounts {
    fn response(&self) -> manage_funds::Response {
        manage_funds::Response {
            liquidity: self.liquidity.position(),
            settlement: self.settlement.position(),
        }
    }

    fn repeat(
        &self,
        posted: &Entry,
        entry_type: EntryType,
        request: &manage_funds::Request,
    ) -> Result<manage_funds::Response, LedgerError> {
        let own = match entry_type {
            EntryType::DepositLiquidity => &posted.credit_account,
            _ => &posted.debit_account,
        };
        let is_the_same = posted.entry_type == entry_type
            && posted.amount == Units::of(&request.amount)
            && *own == self.liquidity.id;
        if is_the_same {
            Ok(self.response())
        } else {
            Err(LedgerError::WrongState(format!(
                "instruction {} is posted on other terms",
                request.instruction_id
            )))
        }
    }
}
