//! Receipts of a time in bulk, read beside the host.

use rialto_engine::store::{Receipt, StoreError};

/// The receipts of a store from one instant to another.
pub trait ReceiptPages {
    /// Visit all receipts in pages, each once, while the visitor says that it wants more. Receipts of one request are near
    /// each other.
    ///
    /// # Errors
    /// When the store or one of its archives cannot be read.
    fn visit_while(
        &mut self,
        visit: &mut dyn FnMut(Vec<Receipt>) -> bool,
    ) -> Result<(), StoreError>;
    /// The archives that are missing or damaged, each with what is wrong. Their receipts were left out.
    fn unread(&self) -> &[String];
}
