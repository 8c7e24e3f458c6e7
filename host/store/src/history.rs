//! What is kept permanently about a subject: its turns and the verdicts.

use rialto_engine::history::Record;
use rialto_engine::store::{Receipt, StoreError};

/// Reads what is kept permanently about a subject.
pub trait HistoryStore {
    /// The turns about a subject, in log order.
    fn history(&self, subject: &str) -> Result<Vec<Record>, StoreError>;
    /// The last turns about a subject in log order, and the number of earlier ones. Only these, and unflushed
    /// ones, are in memory at a time.
    fn last_of_history(
        &self,
        subject: &str,
        most: usize,
    ) -> Result<(Vec<Record>, usize), StoreError>;
    /// The subjects that an id may mean.
    fn subjects_of(&self, id: &str) -> Result<Vec<String>, StoreError>;
    /// The verdicts about a subject, oldest first.
    fn receipts(&self, subject: &str) -> Result<Vec<Receipt>, StoreError>;
}
