//! Copies a whole store into a new one of any kind, and compares both.
//!
//! The source is read as of one commit, page by page (`StoreDump`), and its small subjects by their own traits. The target is
//! marked as unfinished first. It gets what the source has as groups, as an engine would write them, and the rest by the
//! small traits and by `StoreLoad`. Then both sides are read again. Each part of a store has a count and a digest
//! ([`contents()`]), and all parts must be the same before the mark is taken away.
//!
//! What a store keeps for itself is not copied: row ids, segments, Bloom filters, the numbers of groups, the fencing token.

#![forbid(unsafe_code)]

mod contents;
mod copying;
mod digests;
mod kept;
mod writing;

use rialto_engine::store::StoreError;
use rialto_store::{HostStore, StoreDump, StoreLoad};

pub use contents::contents;
pub use digests::Part;

/// Items that are read at a time.
const PAGE: u32 = 1_000;

/// A store that is read. No host may serve on it meanwhile.
pub struct Source<'s> {
    /// The open store.
    pub store: &'s dyn HostStore,
    /// A snapshot of it, which was taken when everything was in its tables.
    pub dump: Box<dyn StoreDump>,
}

/// Why a store was not copied.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    /// One of the stores failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The target has something.
    #[error("the target has a store already, and nothing is ever overwritten: name an empty one")]
    Filled,
    /// The target differs from the source.
    #[error(
        "the copy differs from its source and stays marked as unfinished, so that no host serves on it: {}",
        .0.join("; ")
    )]
    Differs(Vec<String>),
}

/// How far a copy is: the part that is worked on, and how many of its items are done.
pub type Tell<'t> = dyn FnMut(&str, u64) + 't;

/// Copy everything into a new store, and leave it marked as unfinished.
///
/// # Errors
/// When the target has something, or one of the stores fails. The target is then of no use.
pub fn copy(
    source: &mut Source<'_>,
    target: &dyn StoreLoad,
    tell: &mut Tell<'_>,
) -> Result<(), CopyError> {
    copying::copy(source, target, tell)
}

/// Compare the target with the source. If they are the same, take the mark away. Returns what both have. `moved` is the
/// source again if the target gets its place: it is marked first, so that at no time hosts could serve on both.
///
/// # Errors
/// When they differ, or one of the stores fails. The target stays marked then.
pub fn finish(
    source: &mut Source<'_>,
    (target, dump): (&dyn StoreLoad, Box<dyn StoreDump>),
    moved: Option<&dyn StoreLoad>,
    tell: &mut Tell<'_>,
) -> Result<Vec<Part>, CopyError> {
    let here = contents(source, tell)?;
    let mut copied = Source {
        store: target,
        dump,
    };
    let there = contents(&mut copied, tell)?;
    let differing = digests::differences(&here, &there);
    if !differing.is_empty() {
        return Err(CopyError::Differs(differing));
    }
    if let Some(source) = moved {
        source.mark_moved()?;
    }
    target.end_load()?;
    Ok(here)
}
