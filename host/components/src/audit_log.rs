//! What components may read of the audit log. The host implements it.

use std::fmt;

pub use crate::bindings::rialto::host::audit_log::{Filter, Page, Proof, StoredEntry};

/// The audit log of a host.
pub trait AuditLog: fmt::Debug + Send + Sync {
    /// Entries from this index on, at most `limit`.
    ///
    /// # Errors
    /// When the log cannot be read, in words.
    fn search(&self, filter: &Filter, first: u64, limit: u32) -> Result<Page, String>;
}

/// A host without an audit log.
#[derive(Clone, Copy, Debug)]
pub struct NoAuditLog;

impl AuditLog for NoAuditLog {
    fn search(&self, _: &Filter, _: u64, _: u32) -> Result<Page, String> {
        Err("this host has no audit log".to_owned())
    }
}
