//! The two kinds of store, each in a place of a test's own.

use std::path::Path;

use rialto_postgres_server::shared;
use rialto_store_copy::{CopyError, Part, Source, contents, copy, finish};
use rialto_store_postgres::{PostgresSnapshot, PostgresStore, Settings};
use rialto_store_sqlite::{Snapshot, SqliteStore};

/// The URL of a new database.
pub fn database() -> String {
    shared().url(&shared().make_database())
}

/// A store in a database.
pub fn postgres(url: &str) -> PostgresStore {
    PostgresStore::open(url, Settings::default()).unwrap()
}

/// The contents of the store in a folder.
pub fn in_folder(folder: &Path) -> Vec<Part> {
    let store = SqliteStore::open(folder).unwrap();
    store.hold().unwrap();
    let mut source = Source {
        store: &store,
        dump: Box::new(Snapshot::open(folder).unwrap()),
    };
    contents(&mut source, &mut |_, _| ()).unwrap()
}

/// Copy a folder's store into a database. Returns what both have.
pub fn to_database(folder: &Path, url: &str) -> Result<Vec<Part>, CopyError> {
    let store = SqliteStore::open(folder).unwrap();
    store.hold()?;
    let mut source = Source {
        store: &store,
        dump: Box::new(Snapshot::open(folder).unwrap()),
    };
    let target = postgres(url);
    copy(&mut source, &target, &mut |_, _| ())?;
    let dump = Box::new(PostgresSnapshot::open(url).unwrap());
    finish(&mut source, (&target, dump), None, &mut |_, _| ())
}

/// Copy a database's store into a folder. Returns what both have.
pub fn to_folder(url: &str, folder: &Path) -> Result<Vec<Part>, CopyError> {
    let store = postgres(url);
    store.hold().unwrap();
    let mut source = Source {
        store: &store,
        dump: Box::new(PostgresSnapshot::open(url).unwrap()),
    };
    let target = SqliteStore::open(folder).unwrap();
    copy(&mut source, &target, &mut |_, _| ())?;
    let dump = Box::new(Snapshot::open(folder).unwrap());
    finish(&mut source, (&target, dump), None, &mut |_, _| ())
}
