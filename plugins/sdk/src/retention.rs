//! What a component does whose documents go to archives: whether a document is still as an archive has it.

use crate::documents::Store;
use sha2::{Digest as _, Sha256};

/// How a document stands to what an archive has of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It is the same.
    Same,
    /// It has changed since.
    Changed,
    /// It is not there.
    Gone,
}

/// The SHA-256 of a document's body, in hexadecimal digits.
#[must_use]
pub fn digest(body: &str) -> String {
    let digest = Sha256::digest(body.as_bytes());
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Compare a document with an archive, by its collection, its id and the digest of the body in the archive.
pub fn standing(store: &mut impl Store, (collection, id, sha256): (&str, &str, &str)) -> Standing {
    match store.get_for_update(collection, id) {
        None => Standing::Gone,
        Some(body) if digest(&body) == sha256 => Standing::Same,
        Some(_) => Standing::Changed,
    }
}

/// Compare all documents of a bundle: they are the same, gone, or changed, and one of them speaks for all.
///
/// # Panics
/// When a part of them is the same and a part is gone: they go together.
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
