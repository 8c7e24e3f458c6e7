//! Support for archiving: whether a document still equals its archived copy.

use crate::documents::Store;
use sha2::{Digest as _, Sha256};

/// A document compared with its archived copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It is the same.
    Same,
    /// It has changed since.
    Changed,
    /// It does not exist.
    Gone,
}

/// The SHA-256 of a document's body, in hexadecimal digits.
#[must_use]
pub fn digest(body: &str) -> String {
    let digest = Sha256::digest(body.as_bytes());
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Compares a document with an archive, by its collection, its id and the archived body's digest.
pub fn standing(store: &mut impl Store, (collection, id, sha256): (&str, &str, &str)) -> Standing {
    match store.get_for_update(collection, id) {
        None => Standing::Gone,
        Some(body) if digest(&body) == sha256 => Standing::Same,
        Some(_) => Standing::Changed,
    }
}

/// Compares all documents of a bundle. The result is the same for all: equal, removed, or changed.
///
/// # Panics
/// If some are equal and some are removed: a bundle is removed together.
pub fn standing_of_all<'d>(
    store: &mut impl Store,
    documents: impl Iterator<Item = (&'d str, &'d str, &'d str)>,
) -> Standing {
    let mut all: Option<Standing> = None;
    for document in documents {
        let one = standing(store, document);
        match all {
            _ if one == Standing::Changed => return one,
            None => all = Some(one),
            Some(others) => assert_eq!(
                others, one,
                "documents that go together: the one before {document:?} is {others:?}, it is {one:?}"
            ),
        }
    }
    all.unwrap_or(Standing::Gone)
}
