//! Samples without what only few documents have. A dictionary stays in the store when the documents of which it was made have
//! long been removed, so it must not have what is of few payments or persons.
//!
//! What stays is each text of [`LENGTH`] bytes that enough samples have. In the rest each letter and digit becomes a random one
//! of the same kind. So lengths, and how often characters occur, stay as they are, and the dictionary fits as well.

use std::collections::HashMap;

use rand::rngs::SmallRng;
use rand::{RngExt as _, SeedableRng as _};

/// Bytes of a text that is looked for in all samples.
const LENGTH: usize = 8;
/// A text stays if one of so many samples has it …
const SHARED_BY: usize = 2;
/// … and at least so many.
const SHARED_MIN: usize = 8;

/// The samples, masked.
pub(super) fn masked(samples: &[&str]) -> Vec<Vec<u8>> {
    // With the number of samples that have it, and the last one of them.
    let mut having: HashMap<&[u8], (usize, usize)> = HashMap::new();
    for (n, sample) in samples.iter().enumerate() {
        for text in sample.as_bytes().windows(LENGTH) {
            let (times, last) = having.entry(text).or_insert((0, usize::MAX));
            if *last != n {
                *times += 1;
                *last = n;
            }
        }
    }
    let enough = (samples.len() / SHARED_BY).max(SHARED_MIN);
    having.retain(|_, (times, _)| *times >= enough);
    // The same samples give the same dictionary.
    let mut random = SmallRng::seed_from_u64(samples.len() as u64);
    let mut mask = |sample: &&str| {
        let sample = sample.as_bytes();
        let mut stays_until = 0;
        let bytes = sample.iter().enumerate().map(|(at, byte)| {
            let text = sample.get(at..at + LENGTH);
            if text.is_some_and(|text| having.contains_key(text)) {
                stays_until = at + LENGTH;
            }
            if at < stays_until {
                *byte
            } else {
                other(*byte, &mut random)
            }
        });
        bytes.collect()
    };
    samples.iter().map(&mut mask).collect()
}

/// A random character of the same kind.
fn other(byte: u8, random: &mut SmallRng) -> u8 {
    let kind = match byte {
        b'0'..=b'9' => b'0'..=b'9',
        b'a'..=b'f' => b'a'..=b'f',
        b'g'..=b'z' => b'g'..=b'z',
        b'A'..=b'F' => b'A'..=b'F',
        b'G'..=b'Z' => b'G'..=b'Z',
        0x80.. => b'g'..=b'z',
        _ => return byte,
    };
    random.random_range(kind)
}
