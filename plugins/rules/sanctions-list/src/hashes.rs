//! The list of hashes, and how it is read.

use crate::digits;
use serde::Deserialize;
use serde::de::{Deserializer, Error, SeqAccess, Visitor};
use std::fmt;

/// Hashes of a block of a list.
const BLOCK_HASHES: usize = 512;

/// A hash (SHA-256).
pub type Hash = [u8; 32];

/// Hashes of parties in any order.
///
/// They are in blocks of one size. One growing block would need more than twice its own memory while it grows.
#[derive(Default)]
pub struct Hashes {
    blocks: Vec<Vec<Hash>>,
}

impl Hashes {
    /// Whether one of these hashes is in the list.
    #[must_use]
    pub fn has_any(&self, wanted: &[Hash]) -> bool {
        let mut hashes = self.blocks.iter().flatten();
        // Most hashes differ in the first byte. Comparing it first saves fuel.
        hashes.any(|hash| wanted.iter().any(|one| one[0] == hash[0] && one == hash))
    }

    fn push(&mut self, hash: Hash) {
        match self.blocks.last_mut() {
            Some(block) if block.len() < BLOCK_HASHES => block.push(hash),
            _ => {
                let mut block = Vec::with_capacity(BLOCK_HASHES);
                block.push(hash);
                self.blocks.push(block);
            }
        }
    }
}

impl<'de> Deserialize<'de> for Hashes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(List)
    }
}

/// Reads a list without a text for each of its elements.
struct List;

impl<'de> Visitor<'de> for List {
    type Value = Hashes;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of hashes")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Hashes, A::Error> {
        let mut hashes = Hashes::default();
        while let Some(Element(hash)) = elements.next_element()? {
            hashes.push(hash);
        }
        Ok(hashes)
    }
}

/// One hash of a list.
struct Element(Hash);

impl<'de> Deserialize<'de> for Element {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(Digits)
    }
}

struct Digits;

impl Visitor<'_> for Digits {
    type Value = Element;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a hash of 64 hexadecimal digits in lower case")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Element, E> {
        let hash = digits::bytes_of_hash(text.as_bytes());
        // The message has no digits of the text.
        let wrong = || E::custom("must be a hash of 64 hexadecimal digits in lower case");
        hash.map(Element).ok_or_else(wrong)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rialto_sdk::testing::Dice;
    use serde_json::{Value, json};

    fn digits_of(hash: &Hash) -> String {
        hash.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    fn read(value: Value) -> Option<Hashes> {
        serde_json::from_value(value).ok()
    }

    #[test]
    fn only_texts_of_64_digits_are_hashes() {
        let good = "0123456789abcdef".repeat(4);
        assert!(read(json!([good])).is_some());
        assert!(read(json!([])).is_some());
        for wrong in [
            json!([good, ""]),
            json!([good[1..]]),
            json!([good[2..]]),
            json!([format!("{good}0")]),
            json!([good.to_uppercase()]),
            json!([good.replace('f', "g")]),
            json!([format!(" {}", &good[1..])]),
            json!([1]),
            json!([null]),
            json!([[good]]),
            json!(good),
            json!({}),
        ] {
            assert!(read(wrong.clone()).is_none(), "{wrong}");
        }
    }

    #[test]
    fn exactly_the_hashes_of_a_list_are_found() {
        let mut dice = Dice::new(9);
        let mut random = || {
            let mut hash = Hash::default();
            hash.fill_with(|| dice.any().to_le_bytes()[0]);
            hash
        };
        // Lists that end before, at and after the end of a block.
        for count in [
            0,
            1,
            BLOCK_HASHES - 1,
            BLOCK_HASHES,
            BLOCK_HASHES + 1,
            3 * BLOCK_HASHES,
        ] {
            let all: Vec<Hash> = (0..count).map(|_| random()).collect();
            let texts: Vec<String> = all.iter().map(digits_of).collect();
            let hashes = read(json!(texts)).unwrap();
            for hash in &all {
                assert!(hashes.has_any(&[random(), *hash]));
                let (mut first, mut last) = (*hash, *hash);
                first[0] ^= 1;
                last[31] ^= 1;
                assert!(!hashes.has_any(&[first, last]));
            }
            assert!(!hashes.has_any(&[random(), random()]));
            assert!(!hashes.has_any(&[]));
        }
    }
}
