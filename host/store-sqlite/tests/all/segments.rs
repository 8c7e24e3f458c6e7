//! The store finds documents in all segments after a start, whatever was removed and written before.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test stops at what it did not expect"
)]

use std::ops::Range;
use std::path::Path;

use rialto_engine::history::{Ended, Kind, Record};
use rialto_engine::store::{DocumentWrite, Group, Receipt, ScanRange, Store};
use rialto_engine::{CollectionId, Lsn, Timestamp, TurnId};
use rialto_store::StoreLoad as _;
use rialto_store_sqlite::HistoryStore as _;
use rialto_store_sqlite::{FlushPolicy, Order, Snapshot, SnapshotError, SqliteStore};
use rialto_store_suite::samples::{delivery, group};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions as _, Connection as _, Executor as _, Row as _};

const FEW: FlushPolicy = FlushPolicy {
    after: std::time::Duration::ZERO,
    bytes: 0,
    segment_documents: 3,
};
const COLLECTION: CollectionId = CollectionId(1);

/// Ids that are in another order than their numbers.
fn id(n: u64) -> String {
    format!("{:05}-{n}", n * 7919 % 100_000)
}

fn write(store: &SqliteStore, lsn: u64, ids: Range<u64>, version: u64, body: Option<&str>) {
    let documents = ids.map(|n| DocumentWrite {
        collection: COLLECTION,
        id: id(n).into(),
        version,
        body: body.map(Into::into),
    });
    let group = Group {
        lsn: Lsn(lsn),
        documents: documents.collect(),
        ..Group::default()
    };
    store.write(&group).unwrap();
}

/// Open the store, and close it when all that was done is in the tables.
fn with<T>(folder: &Path, when: FlushPolicy, body: impl FnOnce(&SqliteStore) -> T) -> T {
    let store = SqliteStore::open_with(folder, when).unwrap();
    store.recover().unwrap();
    body(&store)
}

/// The versions of these documents.
fn versions(store: &SqliteStore, ids: Range<u64>) -> Vec<Option<u64>> {
    let read = |n| store.read(COLLECTION, &id(n)).unwrap();
    ids.map(|n| read(n).map(|found| found.version)).collect()
}

/// One number out of the store's database.
fn ask(folder: &Path, question: &'static str) -> i64 {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime.unwrap().block_on(async {
        let options = SqliteConnectOptions::new().filename(folder.join("rialto.db"));
        let mut connection = options.connect().await.unwrap();
        let row = connection.fetch_optional(question).await.unwrap();
        connection.close().await.unwrap();
        row.map_or(0, |row| row.get(0))
    })
}

const SEGMENTS: &str = "SELECT count(*) FROM eras";
const SLICES: &str = "SELECT count(*) FROM filter_slices";
const ROWS: &str = "SELECT count(*) FROM documents";

#[test]
fn new_documents_go_to_the_newest_segment() {
    let folder = rialto_files::temporary_folder().unwrap();
    let folder = folder.path();
    with(folder, FEW, |store| write(store, 1, 0..40, 1, Some("1")));
    assert_eq!(ask(folder, ROWS), 40);
    // Of 14 segments the last has two documents, and is open.
    assert_eq!(ask(folder, SEGMENTS), 13);
    with(folder, FEW, |store| {
        write(store, 2, 0..41, 2, Some("2"));
        assert_eq!(
            versions(store, 0..42),
            [vec![Some(2); 41], vec![None]].concat()
        );
    });
    assert_eq!(ask(folder, ROWS), 41);
    with(folder, FEW, |store| {
        assert_eq!(
            versions(store, 0..42),
            [vec![Some(2); 41], vec![None]].concat()
        );
    });
}

#[test]
fn a_document_with_a_reused_row_id_is_found() {
    let folder = rialto_files::temporary_folder().unwrap();
    let folder = folder.path();
    for all in [0..3, 0..4, 0..6, 0..40] {
        // The newest go, with them whole segments, and others come.
        with(folder, FEW, |store| {
            write(store, 1, all.clone(), 1, Some("1"))
        });
        with(folder, FEW, |store| write(store, 2, all.clone(), 2, None));
        assert_eq!(ask(folder, ROWS), 0);
        with(folder, FEW, |store| {
            assert_eq!(
                versions(store, all.clone()),
                vec![None; all.clone().count()]
            );
            write(store, 3, 100..105, 1, Some("1"));
        });
        with(folder, FEW, |store| {
            assert_eq!(versions(store, 100..105), [Some(1); 5]);
            write(store, 4, 100..105, 2, None);
        });
    }
}

#[test]
fn a_row_id_that_another_document_got_misleads_nobody() {
    let folder = rialto_files::temporary_folder().unwrap();
    let folder = folder.path();
    // In one process, which remembers where each of them was.
    with(folder, FEW, |store| {
        let flushed = |lsn, ids: Range<u64>, version, body: Option<&str>| {
            write(store, lsn, ids, version, body);
            store.flush().unwrap();
        };
        flushed(1, 0..2, 1, Some("\"a\""));
        flushed(2, 0..2, 2, None);
        assert_eq!(ask(folder, ROWS), 0);
        flushed(3, 2..4, 1, Some("\"b\""));
        assert_eq!(ask(folder, "SELECT max(place) FROM documents"), 2);
        assert_eq!(versions(store, 0..4), [None, None, Some(1), Some(1)]);
        flushed(4, 0..4, 3, Some("\"c\""));
        assert_eq!(versions(store, 0..4), [Some(3); 4]);
        assert_eq!(ask(folder, ROWS), 4);
    });
    with(folder, FEW, |store| {
        assert_eq!(versions(store, 0..4), [Some(3); 4]);
    });
}

#[test]
fn segments_without_a_filter_are_learnt_from_their_documents() {
    let folder = rialto_files::temporary_folder().unwrap();
    let folder = folder.path();
    with(folder, FEW, |store| write(store, 1, 0..40, 1, Some("1")));
    // As in a store of an earlier version.
    ask(folder, "DELETE FROM eras");
    assert_eq!(ask(folder, SEGMENTS), 0);
    with(folder, FEW, |store| {
        assert_eq!(versions(store, 0..40), [Some(1); 40]);
        write(store, 2, 3..4, 2, Some("2"));
    });
    assert_eq!((ask(folder, SEGMENTS), ask(folder, ROWS)), (13, 40));
}

/// What the migration to segments made, undone.
const WITHOUT_SEGMENTS: [&str; 44] = [
    "DELETE FROM _sqlx_migrations WHERE version >= 4",
    "DROP TABLE dictionaries",
    "DROP TABLE filter_slices",
    "UPDATE receipts SET body = '{}'",
    "ALTER TABLE receipts DROP COLUMN page",
    "DROP TABLE receipt_pages",
    "DROP TABLE publications",
    "DELETE FROM meta WHERE key IN ('publications', 'published')",
    "DROP TABLE scheduled_releases",
    "DROP TABLE plans",
    "DROP TABLE plan_signatures",
    "DROP TABLE suspensions",
    "DROP TABLE held_back",
    "DROP TABLE secrets",
    "DROP TABLE audit_entries",
    "DROP TABLE audit_tiles",
    "DROP TABLE audit_checkpoints",
    "DELETE FROM meta WHERE key = 'audit'",
    "DROP TABLE personal_data",
    "DELETE FROM meta WHERE key = 'audit_sent'",
    "DROP TABLE passkeys",
    "DROP TABLE credentials",
    "DROP TABLE activations",
    "DROP TABLE eras_asked",
    "DROP TABLE era_contents",
    "DROP TABLE archives",
    "DELETE FROM meta WHERE key = 'store'",
    "DROP TABLE operations",
    "ALTER TABLE releases DROP COLUMN maker",
    "ALTER TABLE releases DROP COLUMN approver",
    "ALTER TABLE releases DROP COLUMN waits_on",
    "DROP TABLE suspect",
    "ALTER TABLE reminders DROP COLUMN starts",
    "DROP INDEX documents_by_run",
    "CREATE UNIQUE INDEX documents_by_id ON documents (collection, id)",
    "DROP TABLE eras",
    "DELETE FROM meta WHERE key = 'filter_key'",
    "DROP INDEX receipts_by_run",
    "ALTER TABLE receipts DROP COLUMN era",
    "CREATE INDEX receipts_by_subject ON receipts (subject)",
    "CREATE TABLE history_subjects (subject TEXT NOT NULL, page INTEGER NOT NULL,
         PRIMARY KEY (subject, page)) WITHOUT ROWID",
    "INSERT INTO history_subjects SELECT DISTINCT subject, page FROM history_by_run",
    "DROP TABLE history_by_run",
    "DROP TABLE subject_kinds",
];

#[test]
fn a_store_without_segments_is_migrated_completely() {
    let folder = rialto_files::temporary_folder().unwrap();
    let folder = folder.path();
    let subject = "transfer:t1";
    with(folder, FEW, |store| {
        write(store, 1, 0..40, 1, Some("1"));
        let receipt = Receipt {
            id: 7,
            subject: subject.into(),
            at: Timestamp(1),
            body: "{}".into(),
        };
        let record = Record {
            turn: TurnId(2),
            cause: None,
            at: Timestamp(1),
            took_us: 1,
            release: 1,
            kind: Kind::Request,
            component: "transfers".into(),
            function: "prepare".into(),
            trace: 1,
            subjects: vec![subject.into()],
            steps: Vec::new(),
            ended: Ended::Executed,
        };
        let group = Group {
            lsn: Lsn(2),
            receipts: vec![receipt],
            history: vec![record.into()],
            ..Group::default()
        };
        store.write(&group).unwrap();
    });
    for statement in WITHOUT_SEGMENTS {
        ask(folder, statement);
    }
    let refused = Snapshot::open(folder).err().unwrap();
    assert!(
        matches!(
            refused,
            SnapshotError::Older {
                found: 3,
                known: 22,
                ..
            }
        ),
        "{refused}"
    );
    // Twice: what was learnt is kept, and found again.
    for _ in 0..2 {
        with(folder, FEW, |store| {
            assert_eq!(
                versions(store, 0..41),
                [vec![Some(1); 40], vec![None]].concat()
            );
            assert_eq!(store.receipts(subject).unwrap().len(), 1);
            assert_eq!(store.subjects_of("t1").unwrap(), [subject]);
            assert_eq!(store.history(subject).unwrap().len(), 1);
        });
        assert_eq!((ask(folder, SEGMENTS), ask(folder, ROWS)), (13, 40));
    }
    assert!(Snapshot::open(folder).is_ok());
}

#[test]
fn documents_of_all_segments_are_in_id_order() {
    let folder = rialto_files::temporary_folder().unwrap();
    let folder = folder.path();
    // More segments than one statement reads.
    let all = 0..300;
    with(folder, FEW, |store| {
        write(store, 1, all.clone(), 1, Some("1"))
    });
    let mut ids: Vec<String> = all.map(id).collect();
    ids.sort_unstable();
    with(folder, FEW, |store| {
        for (from, to, limit) in [
            (0, 300, 1_000),
            (0, 300, 7),
            (120, 180, 1_000),
            (120, 180, 20),
        ] {
            let range = ScanRange {
                from: ids[from].clone(),
                to: ids.get(to).cloned(),
            };
            let found = store.scan(COLLECTION, &range, limit).unwrap();
            let found: Vec<&str> = found.iter().map(|d| &*d.id).collect();
            let limit = usize::try_from(limit).unwrap();
            let expected: Vec<&str> = ids[from..to].iter().take(limit).map(|id| &**id).collect();
            assert_eq!(found, expected, "{from} to {to}, at most {limit}");
        }
    });
    let mut snapshot = Snapshot::open(folder).unwrap();
    let mut seen = Vec::new();
    let visit = &mut |_, document: rialto_engine::store::StoredDocument| {
        seen.push(document.id.to_string());
        Ok::<_, rialto_engine::store::StoreError>(())
    };
    snapshot.visit(&[COLLECTION], Order::ById, visit).unwrap();
    assert_eq!(seen, ids);
    let one = snapshot.document(COLLECTION, &ids[17]).unwrap().unwrap();
    assert_eq!(*one.id, *ids[17]);
    assert_eq!(snapshot.document(COLLECTION, "nobody").unwrap(), None);
}

#[test]
fn sixty_four_full_segments_are_stored_as_slices_and_read_from_them() {
    let folder = rialto_files::temporary_folder().unwrap();
    let folder = folder.path();
    let all = 0..3 * 70;
    let found = |store: &SqliteStore| {
        assert_eq!(versions(store, all.clone()), vec![Some(1); 210]);
        assert_eq!(versions(store, 1_000..1_200), vec![None; 200]);
    };
    // Some flushes, each of which stores some slices.
    let flushed = |store: &SqliteStore, lsns: Range<u64>| {
        for lsn in lsns {
            write(store, lsn, 5_000..5_001, lsn, Some("1"));
            store.flush().unwrap();
        }
    };
    with(folder, FEW, |store| {
        write(store, 1, all.clone(), 1, Some("1"));
        store.flush().unwrap();
        assert!(ask(folder, SLICES) < 64);
        found(store);
    });
    // Those that are missing follow after a start.
    with(folder, FEW, |store| {
        found(store);
        flushed(store, 2..12);
    });
    assert_eq!(ask(folder, SLICES), 64);

    // They are enough.
    ask(folder, "UPDATE eras SET filter = x'00' WHERE era < 64");
    with(folder, FEW, found);
    assert_eq!(
        ask(folder, "SELECT count(*) FROM eras WHERE filter = x'00'"),
        64
    );
    // A damaged one is made again, of the filters of segments, and these of documents.
    ask(
        folder,
        "UPDATE filter_slices SET words = x'01' WHERE slice = 5",
    );
    with(folder, FEW, |store| {
        found(store);
        flushed(store, 12..22);
    });
    assert_eq!(
        ask(folder, "SELECT count(*) FROM eras WHERE filter = x'00'"),
        0
    );
    assert_eq!(
        ask(
            folder,
            "SELECT length(words) FROM filter_slices WHERE slice = 5"
        ),
        196_613
    );
    ask(folder, "UPDATE eras SET filter = x'00' WHERE era < 64");
    with(folder, FEW, found);
}

#[test]
fn a_full_size_segment_is_stored_and_found_again() {
    let folder = rialto_files::temporary_folder().unwrap();
    let folder = folder.path();
    let all = 0..70_000;
    let usual = FlushPolicy::default();
    with(folder, usual, |store| {
        write(store, 1, all.clone(), 1, Some("1"))
    });
    assert_eq!(ask(folder, SEGMENTS), 1);
    assert_eq!(ask(folder, "SELECT length(filter) FROM eras"), 196_617);
    with(folder, usual, |store| {
        for some in [0..2_000, 64_000..70_000] {
            assert!(versions(store, some).iter().all(|v| *v == Some(1)));
        }
        assert_eq!(versions(store, 70_000..72_000), vec![None; 2_000]);
        // In each run of the full segment, and in the one with the newest documents.
        write(store, 2, 0..200, 2, Some("2"));
        write(store, 3, 69_900..70_000, 2, None);
    });
    assert_eq!(ask(folder, ROWS), 69_900);
    assert_eq!(
        ask(
            folder,
            "SELECT count(DISTINCT place >> 13) FROM documents WHERE version = 2"
        ),
        9
    );
    with(folder, usual, |store| {
        assert!(versions(store, 0..200).iter().all(|v| *v == Some(2)));
        assert_eq!(versions(store, 69_900..70_000), vec![None; 100]);
    });
}

#[test]
fn receipts_of_one_subject_are_found_in_all_runs_of_all_segments() {
    let folder = rialto_files::temporary_folder().unwrap();
    let folder = folder.path();
    // A run of the index has 131,072 ids. The first run has four of these, later runs have one or none.
    let ids = (0..18).map(|n: u64| n * n * 10_000 + 1);
    let ids: Vec<u64> = ids.collect();
    for (n, chunk) in ids.chunks(3).enumerate() {
        with(folder, FEW, |store| {
            let lsn = 2 * n as u64 + 1;
            write(store, lsn, 3 * n as u64..3 * n as u64 + 3, 1, Some("1"));
            let receipt = |id: &u64| Receipt {
                id: *id,
                subject: "transfer:t1".into(),
                at: Timestamp(1),
                body: "{}".into(),
            };
            let group = Group {
                lsn: Lsn(lsn + 1),
                receipts: chunk.iter().map(receipt).collect(),
                ..Group::default()
            };
            store.write(&group).unwrap();
        });
    }
    assert_eq!(ask(folder, "SELECT count(DISTINCT era) FROM receipts"), 6);
    with(folder, FEW, |store| {
        let found = store.receipts("transfer:t1").unwrap();
        let found: Vec<u64> = found.iter().map(|receipt| receipt.id).collect();
        assert_eq!(found, ids);
        assert_eq!(store.receipts("transfer:t2").unwrap(), []);
    });
}

#[test]
fn reads_and_flushes_fail_when_row_ids_cannot_be_loaded() {
    let folder = rialto_files::temporary_folder().unwrap();
    let folder = folder.path();
    with(folder, FEW, |store| write(store, 1, 0..200, 1, Some("1")));
    ask(folder, "ALTER TABLE filter_slices RENAME TO away");
    let store = SqliteStore::open_with(folder, FEW).unwrap();
    store.recover().unwrap();
    let why = store.wait_until_loaded().unwrap_err().to_string();
    assert!(why.contains("filter_slices"), "{why}");
    let error = store.read(COLLECTION, &id(1)).unwrap_err();
    assert_eq!(error.to_string(), why);
    write(&store, 2, 300..301, 1, Some("1"));
    assert_eq!(store.flush().unwrap_err().to_string(), why);
    drop(store);
    // What was written is there once it can be loaded again.
    ask(folder, "ALTER TABLE away RENAME TO filter_slices");
    with(folder, FEW, |store| {
        assert_eq!(versions(store, 0..200), vec![Some(1); 200]);
        assert_eq!(versions(store, 300..301), [Some(1)]);
    });
}

#[test]
fn a_start_that_cannot_load_the_store_is_no_redelivery() {
    let folder = rialto_files::temporary_folder().unwrap();
    let folder = folder.path();
    with(folder, FEW, |store| {
        let mut group = group(1);
        group.deliveries_added = vec![delivery(1)];
        store.write(&group).unwrap();
    });
    let counted = || ask(folder, "SELECT starts FROM deliveries");
    let before = counted();
    ask(folder, "ALTER TABLE eras RENAME TO away");
    for _ in 0..3 {
        let store = SqliteStore::open_with(folder, FEW).unwrap();
        let why = store.recover().err().unwrap().to_string();
        assert!(why.contains("no such table: eras"), "{why}");
    }
    assert_eq!(counted(), before);
    ask(folder, "ALTER TABLE away RENAME TO eras");
    with(folder, FEW, |_| {});
    assert_eq!(counted(), before + 1);
}

#[test]
fn reads_fail_before_the_store_was_recovered() {
    let folder = rialto_files::temporary_folder().unwrap();
    let store = SqliteStore::open(folder.path()).unwrap();
    let error = store.read(COLLECTION, "a").unwrap_err();
    assert_eq!(error.to_string(), "the store has not been recovered yet");
}
