//! The SQLite store passes the suite of every store, and keeps a second host out.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::time::Duration;

use rialto_engine::Timestamp;
use rialto_engine::store::{Store, StoreError};
use rialto_store_sqlite::{FlushPolicy, OpenError, SqliteStore, StoredActivation, StoredRelease};
use rialto_store_suite::Backend;
use rialto_store_suite::releases::{Change, Kept, Releases};
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

impl Releases for Folder {
    fn change(store: &SqliteStore, change: Change) -> Result<(), StoreError> {
        match change {
            Change::Component(digest) => store.add_component(digest, b"\0asm"),
            Change::Release(number) => store.add_release(&StoredRelease {
                number,
                digest: format!("sha256:{number}"),
                document: "{}".to_owned(),
                created_at: Timestamp(number),
                note: String::new(),
                maker: "anna".to_owned(),
                approver: None,
                waits_on: None,
            }),
            Change::Activating(0) => store.set_activating_release(0),
            Change::Activating(number) => store.begin_activation(&StoredActivation {
                release: number,
                before: 0,
                at: Timestamp(number),
                person: "anna".to_owned(),
                operator: String::new(),
                note: String::new(),
                done: false,
            }),
            Change::Current(number) => store.set_current_release(number),
        }
    }

    fn kept(store: &SqliteStore, digests: &[&'static str]) -> Result<Kept, StoreError> {
        let mut kept = Kept {
            releases: store.releases()?.iter().map(|r| r.number).collect(),
            activating: store.activating_release()?,
            current: store.current_release()?,
            ..Kept::default()
        };
        for digest in digests {
            if store.component(digest)?.is_some() {
                kept.components.push(digest);
            }
        }
        Ok(kept)
    }
}

rialto_store_suite::suite!(Folder);
rialto_store_suite::releases_suite!(Folder);

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
