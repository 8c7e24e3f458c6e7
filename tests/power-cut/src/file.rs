//! The bytes of a file: what is on the disk for good, and what was written since.

use std::ops::Range;

use crate::luck::Luck;

/// The smallest piece that a disk writes whole.
const SECTOR: usize = 512;

/// What happened to a file since it was last synced.
#[derive(Clone, Debug)]
enum Change {
    Written { at: usize, bytes: Vec<u8> },
    Length(usize),
}

/// A file's bytes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bytes {
    /// As current readers see them.
    now: Vec<u8>,
    /// As they were when they were last synced.
    synced: Vec<u8>,
    /// What leads from the one to the other, in order.
    since: Vec<Change>,
}

impl Bytes {
    pub fn now(&self) -> &[u8] {
        &self.now
    }

    pub fn is_synced(&self) -> bool {
        self.since.is_empty()
    }

    pub fn write(&mut self, at: usize, bytes: &[u8]) {
        let change = Change::Written {
            at,
            bytes: bytes.to_vec(),
        };
        change.apply(&mut self.now);
        self.since.push(change);
    }

    pub fn set_length(&mut self, length: usize) {
        self.now.resize(length, 0);
        self.since.push(Change::Length(length));
    }

    pub fn sync(&mut self) {
        for change in self.since.drain(..) {
            change.apply(&mut self.synced);
        }
    }

    /// The state after a power cut. Each sector, and the length, independently has a random value since the
    /// last sync: writes are torn and reordered.
    pub fn cut(&mut self, luck: &mut Luck) {
        let changes = std::mem::take(&mut self.since);
        let mut left = std::mem::take(&mut self.synced);
        if !changes.is_empty() {
            let length = surviving_length(&left, &changes, luck);
            let longest = changes.iter().map(Change::end).max();
            left.resize(longest.unwrap_or(0).max(left.len()), 0);
            let sectors = luck.sector_bytes(SECTOR);
            for from in (0..left.len()).step_by(sectors) {
                let sector = from..(from + sectors).min(left.len());
                let touching: Vec<&Change> =
                    changes.iter().filter(|c| c.touches(&sector)).collect();
                for change in &touching[..luck.how_many(touching.len())] {
                    change.apply_to(&mut left[sector.clone()], from);
                }
            }
            left.resize(length, 0);
        }
        self.now.clone_from(&left);
        self.synced = left;
    }
}

impl Change {
    /// Do the whole of it.
    fn apply(&self, to: &mut Vec<u8>) {
        match self {
            Self::Written { at, bytes } => {
                if to.len() < at + bytes.len() {
                    to.resize(at + bytes.len(), 0);
                }
                to[*at..at + bytes.len()].copy_from_slice(bytes);
            }
            Self::Length(length) => to.resize(*length, 0),
        }
    }

    /// The first place behind all that it writes.
    fn end(&self) -> usize {
        match self {
            Self::Written { at, bytes } => at + bytes.len(),
            Self::Length(length) => *length,
        }
    }

    fn touches(&self, sector: &Range<usize>) -> bool {
        match self {
            Self::Written { at, .. } => *at < sector.end && sector.start < self.end(),
            // A range that was cut off and then extended again is zeros.
            Self::Length(length) => *length < sector.end,
        }
    }

    /// Applies it to one sector, which begins at `from`.
    fn apply_to(&self, sector: &mut [u8], from: usize) {
        let to = from + sector.len();
        match self {
            Self::Written { at, bytes } => {
                let (first, last) = ((*at).max(from), self.end().min(to));
                if first < last {
                    sector[first - from..last - from]
                        .copy_from_slice(&bytes[first - at..last - at]);
                }
            }
            Self::Length(length) => {
                let kept = length.clamp(&from, &to) - from;
                sector[kept..].fill(0);
            }
        }
    }
}

/// One of the lengths that the file has had since it was synced.
fn surviving_length(synced: &[u8], changes: &[Change], luck: &mut Luck) -> usize {
    let mut lengths = vec![synced.len()];
    let mut now = synced.len();
    for change in changes {
        let after = match change {
            Change::Written { .. } => now.max(change.end()),
            Change::Length(length) => *length,
        };
        if after != now {
            lengths.push(after);
            now = after;
        }
    }
    lengths[luck.how_many(lengths.len() - 1)]
}
