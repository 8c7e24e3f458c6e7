//! Reads a scheme's ledger from its store: trial balances, accounts, entries, invariants, exports.
//!
//! It shares no code with the component that writes the ledger, so it is a second opinion. It reads one commit
//! ([`DocumentSnapshot`]) and writes nothing, so it may run beside a host. What moves money in the serving host does not depend on it:
//! operators read and check by it.
//!
//! Old transfers may be in archives. The sum of an account's archived entries is its opening balance ([`Archived`]). A
//! check adds up the archives, if they exist.

#![forbid(unsafe_code)]

mod amounts;
pub mod balance;
pub mod check;
mod documents;
pub mod entries;
pub mod export;
pub mod pages;
mod source;
#[cfg(test)]
mod tests;

use std::path::Path;

use rialto_engine::CollectionId;
use rialto_engine::store::{StoreError, StoredDocument};
use rialto_store::{DocumentSnapshot, Order};
use rialto_store_sqlite::retention::RetentionError;
use rialto_store_sqlite::{Snapshot, SnapshotError};
use serde::de::DeserializeOwned;

pub use amounts::{Units, decimal};
pub use documents::{Account, AccountType, Archived, Book, Entry, Reservation};
pub use source::{Collections, KEEPER};

/// Why the ledger cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    /// There is no readable store.
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    /// There is no readable database.
    #[error("the database cannot be read")]
    Database(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The store failed.
    #[error("the store cannot be read")]
    Store(#[from] StoreError),
    /// An archive cannot be read.
    #[error(transparent)]
    Archive(#[from] RetentionError),
    /// The store has no document of a component that keeps a ledger.
    #[error(
        "this scheme keeps no ledger: its store has no documents `{collection}` of `{component}`"
    )]
    NoLedger {
        /// The component that would have them.
        component: &'static str,
        /// The collection.
        collection: &'static str,
    },
    /// A document cannot be parsed.
    #[error(
        "the document {id} of `{collection}` cannot be read; `rialto ledger check` says what else is wrong"
    )]
    Unreadable {
        /// Where it is.
        collection: &'static str,
        /// Which one.
        id: String,
        /// Why.
        source: serde_json::Error,
    },
    /// A document is missing, although another one names it.
    #[error("the document {1} of `{0}` is missing; `rialto ledger check` says what else is wrong")]
    Missing(&'static str, String),
    /// The account is not in the ledger.
    #[error("there is no account {0}; `rialto ledger export --what accounts` lists all")]
    NoAccount(String),
    /// No account is in the currency.
    #[error("no account is in {0:?}; {1}")]
    NoCurrency(String, String),
    /// It was told to stop.
    #[error("the check was stopped before its end")]
    Stopped,
    /// The output could not be written.
    #[error("writing")]
    Output(#[from] std::io::Error),
}

/// The ledger at one commit.
pub struct Ledger {
    snapshot: Box<dyn DocumentSnapshot>,
    collections: Collections,
}

impl Ledger {
    /// The ledger in the store of this folder as of now.
    ///
    /// # Errors
    /// When there is no store, or none with a ledger.
    pub fn open(folder: &Path) -> Result<Self, LedgerError> {
        Self::of(Box::new(Snapshot::open(folder)?))
    }

    /// The ledger in a snapshot.
    ///
    /// # Errors
    /// When it has no ledger.
    pub fn of(snapshot: Box<dyn DocumentSnapshot>) -> Result<Self, LedgerError> {
        let collections = Collections::of(&*snapshot)?;
        Ok(Self {
            snapshot,
            collections,
        })
    }

    /// The last turn that is included.
    pub fn lsn(&self) -> u64 {
        self.snapshot.lsn()
    }

    /// An account.
    ///
    /// # Errors
    /// When there is none of this id, or it cannot be read.
    pub fn account(&mut self, id: &str) -> Result<Account, LedgerError> {
        let found = self.document(self.collections.accounts, source::ACCOUNTS, id)?;
        found.ok_or_else(|| LedgerError::NoAccount(id.to_owned()))
    }

    /// All accounts, in the order of their ids.
    ///
    /// # Errors
    /// When one cannot be read.
    pub fn accounts(&mut self) -> Result<Vec<Account>, LedgerError> {
        let mut accounts = Vec::new();
        let wanted = [self.collections.accounts];
        self.snapshot.visit(&wanted, Order::ById, &mut |_, found| {
            accounts.push(read(source::ACCOUNTS, &found)?);
            Ok::<_, LedgerError>(())
        })?;
        Ok(accounts)
    }

    fn document<T: DeserializeOwned>(
        &mut self,
        collection: CollectionId,
        name: &'static str,
        id: &str,
    ) -> Result<Option<T>, LedgerError> {
        let found = self.snapshot.document(collection, id)?;
        found.map(|found| read(name, &found)).transpose()
    }
}

fn read<T: DeserializeOwned>(
    collection: &'static str,
    found: &StoredDocument,
) -> Result<T, LedgerError> {
    serde_json::from_str(&found.body).map_err(|source| LedgerError::Unreadable {
        collection,
        id: found.id.to_string(),
        source,
    })
}
