//! Which eras may have a document: a Bloom filter for each, held so that one look tells of 64 eras.
//!
//! Nearly every first look of a payment is for a document that is nowhere, and ends here. A filter may
//! err towards "perhaps there", never the other way: that costs a read, and nothing else.
//!
//! 64 filters make a part. It is held crosswise, with a word for each position in which every era of
//! the part has its bit. A document has ten positions; the eras whose bits are set in all ten words
//! may have it, and mostly no bit is left after three or four.

use std::hash::Hasher as _;

use rialto_engine::CollectionId;
use siphasher::sip::SipHasher13;

/// Documents that a filter is made for, as a power of two.
pub(crate) const ERA_BITS: u32 = 16;
/// Positions of a filter: 24 for a document, so that one fresh id in 50,000 is looked for in vain.
const POSITIONS: usize = 24 << ERA_BITS;
/// Positions of a document.
const LOOKS: u64 = 10;
/// Eras of a part.
const PART: u32 = u64::BITS;

/// See the module's documentation.
pub(crate) struct Filter {
    key: u64,
    parts: Vec<Box<[u64]>>,
}

impl Filter {
    /// Of no documents. Whoever does not know the key cannot choose ids that look alike.
    pub fn new(key: u64) -> Self {
        Self {
            key,
            parts: Vec::new(),
        }
    }

    /// A document's full name as one number. Stores keep what is made of it, so it can never change.
    pub fn fingerprint(&self, collection: CollectionId, id: &str) -> u64 {
        let mut hasher = SipHasher13::new_with_keys(self.key, 0);
        hasher.write(&collection.0.to_le_bytes());
        hasher.write(id.as_bytes());
        hasher.finish()
    }

    /// An era has this document.
    pub fn note(&mut self, era: u32, fingerprint: u64) {
        let bit = 1 << (era % PART);
        let part = self.part(era);
        for position in positions(fingerprint) {
            part[position] |= bit;
        }
    }

    /// The eras that may have it, the newest first.
    pub fn eras(&self, fingerprint: u64) -> Vec<u32> {
        let mut found = Vec::new();
        for (n, part) in self.parts.iter().enumerate().rev() {
            let mut left = u64::MAX;
            for position in positions(fingerprint) {
                left &= part[position];
                if left == 0 {
                    break;
                }
            }
            while left != 0 {
                let last = left.ilog2();
                found.push(n as u32 * PART + last);
                left ^= 1 << last;
            }
        }
        found
    }

    /// An era's filter by itself, as bytes: position 0 is the lowest bit of the first.
    pub fn image(&self, era: u32) -> Vec<u8> {
        let Some(part) = self.parts.get((era / PART) as usize) else {
            return vec![0; POSITIONS / 8];
        };
        let place = era % PART;
        let bytes = part.chunks_exact(8).map(|words| {
            let bits = words.iter().enumerate();
            bits.fold(0, |byte, (n, word)| byte | ((word >> place & 1) as u8) << n)
        });
        bytes.collect()
    }

    /// Put in what `image` gave. Answers whether it has the length of one.
    #[must_use]
    pub fn put(&mut self, era: u32, image: &[u8]) -> bool {
        let place = era % PART;
        let words = self.part(era).chunks_exact_mut(8);
        if words.len() != image.len() {
            return false;
        }
        for (words, byte) in words.zip(image) {
            for (n, word) in words.iter_mut().enumerate() {
                *word |= u64::from(byte >> n & 1) << place;
            }
        }
        true
    }

    fn part(&mut self, era: u32) -> &mut [u64] {
        let part = (era / PART) as usize;
        while self.parts.len() <= part {
            self.parts.push(vec![0; POSITIONS].into());
        }
        &mut self.parts[part]
    }
}

/// Where a document has its bits.
fn positions(fingerprint: u64) -> impl Iterator<Item = usize> {
    let step = fingerprint
        .rotate_left(32)
        .wrapping_mul(0x9e37_79b9_7f4a_7c15)
        | 1;
    (0..LOOKS).map(move |n| {
        let at = fingerprint.wrapping_add(step.wrapping_mul(n));
        // Less than POSITIONS, for the factor is less than one.
        ((u128::from(at) * POSITIONS as u128) >> 64) as usize
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const FULL: u64 = 1 << ERA_BITS;

    fn of(filter: &Filter, n: u64) -> u64 {
        filter.fingerprint(CollectionId(7), &n.to_string())
    }

    #[test]
    fn what_stores_have_kept_is_still_what_they_ask_for() {
        let filter = Filter::new(0);
        let of = |collection, id| filter.fingerprint(CollectionId(collection), id);
        assert_eq!(of(0, ""), 0xcc22_47b7_9ac4_8af0);
        let id = "b51ec534-ee48-4575-b6a9-ead2955b8069";
        assert_eq!(of(1, id), 0x4bcc_07d3_7452_523b);
        assert_eq!(of(u32::MAX, "Ö 1"), 0x57e3_1930_f03d_51ed);
        let first: Vec<usize> = positions(1 << 63).take(2).collect();
        assert_eq!(first, [786_432, 786_432]);
    }

    #[test]
    fn a_full_era_is_found_for_all_it_has_and_for_little_else() {
        for era in [0, 63, 64, 200] {
            let mut filter = Filter::new(3);
            for n in 0..FULL {
                filter.note(era, of(&filter, n));
            }
            assert!((0..FULL).all(|n| filter.eras(of(&filter, n)) == [era]));
            let fresh = FULL..FULL + 1_000_000;
            let wrong = fresh.filter(|n| !filter.eras(of(&filter, *n)).is_empty());
            assert!(wrong.count() < 100);
        }
    }

    #[test]
    fn the_newest_era_comes_first() {
        let mut filter = Filter::new(3);
        let one = of(&filter, 1);
        for era in [5, 64, 9, 130] {
            filter.note(era, one);
        }
        assert_eq!(filter.eras(one), [130, 64, 9, 5]);
    }

    #[test]
    fn what_was_kept_of_an_era_is_put_back_beside_others() {
        let mut filter = Filter::new(3);
        let (one, two) = (of(&filter, 1), of(&filter, 2));
        filter.note(66, one);
        let image = filter.image(66);
        assert_eq!(filter.image(640), vec![0; image.len()]);
        let mut other = Filter::new(3);
        other.note(67, two);
        assert!(other.put(66, &image));
        assert!(!other.put(66, &image[1..]));
        assert_eq!((other.eras(one), other.eras(two)), (vec![66], vec![67]));
    }
}
