//! The rows of the documents that were written to the tables last: those of the two newest segments, as far as this process
//! has seen them. Most documents that change are among them, and a row is found sooner by its row id than by an index.
//!
//! An entry is a guess. Whoever uses it compares the row's collection and id, and looks further if they are others: the row may
//! be gone, or a flush that failed may have left its row id to another document.

use std::collections::HashMap;

/// Row ids by the fingerprints of documents, for two segments.
#[derive(Default)]
pub(crate) struct RecentRows {
    /// The segment of `newest`.
    segment: u32,
    newest: HashMap<u64, u64>,
    before: HashMap<u64, u64>,
}

impl RecentRows {
    /// Note the row id of a document, which is in this segment. Segments come in order, but for a flush that failed and gives
    /// its row ids again.
    pub fn note(&mut self, segment: u32, fingerprint: u64, row_id: u64) {
        if segment > self.segment {
            self.before = std::mem::take(&mut self.newest);
            self.segment = segment;
        }
        self.newest.insert(fingerprint, row_id);
    }

    /// The row that the document is probably in.
    pub fn guess(&self, fingerprint: u64) -> Option<u64> {
        let found = self.newest.get(&fingerprint);
        found.or_else(|| self.before.get(&fingerprint)).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_segments_are_remembered() {
        let mut rows = RecentRows::default();
        for segment in 3..6 {
            rows.note(segment, 7, u64::from(segment));
            rows.note(segment, u64::from(segment), 1);
        }
        assert_eq!(rows.guess(7), Some(5), "the newest");
        let found = [3, 4, 5, 6].map(|n| rows.guess(n));
        assert_eq!(found, [None, Some(1), Some(1), None]);
        rows.note(4, 8, 2);
        let found = [4, 5, 8].map(|n| rows.guess(n));
        assert_eq!(found, [Some(1), Some(1), Some(2)], "a flush is done again");
    }
}
