//! A new store is filled from another one. Most of it is written as groups and by the small traits. What they cannot say is
//! here: rows as they were, and numbers that go on from somewhere.

use rialto_engine::Name;
use rialto_engine::store::StoreError;

use crate::{HostStore, StoredActivation, StoredCheckpoint, StoredSuspension, StoredTile};

/// Why a store that was not wholly loaded is refused.
pub const UNFINISHED_LOAD: &str = "this store was not wholly copied from another one: a copy was interrupted, or it differed. \
     Remove it, and run `rialto store copy` again";

/// Why a store whose place another one has taken is refused.
pub const MOVED: &str = "this store was copied to another one, which has its place now: two hosts would hold the same money. \
     Start the host on the copy. If the copy is given up, `rialto store take-back` has hosts serve on this store again";

/// The numbers that the next items get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NextNumbers {
    /// The index of the next entry of the audit log.
    pub audit: u64,
    /// The number of the next event for the outside; 1 for the first.
    pub publication: u64,
}

/// How often starts have given back pending work. A group cannot say it, because its items are new.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Redelivered {
    /// Deliveries, by their ids.
    pub deliveries: Vec<(u64, u32)>,
    /// Reminders, by component and id.
    pub reminders: Vec<(Name, Name, u32)>,
}

/// Loads a store that is new and recovered. One thread writes.
pub trait StoreLoad: HostStore {
    /// Mark the store as unfinished: until `end_load` it refuses to recover. `store` is the number by which receivers of
    /// events know the store, which the copy keeps.
    ///
    /// # Errors
    /// When it is marked already, or the store cannot write or belongs to a newer host.
    fn begin_load(&self, store: u64) -> Result<(), StoreError>;
    /// Give the next items these numbers. The oldest entries of an audit log may be in archives, and old events for the
    /// outside are removed, so numbers may begin anywhere and may have gaps. No group is on its way.
    ///
    /// # Errors
    /// When the store cannot write or belongs to a newer host.
    fn continue_from(&self, next: NextNumbers) -> Result<(), StoreError>;
    /// Set redelivery counts. The items were written before.
    ///
    /// # Errors
    /// When the store cannot write or belongs to a newer host.
    fn load_redelivered(&self, counts: &Redelivered) -> Result<(), StoreError>;
    /// Keep activations as they were, the oldest first. `begin_activation` would set what was current, and would leave a mark.
    ///
    /// # Errors
    /// When the store cannot write or belongs to a newer host.
    fn load_activations(&self, all: &[StoredActivation]) -> Result<(), StoreError>;
    /// Keep suspensions with their numbers, by which the audit log names them.
    ///
    /// # Errors
    /// When a number is taken, or the store cannot write or belongs to a newer host.
    fn load_suspensions(&self, all: &[StoredSuspension]) -> Result<(), StoreError>;
    /// Keep tiles of the audit log's tree.
    ///
    /// # Errors
    /// When the store cannot write or belongs to a newer host.
    fn load_tiles(&self, tiles: &[StoredTile]) -> Result<(), StoreError>;
    /// Keep checkpoints of the audit log, many at a time: there may be half a million of a year.
    ///
    /// # Errors
    /// When the store cannot write or belongs to a newer host.
    fn load_checkpoints(&self, all: &[StoredCheckpoint]) -> Result<(), StoreError>;
    /// Bring everything that was written into the tables, where a dump reads it.
    ///
    /// # Errors
    /// When the store cannot write or belongs to a newer host.
    fn flush(&self) -> Result<(), StoreError>;
    /// Take the mark away: the store is whole.
    ///
    /// # Errors
    /// When the store cannot write or belongs to a newer host.
    fn end_load(&self) -> Result<(), StoreError>;
    /// Mark the store as moved: another one has its place, and until `take_back` it refuses to recover. It can be read, and
    /// be copied again.
    ///
    /// # Errors
    /// When the store cannot write or belongs to a newer host.
    fn mark_moved(&self) -> Result<(), StoreError>;
    /// Take that mark away. Returns whether it was there.
    ///
    /// # Errors
    /// When the store cannot write or belongs to a newer host.
    fn take_back(&self) -> Result<bool, StoreError>;
}
