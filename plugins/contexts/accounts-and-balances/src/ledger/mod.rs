//! The ledger's operations, pure over a store: the shared parts.
//!
//! Every operation reads, decides, and then writes, so that a refusal leaves nothing behind. Accounts are read
//! in the order of their ids, so that two operations never wait for each other. They are read as late as
//! possible, because concurrent transfers share them.

mod between_models;
mod cover;
mod funds;
mod journal;
mod naming;
mod obligations;
mod opening;
mod position_history;
mod posting;
mod recorded;
mod settlement_accounts;
mod terms;
mod transfers;
mod views;

#[cfg(test)]
mod memory;
#[cfg(test)]
mod tests;

use crate::account_types::is_cause;
use crate::accounts::Account;
use crate::bindings::rialto::accounts_and_balances::types::LedgerError;
use crate::history::page_id;
use crate::store::Store;
use journal::ID_BYTES_MAX;
use std::collections::{BTreeMap, BTreeSet};

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

    /// An account, held.
    fn held(&mut self, id: &str) -> Result<Account, LedgerError> {
        check_account_id(id)?;
        let account = self.store.account(id);
        account.ok_or_else(|| LedgerError::UnknownAccount(id.to_owned()))
    }

    /// Two accounts, held in the order of their ids, given in the order asked for.
    fn pair(&mut self, one: &str, other: &str) -> Result<(Account, Account), LedgerError> {
        if one <= other {
            let first = self.held(one)?;
            Ok((first, self.held(other)?))
        } else {
            let second = self.held(other)?;
            Ok((self.held(one)?, second))
        }
    }

    /// Several accounts, held in the order of their ids.
    fn all(&mut self, ids: &BTreeSet<&str>) -> Result<BTreeMap<String, Account>, LedgerError> {
        let held = |id: &&str| Ok((String::from(*id), self.held(id)?));
        ids.iter().map(held).collect()
    }

    /// Writes an account, and the pages that its postings have filled.
    fn write(&mut self, account: &Account) {
        for (number, page) in &account.full_pages {
            self.store.append_page(&page_id(&account.id, *number), page);
        }
        self.store.put_account(account);
    }
}

/// Whether an account can have this id: 1 to 256 bytes without control characters. The host fails a turn that
/// asks for another id.
fn check_account_id(id: &str) -> Result<(), LedgerError> {
    if is_account_id(id) {
        return Ok(());
    }
    Err(LedgerError::Malformed(format!(
        "an account's id is 1 to {ID_BYTES_MAX} bytes without control characters"
    )))
}

fn is_account_id(id: &str) -> bool {
    (1..=ID_BYTES_MAX).contains(&id.len()) && !id.chars().any(char::is_control)
}

/// Checks that entries can have this cause.
fn check_cause(what: &str, cause: &str) -> Result<(), LedgerError> {
    if is_cause(cause) {
        return Ok(());
    }
    Err(LedgerError::Malformed(format!(
        "{what} must be 1 to 128 visible ASCII characters without a space"
    )))
}
