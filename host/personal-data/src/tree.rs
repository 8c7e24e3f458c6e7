//! The tree of keys: a puncturable pseudorandom function. It derives the key of each of 2^96 leaves from a few seeds,
//! and can forget one leaf, whose key nobody can compute afterwards.
//!
//! The tree is binary, as Goldreich, Goldwasser and Micali have described it ("How to construct random functions",
//! 1986): HMAC-SHA-256 under a node's seed gives the seeds of its two children. At first there is the root's seed
//! alone. To forget a leaf, the node above it is replaced by the siblings of all nodes on the way down: at most 96
//! seeds, about 4 KiB. None of them leads to the leaf.

use std::collections::BTreeMap;

use aws_lc_rs::hmac::{HMAC_SHA256, Key, sign};
use zeroize::Zeroizing;

use crate::pseudonym::Leaf;

/// Levels below the root.
pub const DEPTH: u8 = 96;
/// Bytes of a seed and of a key.
pub const SEED_BYTES: usize = 32;

/// A seed, or the key of a leaf. It is overwritten when it is dropped.
pub type Seed = Zeroizing<[u8; SEED_BYTES]>;

/// A node whose seed is known.
#[derive(Clone)]
pub struct Node {
    /// Levels below the root: 0 to 96.
    pub depth: u8,
    /// From which all keys below it come.
    pub seed: Seed,
}

/// The known nodes, by the number of their first leaf. No node is below another.
#[derive(Clone)]
pub struct Tree {
    nodes: BTreeMap<u128, Node>,
}

impl Tree {
    /// A tree with all leaves.
    #[must_use]
    pub fn new(root: Seed) -> Self {
        let root = Node {
            depth: 0,
            seed: root,
        };
        Self {
            nodes: BTreeMap::from([(0, root)]),
        }
    }

    /// A tree of these nodes, by the number of their first leaf. None if one is below another, or begins where none of
    /// its depth does.
    #[must_use]
    pub fn of(nodes: BTreeMap<u128, Node>) -> Option<Self> {
        let mut next = 0;
        for (&first, node) in &nodes {
            if node.depth > DEPTH || first < next || first % leaves(node.depth) != 0 {
                return None;
            }
            next = first + leaves(node.depth);
        }
        (next <= leaves(0)).then_some(Self { nodes })
    }

    /// The known nodes, by the number of their first leaf.
    #[must_use]
    pub const fn nodes(&self) -> &BTreeMap<u128, Node> {
        &self.nodes
    }

    /// The key of a leaf; none if it was forgotten.
    #[must_use]
    pub fn key(&self, leaf: Leaf) -> Option<Seed> {
        let (_, node) = self.above(leaf)?;
        let number = leaf.number();
        let mut seed = node.seed.clone();
        for depth in node.depth..DEPTH {
            seed = child(&seed, is_right(number, depth));
        }
        Some(child_key(&seed))
    }

    /// Whether a leaf's key can be derived.
    #[must_use]
    pub fn has(&self, leaf: Leaf) -> bool {
        self.above(leaf).is_some()
    }

    /// Forget a leaf. Returns whether its key could be derived.
    pub fn forget(&mut self, leaf: Leaf) -> bool {
        let Some((first, _)) = self.above(leaf) else {
            return false;
        };
        let Some(node) = self.nodes.remove(&first) else {
            return false;
        };
        let number = leaf.number();
        let (mut first, mut seed) = (first, node.seed);
        for depth in node.depth..DEPTH {
            let is_right = is_right(number, depth);
            let half = leaves(depth + 1);
            let sibling = Node {
                depth: depth + 1,
                seed: child(&seed, !is_right),
            };
            let (down, aside) = if is_right {
                (first + half, first)
            } else {
                (first, first + half)
            };
            self.nodes.insert(aside, sibling);
            (first, seed) = (down, child(&seed, is_right));
        }
        true
    }

    /// The known node above a leaf, or at it, with the number of its first leaf.
    fn above(&self, leaf: Leaf) -> Option<(u128, &Node)> {
        let number = leaf.number();
        let (&first, node) = self.nodes.range(..=number).next_back()?;
        (number - first < leaves(node.depth)).then_some((first, node))
    }
}

/// How many leaves are below a node of this depth.
const fn leaves(depth: u8) -> u128 {
    1 << (DEPTH - depth)
}

/// Whether the way from a node of this depth to a leaf goes to the right.
const fn is_right(number: u128, depth: u8) -> bool {
    number >> (DEPTH - 1 - depth) & 1 == 1
}

fn child(seed: &Seed, is_right: bool) -> Seed {
    derived(seed, if is_right { b"right" } else { b"left" })
}

/// The key of a leaf, which is not its seed: seeds are in the file.
fn child_key(seed: &Seed) -> Seed {
    derived(seed, b"key")
}

fn derived(seed: &Seed, label: &[u8]) -> Seed {
    let key = Key::new(HMAC_SHA256, &**seed);
    let mut derived = Zeroizing::new([0; SEED_BYTES]);
    derived.copy_from_slice(sign(&key, label).as_ref());
    derived
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn tree() -> Tree {
        Tree::new(Zeroizing::new([7; SEED_BYTES]))
    }

    /// Leaves that are close to each other, and others.
    fn leaf() -> impl Strategy<Value = Leaf> {
        let near = (0_u128..40, 0_u8..97).prop_map(|(low, shift)| low << shift >> 1);
        prop_oneof![near, any::<u128>()].prop_map(Leaf::of_number)
    }

    proptest! {
        /// A model: a set of the leaves that were forgotten. The keys of all others stay what they were.
        #[test]
        fn just_the_forgotten_leaves_have_no_key(
            forgotten in proptest::collection::vec(leaf(), 0..12),
            others in proptest::collection::vec(leaf(), 1..12),
        ) {
            let (whole, mut punctured) = (tree(), tree());
            let mut gone = BTreeSet::new();
            for &leaf in &forgotten {
                prop_assert_eq!(punctured.forget(leaf), gone.insert(leaf));
                let read_back = Tree::of(punctured.nodes().clone());
                prop_assert!(read_back.is_some());
            }
            prop_assert!(punctured.nodes().len() <= 1 + 96 * forgotten.len());
            for &leaf in forgotten.iter().chain(&others) {
                prop_assert_eq!(punctured.has(leaf), !gone.contains(&leaf));
                let key = punctured.key(leaf);
                prop_assert_eq!(key.is_some(), !gone.contains(&leaf));
                if let Some(key) = key {
                    prop_assert_eq!(key, whole.key(leaf).unwrap());
                }
            }
        }

        #[test]
        fn leaves_have_different_keys(one in leaf(), other in leaf()) {
            let tree = tree();
            prop_assert_eq!(tree.key(one) == tree.key(other), one == other);
        }
    }

    #[test]
    fn no_known_seed_is_above_a_forgotten_leaf_or_its_key() {
        let mut tree = tree();
        let leaf = Leaf::of_number(0x0123_4567_89ab_cdef_0123_4567);
        let key = tree.key(leaf).unwrap();
        tree.forget(leaf);
        assert_eq!(tree.nodes().len(), 96);
        for (&first, node) in tree.nodes() {
            let last = first + (leaves(node.depth) - 1);
            assert!(!(first..=last).contains(&leaf.number()));
            assert_ne!(node.seed, key);
        }
        let covered: u128 = tree.nodes().values().map(|node| leaves(node.depth)).sum();
        assert_eq!(covered, leaves(0) - 1);
    }

    #[test]
    fn nodes_that_are_no_tree_are_refused() {
        let node = |depth| Node {
            depth,
            seed: Zeroizing::new([1; SEED_BYTES]),
        };
        for (wrong, why) in [
            (vec![(0, node(0)), (1, node(96))], "one below another"),
            (vec![(1, node(95))], "one that begins in the middle"),
            (vec![(0, node(97))], "one below the leaves"),
            (vec![(leaves(0), node(96))], "one behind the last leaf"),
        ] {
            let nodes: BTreeMap<_, _> = wrong.into_iter().collect();
            assert!(Tree::of(nodes).is_none(), "{why}");
        }
        assert!(Tree::of(BTreeMap::new()).is_some());
    }
}
