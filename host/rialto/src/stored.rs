//! Where a scheme's store is, for what reads it beside the host: its ledger, its receipts, its audit log and
//! its events for the outside. Each reading is
//! as of one commit, whether a host runs or not.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use rialto_engine::Timestamp;
use rialto_ledger::{Ledger, LedgerError};
use rialto_manifest::Operator;
use rialto_manifest::values::DatabaseUrl;
use rialto_store::{AuditSnapshot, PublicationSnapshot, ReceiptPages};
use rialto_store_postgres::{PostgresReceipts, PostgresSnapshot};
use rialto_store_sqlite::{ReceiptReader, Snapshot};

/// A scheme's store: in the host's folder, or in a database.
#[derive(Clone, Debug)]
pub struct Stored {
    folder: PathBuf,
    archives: PathBuf,
    database: Option<DatabaseUrl>,
}

impl Stored {
    /// The store of a host in `folder` that serves the scheme in the folder `scheme`, as its operator's document says.
    #[must_use]
    pub fn of(operator: &Operator, scheme: &Path, folder: &Path) -> Self {
        Self {
            archives: operator.archives_path(scheme, folder),
            folder: folder.to_owned(),
            database: operator.store.url.clone(),
        }
    }

    /// A store in a folder that has its archives too.
    #[must_use]
    pub fn in_folder(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
            archives: folder.join("archives"),
            database: None,
        }
    }

    /// The host's folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The folder of archives.
    #[must_use]
    pub fn archives(&self) -> &Path {
        &self.archives
    }

    /// The ledger.
    ///
    /// # Errors
    /// When the store cannot be read, or the scheme keeps no ledger.
    pub fn ledger(&self) -> Result<Ledger, LedgerError> {
        let Some(url) = &self.database else {
            return Ledger::open(&self.folder);
        };
        let snapshot = PostgresSnapshot::open(url.as_str());
        let snapshot = snapshot.map_err(|error| LedgerError::Database(error.into()))?;
        Ledger::of(Box::new(snapshot))
    }

    /// The receipts with `since <= at < until`.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn receipts(
        &self,
        since: Timestamp,
        until: Timestamp,
    ) -> anyhow::Result<Box<dyn ReceiptPages>> {
        let Some(url) = &self.database else {
            let receipts = ReceiptReader::open(&self.folder, &self.archives, since, until);
            return Ok(Box::new(receipts?));
        };
        let receipts = PostgresReceipts::open(url.as_str(), since, until);
        Ok(Box::new(receipts.with_context(|| about(url))?))
    }

    /// The audit log.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn audit_log(&self) -> anyhow::Result<Box<dyn AuditSnapshot>> {
        let Some(url) = &self.database else {
            return Ok(Box::new(Snapshot::open(&self.folder)?));
        };
        let snapshot = PostgresSnapshot::open(url.as_str());
        Ok(Box::new(snapshot.with_context(|| about(url))?))
    }

    /// The events for the outside.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn publications(&self) -> anyhow::Result<Box<dyn PublicationSnapshot>> {
        let Some(url) = &self.database else {
            return Ok(Box::new(Snapshot::open(&self.folder)?));
        };
        let snapshot = PostgresSnapshot::open(url.as_str());
        Ok(Box::new(snapshot.with_context(|| about(url))?))
    }
}

/// The URL has no password.
fn about(url: &DatabaseUrl) -> String {
    format!("[store] url = \"{url}\"")
}
