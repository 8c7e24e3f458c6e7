//! A whole store, read page by page as of one commit. Only a copy into another store reads it so.

use rialto_engine::Delivery;
use rialto_engine::history::Record;
use rialto_engine::network::OutboundRequest;
use rialto_engine::store::{Receipt, StoreError, StoredReminder};

use crate::{
    AuditSnapshot, DocumentSnapshot, Operation, PublicationSnapshot, StoredCheckpoint, StoredTile,
};

/// Pending work, as a host reads it at its start.
#[derive(Clone, Debug, Default)]
pub struct Pending {
    /// Deliveries with their redelivery counts, in the order of their ids.
    pub deliveries: Vec<Delivery>,
    /// Reminders that wait, each with its redelivery count, by component and id.
    pub reminders: Vec<(StoredReminder, u32)>,
    /// Outbound requests without a report, in the order of their ids.
    pub outbound: Vec<OutboundRequest>,
}

/// What a snapshot has beside documents, the audit log and events for the outside. The other subjects of a store are small,
/// and are read by their own traits.
pub trait StoreDump: DocumentSnapshot + AuditSnapshot + PublicationSnapshot {
    /// The first id that was never used. It is called first.
    ///
    /// # Errors
    /// When the store cannot be read, or has groups that are in its journal alone: a dump reads tables.
    fn next_id(&mut self) -> Result<u64, StoreError>;
    /// Pending work. A start of a host reads all of it at once, too.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn pending(&mut self) -> Result<Pending, StoreError>;
    /// Visit the records of the history in log order, while the visitor says that it wants more.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn visit_history(&mut self, visit: &mut dyn FnMut(Record) -> bool) -> Result<(), StoreError>;
    /// Receipts after an id, in the order of their ids, at most `limit` of them. None is read from an archive.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn receipts_after(&mut self, id: Option<u64>, limit: u32) -> Result<Vec<Receipt>, StoreError>;
    /// The digests of all components, in order.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn component_digests(&mut self) -> Result<Vec<String>, StoreError>;
    /// The secret by which requests are chosen for canaries; none if there never was one.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn canary_secret(&mut self) -> Result<Option<[u8; 32]>, StoreError>;
    /// Entries of the operators' log after a number, in order, at most `limit` of them.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn operations_after(&mut self, id: u64, limit: u32) -> Result<Vec<Operation>, StoreError>;
    /// Tiles of the audit log's tree after one, by level and index, at most `limit` of them.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn audit_tiles_after(
        &mut self,
        after: Option<(u8, u64)>,
        limit: u32,
    ) -> Result<Vec<StoredTile>, StoreError>;
    /// Checkpoints of more entries than this, the oldest first, at most `limit` of them.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn audit_checkpoints_after(
        &mut self,
        size: u64,
        limit: u32,
    ) -> Result<Vec<StoredCheckpoint>, StoreError>;
}
