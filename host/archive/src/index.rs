//! The index of an archive: for each subject, the blocks with its items, and how many items each has.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Blocks that have items about a subject, each with how many.
pub(crate) type Found = Vec<(u32, u32)>;

/// A line of the index.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Line(pub String, pub Found);

/// An index that is being made.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Index(pub BTreeMap<String, Found>);

impl Index {
    /// An item of this block is about these. A subject that an item has twice counts once.
    pub fn add(&mut self, block: u32, about: &[&str]) {
        for (n, subject) in about.iter().enumerate() {
            if about[..n].contains(subject) {
                continue;
            }
            let found = match self.0.get_mut(*subject) {
                Some(found) => found,
                None => self.0.entry((*subject).to_owned()).or_default(),
            };
            let last = found.last().map_or(0, |(last, _)| *last);
            assert!(
                last <= block,
                "an item about {subject} is in block {block}, and the one before it in block {last}"
            );
            match found.last_mut() {
                Some((last, count)) if *last == block => *count += 1,
                _ => found.push((block, 1)),
            }
        }
    }
}
