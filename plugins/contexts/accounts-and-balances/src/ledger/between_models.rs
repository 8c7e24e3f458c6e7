//! Moves settled funds between two settlement models of one participant.
//!
//! | Debit | Credit |
//! |---|---|
//! | participant's settlement of the one model | participant's settlement of the other |
//!
//! The amount that the participant has to keep of the first model (`obligations.rs`) stays there. Liquidity has
//! no model, and does not change.

use super::posting::Posting;
use super::{Ledger, check_cause};
use crate::accounts::{Account, AccountType, Units, account_id};
use crate::bindings::exports::rialto::accounts_and_balances::move_settled_funds::{
    Request, Response,
};
use crate::bindings::rialto::accounts_and_balances::types::LedgerError;
use crate::records::{EntryType, entry_id, steps};
use crate::store::Store;
use rialto_sdk::money::money;

impl<S: Store> Ledger<'_, S> {
    /// Moves settled funds. A repeat posts nothing and returns the current accounts.
    ///
    /// # Errors
    /// If the participant has no accounts of the currency and the models, or disabled ones; if both models are
    /// the same; if the movable settled funds are too little; or if the instruction was posted on other terms.
    pub fn move_settled_funds(&mut self, request: &Request) -> Result<Response, LedgerError> {
        check_cause("the instruction id", &request.instruction_id)?;
        let (source, target) = (&request.source_model, &request.target_model);
        if source == target {
            let why = format!("funds of {source} cannot move to {target}");
            return Err(LedgerError::Malformed(why));
        }
        let (owner, currency) = (&request.participant, &request.amount.currency);
        let source = self.settlement_account(owner, currency, Some(source));
        let target = self.settlement_account(owner, currency, Some(target));
        let (mut source, mut target) = self.pair(&source, &target)?;
        let cause = &request.instruction_id;
        let amount = Units::of(&request.amount);
        if let Some(posted) = self.store.entry(&entry_id(cause, steps::BETWEEN_MODELS)) {
            let accounts = (&posted.debit_account, &posted.credit_account);
            return if accounts == (&source.id, &target.id) && posted.amount == amount {
                Ok(response(&source, &target))
            } else {
                Err(LedgerError::PostedOtherwise(format!(
                    "instruction {cause} is already posted with other terms"
                )))
            };
        }
        // A participant's first accounts say whether all are disabled.
        let liquidity = account_id(owner, currency, AccountType::Liquidity);
        let liquidity = self.store.view(&liquidity);
        for account in [&source, &target].into_iter().chain(&liquidity) {
            account.holds(&request.amount)?;
            account.takes_entries()?;
        }
        let kept = self.kept_of(&mut source);
        let free = source.available().saturating_sub(kept);
        if amount.0 > free {
            let mut left = source.position();
            left.available = money(currency, request.amount.scale, free);
            return Err(LedgerError::ExceedsSettledFunds(left));
        }
        let posting = Posting {
            entry_type: EntryType::SettlementMove,
            cause,
            step: steps::BETWEEN_MODELS,
            amount,
        };
        let entry = self.post(posting, &mut source, &mut target)?;
        self.write(&source);
        self.write(&target);
        self.store.append_entry(&entry);
        Ok(response(&source, &target))
    }
}

fn response(source: &Account, target: &Account) -> Response {
    Response {
        source: source.position(),
        target: target.position(),
    }
}
