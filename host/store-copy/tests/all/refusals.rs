//! What is not copied, and what no host serves on.

use rialto_engine::store::{Store, StoreError};
use rialto_files::temporary_folder;
use rialto_store::{MOVED, OperationStore as _, StoreLoad, UNFINISHED_LOAD};
use rialto_store_copy::{CopyError, Source, copy, finish};
use rialto_store_postgres::{LeaseError, PostgresSnapshot, PostgresStore, Settings, is_new};
use rialto_store_sqlite::{OpenError, Snapshot, SqliteStore};

use crate::filled::{at, fill};
use crate::places::{database, postgres, to_database, to_folder};

fn unfinished<T>() -> Result<T, StoreError> {
    Err(StoreError::Failed(UNFINISHED_LOAD.to_owned()))
}

#[test]
fn an_interrupted_copy_is_no_store() {
    let url = database();
    assert!(is_new(&url).unwrap());
    let store = postgres(&url);
    store.recover().unwrap();
    store.begin_load(7).unwrap();
    store.write(&at(1)).unwrap();
    drop(store);
    assert!(!is_new(&url).unwrap());
    let store = postgres(&url);
    assert_eq!(store.recover().map(drop), unfinished());
    assert!(store.write(&at(2)).is_err());
    assert!(store.hold().is_err(), "it is no source either");
    drop(store);

    let folder = temporary_folder().unwrap();
    let store = SqliteStore::open(folder.path()).unwrap();
    store.recover().unwrap();
    store.begin_load(7).unwrap();
    store.write(&at(1)).unwrap();
    drop(store);
    let store = SqliteStore::open(folder.path()).unwrap();
    assert_eq!(store.recover().map(drop), unfinished());
    assert_eq!(store.hold(), unfinished());
}

/// A store that was moved is read and copied as before, and no host serves on it until it is taken back.
fn moves<S: Store + StoreLoad>(open: impl Fn() -> S, hold: impl Fn(&S) -> bool) {
    let store = open();
    store.recover().unwrap();
    store.write(&at(1)).unwrap();
    store.mark_moved().unwrap();
    store.mark_moved().unwrap();
    drop(store);
    let store = open();
    let moved = Err(StoreError::Failed(MOVED.to_owned()));
    assert_eq!(store.recover().map(drop), moved);
    drop(store);
    let store = open();
    assert!(hold(&store), "it is a source");
    assert_eq!(store.take_back(), Ok(true));
    assert_eq!(store.take_back(), Ok(false));
    drop(store);
    let store = open();
    store.recover().unwrap();
    store.write(&at(2)).unwrap();
}

#[test]
fn no_host_serves_on_a_store_that_was_moved() {
    let url = database();
    moves(|| postgres(&url), |store| store.hold().is_ok());
    let folder = temporary_folder().unwrap();
    let open = || SqliteStore::open(folder.path()).unwrap();
    moves(open, |store| store.hold().is_ok());
}

#[test]
fn a_copy_that_differs_stays_unfinished() {
    let folder = temporary_folder().unwrap();
    let store = SqliteStore::open(folder.path()).unwrap();
    fill(&store);
    let url = database();
    let target = postgres(&url);
    store.flush().unwrap();
    let mut source = Source {
        store: &store,
        dump: Box::new(Snapshot::open(folder.path()).unwrap()),
    };
    copy(&mut source, &target, &mut |_, _| ()).unwrap();
    let name = url.split(['/', '?']).nth(3).unwrap();
    let change = "UPDATE rialto.documents SET version = version + 1 WHERE id = 'shared-1'";
    rialto_postgres_server::shared().sql(name, change);
    let dump = Box::new(PostgresSnapshot::open(&url).unwrap());
    let differs = finish(&mut source, (&target, dump), Some(&store), &mut |_, _| ());
    let Err(CopyError::Differs(parts)) = differs else {
        panic!("{differs:?}");
    };
    assert_eq!(parts.len(), 1, "{parts:?}");
    assert!(
        parts[0].starts_with("documents of component-0/things-1: the source has 5 with"),
        "{parts:?}"
    );
    drop(target);
    assert_eq!(postgres(&url).recover().map(drop), unfinished());
    assert_eq!(store.take_back(), Ok(false), "the source keeps its place");
}

#[test]
fn nothing_is_overwritten() {
    let (first, second) = (temporary_folder().unwrap(), temporary_folder().unwrap());
    let store = SqliteStore::open(first.path()).unwrap();
    store.recover().unwrap();
    store.write(&at(1)).unwrap();
    drop(store);
    let url = database();
    to_database(first.path(), &url).unwrap();
    let again = to_database(first.path(), &url);
    assert!(matches!(again, Err(CopyError::Filled)), "{again:?}");
    to_folder(&url, second.path()).unwrap();
    let again = to_folder(&url, second.path());
    assert!(matches!(again, Err(CopyError::Filled)), "{again:?}");
    // They are stores like any others.
    let store = SqliteStore::open(second.path()).unwrap();
    store.recover().unwrap();
    assert_eq!(store.last_operation().unwrap(), 0);
}

#[test]
fn a_store_that_a_host_has_is_not_read() {
    let folder = temporary_folder().unwrap();
    let host = SqliteStore::open(folder.path()).unwrap();
    host.recover().unwrap();
    let refused = SqliteStore::open(folder.path()).err().unwrap();
    assert!(matches!(refused, OpenError::InUse(_)), "{refused:?}");
    let url = database();
    let host = postgres(&url);
    host.recover().unwrap();
    let other = PostgresStore::open(&url, Settings::default()).unwrap();
    let refused = other.hold();
    assert!(
        matches!(refused, Err(LeaseError::Taken { .. })),
        "{refused:?}"
    );
    // While it is read, no host takes it.
    drop(host);
    other.hold().unwrap();
    let host = PostgresStore::open(&url, Settings::default()).unwrap();
    let refused = host.take_lease();
    assert!(
        matches!(refused, Err(LeaseError::Taken { .. })),
        "{refused:?}"
    );
}
