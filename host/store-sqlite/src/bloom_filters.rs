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
pub(crate) const PART: u32 = u64::BITS;
/// Positions that are loaded at once: as many as a part has segments.
const SQUARE: usize = PART as usize;
/// Words of a slice of a part. A part is stored in as many slices as it has segments.
const SLICE_WORDS: usize = POSITIONS / SQUARE;
/// The first byte of a stored Bloom filter, and of a stored slice: the version of its layout and of its hash.
const LAYOUT: u8 = 1;

const _: () = assert!(
    POSITIONS.is_multiple_of(SQUARE),
    "the bits of a segment make whole words"
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
        image.extend(checksum(self.key, segment, &bits).to_le_bytes());
        image.extend(bits);
        image
    }

    /// The nth slice of a part whose segments are all full, in its stored form: layout, checksum, words. Reading them needs
    /// no turning, as reading the filters of single segments does.
    pub fn slice(&self, part: u32, n: u32) -> Vec<u8> {
        let words = self.parts.get(part as usize);
        let words = words.and_then(|words| words.chunks_exact(SLICE_WORDS).nth(n as usize));
        assert!(
            words.is_some(),
            "slice {n} of part {part} of the Bloom filters is not in memory"
        );
        let bytes: Vec<u8> = words
            .into_iter()
            .flatten()
            .flat_map(|word| word.to_le_bytes())
            .collect();
        let mut image = vec![LAYOUT];
        image.extend(slice_checksum(self.key, part, n, &bytes).to_le_bytes());
        image.extend(bytes);
        image
    }

    /// Take a part that was loaded. Parts come in order, before any document is noted.
    pub fn put(&mut self, part: LoadedPart) {
        assert!(
            self.parts.len() == part.number as usize,
            "part {} of the Bloom filters is loaded where part {} is the next one",
            part.number,
            self.parts.len()
        );
        self.parts.push(part.words);
    }

    fn part(&mut self, segment: u32) -> &mut [u64] {
        let part = (segment / PART) as usize;
        while self.parts.len() <= part {
            self.parts.push(vec![0; POSITIONS].into());
        }
        &mut self.parts[part]
    }
}

/// A part that was made of stored Bloom filters.
pub(crate) struct LoadedPart {
    /// Its number, from 0 on.
    number: u32,
    words: Box<[u64]>,
    /// Which of its segments have been loaded: bit `n` is the part's segment `n`.
    loaded: u64,
    /// Which have a stored filter that cannot be used.
    damaged: u64,
}

impl LoadedPart {
    /// Make a part of the stored Bloom filters of its segments, in any order. A filter that is damaged or has another key
    /// is left out.
    pub fn new(key: u64, number: u32, stored: &[(u32, Vec<u8>)]) -> Self {
        let nothing = vec![0; POSITIONS / 8];
        let mut rows = [&*nothing; SQUARE];
        let (mut loaded, mut damaged) = (0, 0);
        for (segment, image) in stored {
            assert!(
                segment / PART == number,
                "the filter of segment {segment} is loaded with part {number}"
            );
            let offset = segment % PART;
            match bits(key, *segment, image) {
                Some(bits) => {
                    rows[offset as usize] = bits;
                    loaded |= 1 << offset;
                }
                None => damaged |= 1 << offset,
            }
        }
        let mut words = vec![0; POSITIONS].into_boxed_slice();
        for (at, square) in words.chunks_exact_mut(SQUARE).enumerate() {
            let (square, _) = square.as_chunks_mut();
            for (word, row) in square[0].iter_mut().zip(rows) {
                *word = row
                    .as_chunks()
                    .0
                    .get(at)
                    .map_or(0, |bytes| u64::from_le_bytes(*bytes));
            }
            transpose(&mut square[0]);
        }
        Self {
            number,
            words,
            loaded,
            damaged,
        }
    }

    /// Make a part of all its stored slices, in order. None if one is missing, is damaged or has another key.
    pub fn of_slices(key: u64, number: u32, slices: &[Vec<u8>]) -> Option<Self> {
        if slices.len() != SQUARE {
            return None;
        }
        let mut words = Vec::with_capacity(POSITIONS);
        for (n, image) in (0..).zip(slices) {
            let (&[layout], rest) = image.split_first_chunk()?;
            let (stored, bytes) = rest.split_first_chunk()?;
            let fits = layout == LAYOUT && bytes.len() == SLICE_WORDS * 8;
            let checksum = || slice_checksum(key, number, n, bytes);
            if !fits || u32::from_le_bytes(*stored) != checksum() {
                return None;
            }
            let (bytes, _) = bytes.as_chunks();
            words.extend(bytes.iter().map(|bytes| u64::from_le_bytes(*bytes)));
        }
        Some(Self {
            number,
            words: words.into(),
            loaded: u64::MAX,
            damaged: 0,
        })
    }

    /// Its segments without a filter that was loaded. True of those that have a stored one which is damaged or has another
    /// key.
    pub fn missing(&self) -> impl Iterator<Item = (u32, bool)> {
        let missing = (0..PART).filter(|n| self.loaded >> n & 1 == 0);
        missing.map(|n| (self.number * PART + n, self.damaged >> n & 1 == 1))
    }
}

/// The bits of a stored filter of this segment; none if it is damaged or has another key.
fn bits(key: u64, segment: u32, image: &[u8]) -> Option<&[u8]> {
    let (&[layout], rest) = image.split_first_chunk()?;
    let (stored, bits) = rest.split_first_chunk()?;
    let fits = layout == LAYOUT && bits.len() == POSITIONS / 8;
    let fits = fits && u64::from_le_bytes(*stored) == checksum(key, segment, bits);
    fits.then_some(bits)
}

fn checksum(key: u64, segment: u32, bits: &[u8]) -> u64 {
    let mut hasher = SipHasher13::new_with_keys(key, u64::from(segment) + 1);
    hasher.write(bits);
    hasher.finish()
}

/// Of a slice: it has one that is quick, because a start reads them all.
fn slice_checksum(key: u64, part: u32, n: u32, bytes: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&key.to_le_bytes());
    hasher.update(&part.to_le_bytes());
    hasher.update(&n.to_le_bytes());
    hasher.update(bytes);
    hasher.finalize()
}

/// Make rows columns: bit `n` of row `m` becomes bit `m` of row `n`.
fn transpose(rows: &mut [u64; SQUARE]) {
    // Of squares of 64, 32, … 2 bits the two quarters beside the diagonal change places.
    let mut width = SQUARE / 2;
    let mut low = u64::from(u32::MAX);
    while width > 0 {
        for above in (0..SQUARE).filter(|row| row & width == 0) {
            let below = above + width;
            let changed = (rows[above] >> width ^ rows[below]) & low;
            rows[above] ^= changed << width;
            rows[below] ^= changed;
        }
        width /= 2;
        low ^= low << width;
    }
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
    fn filters_are_loaded_as_they_were_stored() {
        let mut stored = BloomFilters::new(3);
        for n in 0..40_000 {
            stored.note(64 + (n % 64) as u32, of(&stored, n));
        }
        let segments = (64..128).rev().filter(|segment| *segment != 77);
        let images: Vec<_> = segments.map(|n| (n, stored.image(n))).collect();
        let mut other = BloomFilters::new(3);
        other.put(LoadedPart::new(3, 0, &[]));
        let part = LoadedPart::new(3, 1, &images);
        assert!(part.missing().eq([(77, false)]));
        other.put(part);
        for segment in 64..128 {
            let same = other.image(segment) == stored.image(segment);
            assert_eq!(same, segment != 77, "segment {segment}");
        }
        let one = of(&other, 40_000);
        other.note(130, one);
        assert_eq!(other.segments(one), [130], "a part behind those loaded");
    }

    #[test]
    fn a_part_of_slices_is_the_part_of_its_segments() {
        let mut stored = BloomFilters::new(3);
        for n in 0..40_000 {
            stored.note(64 + (n % 64) as u32, of(&stored, n));
        }
        let slices: Vec<Vec<u8>> = (0..PART).map(|n| stored.slice(1, n)).collect();
        let load = |key, number, slices: &[Vec<u8>]| LoadedPart::of_slices(key, number, slices);
        let part = load(3, 1, &slices).map(|part| part.words);
        assert!(part.is_some_and(|words| words == stored.parts[1]));
        assert!(load(3, 1, &slices[1..]).is_none(), "one is missing");
        assert!(load(4, 1, &slices).is_none(), "another store's");
        assert!(load(3, 2, &slices).is_none(), "another part's");
        let mut changed = slices.clone();
        changed.swap(3, 4);
        assert!(load(3, 1, &changed).is_none(), "in another order");
        for (n, at) in [(0, 0), (1, 1), (40, 5), (63, 196_612)] {
            let mut changed = slices.clone();
            changed[n][at] ^= 1;
            assert!(load(3, 1, &changed).is_none(), "byte {at} of slice {n}");
            changed[n].truncate(at);
            assert!(load(3, 1, &changed).is_none(), "slice {n} has {at} bytes");
        }
    }

    #[test]
    fn bit_of_a_row_is_the_bit_of_a_column() {
        for row in 0..SQUARE {
            for column in 0..SQUARE {
                let (mut rows, mut columns) = ([0; SQUARE], [0; SQUARE]);
                rows[row] = 1 << column;
                columns[column] = 1 << row;
                transpose(&mut rows);
                assert_eq!(rows, columns, "{row}, {column}");
            }
        }
    }

    #[test]
    fn a_foreign_or_damaged_filter_is_not_loaded() {
        let mut bloom_filters = BloomFilters::new(3);
        let one = of(&bloom_filters, 1);
        bloom_filters.note(66, one);
        let image = bloom_filters.image(66);
        let last = image.len() - 1;
        let mut stored = vec![(66, image[..last].to_vec()), (67, image.clone())];
        for changed in [0, 1, 9, last] {
            let mut image = image.clone();
            image[changed] ^= 1;
            stored.push((66, image));
        }
        let damaged = LoadedPart::new(3, 1, &stored);
        let stored = |(segment, _): &(u32, bool)| [66, 67].contains(segment);
        let missing: Vec<_> = damaged.missing().collect();
        assert_eq!(missing.len(), 64);
        assert!(missing.iter().all(|one| one.1 == stored(one)));
        let foreign = LoadedPart::new(4, 1, &[(66, image)]);
        assert_eq!(
            foreign.missing().nth(2),
            Some((66, true)),
            "another store's"
        );
        let mut other = BloomFilters::new(3);
        other.put(LoadedPart::new(3, 0, &[]));
        other.put(damaged);
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
