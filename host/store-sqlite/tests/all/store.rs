//! The SQLite store passes the suite of every store, and keeps a second host out.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::time::Duration;

use rialto_engine::store::Store;
use rialto_store_sqlite::{FlushPolicy, OpenError, SqliteStore};
use rialto_store_suite::Backend;
use tempfile::TempDir;

/// Flush whatever there is, into many segments.
const AT_ONCE: FlushPolicy = FlushPolicy {
    after: Duration::ZERO,
    bytes: 0,
    segment_documents: 3,
};

/// A folder.
struct Folder(TempDir);

impl Backend for Folder {
    type Store = SqliteStore;

    fn new() -> Self {
        Self(rialto_files::temporary_folder().unwrap())
    }

    fn open(&self) -> SqliteStore {
        SqliteStore::open(self.0.path()).unwrap()
    }

    /// As after somebody removed the lock's file, because "no host is running anyway".
    fn intrude(&self) -> SqliteStore {
        std::fs::remove_file(self.0.path().join("lock")).unwrap();
        self.open()
    }
}

rialto_store_suite::suite!(Folder);
rialto_store_suite::host_suite!(Folder);

/// The same while the journal is flushed all the time, beside readers and writers.
mod flushing {
    use super::{Backend, Folder, SqliteStore};

    struct Eager(Folder);

    impl Backend for Eager {
        type Store = SqliteStore;

        fn new() -> Self {
            Self(Folder::new())
        }

        fn open(&self) -> SqliteStore {
            SqliteStore::open_with(self.0.0.path(), super::AT_ONCE).unwrap()
        }

        fn intrude(&self) -> SqliteStore {
            self.0.intrude()
        }
    }

    rialto_store_suite::suite!(Eager);
}

#[test]
fn an_open_folder_cannot_be_opened_again() {
    let folder = Folder::new();
    let open = folder.open();
    open.recover().unwrap();
    for _ in 0..2 {
        let refused = SqliteStore::open(folder.0.path()).err().unwrap();
        assert!(matches!(refused, OpenError::InUse(_)), "{refused:?}");
        assert_eq!(
            refused.to_string(),
            format!(
                "{} is in use by another host; stop that one first",
                folder.0.path().display()
            )
        );
    }
    drop(open);
    folder.open().recover().unwrap();
}
