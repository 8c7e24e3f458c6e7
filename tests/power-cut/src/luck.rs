//! What of the unsynced survives a power cut.

use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};

/// How much of what was not synced survives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Survives {
    /// Nothing: all of it was in the machine's memory.
    Nothing,
    /// All of it: what a process that is killed leaves.
    Everything,
    /// Each sector and directory independently has a random state since the last sync.
    Some,
}

/// See the module's documentation.
pub(crate) struct Luck {
    survives: Survives,
    random: StdRng,
}

impl Luck {
    pub fn new(survives: Survives, seed: u64) -> Self {
        Self {
            survives,
            random: StdRng::seed_from_u64(seed),
        }
    }

    /// The number of surviving changes of a sequence: the first ones.
    pub fn how_many(&mut self, of: usize) -> usize {
        match self.survives {
            Survives::Nothing => 0,
            Survives::Everything => of,
            // All or none of them is what happens most: a sector is written once in a while.
            Survives::Some => match self.random.random_range(0..4) {
                0 => 0,
                1 => of,
                _ => self.random.random_range(0..=of),
            },
        }
    }

    /// Whether a change survives, independently of earlier ones.
    pub fn survives(&mut self) -> bool {
        match self.survives {
            Survives::Nothing => false,
            Survives::Everything => true,
            Survives::Some => self.random.random(),
        }
    }

    /// The bytes that this disk writes whole: its sectors, or pages of eight.
    pub fn sector_bytes(&mut self, sector: usize) -> usize {
        if self.random.random() {
            sector
        } else {
            8 * sector
        }
    }
}
