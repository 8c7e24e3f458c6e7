//! Proofs that an entry is in a log (RFC 6962, 2.1.1), and that a log goes on from an earlier one (2.1.2), from the log's
//! tiles.

use crate::hash::Hash;
use crate::tile::{TILE_WIDTH, TileId};
use crate::tree::root_of;

/// A tile that a proof needs is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the hashes of {0} are missing")]
pub struct MissingTile(pub TileId);

/// Reads hashes of a log of this size. `tile` gives the hashes of a tile, which may be more than the log of this size has.
pub struct Hashes<'t> {
    size: u64,
    tile: &'t mut dyn FnMut(TileId) -> Option<Vec<Hash>>,
}

impl<'t> Hashes<'t> {
    /// The hashes of a log.
    pub fn new(size: u64, tile: &'t mut dyn FnMut(TileId) -> Option<Vec<Hash>>) -> Self {
        Self { size, tile }
    }

    /// The proof that the entry of this index is in the log: hashes from the entry to the root. None if the log has no such
    /// entry.
    ///
    /// # Errors
    /// When a tile is missing.
    pub fn inclusion(&mut self, index: u64) -> Result<Option<Vec<Hash>>, MissingTile> {
        if index >= self.size {
            return Ok(None);
        }
        let mut proof = Vec::new();
        let (mut from, mut to) = (0, self.size);
        // From the root down, so that the last one is the entry's neighbour.
        while to - from > 1 {
            let middle = from + split(to - from);
            if index < middle {
                proof.push(self.root(middle, to)?);
                to = middle;
            } else {
                proof.push(self.root(from, middle)?);
                from = middle;
            }
        }
        proof.reverse();
        Ok(Some(proof))
    }

    /// The proof that this log goes on from its first `old` entries. It is empty if nothing or all is old. None if the log
    /// has fewer entries.
    ///
    /// # Errors
    /// When a tile is missing.
    pub fn consistency(&mut self, old: u64) -> Result<Option<Vec<Hash>>, MissingTile> {
        if old > self.size {
            return Ok(None);
        }
        if old == 0 || old == self.size {
            return Ok(Some(Vec::new()));
        }
        let mut proof = Vec::new();
        let (mut from, mut to) = (0, self.size);
        // From the root down to where the old log ends with a subtree.
        while to != old {
            let middle = from + split(to - from);
            if old <= middle {
                proof.push(self.root(middle, to)?);
                to = middle;
            } else {
                proof.push(self.root(from, middle)?);
                from = middle;
            }
        }
        // If this subtree is all of the old log, its root is known.
        if from > 0 {
            proof.push(self.root(from, to)?);
        }
        proof.reverse();
        Ok(Some(proof))
    }

    /// The root of the entries from one index to another, which is not included.
    fn root(&mut self, from: u64, to: u64) -> Result<Hash, MissingTile> {
        let count = to - from;
        if count.is_power_of_two() && from.is_multiple_of(count) {
            return self.perfect(from, count);
        }
        let middle = from + split(count);
        Ok(Hash::of_node(
            self.root(from, middle)?,
            self.root(middle, to)?,
        ))
    }

    /// The root of a perfect subtree.
    fn perfect(&mut self, from: u64, count: u64) -> Result<Hash, MissingTile> {
        let width = TILE_WIDTH as u64;
        let (mut level, mut first, mut hashes) = (0, from, count);
        while hashes >= width {
            (level, first, hashes) = (level + 1, first / width, hashes / width);
        }
        let id = TileId {
            level,
            index: first / width,
        };
        let tile = (self.tile)(id).unwrap_or_default();
        let place = |at: u64| usize::try_from(at).unwrap_or(usize::MAX);
        let from = place(first % width);
        let found = tile.get(from..from.saturating_add(place(hashes)));
        Ok(root_of(found.ok_or(MissingTile(id))?))
    }
}

/// The largest power of two below a number of entries, which is at least two.
const fn split(count: u64) -> u64 {
    1 << (count - 1).ilog2()
}

/// Whether a proof shows that the entry is the one of this index in the log of this size and root (RFC 9162, 2.1.3.2).
#[must_use]
pub fn is_included(entry: Hash, index: u64, (size, root): (u64, Hash), proof: &[Hash]) -> bool {
    if index >= size {
        return false;
    }
    let (mut at, mut last, mut hash) = (index, size - 1, entry);
    for other in proof {
        if last == 0 {
            return false;
        }
        if at % 2 == 1 || at == last {
            hash = Hash::of_node(*other, hash);
            while at % 2 == 0 && at != 0 {
                (at, last) = (at / 2, last / 2);
            }
        } else {
            hash = Hash::of_node(hash, *other);
        }
        (at, last) = (at / 2, last / 2);
    }
    last == 0 && hash == root
}

/// Whether a proof shows that the log of size and root `new` goes on from the log `old` (RFC 9162, 2.1.4.2).
#[must_use]
pub fn is_consistent(old: (u64, Hash), new: (u64, Hash), proof: &[Hash]) -> bool {
    if old.0 == 0 {
        return proof.is_empty();
    }
    if old.0 >= new.0 {
        return old == new && proof.is_empty();
    }
    let mut rest = proof.iter();
    let (mut at, mut last) = (old.0 - 1, new.0 - 1);
    while at % 2 == 1 {
        (at, last) = (at / 2, last / 2);
    }
    let first = if old.0.is_power_of_two() {
        Some(&old.1)
    } else {
        rest.next()
    };
    let Some(first) = first else { return false };
    let (mut before, mut after) = (*first, *first);
    for other in rest {
        if last == 0 {
            return false;
        }
        if at % 2 == 1 || at == last {
            before = Hash::of_node(*other, before);
            after = Hash::of_node(*other, after);
            while at % 2 == 0 && at != 0 {
                (at, last) = (at / 2, last / 2);
            }
        } else {
            after = Hash::of_node(after, *other);
        }
        (at, last) = (at / 2, last / 2);
    }
    last == 0 && before == old.1 && after == new.1
}
