//! Which documents there are is known after a start, whatever was removed and written meanwhile.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test stops at what it did not expect"
)]

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::path::Path;

use rialto_engine::store::{DocumentWrite, Group, Store};
use rialto_engine::{CollectionId, Fingerprint, Lsn};
use rialto_store_sqlite::SqliteStore;

/// More than one row of fingerprints takes.
const MANY: u64 = 300_000;

/// Ids in the order of their numbers, for their places follow it.
fn id(n: u64) -> String {
    format!("{n:06}")
}

fn write(store: &SqliteStore, lsn: u64, ids: impl Iterator<Item = u64>, body: Option<&str>) {
    let documents = ids.map(|n| DocumentWrite {
        collection: CollectionId(1),
        id: id(n).into(),
        version: 1,
        body: body.map(Into::into),
    });
    let group = Group {
        lsn: Lsn(lsn),
        documents: documents.collect(),
        ..Group::default()
    };
    store.write(&group).unwrap();
}

/// Open the store, and close it when all that was done is in the tables.
fn with<T>(folder: &Path, body: impl FnOnce(&SqliteStore, u64) -> T) -> T {
    let store = SqliteStore::open(folder).unwrap();
    let recovered = store.recover().unwrap();
    body(&store, recovered.documents)
}

fn visited(store: &SqliteStore) -> Vec<Fingerprint> {
    let mut all = Vec::new();
    let visit = &mut |some: &[Fingerprint]| {
        all.extend_from_slice(some);
        ControlFlow::Continue(())
    };
    store.visit_keys(visit).unwrap();
    all
}

#[test]
fn a_document_in_the_place_of_a_removed_one_is_not_missed() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    with(folder, |store, _| write(store, 1, 0..MANY, Some("0")));
    // Also of those that are in a row by now.
    with(folder, |store, _| write(store, 2, MANY / 2..MANY, None));
    with(folder, |store, _| {
        write(store, 3, MANY..MANY + 1_000, Some("0"));
    });
    with(folder, |store, documents| {
        let all = visited(store);
        assert_eq!(documents, all.len() as u64, "how many there are is known");
        let all: HashSet<_> = all.into_iter().collect();
        let missed = (0..MANY / 2)
            .chain(MANY..MANY + 1_000)
            .filter(|n| !all.contains(&Fingerprint::of(CollectionId(1), &id(*n))))
            .count();
        assert_eq!(missed, 0);
        let there = usize::try_from(MANY / 2 + 1_000).unwrap();
        assert!(all.len() > there, "those that are in a row stay there");
    });
}
