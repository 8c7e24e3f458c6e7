//! The Bloom filters of segments: which segments may have a document.
//!
//! Nearly every first read of a payment is for a new id, which is in no segment, and ends here. A false
//! positive costs one read of a table. There are no false negatives.
//!
//! Layout: 64 Bloom filters are one part, stored bit-sliced. For each bit position the part has a word with
//! one bit for each of its 64 segments. A document has ten positions. The `and` of its ten words has a bit for
//! each segment that may have the document; usually no bit is left after three or four words.

use std::hash::Hasher as _;

use rialto_engine::CollectionId;
use siphasher::sip::SipHasher13;

/// The number of documents of a Bloom filter, as a power of two.
pub(crate) const SEGMENT_BITS: u32 = 16;
/// Bits of a Bloom filter: 24 for each document. One new id in 40,000 is a false positive of a full segment.
const POSITIONS: usize = 24 << SEGMENT_BITS;
/// Positions (bits) of a document.
const BITS_EACH: u64 = 10;
/// Segments of a part.
const PART: u32 = u64::BITS;
/// Stored Bloom filters that are loaded at once.
pub(crate) const AT_ONCE: usize = 8;
/// Stored Bloom filters of segments beside each other. None where there is none.
pub(crate) type Images = [Option<Vec<u8>>; AT_ONCE];
/// The first byte of a stored Bloom filter: the version of its layout and of its hash.
const LAYOUT: u8 = 1;

const _: () = assert!(
    POSITIONS.is_multiple_of(8),
    "the bits of a segment make whole bytes"
);

/// The Bloom filters of all segments.
pub(crate) struct BloomFilters {
    key: u64,
    parts: Vec<Box<[u64]>>,
}

impl BloomFilters {
    /// Empty filters. The key of the hash is secret, so that a client cannot choose ids that collide.
    pub fn new(key: u64) -> Self {
        Self {
            key,
            parts: Vec::new(),
        }
    }

    /// A document's full name as one number. It can never change, because stored filters are made of it.
    pub fn fingerprint(&self, collection: CollectionId, id: &str) -> u64 {
        let mut hasher = SipHasher13::new_with_keys(self.key, 0);
        hasher.write(&collection.0.to_le_bytes());
        hasher.write(id.as_bytes());
        hasher.finish()
    }

    /// A collection as one number, for the segments that have documents of it.
    pub fn fingerprint_of_collection(&self, collection: CollectionId) -> u64 {
        self.fingerprint(collection, "")
    }

    /// Add a document to a segment's filter.
    pub fn note_document(&mut self, segment: u32, collection: CollectionId, id: &str) {
        self.note(segment, self.fingerprint(collection, id));
        self.note(segment, self.fingerprint_of_collection(collection));
    }

    fn note(&mut self, segment: u32, fingerprint: u64) {
        let bit = 1 << (segment % PART);
        let part = self.part(segment);
        for position in positions(fingerprint) {
            part[position] |= bit;
        }
    }

    /// The segments that may have it, the newest first.
    pub fn segments(&self, fingerprint: u64) -> Vec<u32> {
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
        assert!(
            found.is_sorted_by(|newer, older| newer > older),
            "segments are found that are not in order, the newest first: {found:?}"
        );
        found
    }

    /// The stored form of a segment's Bloom filter: layout, checksum, bits. Position 0 is the lowest bit of the
    /// first byte.
    pub fn image(&self, segment: u32) -> Vec<u8> {
        let offset = segment % PART;
        let bits: Vec<u8> = match self.parts.get((segment / PART) as usize) {
            Some(part) => part
                .chunks_exact(8)
                .map(|words| byte_of(words, offset))
                .collect(),
            None => vec![0; POSITIONS / 8],
        };
        assert!(
            bits.len() == POSITIONS / 8,
            "segment {segment} has {} bytes of bits, and each has {}",
            bits.len(),
            POSITIONS / 8
        );
        let mut image = vec![LAYOUT];
        image.extend(self.checksum(segment, &bits).to_le_bytes());
        image.extend(bits);
        image
    }

    /// Load stored Bloom filters: of this segment, whose number is a multiple of eight, and of the seven behind it.
    /// Eight at a time, because each load goes through the whole part. Returns which were loaded: not those that
    /// are missing or damaged, or have another key.
    #[must_use]
    pub fn put(&mut self, first: u32, images: &Images) -> [bool; AT_ONCE] {
        assert!(
            first.is_multiple_of(AT_ONCE as u32),
            "filters are loaded from segment {first}, which is not the first of {AT_ONCE}"
        );
        let segments = first..;
        let bits = images.iter().zip(segments);
        let bits: Vec<Option<&[u8]>> = bits
            .map(|(image, segment)| self.bits(segment, image.as_deref()?))
            .collect();
        let loaded = std::array::from_fn(|n| bits[n].is_some());
        if bits.iter().all(Option::is_none) {
            return loaded;
        }
        let offset = first % PART;
        let words = self.part(first).chunks_exact_mut(8);
        for (at, words) in words.enumerate() {
            let rows = std::array::from_fn(|n| bits[n].map_or(0, |bits| bits[at]));
            for (word, column) in words.iter_mut().zip(transposed(rows)) {
                *word |= u64::from(column) << offset;
            }
        }
        loaded
    }

    /// The bits of a stored filter of this segment; none if it is damaged or has another key.
    fn bits<'i>(&self, segment: u32, image: &'i [u8]) -> Option<&'i [u8]> {
        let (&[layout], rest) = image.split_first_chunk()?;
        let (checksum, bits) = rest.split_first_chunk()?;
        let fits = layout == LAYOUT && bits.len() == POSITIONS / 8;
        let fits = fits && u64::from_le_bytes(*checksum) == self.checksum(segment, bits);
        fits.then_some(bits)
    }

    fn checksum(&self, segment: u32, bits: &[u8]) -> u64 {
        let mut hasher = SipHasher13::new_with_keys(self.key, u64::from(segment) + 1);
        hasher.write(bits);
        hasher.finish()
    }

    fn part(&mut self, segment: u32) -> &mut [u64] {
        let part = (segment / PART) as usize;
        while self.parts.len() <= part {
            self.parts.push(vec![0; POSITIONS].into());
        }
        &mut self.parts[part]
    }
}

/// The columns of eight rows of eight bits: bit `n` of row `m` is bit `m` of column `n`.
fn transposed(rows: [u8; 8]) -> [u8; 8] {
    // Halves change places across the diagonal: of blocks of two, four and eight bits.
    let mut bits = u64::from_le_bytes(rows);
    for (distance, mask) in [
        (7, 0x00aa_00aa_00aa_00aa),
        (14, 0x0000_cccc_0000_cccc),
        (28, 0x0000_0000_f0f0_f0f0),
    ] {
        let changed = (bits ^ (bits >> distance)) & mask;
        bits ^= changed ^ (changed << distance);
    }
    bits.to_le_bytes()
}

/// One segment's bits of eight words.
fn byte_of(words: &[u64], offset: u32) -> u8 {
    let bits = words.iter().enumerate();
    bits.fold(0, |byte, (n, word)| {
        byte | ((word >> offset & 1) as u8) << n
    })
}

/// The positions of a document.
fn positions(fingerprint: u64) -> impl Iterator<Item = usize> {
    let step = fingerprint
        .rotate_left(32)
        .wrapping_mul(0x9e37_79b9_7f4a_7c15)
        | 1;
    (0..BITS_EACH).map(move |n| {
        let at = fingerprint.wrapping_add(step.wrapping_mul(n));
        // Less than POSITIONS, because the factor is less than one.
        ((u128::from(at) * POSITIONS as u128) >> 64) as usize
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const FULL: u64 = 1 << SEGMENT_BITS;

    /// Load one stored filter.
    fn put_one(bloom_filters: &mut BloomFilters, segment: u32, image: &[u8]) -> bool {
        let at = segment as usize % AT_ONCE;
        let mut images = Images::default();
        images[at] = Some(image.to_vec());
        bloom_filters.put(segment - at as u32, &images)[at]
    }

    fn of(bloom_filters: &BloomFilters, n: u64) -> u64 {
        bloom_filters.fingerprint(CollectionId(7), &n.to_string())
    }

    #[test]
    fn what_stores_have_kept_is_still_what_they_ask_for() {
        let bloom_filters = BloomFilters::new(0);
        let of = |collection, id| bloom_filters.fingerprint(CollectionId(collection), id);
        assert_eq!(of(0, ""), 0xcc22_47b7_9ac4_8af0);
        let id = "b51ec534-ee48-4575-b6a9-ead2955b8069";
        assert_eq!(of(1, id), 0x4bcc_07d3_7452_523b);
        assert_eq!(of(u32::MAX, "Ö 1"), 0x57e3_1930_f03d_51ed);
        let all: Vec<usize> = positions(of(1, id)).collect();
        let expected = [
            465_696, 28_248, 1_163_663, 726_215, 288_766, 1_424_182, 986_733, 549_285, 111_836,
            1_247_252,
        ];
        assert_eq!(all, expected);
        let mut one = BloomFilters::new(0);
        one.note(3, of(1, id));
        let image = one.image(3);
        assert_eq!(image.len(), 1 + 8 + 196_608);
        for position in expected {
            assert_ne!(image[9 + position / 8] & 1 << (position % 8), 0);
        }
    }

    #[test]
    fn a_full_filter_has_no_misses_and_few_false_positives() {
        for segment in [0, 63, 64, 200] {
            let mut bloom_filters = BloomFilters::new(3);
            for n in 0..FULL {
                bloom_filters.note(segment, of(&bloom_filters, n));
            }
            assert!((0..FULL).all(|n| bloom_filters.segments(of(&bloom_filters, n)) == [segment]));
            let fresh = FULL..FULL + 1_000_000;
            let wrong =
                fresh.filter(|n| !bloom_filters.segments(of(&bloom_filters, *n)).is_empty());
            assert!(wrong.count() < 100);
        }
    }

    #[test]
    fn the_newest_segment_comes_first() {
        let mut bloom_filters = BloomFilters::new(3);
        let one = of(&bloom_filters, 1);
        for segment in [5, 64, 9, 130] {
            bloom_filters.note(segment, one);
        }
        assert_eq!(bloom_filters.segments(one), [130, 64, 9, 5]);
    }

    #[test]
    fn a_stored_filter_is_loaded_beside_others() {
        let mut bloom_filters = BloomFilters::new(3);
        let (one, two) = (of(&bloom_filters, 1), of(&bloom_filters, 2));
        bloom_filters.note(66, one);
        let image = bloom_filters.image(66);
        let mut other = BloomFilters::new(3);
        other.note(67, two);
        assert!(put_one(&mut other, 66, &image));
        let empty = bloom_filters.image(640);
        assert!(put_one(&mut other, 640, &empty), "without documents");
        assert_eq!(
            (other.segments(one), other.segments(two)),
            (vec![66], vec![67])
        );
    }

    #[test]
    fn eight_filters_are_loaded_as_they_were_stored() {
        let mut stored = BloomFilters::new(3);
        for n in 0..4_000 {
            stored.note(72 + (n % 8) as u32, of(&stored, n));
        }
        let mut images: Images = std::array::from_fn(|n| Some(stored.image(72 + n as u32)));
        images[5] = None;
        let mut other = BloomFilters::new(3);
        let loaded = [true, true, true, true, true, false, true, true];
        assert_eq!(other.put(72, &images), loaded);
        for segment in 72..80 {
            let same = other.image(segment) == stored.image(segment);
            assert_eq!(same, segment != 77, "segment {segment}");
        }
        assert_eq!(other.put(80, &Images::default()), [false; AT_ONCE]);
    }

    #[test]
    fn bit_of_a_row_is_the_bit_of_a_column() {
        for row in 0..8 {
            for column in 0..8 {
                let mut rows = [0; 8];
                rows[row] = 1 << column;
                let mut columns = [0; 8];
                columns[column] = 1 << row;
                assert_eq!(transposed(rows), columns, "{row}, {column}");
            }
        }
    }

    #[test]
    fn a_foreign_or_damaged_filter_is_not_loaded() {
        let mut bloom_filters = BloomFilters::new(3);
        let one = of(&bloom_filters, 1);
        bloom_filters.note(66, one);
        let image = bloom_filters.image(66);
        let mut other = BloomFilters::new(3);
        let last = image.len() - 1;
        for changed in [0, 1, 9, last] {
            let mut image = image.clone();
            image[changed] ^= 1;
            assert!(!put_one(&mut other, 66, &image), "byte {changed}");
        }
        assert!(!put_one(&mut other, 66, &image[..last]));
        assert!(!put_one(&mut other, 67, &image), "another segment's");
        assert!(
            !put_one(&mut BloomFilters::new(4), 66, &image),
            "another store's"
        );
        assert!(other.segments(one).is_empty());
    }

    #[test]
    fn segments_are_found_by_what_collections_they_have() {
        let mut bloom_filters = BloomFilters::new(3);
        bloom_filters.note_document(5, CollectionId(7), "a");
        bloom_filters.note_document(64, CollectionId(8), "a");
        bloom_filters.note_document(70, CollectionId(7), "b");
        let with =
            |n| bloom_filters.segments(bloom_filters.fingerprint_of_collection(CollectionId(n)));
        assert_eq!((with(7), with(8), with(9)), (vec![70, 5], vec![64], vec![]));
    }
}
