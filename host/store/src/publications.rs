//! Events for the outside as of one commit, read beside the host.

use rialto_engine::publications::{PublicationsState, StoredPublication};
use rialto_engine::store::StoreError;

/// The events for the outside that a store keeps, as of one commit.
pub trait PublicationSnapshot {
    /// Events from this number on, in order: at most `limit` of them, and one page of bytes.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn publications(
        &mut self,
        first: u64,
        limit: u32,
    ) -> Result<Vec<StoredPublication>, StoreError>;
    /// How far they are sent.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn publications_state(&mut self) -> Result<PublicationsState, StoreError>;
}
