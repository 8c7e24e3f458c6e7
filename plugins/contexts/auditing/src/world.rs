//! Everything outside of this context, as a trait, so that tests can replace it.

use rialto_sdk::documents::Store;

use crate::bindings::rialto::auditing::audit_entry_quarantined::Event;
use crate::bindings::rialto::host::audit_log::{Filter, Page};
use crate::bindings::rialto::host::auditing::Entry;
use crate::bindings::rialto::security_authz::verify_signature::Signed;

/// Everything outside.
pub trait World: Store {
    /// The turn's instant: UTC, milliseconds since 1970.
    fn now(&mut self) -> u64;
    /// Whose registered key has signed this.
    ///
    /// # Errors
    /// When none has: a sentence that says why.
    fn verify(&mut self, signed: &Signed) -> Result<String, String>;
    /// Write an entry of the audit log.
    fn write(&mut self, entry: &Entry);
    /// Entries of the audit log from this index on.
    ///
    /// # Errors
    /// When the log cannot be read.
    fn search(&mut self, filter: &Filter, first: u64, limit: u32) -> Result<Page, String>;

    /// Say whom this turn may name: a subject, who may be a person.
    fn names(&mut self, subject: &str);
    /// Publish that an entry is in quarantine.
    fn publish(&mut self, event: &Event);
    /// Tell the operator by a warning about something, in the host's log and in that of the scheme.
    fn warn(&mut self, about: &str, line: &str);
}
