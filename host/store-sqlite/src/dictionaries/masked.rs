//! Samples without what only few documents have. A dictionary stays in the store when the documents of which it was made have
//! long been removed, so it must not have what is of few payments or persons.
//!
//! What stays is each text of [`LENGTH`] bytes that enough samples have. In the rest each letter and digit becomes a random one
//! of the same kind. So lengths, and how often characters occur, stay as they are, and the dictionary fits as well.

use std::collections::HashSet;

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
    let shared = shared(samples);
    // The same samples give the same dictionary.
    let mut random = SmallRng::seed_from_u64(samples.len() as u64);
    let mut mask = |sample: &&str| {
        let sample = sample.as_bytes();
        let mut stays_until = 0;
        let bytes = sample.iter().enumerate().map(|(at, byte)| {
            let text = sample.get(at..).and_then(|rest| rest.first_chunk());
            if text.is_some_and(|text| shared.contains(text)) {
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

/// The texts that enough samples have.
fn shared(samples: &[&str]) -> HashSet<[u8; LENGTH]> {
    let length = samples.iter().map(|sample| sample.len()).sum();
    // All texts, each once for each sample that has it.
    let mut texts: Vec<[u8; LENGTH]> = Vec::with_capacity(length);
    for sample in samples {
        let mut own: Vec<[u8; LENGTH]> = sample
            .as_bytes()
            .windows(LENGTH)
            .filter_map(|text| text.first_chunk().copied())
            .collect();
        own.sort_unstable();
        own.dedup();
        texts.append(&mut own);
    }
    texts.sort_unstable();
    let enough = (samples.len() / SHARED_BY).max(SHARED_MIN);
    let of_one_text = texts.chunk_by(|one, next| one == next);
    of_one_text
        .filter(|alike| alike.len() >= enough)
        .map(|alike| alike[0])
        .collect()
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
