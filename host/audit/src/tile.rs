//! Tiles: a tree's hashes in pieces of 256, and entries in bundles of 256 (c2sp.org/tlog-tiles). Their names are those of
//! the public format, so that other programs read a log without knowing this one.

use std::fmt;

/// How many hashes a full tile has, and how many entries a full bundle.
pub const TILE_WIDTH: usize = 256;

/// A tile's place in a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TileId {
    /// 0 for hashes of entries; above it, each hash is the root of a full tile below.
    pub level: u8,
    /// Counted from 0 within the level.
    pub index: u64,
}

impl TileId {
    /// The last tile at each level of a tree of this size, from the entries upwards, with the number of its hashes. 0
    /// hashes at a level whose tiles are all full.
    pub fn edge(size: u64) -> impl Iterator<Item = (Self, usize)> {
        let mut count = size;
        let mut level = 0;
        std::iter::from_fn(move || {
            if count == 0 {
                return None;
            }
            let width = TILE_WIDTH as u64;
            let id = Self {
                level,
                index: count / width,
            };
            // Less than 256.
            let rest = usize::try_from(count % width).unwrap_or_default();
            count /= width;
            level += 1;
            Some((id, rest))
        })
    }

    /// The path of a tile with this many hashes: `tile/0/x001/234`, `tile/0/000.p/17`.
    #[must_use]
    pub fn path(self, hashes: usize) -> String {
        format!("tile/{}/{}", self.level, numbered(self.index, hashes))
    }
}

impl fmt::Display for TileId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.path(TILE_WIDTH))
    }
}

/// The path of a bundle with this many entries: `tile/entries/000.p/17`.
#[must_use]
pub fn bundle_path(index: u64, entries: usize) -> String {
    format!("tile/entries/{}", numbered(index, entries))
}

fn numbered(index: u64, width: usize) -> String {
    let mut groups = vec![format!("{:03}", index % 1_000)];
    let mut rest = index / 1_000;
    while rest > 0 {
        groups.push(format!("x{:03}", rest % 1_000));
        rest /= 1_000;
    }
    groups.reverse();
    let path = groups.join("/");
    if width == TILE_WIDTH {
        path
    } else {
        format!("{path}.p/{width}")
    }
}

/// Append an entry to a bundle. None if it is too long for one.
#[must_use]
pub fn add_to_bundle(bundle: &mut Vec<u8>, entry: &[u8]) -> Option<()> {
    let length = u16::try_from(entry.len()).ok()?;
    bundle.extend(length.to_be_bytes());
    bundle.extend(entry);
    Some(())
}

/// The entries of a bundle. None if it is cut.
#[must_use]
pub fn entries_of(mut bundle: &[u8]) -> Option<Vec<&[u8]>> {
    let mut entries = Vec::new();
    while let Some((length, rest)) = bundle.split_first_chunk() {
        let (entry, behind) = rest.split_at_checked(u16::from_be_bytes(*length).into())?;
        entries.push(entry);
        bundle = behind;
    }
    bundle.is_empty().then_some(entries)
}
