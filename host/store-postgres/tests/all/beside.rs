//! Receipts and the audit log, read beside a host as of one commit.

use rialto_engine::Timestamp;
use rialto_engine::store::{Group, Receipt, Store as _};
use rialto_store::{
    AuditSnapshot as _, AuditStore as _, ReceiptPages as _, StoredCheckpoint, StoredTile,
};
use rialto_store_postgres::{PostgresReceipts, PostgresSnapshot};

use rialto_store_suite::samples::group;

use crate::database::Database;
use crate::written;

/// Groups, each with so many receipts: more than two pages.
const GROUPS: u64 = 9;
const OF_A_GROUP: u64 = 500;

/// A group with receipts whose ids and instants count on.
fn receipts(lsn: u64) -> Group {
    let receipt = |id| Receipt {
        id,
        subject: "shared:1".into(),
        at: Timestamp(id),
        body: "{}".into(),
    };
    Group {
        receipts: ((lsn - 1) * OF_A_GROUP..lsn * OF_A_GROUP)
            .map(receipt)
            .collect(),
        ..group(lsn)
    }
}

#[test]
fn receipts_of_a_time_are_read_once_as_of_one_commit() {
    let database = Database::shared();
    let host = database.host();
    host.recover().unwrap();
    for lsn in 1..=GROUPS {
        host.write(&receipts(lsn)).unwrap();
    }
    let open = |since, until| {
        PostgresReceipts::open(&database.url(), Timestamp(since), Timestamp(until)).unwrap()
    };
    let mut all = open(0, u64::MAX);
    let mut ids = Vec::new();
    let mut pages = 0;
    all.visit_while(&mut |page| {
        // What is committed after the reading has begun is not read.
        host.write(&receipts(GROUPS + 1 + pages)).unwrap();
        pages += 1;
        ids.extend(page.iter().map(|receipt| receipt.id));
        true
    })
    .unwrap();
    assert!(ids.into_iter().eq(0..GROUPS * OF_A_GROUP));
    assert_eq!(pages, 3);
    let mut ids = Vec::new();
    let mut some = open(10, 20);
    some.visit_while(&mut |page| {
        ids.extend(page.iter().map(|receipt| receipt.id));
        false
    })
    .unwrap();
    assert!(ids.into_iter().eq(10..20));
    assert!(some.unread().is_empty());
}

#[test]
fn the_audit_log_is_read_as_of_one_commit() {
    let database = Database::shared();
    let host = database.host();
    host.recover().unwrap();
    for lsn in 1..=5 {
        host.write(&written::at(lsn)).unwrap();
    }
    let checkpoint = |size: u64| StoredCheckpoint {
        size,
        at: Timestamp(size),
        note: format!("of {size}"),
    };
    let tile = StoredTile {
        level: 0,
        index: 0,
        hashes: vec![7; 64],
    };
    host.add_audit_checkpoint(&checkpoint(2), std::slice::from_ref(&tile), None)
        .unwrap();
    host.add_audit_checkpoint(&checkpoint(3), &[], None)
        .unwrap();
    let mut snapshot = PostgresSnapshot::open(&database.url()).unwrap();
    // Positions 1, 2, 4 and 5 have 1, 2, 1 and 2 entries.
    assert_eq!(snapshot.audit_size(), Ok(6));
    host.write(&written::at(6)).unwrap();
    host.write(&written::at(7)).unwrap();
    host.add_audit_checkpoint(&checkpoint(7), &[], None)
        .unwrap();
    let entries = snapshot.audit_entries(0, u32::MAX).unwrap();
    assert_eq!(entries, host.audit_entries(0, 6).unwrap());
    assert_eq!(snapshot.audit_entries(4, 1).unwrap(), entries[4..5]);
    assert_eq!(snapshot.audit_tile(0, 0), Ok(Some(tile.hashes)));
    assert_eq!(snapshot.audit_tile(1, 0), Ok(None));
    assert_eq!(
        snapshot.audit_checkpoints(10),
        Ok(vec![checkpoint(3), checkpoint(2)])
    );
    assert_eq!(snapshot.audit_checkpoints(1), Ok(vec![checkpoint(3)]));
    assert_eq!(snapshot.audit_archives(), Ok(Vec::new()));
}
