//! A store has the same contents in every kind of store.

use rialto_engine::history::Record;
use rialto_engine::publications::Outbox as _;
use rialto_engine::store::Store as _;
use rialto_files::temporary_folder;
use rialto_store::{AuditStore as _, HostStore};
use rialto_store_copy::Part;
use rialto_store_sqlite::SqliteStore;
use rialto_store_suite::model::{Kept, Model};
use rialto_store_suite::samples::group;
use rialto_store_suite::session::compare;

use crate::filled::{self, GROUPS, at, fill, start_again};
use crate::places::{database, in_folder, postgres, to_database, to_folder};

fn part<'p>(parts: &'p [Part], name: &str) -> &'p Part {
    let found = parts.iter().find(|part| part.name == name);
    found.unwrap_or_else(|| panic!("no part {name}: {parts:?}"))
}

/// The history and the receipts of a subject, as a host asks for them.
fn about(store: &dyn HostStore, subject: &str) -> (Vec<Record>, Vec<u64>) {
    let receipts = store.receipts(subject).unwrap();
    let receipts = receipts.iter().map(|receipt| receipt.id).collect();
    (store.history(subject).unwrap(), receipts)
}

#[test]
fn a_filled_store_is_the_same_in_a_database_and_back() {
    let (first, second) = (temporary_folder().unwrap(), temporary_folder().unwrap());
    let store = SqliteStore::open(first.path()).unwrap();
    let model = fill(&store);
    let shared = about(&store, "shared:1");
    let things = about(&store, "thing:3");
    let turns: Vec<u64> = shared.0.iter().map(|record| record.turn.0).collect();
    let expected = (1..=GROUPS).flat_map(|lsn| (0..=lsn % 2).map(move |n| lsn * 10 + n));
    assert!(expected.eq(turns), "the history is in log order");
    drop(store);
    let store = SqliteStore::open(first.path()).unwrap();
    start_again(&store);
    drop(store);
    let before = in_folder(first.path());

    let url = database();
    let copied = to_database(first.path(), &url).unwrap();
    assert_eq!(copied, before);
    // Nothing in the source has changed.
    assert_eq!(in_folder(first.path()), before);
    let store = postgres(&url);
    let recovered = store.recover().unwrap();
    let redelivered = recovered.deliveries.iter();
    let redelivered: Vec<u32> = redelivered.map(|delivery| delivery.redeliveries).collect();
    // Once before the copy, and once now.
    assert!(redelivered.iter().all(|n| *n == 2), "{redelivered:?}");
    assert_eq!(Kept::of(recovered), model.kept(1));
    compare(&store, &model);
    assert_eq!(about(&store, "shared:1"), shared);
    assert_eq!(about(&store, "thing:3"), things);
    assert_eq!(store.first_audit_entry().unwrap(), Some(512));
    drop(store);

    // The start has counted; the rest goes back as it was.
    let back = to_folder(&url, second.path()).unwrap();
    for (there, here) in back.iter().zip(&before) {
        assert_eq!(there.name, here.name);
        if there.name != "pending deliveries" {
            assert_eq!(there, here);
        }
    }
    let store = SqliteStore::open(second.path()).unwrap();
    let recovered = store.recover().unwrap();
    assert_eq!(Kept::of(recovered), model.kept(1));
    compare(&store, &model);
    assert_eq!(about(&store, "shared:1"), shared);
    assert_eq!(about(&store, "thing:3"), things);
    goes_on(&store, model);
}

/// A copy gives its next items the numbers that the source would have given.
fn goes_on(store: &SqliteStore, mut model: Model) {
    let audit = store.audit_size().unwrap();
    let published = store.publications_state().unwrap().last;
    assert!(published > 1 << 33, "numbers that were left out stay so");
    let mut next = group(GROUPS + 1);
    next.audit = at(3).audit;
    next.publications = at(3).publications;
    store.write(&next).unwrap();
    model.apply(&next);
    compare(store, &model);
    rialto_store::StoreLoad::flush(store).unwrap();
    let entries = store.audit_entries(audit, 9).unwrap();
    assert_eq!(entries.len(), 3);
    assert_eq!(entries[0].index, audit);
    let event = store.publications(published + 1, 9).unwrap();
    assert_eq!(event[0].number, published + 1);
}

#[test]
fn counts_of_a_copy_are_those_that_were_written() {
    let folder = temporary_folder().unwrap();
    let store = SqliteStore::open(folder.path()).unwrap();
    fill(&store);
    drop(store);
    let url = database();
    let parts = to_database(folder.path(), &url).unwrap();
    let sum = |of: fn(u64) -> u64| (1..=GROUPS).map(of).sum::<u64>();
    for (name, items) in [
        ("collections", 4),
        ("documents of component-0/things-1", 5),
        ("documents of component-2/things-4", 0),
        ("receipts", sum(|lsn| lsn % 3)),
        ("audit entries", sum(|lsn| lsn % 4)),
        ("events for the outside", sum(|lsn| lsn % 2)),
        ("history", sum(|lsn| 1 + lsn % 2)),
        ("dead letters", GROUPS / 90),
        ("releases", 5),
        ("activations", 5),
        ("scheduled releases", 4),
        ("components", 2),
        ("plans", 2),
        ("signatures of plans", 4),
        ("suspensions", 3),
        ("canaries held back", 2),
        ("credentials", 3),
        ("passkeys", 2),
        ("operators' log", 3),
        ("audit checkpoints", 3),
    ] {
        assert_eq!(part(&parts, name).items, items, "{name}");
    }
}

#[test]
fn an_empty_store_is_copied_too() {
    let (first, second) = (temporary_folder().unwrap(), temporary_folder().unwrap());
    let store = SqliteStore::open(first.path()).unwrap();
    store.recover().unwrap();
    drop(store);
    let url = database();
    let there = to_database(first.path(), &url).unwrap();
    let back = to_folder(&url, second.path()).unwrap();
    assert_eq!(there, back);
    let store = SqliteStore::open(second.path()).unwrap();
    store.recover().unwrap();
    store.write(&filled::at(1)).unwrap();
}
