//! Events for the outside: their numbers have no gap across flushes, crashes and starts; old ones are removed.

use std::path::Path;
use std::time::Duration;

use rialto_engine::publications::{Outbox as _, Publication};
use rialto_engine::store::{Group, Store as _};
use rialto_engine::{Timestamp, TurnId};
use rialto_store::PublicationSnapshot as _;
use rialto_store_sqlite::{FlushPolicy, Snapshot, SqliteStore, backup};
use rialto_store_suite::samples::group;

use crate::written;

fn event(lsn: u64, data: &str) -> Publication {
    Publication {
        event: "orders/order-taken".into(),
        component: "orders".into(),
        at: Timestamp(lsn),
        turn: TurnId(lsn),
        release: 1,
        traceparent: String::new(),
        subjects: vec!["order:1".into()],
        data: data.into(),
        may_name_people: false,
    }
}

/// A group with so many events.
fn events(lsn: u64, count: u64) -> Group {
    Group {
        publications: (0..count)
            .map(|n| event(lsn, &format!("\"{lsn}-{n}\"")))
            .collect(),
        ..group(lsn)
    }
}

/// A store whose tables do not get anything in the time of a test, until it is opened again.
fn open(folder: &Path) -> SqliteStore {
    let late = FlushPolicy {
        after: Duration::from_secs(3_600),
        ..FlushPolicy::default()
    };
    let store = SqliteStore::open_with(folder, late).unwrap();
    store.recover().unwrap();
    store
}

fn kept(store: &SqliteStore, first: u64, limit: u32) -> Vec<(u64, String)> {
    let all = store.publications(first, limit).unwrap();
    all.into_iter()
        .map(|stored| (stored.number, stored.publication.data.to_string()))
        .collect()
}

#[test]
fn numbers_have_no_gap_across_starts() {
    let folder = rialto_files::temporary_folder().unwrap();
    let store = open(folder.path());
    let state = store.publications_state().unwrap();
    assert_eq!((state.first, state.last, state.published), (None, 0, 0));
    store.write(&events(1, 2)).unwrap();
    store.write(&events(2, 0)).unwrap();
    store.write(&events(3, 1)).unwrap();
    assert_eq!(kept(&store, 1, 10), [], "they are in the journal alone");
    // A copy of the files as they are now is what a crash leaves.
    let copy = rialto_files::temporary_folder().unwrap();
    written::copy(folder.path(), copy.path());
    drop(store);
    for folder in [folder.path(), copy.path()] {
        let store = open(folder);
        let wanted = [(1, "\"1-0\""), (2, "\"1-1\""), (3, "\"3-0\"")];
        let wanted = wanted.map(|(number, data)| (number, data.to_owned()));
        assert_eq!(kept(&store, 1, 10), wanted);
        assert_eq!(kept(&store, 2, 1), wanted[1..2]);
        store.write(&events(4, 1)).unwrap();
        store.set_published(2).unwrap();
        // It never goes back.
        store.set_published(1).unwrap();
        drop(store);
        let store = open(folder);
        assert_eq!(kept(&store, 4, 10), [(4, "\"4-0\"".to_owned())]);
        let state = store.publications_state().unwrap();
        let found = (state.first, state.last, state.published, state.waiting());
        assert_eq!(found, (Some(1), 4, 2, 2));
        drop(store);
        let mut snapshot = Snapshot::open(folder).unwrap();
        assert_eq!(snapshot.publications_state().unwrap(), state);
        assert_eq!(snapshot.publications(3, 10).unwrap().len(), 2);
    }
}

#[test]
fn a_page_is_bounded_by_its_bytes() {
    let folder = rialto_files::temporary_folder().unwrap();
    let store = open(folder.path());
    let long = format!("{:?}", "x".repeat(700_000));
    let group = Group {
        publications: vec![event(1, &long), event(1, &long), event(1, "1")],
        ..group(1)
    };
    store.write(&group).unwrap();
    drop(store);
    let store = open(folder.path());
    let numbers = |first| {
        let page = store.publications(first, 10).unwrap();
        page.into_iter().map(|e| e.number).collect::<Vec<_>>()
    };
    assert_eq!(numbers(1), [1]);
    assert_eq!(numbers(2), [2, 3]);
}

#[test]
fn old_events_and_those_that_are_too_many_are_removed() {
    let folder = rialto_files::temporary_folder().unwrap();
    let store = open(folder.path());
    for lsn in 1..=10 {
        store.write(&events(lsn, 1)).unwrap();
    }
    drop(store);
    let store = open(folder.path());
    assert_eq!(store.remove_publications(Timestamp(1), 10), Ok(None));
    assert_eq!(store.remove_publications(Timestamp(4), 100), Ok(Some(3)));
    assert_eq!(store.remove_publications(Timestamp(0), 5), Ok(Some(5)));
    assert_eq!(store.remove_publications(Timestamp(0), 5), Ok(None));
    let state = store.publications_state().unwrap();
    assert_eq!((state.first, state.last), (Some(6), 10));
    drop(store);
    // The numbers go on.
    let store = open(folder.path());
    store.remove_publications(Timestamp(100), 5).unwrap();
    store.write(&events(11, 1)).unwrap();
    drop(store);
    let store = open(folder.path());
    assert_eq!(kept(&store, 1, 10), [(11, "\"11-0\"".to_owned())]);
}

#[test]
fn a_restored_store_uses_no_number_again() {
    let outer = rialto_files::temporary_folder().unwrap();
    let at = |name: &str| outer.path().join(name);
    let store = open(&at("store"));
    store.write(&events(1, 3)).unwrap();
    let (from, to) = (at("store"), at("backup"));
    backup::take(&from, None, &to, &mut |_| {}).unwrap();
    // The lost store has given number 4 to something else.
    store.write(&events(2, 1)).unwrap();
    let restored = at("restored");
    backup::restore(&to, &restored, &restored.join("archives"), &mut |_| {}).unwrap();
    let store = open(&restored);
    store.write(&events(2, 1)).unwrap();
    drop(store);
    let store = open(&restored);
    let numbers: Vec<u64> = kept(&store, 1, 10).into_iter().map(|(n, _)| n).collect();
    assert_eq!(numbers[..3], [1, 2, 3]);
    assert!(numbers[3] > 1_000_000_000, "{numbers:?}");
    assert_eq!(store.publications_state().unwrap().last, numbers[3]);
}
