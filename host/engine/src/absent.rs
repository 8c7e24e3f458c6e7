//! Knowing that a document does not exist without asking the store: a Bloom filter over all keys.
//!
//! Nearly every first look at a document of a payment is for a fresh id that is not there. The
//! filter answers that from memory. It may err towards "perhaps there", never the other way, so it
//! costs a read when it is wrong and is right without one. It is filled from the store in the
//! background after a restart; until that is done everything is "perhaps there". It is made for
//! twice what the store holds then, so that a key is looked for in one place; when it has taken what
//! it was made for, a layer of twice the size is put on top.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use parking_lot::RwLock;

use crate::fingerprint::Fingerprint;

/// Keys of the first layer, at least.
const LAYER_KEYS_MIN: usize = 1 << 18;
/// Keys of the first layer, at most: some 200 MB.
const LAYER_KEYS_MAX: usize = 1 << 27;
/// Keys that a line is made for: with so many, one fresh id in some two hundred is read for nothing.
const LINE_KEYS: usize = 42;
/// Words of a line.
const LINE_WORDS: usize = 8;

/// What one key is noted in: a bit in each word. As large as what a processor takes from memory at
/// once, for that is what noting and looking cost.
#[repr(align(64))]
#[derive(Default)]
struct Line([AtomicU64; LINE_WORDS]);

impl Line {
    /// The word and its bit, for each word.
    fn places(&self, key: Fingerprint) -> impl Iterator<Item = (&AtomicU64, u64)> {
        // The upper bits have chosen the line; these depend on all of them.
        let bits = key.0.rotate_left(32).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 16;
        let bit = move |n: usize| 1 << (bits >> (6 * n) & 63);
        self.0
            .iter()
            .enumerate()
            .map(move |(n, word)| (word, bit(n)))
    }
}

struct Layer {
    lines: Box<[Line]>,
    capacity: usize,
    keys: AtomicUsize,
}

impl Layer {
    fn new(capacity: usize) -> Self {
        let lines = capacity.div_ceil(LINE_KEYS);
        Self {
            lines: (0..lines).map(|_| Line::default()).collect(),
            capacity,
            keys: AtomicUsize::new(0),
        }
    }

    /// Ascending with the key, so that sorted keys go through memory in order.
    fn line(&self, key: Fingerprint) -> &Line {
        let line = (u128::from(key.0) * self.lines.len() as u128) >> 64;
        &self.lines[usize::try_from(line).unwrap_or(0)]
    }

    fn is_full(&self) -> bool {
        self.keys.load(Ordering::Relaxed) >= self.capacity
    }

    fn has(&self, key: Fingerprint) -> bool {
        self.line(key)
            .places(key)
            .all(|(word, bit)| word.load(Ordering::Relaxed) & bit != 0)
    }

    /// Whether it was there.
    fn insert(&self, key: Fingerprint) -> bool {
        let mut was_there = true;
        for (word, bit) in self.line(key).places(key) {
            if word.load(Ordering::Relaxed) & bit == 0 {
                was_there = false;
                word.fetch_or(bit, Ordering::Relaxed);
            }
        }
        was_there
    }
}

/// The filter.
pub struct Absent {
    layers: RwLock<Vec<Layer>>,
    complete: AtomicBool,
}

impl Absent {
    /// A filter of nothing yet, for a store of about so many keys.
    pub fn of(stored: usize) -> Self {
        let capacity = stored
            .saturating_mul(2)
            .clamp(LAYER_KEYS_MIN, LAYER_KEYS_MAX);
        Self {
            layers: RwLock::new(vec![Layer::new(capacity)]),
            complete: AtomicBool::new(false),
        }
    }

    /// Whether the document surely is not in the store.
    pub fn is_surely_absent(&self, key: Fingerprint) -> bool {
        let complete = self.complete.load(Ordering::Acquire);
        complete && !self.layers.read().iter().any(|layer| layer.has(key))
    }

    /// Note that these documents exist, or did once.
    pub fn note(&self, keys: &[Fingerprint]) {
        let mut rest = keys;
        loop {
            let left = note_in(&self.layers.read(), rest);
            let Some(left) = left else {
                return;
            };
            rest = left;
            let mut layers = self.layers.write();
            // Another thread may have added one while this one waited for the lock.
            let full = layers.last().filter(|top| top.is_full());
            if let Some(twice) = full.map(|top| top.capacity * 2) {
                layers.push(Layer::new(twice));
            }
        }
    }

    /// Every key of the store has been noted: answers count from now on.
    pub fn complete(&self) {
        self.complete.store(true, Ordering::Release);
    }
}

/// Note these keys in the layer on top; those that are left when it is full, if any.
fn note_in<'k>(layers: &[Layer], keys: &'k [Fingerprint]) -> Option<&'k [Fingerprint]> {
    let (top, below) = layers.split_last()?;
    for (n, key) in keys.iter().enumerate() {
        if below.iter().any(|layer| layer.has(*key)) {
            continue;
        }
        if top.is_full() && !top.has(*key) {
            return Some(&keys[n..]);
        }
        if !top.insert(*key) {
            top.keys.fetch_add(1, Ordering::Relaxed);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::CollectionId;

    fn of(collection: u32, n: usize) -> Fingerprint {
        Fingerprint::of(CollectionId(collection), &n.to_string())
    }

    #[test]
    fn nothing_is_surely_absent_before_the_store_has_been_read() {
        let absent = Absent::of(0);
        assert!(!absent.is_surely_absent(of(1, 1)));
        absent.complete();
        assert!(absent.is_surely_absent(of(1, 1)));
    }

    #[test]
    fn what_was_noted_is_never_surely_absent_and_little_else_is_read_in_vain() {
        // Within the first layer, and well into the third.
        for count in [LAYER_KEYS_MIN, 4 * LAYER_KEYS_MIN] {
            let absent = Absent::of(0);
            absent.complete();
            let keys: Vec<_> = (0..count).map(|n| of(7, n)).collect();
            keys.chunks(1_000).for_each(|some| absent.note(some));
            assert!((0..count).all(|n| !absent.is_surely_absent(of(7, n))));
            let wrong = (0..100_000)
                .filter(|n| !absent.is_surely_absent(of(8, *n)))
                .count();
            assert!(wrong < 1_000, "{wrong} of 100000 fresh keys would be read");
        }
    }

    #[test]
    fn a_filter_is_made_for_what_the_store_holds() {
        for stored in [0, 1_000_000] {
            let absent = Absent::of(stored);
            let keys: Vec<_> = (0..stored).map(|n| of(7, n)).collect();
            absent.note(&keys);
            assert_eq!(absent.layers.read().len(), 1);
        }
    }
}
