//! Knowing that a document does not exist without asking the store: a Bloom filter over all keys.
//!
//! Nearly every first look at a document of a payment is for a fresh id that is not there. The
//! filter answers that from memory. It may err towards "perhaps there", never the other way, so it
//! costs a read when it is wrong and is right without one. It is filled from the store in the
//! background after a restart; until that is done everything is "perhaps there". When it has
//! taken what it was made for, a layer of twice the size is put on top.

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use fastbloom::AtomicBloomFilter;
use parking_lot::RwLock;

use crate::ids::CollectionId;

/// Keys of the first layer.
const LAYER_KEYS_MIN: usize = 1 << 18;
/// One unneeded read in this many fresh ids, for each layer.
const FALSE_POSITIVE_RATE: f64 = 1.0 / 256.0;

struct Layer {
    filter: AtomicBloomFilter,
    capacity: usize,
    keys: AtomicUsize,
}

impl Layer {
    fn new(capacity: usize) -> Self {
        Self {
            filter: AtomicBloomFilter::with_false_pos(FALSE_POSITIVE_RATE).expected_items(capacity),
            capacity,
            keys: AtomicUsize::new(0),
        }
    }
}

/// The filter.
pub struct Absent {
    layers: RwLock<Vec<Layer>>,
    hasher: RandomState,
    complete: AtomicBool,
}

impl Default for Absent {
    fn default() -> Self {
        Self {
            layers: RwLock::new(vec![Layer::new(LAYER_KEYS_MIN)]),
            hasher: RandomState::new(),
            complete: AtomicBool::new(false),
        }
    }
}

impl Absent {
    /// Whether the document surely is not in the store.
    pub fn is_surely_absent(&self, collection: CollectionId, id: &str) -> bool {
        if !self.complete.load(Ordering::Acquire) {
            return false;
        }
        let hash = self.hasher.hash_one((collection, id));
        !self
            .layers
            .read()
            .iter()
            .any(|layer| layer.filter.contains(&hash))
    }

    /// Note that the document exists, or did once.
    pub fn note(&self, collection: CollectionId, id: &str) {
        let hash = self.hasher.hash_one((collection, id));
        {
            let layers = self.layers.read();
            if layers.iter().any(|layer| layer.filter.contains(&hash)) {
                return;
            }
            if let Some(layer) = layers.last()
                && layer.keys.fetch_add(1, Ordering::Relaxed) < layer.capacity
            {
                layer.filter.insert(&hash);
                return;
            }
        }
        let mut layers = self.layers.write();
        let capacity = layers.last().map_or(LAYER_KEYS_MIN, |layer| {
            // Another thread may have added a layer while this one waited for the lock.
            if layer.keys.load(Ordering::Relaxed) < layer.capacity {
                0
            } else {
                layer.capacity * 2
            }
        });
        if capacity > 0 {
            layers.push(Layer::new(capacity));
        }
        if let Some(layer) = layers.last() {
            layer.keys.fetch_add(1, Ordering::Relaxed);
            layer.filter.insert(&hash);
        }
    }

    /// Every key of the store has been noted: answers count from now on.
    pub fn complete(&self) {
        self.complete.store(true, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_surely_absent_before_the_store_has_been_read() {
        let absent = Absent::default();
        assert!(!absent.is_surely_absent(CollectionId(1), "a"));
        absent.complete();
        assert!(absent.is_surely_absent(CollectionId(1), "a"));
    }

    #[test]
    fn what_was_noted_is_never_surely_absent_also_beyond_the_first_layer() {
        let absent = Absent::default();
        absent.complete();
        let count = LAYER_KEYS_MIN + 1_000;
        for n in 0..count {
            absent.note(CollectionId(7), &n.to_string());
        }
        assert!((0..count).all(|n| !absent.is_surely_absent(CollectionId(7), &n.to_string())));
        let wrong = (0..10_000)
            .filter(|n| !absent.is_surely_absent(CollectionId(8), &n.to_string()))
            .count();
        assert!(wrong < 200, "{wrong} of 10000 fresh keys would be read");
    }
}
