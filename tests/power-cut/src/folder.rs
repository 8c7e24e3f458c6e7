//! The names in a directory: those on the disk for good, and what was done with them since.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

use crate::luck::Luck;

/// What one call did, whole or not at all: each name, and the file that it stands for since.
type Done = Vec<(OsString, Option<u64>)>;

/// A directory's names.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    now: BTreeMap<OsString, u64>,
    synced: BTreeMap<OsString, u64>,
    since: Vec<Done>,
}

impl Names {
    pub fn get(&self, name: &OsStr) -> Option<u64> {
        self.now.get(name).copied()
    }

    pub fn all(&self) -> impl Iterator<Item = (&OsString, u64)> {
        self.now.iter().map(|(name, node)| (name, *node))
    }

    pub fn is_empty(&self) -> bool {
        self.now.is_empty()
    }

    pub fn is_synced(&self) -> bool {
        self.since.is_empty()
    }

    pub fn put(&mut self, name: &OsStr, node: u64) {
        self.change(vec![(name.to_owned(), Some(node))]);
    }

    pub fn remove(&mut self, name: &OsStr) {
        self.change(vec![(name.to_owned(), None)]);
    }

    pub fn rename(&mut self, from: &OsStr, to: &OsStr, node: u64) {
        self.change(vec![(from.to_owned(), None), (to.to_owned(), Some(node))]);
    }

    pub fn sync(&mut self) {
        self.synced.clone_from(&self.now);
        self.since.clear();
    }

    /// The state after a power cut: some of the calls since the last sync. Some disks keep their order, others
    /// do not.
    pub fn cut(&mut self, luck: &mut Luck) {
        let changes = std::mem::take(&mut self.since);
        let in_order = luck.survives();
        let first = luck.how_many(changes.len());
        for (n, change) in changes.iter().enumerate() {
            let survives = if in_order { n < first } else { luck.survives() };
            if survives {
                apply(&mut self.synced, change);
            }
        }
        self.now.clone_from(&self.synced);
    }

    fn change(&mut self, done: Done) {
        apply(&mut self.now, &done);
        self.since.push(done);
    }
}

fn apply(names: &mut BTreeMap<OsString, u64>, done: &Done) {
    for (name, node) in done {
        match node {
            Some(node) => names.insert(name.clone(), *node),
            None => names.remove(name),
        };
    }
}
