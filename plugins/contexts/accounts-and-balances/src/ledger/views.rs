//! Queries: positions and reservations. They hold and write no documents.

use super::{Ledger, is_account_id};
use crate::accounts::{Account, AccountType, account_id};
use crate::bindings::exports::rialto::accounts_and_balances::{
    get_current_liquidity_position as liquidity, get_journal_entries as journal,
    request_accounts_positions as positions, request_reservation_accounts as reservations,
};
use crate::bindings::rialto::accounts_and_balances::types::{AccountStatus, LedgerError, Posting};
use crate::journal_id::journal_entry_id;
use crate::limits::net_position;
use crate::records::Entry;
use crate::store::Store;
use rialto_sdk::money::money;

/// The most settlement models of one participant and currency.
const MODELS_MAX: u32 = 100;

/// The most entries of one answer.
const PAGE_MAX: u32 = 1_000;

/// The bound of an answer's entries, for a requested number. Callers without a number send 0.
pub(super) fn page_limit(asked: u32) -> u32 {
    match asked {
        0 => PAGE_MAX,
        asked => asked.min(PAGE_MAX),
    }
}

impl<S: Store> Ledger<'_, S> {
    /// The liquidity of a participant in one currency: total, used and available.
    ///
    /// # Errors
    /// When it has no accounts of the currency.
    pub fn liquidity_position(
        &mut self,
        request: &liquidity::Request,
    ) -> Result<liquidity::Response, LedgerError> {
        let (owner, currency) = (&request.participant, &request.currency);
        let own = self.viewed(owner, currency, AccountType::Liquidity)?;
        let position = self.viewed(owner, currency, AccountType::Position)?;
        let cover = self.viewed(owner, currency, AccountType::LiquidityCover)?;
        let settled = self.of_all_models(owner, currency, AccountType::Settlement);
        let net = net_position(&own, &position);
        let money = |units| money(currency, own.scale, units);
        let settled = settled.into_iter().map(|mut account| {
            let kept = self.kept_of(&mut account);
            let free = account.available().saturating_sub(kept);
            liquidity::SettledFunds {
                available: money(free),
                settlement_model: account.settlement_model,
            }
        });
        Ok(liquidity::Response {
            liquidity: own.position(),
            reserved: money(position.balance()),
            cover: money(cover.balance()),
            settled: settled.collect(),
            net_debit_cap: own.net_debit_cap.map(|cap| money(cap.0)),
            net_debit: money(net.debit.0),
            net_credit: money(net.credit.0),
        })
    }

    /// All accounts of a participant, except those of batches.
    ///
    /// # Errors
    /// When there are none.
    pub fn positions(
        &mut self,
        request: &positions::Request,
    ) -> Result<Vec<AccountStatus>, LedgerError> {
        let owner = &request.participant;
        let currencies = match &request.currency {
            Some(currency) => vec![currency.clone()],
            None => self.currencies(owner),
        };
        let mut found = Vec::new();
        for currency in &currencies {
            for account_type in [
                AccountType::Liquidity,
                AccountType::LiquidityCover,
                AccountType::Position,
            ] {
                let id = account_id(owner, currency, account_type);
                found.extend(self.store.view(&id));
            }
            for account_type in [AccountType::Settlement, AccountType::SettlementReserved] {
                found.extend(self.of_all_models(owner, currency, account_type));
            }
        }
        if found.is_empty() {
            return Err(LedgerError::UnknownAccount(owner.clone()));
        }
        Ok(found.iter().map(Account::status).collect())
    }

    /// The reservations of a participant: cover, and transfers under way.
    ///
    /// # Errors
    /// When it has no accounts.
    pub fn reservation_accounts(
        &mut self,
        participant: &str,
    ) -> Result<Vec<reservations::ReservationAccount>, LedgerError> {
        let mut found = Vec::new();
        for currency in self.currencies(participant) {
            let cover = self.viewed(participant, &currency, AccountType::LiquidityCover)?;
            let position = self.viewed(participant, &currency, AccountType::Position)?;
            found.push(reservations::ReservationAccount {
                currency,
                liquidity_cover: cover.position(),
                position: position.position(),
            });
        }
        if found.is_empty() {
            return Err(LedgerError::UnknownAccount(participant.to_owned()));
        }
        Ok(found)
    }

    /// Accounts by their ids.
    pub fn accounts_by_id(&mut self, ids: &[String]) -> Vec<Option<AccountStatus>> {
        let view = |id: &String| is_account_id(id).then(|| self.store.view(id)).flatten();
        let accounts = ids.iter().map(view);
        accounts
            .map(|account| account.as_ref().map(Account::status))
            .collect()
    }

    /// The entries of one cause.
    pub fn entries_of(&mut self, request: &journal::Request) -> journal::Response {
        let limit = page_limit(request.limit);
        let after = request.cursor.as_deref();
        let (entries, more) = self.store.entries_of(&request.cause, after, limit);
        let cursor = entries
            .last()
            .filter(|_| more)
            .map(|entry| entry.id.clone());
        let postings = entries.iter().map(to_posting).collect();
        journal::Response { postings, cursor }
    }

    fn viewed(
        &mut self,
        owner: &str,
        currency: &str,
        account_type: AccountType,
    ) -> Result<Account, LedgerError> {
        let id = account_id(owner, currency, account_type);
        self.store.view(&id).ok_or(LedgerError::UnknownAccount(id))
    }

    /// The accounts of this type of the first settlement model and of the others.
    fn of_all_models(
        &mut self,
        owner: &str,
        currency: &str,
        account_type: AccountType,
    ) -> Vec<Account> {
        let first = account_id(owner, currency, account_type);
        let (from, to) = (format!("{first}:"), format!("{first};"));
        let mut found: Vec<Account> = self.store.view(&first).into_iter().collect();
        found.extend(self.store.accounts_between(&from, &to, MODELS_MAX));
        found
    }

    /// The currencies of a participant's accounts, in order. Jumps from one to the next, since there may be
    /// many accounts of batches.
    fn currencies(&mut self, owner: &str) -> Vec<String> {
        let mut found: Vec<String> = Vec::new();
        let end = format!("{owner};");
        loop {
            // `;` follows the colon behind an owner, and behind a currency.
            let from = found.last().map_or_else(
                || format!("{owner}:"),
                |currency| format!("{owner}:{currency};"),
            );
            match self.store.accounts_between(&from, &end, 1).pop() {
                Some(account) => found.push(account.currency),
                None => return found,
            }
        }
    }
}

/// An entry for callers, without the sums of an account.
pub(super) fn to_posting(entry: &Entry) -> Posting {
    Posting {
        journal_entry_id: journal_entry_id(&entry.correlation_id, entry.step()),
        entry_id: entry.id.clone(),
        entry_type: entry.entry_type.name().to_owned(),
        debit_account: entry.debit_account.clone(),
        credit_account: entry.credit_account.clone(),
        amount: money(&entry.currency, entry.scale, entry.amount.0),
        balances_after: None,
        correlation_id: entry.correlation_id.clone(),
        posted_at: entry.posted_at,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_says_nothing_of_a_page_gets_the_longest() {
        for (asked, given) in [
            (0, 1_000),
            (1, 1),
            (999, 999),
            (1_000, 1_000),
            (u32::MAX, 1_000),
        ] {
            assert_eq!(page_limit(asked), given, "{asked}");
        }
    }
}
