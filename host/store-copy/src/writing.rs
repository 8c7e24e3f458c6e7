//! Fills groups and writes them to the target.

use rialto_engine::Lsn;
use rialto_engine::store::{Group, StoreError};
use rialto_store::StoreLoad;

/// Items of a group. A reader of the history decodes a whole group, so groups are as large as a host's.
const ITEMS: usize = 256;
/// Bytes of a group after which it is written, roughly.
const BYTES: usize = 4 << 20;

/// The groups of a copy. All of them are of the source's last turn, because the target has no turns of its own.
pub(crate) struct Writing<'t> {
    target: &'t dyn StoreLoad,
    lsn: u64,
    next_id: u64,
    group: Group,
    items: usize,
    bytes: usize,
}

impl<'t> Writing<'t> {
    /// Begin, with the last turn and the first unused id of the source.
    pub fn new(target: &'t dyn StoreLoad, lsn: u64, next_id: u64) -> Self {
        Self {
            target,
            lsn,
            next_id,
            group: Group::default(),
            items: 0,
            bytes: 0,
        }
    }

    /// Add an item of so many bytes to the group. Writes the group when it is full.
    ///
    /// # Errors
    /// When the target cannot write.
    pub fn add(&mut self, bytes: usize, put: impl FnOnce(&mut Group)) -> Result<(), StoreError> {
        put(&mut self.group);
        self.items += 1;
        self.bytes += bytes;
        if self.items >= ITEMS || self.bytes >= BYTES {
            return self.write();
        }
        Ok(())
    }

    /// Write the group, if it has anything.
    ///
    /// # Errors
    /// When the target cannot write.
    pub fn write(&mut self) -> Result<(), StoreError> {
        if self.items == 0 {
            return Ok(());
        }
        self.write_any()
    }

    /// Write the group, also without items: it has the last turn and the numbers.
    ///
    /// # Errors
    /// When the target cannot write.
    pub fn write_any(&mut self) -> Result<(), StoreError> {
        let group = Group {
            lsn: Lsn(self.lsn),
            next_id: self.next_id,
            ..std::mem::take(&mut self.group)
        };
        self.items = 0;
        self.bytes = 0;
        self.target.write(&group)
    }
}
