//! A document's full name as one number, by which a store tells after a restart which documents
//! there are.
//!
//! Stores keep these numbers, so what they are made of can never change. Two documents may have the
//! same one: whoever has a fingerprint knows that a document may be there, or surely is not. There is no
//! secret in it, so ids can be chosen to have fingerprints like others'; that costs a read for each,
//! and nothing else.

use std::hash::Hasher as _;

use siphasher::sip::SipHasher13;

use crate::ids::CollectionId;

/// See the module's documentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fingerprint(pub u64);

impl Fingerprint {
    /// SipHash-1-3 without a key, of the collection's number (four bytes, the lowest first) and the
    /// id's bytes.
    pub fn of(collection: CollectionId, id: &str) -> Self {
        let mut hasher = SipHasher13::new();
        hasher.write(&collection.0.to_le_bytes());
        hasher.write(id.as_bytes());
        Self(hasher.finish())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stores_have_kept_is_still_what_they_ask_for() {
        let of = |collection, id| Fingerprint::of(CollectionId(collection), id).0;
        assert_eq!(of(0, ""), 0xcc22_47b7_9ac4_8af0);
        assert_eq!(
            of(1, "b51ec534-ee48-4575-b6a9-ead2955b8069"),
            0x4bcc_07d3_7452_523b
        );
        assert_eq!(of(u32::MAX, "Ö 1"), 0x57e3_1930_f03d_51ed);
    }
}
