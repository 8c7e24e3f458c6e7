//! The names of people in records: `party:pseudonym-` and 24 hexadecimal digits, which are the place of the person's
//! key in the tree.
//!
//! The place is the beginning of HMAC-SHA-256 of the person's subject, under a key of the file. So nobody can compute
//! or compare pseudonyms without the file, and two people have the same one with a probability below 2^-32 among a
//! billion people.

use std::fmt;

use aws_lc_rs::hmac::{Context, Key};
use data_encoding::HEXLOWER;

/// Bytes of a place.
pub const LEAF_BYTES: usize = 12;
/// What stands before the digits.
const MARK: &str = "pseudonym-";

/// The place of a person's key in the tree.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Leaf(pub [u8; LEAF_BYTES]);

impl Leaf {
    /// The place of a person's key. The generation counts how often keys of this person were destroyed.
    #[must_use]
    pub fn of(key: &Key, subject: &str, generation: u32) -> Self {
        let mut context = Context::with_key(key);
        context.update(&generation.to_be_bytes());
        context.update(subject.as_bytes());
        let digest = context.sign();
        let mut place = [0; LEAF_BYTES];
        place.copy_from_slice(&digest.as_ref()[..LEAF_BYTES]);
        Self(place)
    }

    /// The same as a number below 2^96.
    #[must_use]
    pub fn number(self) -> u128 {
        let mut whole = [0; 16];
        whole[16 - LEAF_BYTES..].copy_from_slice(&self.0);
        u128::from_be_bytes(whole)
    }

    /// The place of this number, of which the lowest 96 bits count.
    #[must_use]
    pub fn of_number(number: u128) -> Self {
        let mut place = [0; LEAF_BYTES];
        place.copy_from_slice(&number.to_be_bytes()[16 - LEAF_BYTES..]);
        Self(place)
    }

    /// The pseudonym of a person of this kind, for example `party`.
    #[must_use]
    pub fn pseudonym(self, kind: &str) -> String {
        format!("{kind}:{self}")
    }
}

impl fmt::Display for Leaf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{MARK}{}", HEXLOWER.encode(&self.0))
    }
}

impl fmt::Debug for Leaf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The kind and the id of a subject.
#[must_use]
pub fn parts(subject: &str) -> Option<(&str, &str)> {
    subject.split_once(':')
}

/// The place that a pseudonym names; none for any other id.
#[must_use]
pub fn leaf_of(id: &str) -> Option<Leaf> {
    let digits = id.strip_prefix(MARK)?;
    let place = HEXLOWER.decode(digits.as_bytes()).ok()?;
    Some(Leaf(place.try_into().ok()?))
}
