//! A snapshot is the state of one commit, also beside a host and during a flush.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rialto_engine::CollectionId;
use rialto_engine::store::{DocumentWrite, Group, ScanRange, Store, StoreError};
use rialto_store_sqlite::{FlushPolicy, Order, Snapshot, SnapshotError, SqliteStore};
use rialto_store_suite::samples::{IDS, collection, group, put};

/// Flush whatever there is.
const AT_ONCE: FlushPolicy = FlushPolicy {
    after: Duration::ZERO,
    bytes: 0,
    segment_documents: 3,
};
/// Flush when the store is closed.
const LATE: FlushPolicy = FlushPolicy {
    after: Duration::from_secs(3_600),
    bytes: usize::MAX,
    segment_documents: 3,
};

type Documents = BTreeMap<(u32, String), (u64, String)>;

fn seen(snapshot: &mut Snapshot, order: Order) -> Documents {
    let collections: Vec<_> = snapshot.collections().iter().map(|c| c.id).collect();
    let mut documents = Documents::new();
    let mut last: Option<(CollectionId, String)> = None;
    let visited = snapshot.visit::<StoreError>(&collections, order, &mut |collection, document| {
        let key = (collection, document.id.to_string());
        if order == Order::ById {
            assert!(last.as_ref() < Some(&key), "{key:?} after {last:?}");
            last = Some(key.clone());
        }
        let value = (document.version, document.body.to_string());
        let before = documents.insert((collection.0, key.1), value);
        assert_eq!(before, None, "{} twice", document.id);
        Ok(())
    });
    visited.unwrap();
    documents
}

fn kept(store: &SqliteStore) -> Documents {
    let mut documents = Documents::new();
    for number in 1..=3 {
        for document in store
            .scan(CollectionId(number), &ScanRange::all(), u32::MAX)
            .unwrap()
        {
            let value = (document.version, document.body.to_string());
            documents.insert((number, document.id.to_string()), value);
        }
    }
    documents
}

fn removed(collection: u32, id: &str, version: u64) -> DocumentWrite {
    DocumentWrite {
        body: None,
        ..put(collection, id, version, "")
    }
}

#[test]
fn the_journal_takes_precedence_over_the_tables() {
    let folder = rialto_files::temporary_folder().unwrap();
    let nowhere = Snapshot::open(folder.path()).err().unwrap();
    assert!(matches!(nowhere, SnapshotError::NoStore(_)), "{nowhere:?}");
    let many: Vec<String> = (0..2_500)
        .map(|n| format!("{:05}", n * 7 % 2_500))
        .collect();
    {
        let store = SqliteStore::open(folder.path()).unwrap();
        store.recover().unwrap();
        let first = Group {
            collections: vec![collection(1), collection(2)],
            documents: IDS
                .iter()
                .map(|id| put(1, id, 1, "1"))
                .chain(many.iter().map(|id| put(2, id, 1, "\"many\"")))
                .collect(),
            ..group(1)
        };
        store.write(&first).unwrap();
    }
    // All of that is in the tables now; what follows stays in the journal.
    let store = SqliteStore::open_with(folder.path(), LATE).unwrap();
    store.recover().unwrap();
    let second = Group {
        collections: vec![collection(3)],
        documents: vec![
            put(1, "a", 2, "2"),
            removed(1, "ab", 2),
            put(1, "aa", 1, "0"),
            put(1, "", 1, "\"no name\""),
            removed(2, "02499", 2),
            put(2, "00999~", 1, "1"),
            put(2, "99999", 1, "1"),
            put(3, "z", 1, "1"),
        ],
        ..group(2)
    };
    store.write(&second).unwrap();

    let mut snapshot = Snapshot::open(folder.path()).unwrap();
    assert_eq!(snapshot.lsn(), 2);
    let third = Group {
        documents: vec![put(1, "a", 3, "3"), put(3, "later", 1, "1")],
        ..group(3)
    };
    let then = kept(&store);
    assert_eq!(then.len(), IDS.len() + 2_500 + 3);
    store.write(&third).unwrap();
    assert_eq!(seen(&mut snapshot, Order::ById), then);
    assert_eq!(seen(&mut snapshot, Order::AsStored), then);
    let ones = snapshot.collection("component-0", "things-1").unwrap();
    assert_eq!(ones, CollectionId(1));
    assert_eq!(snapshot.collection("component-0", "nothing"), None);
    let mut body = |id: &str| {
        snapshot
            .document(ones, id)
            .unwrap()
            .map(|d| d.body.to_string())
    };
    assert_eq!(body("a").as_deref(), Some("2"));
    assert_eq!(body("b").as_deref(), Some("1"));
    assert_eq!(body("ab"), None);
    assert_eq!(body("never"), None);
    let range = snapshot.range(ones, &ScanRange::prefix("a")).unwrap();
    let ids: Vec<_> = range.iter().map(|document| &*document.id).collect();
    assert_eq!(ids, ["a", "a/b", "aa", "abc"]);
    assert_eq!(&*range[0].body, "2");
    drop(snapshot);

    // Whether the host runs or has stopped, and whatever was flushed meanwhile.
    let now = kept(&store);
    assert_eq!(
        seen(&mut Snapshot::open(folder.path()).unwrap(), Order::ById),
        now
    );
    drop(store);
    let mut stopped = Snapshot::open(folder.path()).unwrap();
    assert_eq!(stopped.lsn(), 3);
    assert_eq!(seen(&mut stopped, Order::AsStored), now);
}

/// Tells when it goes.
struct Enough<'a>(&'a AtomicBool);

impl Drop for Enough<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

/// Documents of one group: more than a flush writes in one of its slices.
const DOCUMENTS: u64 = 700;
/// How many snapshots are taken beside a store that flushes.
const SNAPSHOTS: u64 = 60;

#[test]
fn a_snapshot_beside_a_store_that_flushes_is_one_commit() {
    let folder = rialto_files::temporary_folder().unwrap();
    let store = SqliteStore::open_with(folder.path(), AT_ONCE).unwrap();
    store.recover().unwrap();
    let write = |n: u64| {
        let documents = (0..DOCUMENTS).map(|id| put(1, &id.to_string(), n, &n.to_string()));
        store.write(&Group {
            collections: if n == 1 { vec![collection(1)] } else { vec![] },
            documents: documents.collect(),
            ..group(n)
        })
    };
    write(1).unwrap();
    let enough = AtomicBool::new(false);
    std::thread::scope(|threads| {
        threads.spawn(|| {
            for n in 2.. {
                write(n).unwrap();
                if enough.load(Ordering::Acquire) {
                    break;
                }
            }
        });
        // Also when an assertion fails: nobody may wait for the writer for ever.
        let _enough = Enough(&enough);
        let mut commits = std::collections::BTreeSet::new();
        for n in 0..SNAPSHOTS {
            let mut snapshot = Snapshot::open(folder.path()).unwrap();
            let order = if n % 2 == 0 {
                Order::ById
            } else {
                Order::AsStored
            };
            let documents = seen(&mut snapshot, order);
            let lsn = snapshot.lsn();
            let all: BTreeMap<_, _> = (0..DOCUMENTS)
                .map(|id| ((1, id.to_string()), (lsn, lsn.to_string())))
                .collect();
            assert!(documents == all, "commit {lsn} is mixed with another one");
            commits.insert(lsn);
        }
        assert!(commits.len() > 5, "it stood still: {commits:?}");
    });
}
