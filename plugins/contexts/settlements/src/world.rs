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
    /// Opens accounts in the ledger.
    ///
    /// # Errors
    /// When the ledger refuses.
    fn create_accounts(&mut self, accounts: &[NewAccount]) -> Result<Vec<String>, LedgerError>;
    /// Closes accounts in the ledger.
    ///
    /// # Errors
    /// When the ledger refuses.
    fn close_accounts(&mut self, accounts: &[String]) -> Result<Vec<AccountStatus>, LedgerError>;
    /// The current state of ledger accounts.
    fn accounts(&mut self, accounts: &[String]) -> Vec<Option<AccountStatus>>;
    /// Posts entries in the ledger, all or none.
    ///
    /// # Errors
    /// When the ledger refuses.
    fn insert_entries(&mut self, request: &journal::Request) -> Result<(), LedgerError>;
    /// Continues a settlement in another turn.
    fn step_is_due(&mut self, settlement: &str, step: u64);
}
