//! Deposits and withdrawals.
//!
//! | Step | Debit | Credit |
//! |---|---|---|
//! | deposit, settlement book | hub's reconciliation | participant's settlement |
//! | deposit, liquidity book | hub's liquidity control | participant's liquidity |
//! | withdrawal, settlement book | participant's settlement | hub's reconciliation |
//! | withdrawal, liquidity book | participant's liquidity | hub's liquidity control |
//!
//! Both pairs are posted, or none. A withdrawal must be covered by liquidity and by settled funds of the
//! instruction's model, less the amount that batches and transfers under way need (`obligations.rs`).

use super::posting::Posting;
use super::{Ledger, check_cause};
use crate::accounts::{Account, AccountType, Units, account_id};
use crate::bindings::exports::rialto::accounts_and_balances::manage_funds_credit_debit_pair_instruction as manage_funds;
use crate::bindings::rialto::accounts_and_balances::types::LedgerError;
use crate::records::{Entry, EntryType, entry_id, steps};
use crate::store::Store;
use manage_funds::Direction;
use rialto_sdk::money::money;
use std::collections::BTreeMap;

impl<S: Store> Ledger<'_, S> {
    /// Posts a deposit or a withdrawal. A repeat posts nothing and returns the current accounts. Opens the
    /// accounts of the hub when they are first needed.
    ///
    /// # Errors
    /// If the participant has no accounts of the currency and model, or a disabled one; if liquidity or
    /// available settled funds do not cover a withdrawal; or if the instruction was posted on other terms.
    pub fn manage_funds(
        &mut self,
        request: &manage_funds::Request,
        hub: &str,
    ) -> Result<manage_funds::Response, LedgerError> {
        check_cause("the instruction id", &request.instruction_id)?;
        let mut accounts = self.funds_accounts(request, hub)?;
        let (settlement_entry, liquidity_entry) = match request.direction {
            Direction::Deposit => (EntryType::DepositSettlement, EntryType::DepositLiquidity),
            Direction::Withdrawal => (
                EntryType::WithdrawalSettlement,
                EntryType::WithdrawalLiquidity,
            ),
        };
        let liquidity_id = entry_id(&request.instruction_id, steps::FUNDS_LIQUIDITY);
        if let Some(posted) = self.store.entry(&liquidity_id) {
            let settlement_id = entry_id(&request.instruction_id, steps::FUNDS_SETTLEMENT);
            let settled = self.store.entry(&settlement_id);
            return accounts.repeat(&posted, settled.as_ref(), liquidity_entry, request);
        }
        for account in [&accounts.liquidity, &accounts.settlement] {
            account.takes_entries()?;
        }
        let amount = Units::of(&request.amount);
        let deposit = request.direction == Direction::Deposit;
        let kept = if deposit {
            self.leave_out_many(&mut accounts.settlement);
            0
        } else {
            self.kept_of(&mut accounts.settlement)
        };
        let free = accounts.settlement.available().saturating_sub(kept);
        let post = |entry_type, step, hub, own| {
            let (debit, credit) = if deposit { (hub, own) } else { (own, hub) };
            let cause = &request.instruction_id;
            let posting = Posting {
                entry_type,
                cause,
                step,
                amount,
            };
            self.post(posting, debit, credit)
        };
        // The liquidity book first: a participant can do more about its refusal.
        let liquidity = post(
            liquidity_entry,
            steps::FUNDS_LIQUIDITY,
            &mut accounts.control,
            &mut accounts.liquidity,
        )?;
        if !deposit && amount.0 > free {
            let mut left = accounts.settlement.position();
            left.available = money(&request.amount.currency, request.amount.scale, free);
            return Err(LedgerError::ExceedsSettledFunds(left));
        }
        let settlement = post(
            settlement_entry,
            steps::FUNDS_SETTLEMENT,
            &mut accounts.reconciliation,
            &mut accounts.settlement,
        )
        .map_err(|error| match error {
            LedgerError::ExceedsLimits(position) => LedgerError::ExceedsSettledFunds(position),
            other => other,
        })?;
        for account in [
            &accounts.liquidity,
            &accounts.settlement,
            &accounts.control,
            &accounts.reconciliation,
        ] {
            self.write(account);
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
        let model = request.settlement_model.as_deref();
        let settlement = self.settlement_account(&request.participant, currency, model);
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
        settled: Option<&Entry>,
        entry_type: EntryType,
        request: &manage_funds::Request,
    ) -> Result<manage_funds::Response, LedgerError> {
        let is_deposit = entry_type == EntryType::DepositLiquidity;
        let own = |entry: &Entry| {
            let account = [&entry.debit_account, &entry.credit_account];
            account[usize::from(is_deposit)].clone()
        };
        let is_the_same = posted.entry_type == entry_type
            && posted.amount == Units::of(&request.amount)
            && own(posted) == self.liquidity.id
            && settled.is_some_and(|settled| own(settled) == self.settlement.id);
        if is_the_same {
            Ok(self.response())
        } else {
            Err(LedgerError::PostedOtherwise(format!(
                "instruction {} is already posted with other terms",
                request.instruction_id
            )))
        }
    }
}
