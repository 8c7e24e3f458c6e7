//! Everything outside of this component. What is done through it belongs to one turn.

use crate::bindings::rialto::accounts_and_balances::types::{AccountStatus, LedgerError};
use crate::bindings::rialto::accounts_and_balances::{
    create_accounts::NewAccount, insert_journal_entries as journal,
};
use rialto_sdk::documents::Store;

/// The store, the ledger and the host.
pub trait World: Store {
    /// The turn's instant: UTC, milliseconds since 1970.
    fn now(&self) -> u64;
    /// A random UUID.
    fn uuid(&mut self) -> String;
    /// Have the ledger open accounts.
    ///
    /// # Errors
    /// When the ledger refuses.
    fn create_accounts(&mut self, accounts: &[NewAccount]) -> Result<Vec<String>, LedgerError>;
    /// Have the ledger close accounts.
    ///
    /// # Errors
    /// When the ledger refuses.
    fn close_accounts(&mut self, accounts: &[String]) -> Result<Vec<AccountStatus>, LedgerError>;
    /// Accounts of the ledger as they are.
    fn accounts(&mut self, accounts: &[String]) -> Vec<Option<AccountStatus>>;
    /// Have the ledger post entries, all or none.
    ///
    /// # Errors
    /// When the ledger refuses.
    fn insert_entries(&mut self, request: &journal::Request) -> Result<(), LedgerError>;
    /// Have a settlement go on in another turn.
    fn step_is_due(&mut self, settlement: &str, step: u64);
}
