//! The audit log: entries keep their order across flushes and starts; tiles and checkpoints are kept with them.

use rialto_engine::Timestamp;
use rialto_engine::store::{AuditEntry, Group, Store as _};
use rialto_store::AuditSnapshot as _;
use rialto_store_sqlite::AuditStore as _;
use rialto_store_sqlite::{Snapshot, SqliteStore, StoredCheckpoint, StoredTile};
use rialto_store_suite::samples::group;

fn entries(lsn: u64, count: u64) -> Group {
    let entry = |n| AuditEntry {
        at: Timestamp(lsn),
        body: format!("{lsn}-{n}").into(),
    };
    Group {
        audit: (0..count).map(entry).collect(),
        ..group(lsn)
    }
}

fn bodies(store: &SqliteStore) -> Vec<String> {
    let stored = store.audit_entries(0, 1_000).unwrap();
    let indexes = stored.iter().map(|entry| entry.index);
    assert!(indexes.eq(0..stored.len() as u64));
    stored.into_iter().map(|entry| entry.body).collect()
}

#[test]
fn entries_keep_their_order_across_starts() {
    let folder = rialto_files::temporary_folder().unwrap();
    let open = || {
        let store = SqliteStore::open(folder.path()).unwrap();
        store.recover().unwrap();
        store
    };
    let store = open();
    assert_eq!(store.audit_size(), Ok(0));
    store.write(&entries(1, 2)).unwrap();
    store.write(&entries(2, 0)).unwrap();
    store.write(&entries(3, 1)).unwrap();
    drop(store);
    let store = open();
    assert_eq!(bodies(&store), ["1-0", "1-1", "3-0"]);
    assert_eq!(store.audit_size(), Ok(3));
    store.write(&entries(4, 2)).unwrap();
    drop(store);
    let store = open();
    assert_eq!(bodies(&store), ["1-0", "1-1", "3-0", "4-0", "4-1"]);
    for (at, index) in [(0, 0), (1, 0), (2, 2), (3, 2), (4, 3), (5, 5)] {
        assert_eq!(store.audit_index_of(Timestamp(at)), Ok(index), "{at}");
    }
    let page = store.audit_entries(3, 1).unwrap();
    assert_eq!((page.len(), page[0].index), (1, 3));
}

#[test]
fn checkpoint_comes_with_its_tiles_and_may_replace_another() {
    let folder = rialto_files::temporary_folder().unwrap();
    let store = SqliteStore::open(folder.path()).unwrap();
    store.recover().unwrap();
    assert_eq!(store.last_audit_checkpoint(), Ok(None));
    let checkpoint = |size| StoredCheckpoint {
        size,
        at: Timestamp(size * 10),
        note: format!("note {size}"),
    };
    let tile = |byte: u8, length| StoredTile {
        level: 0,
        index: 0,
        hashes: vec![byte; length],
    };
    store
        .add_audit_checkpoint(&checkpoint(1), &[tile(1, 32)], None)
        .unwrap();
    store
        .add_audit_checkpoint(&checkpoint(2), &[tile(2, 64)], Some(1))
        .unwrap();
    store
        .add_audit_checkpoint(&checkpoint(5), &[], None)
        .unwrap();
    assert_eq!(store.last_audit_checkpoint(), Ok(Some(checkpoint(5))));
    assert_eq!(store.audit_tile(0, 0), Ok(Some(vec![2; 64])));
    assert_eq!(store.audit_tile(1, 0), Ok(None));
    let mut snapshot = Snapshot::open(folder.path()).unwrap();
    let all = snapshot.audit_checkpoints(10).unwrap();
    assert_eq!(all, [checkpoint(5), checkpoint(2)]);
    assert_eq!(snapshot.audit_tile(0, 0), Ok(Some(vec![2; 64])));
    assert_eq!(snapshot.audit_size(), Ok(0));
}
