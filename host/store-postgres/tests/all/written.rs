//! Groups that are a function of their position in the log, and the state that a store must have after them.

use std::sync::Arc;

use rialto_engine::history::{Ended, Kind, Record};
use rialto_engine::store::{AuditEntry, Group, Receipt, Store as _};
use rialto_engine::{Timestamp, TurnId};
use rialto_store::{AuditStore as _, HistoryStore as _, StoredEntry};
use rialto_store_postgres::PostgresStore;
use rialto_store_suite::model::{Kept, Model};
use rialto_store_suite::samples::{collection, delivery, group, outbound, put, reminder, remove};
use rialto_store_suite::session::compare;

/// Documents of many groups, a few of its own, and things that come and go a few positions later.
pub fn at(lsn: u64) -> Group {
    let mut next = group(lsn);
    if lsn == 1 {
        next.collections = vec![collection(1), collection(2)];
    }
    next.documents = (0..6)
        .map(|n| put(1, &format!("shared-{n}"), lsn, &lsn.to_string()))
        .collect();
    let own = put(2, &format!("own-{lsn}"), 1, "\"own\"");
    next.documents.push(own);
    if lsn > 3 {
        let gone = remove(2, &format!("own-{}", lsn - 3), 2);
        next.documents.push(gone);
        next.deliveries_removed = vec![lsn - 3];
        next.outbound_removed = vec![lsn - 3];
    }
    next.deliveries_added = vec![delivery(lsn)];
    next.outbound_added = vec![outbound(lsn)];
    next.reminders_set = vec![reminder("one", "shared", lsn)];
    next.receipts = vec![Receipt {
        id: lsn,
        subject: "shared:1".into(),
        at: Timestamp(lsn),
        body: "{}".into(),
    }];
    next.audit = audited(lsn);
    next.history = vec![Arc::new(record(lsn))];
    next
}

fn record(lsn: u64) -> Record {
    Record {
        turn: TurnId(lsn),
        cause: None,
        at: Timestamp(lsn),
        took_us: 1,
        release: 1,
        kind: Kind::Event,
        component: "one".into(),
        function: "happened".into(),
        trace: 1,
        subjects: vec![format!("own:{lsn}").into(), "shared:1".into()],
        steps: vec![],
        ended: Ended::Executed,
    }
}

/// The entries of the audit log at a position: none, one or two.
fn audited(lsn: u64) -> Vec<AuditEntry> {
    let entry = |n| AuditEntry {
        at: Timestamp(lsn),
        body: format!("{{\"position\":{lsn},\"n\":{n}}}").into(),
    };
    (0..lsn % 3).map(entry).collect()
}

/// Recover a store and judge that it has exactly the groups from the first to one of these positions. Returns that.
pub fn judge(store: &PostgresStore, positions: std::ops::RangeInclusive<u64>) -> u64 {
    let recovered = store.recover().unwrap();
    let last = recovered.lsn.0;
    assert!(positions.contains(&last), "{last} is not in {positions:?}");
    let mut model = Model::default();
    for lsn in 1..=last {
        model.apply(&at(lsn));
    }
    assert_eq!(Kept::of(recovered), model.kept(1));
    compare(store, &model);
    let turns = store.history("shared:1").unwrap();
    assert!(turns.iter().map(|record| record.turn.0).eq(1..=last));
    let receipts = store.receipts("shared:1").unwrap();
    assert!(receipts.iter().map(|receipt| receipt.id).eq(1..=last));
    let expected: Vec<_> = (0..).zip((1..=last).flat_map(audited)).collect();
    let entries = store.audit_entries(0, u32::MAX).unwrap().into_iter();
    let entries: Vec<_> = entries
        .map(|StoredEntry { index, at, body }| {
            (
                index,
                AuditEntry {
                    at,
                    body: body.into(),
                },
            )
        })
        .collect();
    assert_eq!(entries, expected);
    assert_eq!(store.audit_size().unwrap(), expected.len() as u64);
    let groups = store.journal_after(0, u32::MAX).unwrap();
    assert!(groups.iter().map(|group| group.lsn).eq(1..=last));
    assert!(groups.iter().map(|group| group.seq).eq(1..=last));
    last
}
