//! A Merkle tree that grows at its end (RFC 6962, 2.1). It keeps only its right edge: at each level of tiles the hashes of
//! the last tile, which is not full. So a tree of any size takes some kilobytes.

use std::collections::BTreeMap;

use crate::hash::{HASH_BYTES, Hash};
use crate::tile::{TILE_WIDTH, TileId};

/// A level above this one has no hash: a tree of 2^64 entries has eight levels of tiles.
const LEVELS_MAX: u8 = 8;

/// The right edge of a tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tree {
    size: u64,
    /// By level, from the entries upwards: the hashes of the tile that is not full. Those of level n + 1 are the roots of
    /// the full tiles of level n.
    edge: Vec<Vec<Hash>>,
}

/// The tiles of a tree's edge that are to be read for it are not those of a tree of this size.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the tile {0} of the tree's edge is missing or has another number of hashes")]
pub struct BadEdge(pub TileId);

impl Tree {
    /// A tree of this size, by its tiles. `tile` is asked for the tiles of the edge.
    ///
    /// # Errors
    /// When a tile is missing or has another number of hashes.
    pub fn of_tiles(
        size: u64,
        mut tile: impl FnMut(TileId) -> Option<Vec<Hash>>,
    ) -> Result<Self, BadEdge> {
        let mut tree = Self {
            size,
            edge: Vec::new(),
        };
        for (id, width) in TileId::edge(size) {
            let hashes = match width {
                0 => Vec::new(),
                _ => tile(id).unwrap_or_default(),
            };
            if hashes.len() != width {
                return Err(BadEdge(id));
            }
            tree.edge.push(hashes);
        }
        Ok(tree)
    }

    /// How many entries it has.
    #[must_use]
    pub const fn size(&self) -> u64 {
        self.size
    }

    /// Append an entry by its hash.
    pub fn append(&mut self, entry: Hash) {
        self.append_with(entry, |_, _| ());
    }

    /// Append an entry by its hash. `full` gets each tile that it fills.
    pub fn append_with(&mut self, entry: Hash, mut full: impl FnMut(TileId, &[Hash])) {
        let mut hash = entry;
        // The index of the hash at its level.
        let mut at = self.size;
        for level in 0..LEVELS_MAX {
            let place = usize::from(level);
            if self.edge.len() == place {
                self.edge.push(Vec::new());
            }
            let tile = &mut self.edge[place];
            tile.push(hash);
            if tile.len() < TILE_WIDTH {
                break;
            }
            let index = at / TILE_WIDTH as u64;
            full(TileId { level, index }, tile);
            hash = root_of(tile);
            tile.clear();
            at = index;
        }
        self.size += 1;
    }

    /// The tiles that are not full, with their hashes. An empty one is none.
    pub fn partial(&self) -> impl Iterator<Item = (TileId, &[Hash])> {
        let edge = TileId::edge(self.size).zip(&self.edge);
        edge.filter(|(_, hashes)| !hashes.is_empty())
            .map(|((id, _), hashes)| (id, &**hashes))
    }

    /// The root: the hash that stands for all entries and their order.
    #[must_use]
    pub fn root(&self) -> Hash {
        // Perfect subtrees from right to left; each is as large as all that are right of it, or larger.
        let mut root: Option<Hash> = None;
        for hashes in &self.edge {
            let mut rest = &hashes[..];
            let mut subtrees = Vec::new();
            while !rest.is_empty() {
                let (subtree, behind) = rest.split_at(1 << rest.len().ilog2());
                subtrees.push(root_of(subtree));
                rest = behind;
            }
            for left in subtrees.into_iter().rev() {
                root = Some(root.map_or(left, |right| Hash::of_node(left, right)));
            }
        }
        root.unwrap_or_else(Hash::empty)
    }
}

/// The root of a perfect subtree: a power of two of hashes.
pub(crate) fn root_of(hashes: &[Hash]) -> Hash {
    match hashes {
        [one] => *one,
        _ => {
            let (left, right) = hashes.split_at(hashes.len() / 2);
            Hash::of_node(root_of(left), root_of(right))
        }
    }
}

/// Hashes one behind the other, as a tile has them.
#[must_use]
pub fn bytes_of(hashes: &[Hash]) -> Vec<u8> {
    hashes.iter().flat_map(|hash| hash.0).collect()
}

/// The hashes of a tile. None if its length is not that of hashes.
#[must_use]
pub fn hashes_of(bytes: &[u8]) -> Option<Vec<Hash>> {
    let (hashes, rest) = bytes.as_chunks::<HASH_BYTES>();
    rest.is_empty()
        .then(|| hashes.iter().map(|hash| Hash(*hash)).collect())
}

/// Tiles by their place, in memory.
pub type Tiles = BTreeMap<TileId, Vec<Hash>>;
