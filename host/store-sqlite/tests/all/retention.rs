//! Segments whose period is over move to archives and are read there. Nothing is lost or shown twice, whenever it is
//! interrupted.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::ops::Range;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rialto_archive::verify;
use rialto_engine::history::{Ended, Kind, Record};
use rialto_engine::store::{DocumentWrite, Group, Receipt, Store};
use rialto_engine::{CollectionId, Lsn, Name, Timestamp, TurnId};
use rialto_store_sqlite::backup;
use rialto_store_sqlite::retention::ReadArchives as _;
use rialto_store_sqlite::retention::{Archive, Class, Keep, RetentionError};
use rialto_store_sqlite::{ArchiveStore as _, HistoryStore as _};
use rialto_store_sqlite::{FlushPolicy, Snapshot, SqliteStore};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions as _, Connection as _, Executor as _, Row as _};
use tempfile::TempDir;

pub const FEW: FlushPolicy = FlushPolicy {
    after: Duration::ZERO,
    bytes: 0,
    segment_documents: 3,
};
/// What every turn is about.
const SHARED: &str = "shared:1";
/// Between two turns, in simulated milliseconds.
const STEP: u64 = 1_000;
pub const HOUR: u64 = 3_600_000;

pub struct Folders {
    pub folder: TempDir,
}

impl Folders {
    fn new() -> Self {
        Self {
            folder: rialto_files::temporary_folder().unwrap(),
        }
    }

    pub fn store(&self) -> PathBuf {
        self.folder.path().join("state")
    }

    pub fn archives(&self) -> PathBuf {
        self.folder.path().join("archives")
    }

    /// Open the store, and close it when all that was done is in the tables.
    pub fn with<T>(&self, when: FlushPolicy, body: impl FnOnce(&SqliteStore) -> T) -> T {
        let store = SqliteStore::open_with(&self.store(), when).unwrap();
        store.recover().unwrap();
        body(&store)
    }

    /// A store with these turns in its tables, each with a document of its own and a verdict.
    ///
    /// The store is closed after every three turns. A flush writes to one segment, and on a
    /// busy machine one flush could take all turns.
    pub fn filled(turns: Range<u64>, when: FlushPolicy) -> Self {
        let place = Self::new();
        for first in turns.clone().step_by(3) {
            let some = first..turns.end.min(first + 3);
            place.with(when, |store| write(store, some));
        }
        place
    }

    pub fn archive(
        &self,
        store: &SqliteStore,
        keep: &Keep,
        now: u64,
    ) -> Result<Vec<Archive>, RetentionError> {
        store.archive(keep, &self.archives(), Timestamp(now), &|| false)
    }

    /// The turns about everything, from tables and archives.
    pub fn turns(&self, store: &SqliteStore) -> Vec<u64> {
        let (found, earlier) = store.last_of_history(SHARED, usize::MAX).unwrap();
        assert_eq!(earlier, 0);
        let most = usize::MAX;
        let archived = store.archived_history(&self.archives(), SHARED, most);
        let archived = archived.unwrap();
        assert_eq!((archived.earlier, archived.missing.len()), (0, 0));
        let in_tables: BTreeSet<u64> = found.iter().map(|record| record.turn.0).collect();
        let archived = archived.found.iter().map(|record| record.turn.0);
        let archived = archived.filter(|turn| !in_tables.contains(turn));
        archived.chain(found.iter().map(|r| r.turn.0)).collect()
    }

    /// How many verdicts there are about each of these turns, from tables and archives.
    fn verdicts(&self, store: &SqliteStore, turns: Range<u64>) -> Vec<usize> {
        let of = |n: u64| {
            let subject = format!("own:{n}");
            let mut all = store.receipts(&subject).unwrap();
            let archived = store.archived_receipts(&self.archives(), &subject).unwrap();
            all.extend(archived.found);
            all.dedup();
            assert!(all.iter().all(|receipt| *receipt == verdict(n)), "{all:?}");
            all.len()
        };
        turns.map(of).collect()
    }
}

pub fn at(n: u64) -> u64 {
    n * STEP
}

fn record(n: u64) -> Record {
    // Now and then a turn about nothing else.
    let mut subjects: Vec<Name> = vec![SHARED.into()];
    if !n.is_multiple_of(5) {
        subjects.insert(0, format!("own:{n}").into());
    }
    Record {
        turn: TurnId(n),
        cause: None,
        at: Timestamp(at(n)),
        took_us: 1,
        release: 1,
        kind: Kind::Event,
        component: "one".into(),
        function: "happened".into(),
        trace: u128::MAX,
        subjects,
        steps: Vec::new(),
        ended: Ended::Executed,
    }
}

fn about_nothing(n: u64) -> Record {
    Record {
        subjects: Vec::new(),
        ..record(n)
    }
}

pub fn verdict(n: u64) -> Receipt {
    Receipt {
        id: n,
        subject: format!("own:{n}").into(),
        at: Timestamp(at(n)),
        body: format!("{{ \"verdict\": \"\u{e9}\", \"n\": {n} }}").into(),
    }
}

pub fn write(store: &SqliteStore, turns: Range<u64>) {
    for n in turns {
        let group = Group {
            lsn: Lsn(n),
            documents: vec![DocumentWrite {
                collection: CollectionId(1),
                id: format!("d-{n}").into(),
                version: 1,
                body: Some("1".into()),
            }],
            receipts: vec![verdict(n)],
            history: vec![Arc::new(record(n)), Arc::new(about_nothing(n))],
            // So that a segment has several runs of the history's subjects.
            next_id: (n << 16) + 1,
            ..Group::default()
        };
        store.write(&group).unwrap();
    }
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

pub fn keep(milliseconds: u64) -> Keep {
    Keep {
        history: Some(milliseconds),
        receipts: Some(milliseconds),
        ..Keep::default()
    }
}

const PAGES: &str = "SELECT count(*) FROM history";
const SUBJECTS: &str = "SELECT count(*) FROM history_by_run";
const RECEIPTS: &str = "SELECT count(*) FROM receipts";
/// Pages whose receipts are gone.
const UNUSED_PAGES: &str = "SELECT count(*) FROM receipt_pages WHERE page NOT IN (SELECT page FROM receipts WHERE page IS NOT NULL)";
/// Receipts whose page is there.
const PAGED: &str = "SELECT count(*) FROM receipts r JOIN receipt_pages p ON p.page = r.page";

#[test]
fn items_beyond_their_period_are_read_from_archives() {
    let folders = Folders::filled(1..61, FEW);
    let store = folders.store();
    let all: Vec<u64> = (1..61).collect();
    folders.with(FEW, |opened| {
        let archived = folders.archive(opened, &keep(HOUR), at(50) + HOUR).unwrap();
        assert!(archived.len() >= 2, "{archived:?}");
        for one in &archived {
            let verified = verify(&folders.archives().join(&one.file)).unwrap();
            assert!(one.is(&verified));
            assert_eq!(verified.head.class, one.class.name());
            assert_eq!(verified.head.segment, one.segment);
            assert_eq!(
                (verified.written.items, verified.written.bytes),
                (one.items, one.bytes)
            );
            assert!(one.from <= one.to && one.to <= Timestamp(at(50)));
        }
        let mode = |path: &Path| std::fs::metadata(path).unwrap().mode() & 0o777;
        assert_eq!(mode(&folders.archives()), 0o700);
        let first = folders.archives().join(&archived[0].file);
        assert_eq!(mode(&first), 0o600);
        let listed = opened.archives().unwrap();
        assert!(listed.iter().all(|one| one.done), "{listed:?}");
        assert_eq!(Snapshot::open(&store).unwrap().archives().unwrap(), listed);
        let items = |class| -> u64 {
            let of_class = listed.iter().filter(|one| one.class == class);
            of_class.map(|one| one.items).sum()
        };
        // Two turns of each group, also the one that is about nothing.
        let left = u64::try_from(ask(&store, RECEIPTS)).unwrap();
        assert_eq!(items(Class::Receipts) + left, 60);
        assert_eq!(ask(&store, PAGED).cast_unsigned(), left);
        assert_eq!(ask(&store, UNUSED_PAGES), 0);
        assert_eq!(items(Class::History) + 2 * left, 120);
        assert_eq!(folders.turns(opened), all);
        assert_eq!(folders.verdicts(opened, 1..61), [1; 60]);
        let sizes = opened.sizes().unwrap();
        assert_eq!(sizes.archives.0, listed.len() as u64);
        for kept in sizes.classes {
            assert_eq!(
                kept.items,
                if kept.class == Class::History { 2 } else { 1 } * left
            );
        }
        assert_eq!(
            folders.archive(opened, &keep(HOUR), at(50) + HOUR).unwrap(),
            []
        );
    });
    folders.with(FEW, |opened| {
        write(opened, 61..70);
        assert_eq!(folders.turns(opened), (1..70).collect::<Vec<_>>());
        // The last ones, wherever they are, and how many there are before.
        let archived = |most| {
            opened
                .archived_history(&folders.archives(), SHARED, most)
                .unwrap()
        };
        let whole = archived(usize::MAX).found;
        for most in [0, 1, 2, whole.len() - 1, whole.len()] {
            let some = archived(most);
            assert_eq!(some.found, whole[whole.len() - most..]);
            assert_eq!(some.earlier, whole.len() - most);
        }
    });
}

#[test]
fn young_items_and_items_without_a_period_stay() {
    let folders = Folders::filled(1..61, FEW);
    let store = folders.store();
    let counts = || {
        (
            ask(&store, PAGES),
            ask(&store, SUBJECTS),
            ask(&store, RECEIPTS),
        )
    };
    let before = counts();
    folders.with(FEW, |opened| {
        for (keep, now) in [
            (Keep::default(), u64::MAX / 4),
            (keep(HOUR), at(1) + HOUR - 1),
            (keep(u64::MAX), u64::MAX / 4),
        ] {
            assert_eq!(folders.archive(opened, &keep, now).unwrap(), []);
        }
        assert!(!folders.archives().exists());
        assert_eq!(counts(), before);
        // Half of them are over: no younger one has gone.
        let archived = folders.archive(opened, &keep(HOUR), at(30) + HOUR).unwrap();
        assert!(archived.iter().all(|one| one.to <= Timestamp(at(30))));
        // Of one class only.
        let only = Keep {
            receipts: Some(HOUR),
            ..Keep::default()
        };
        let archived = folders.archive(opened, &only, at(60) + HOUR).unwrap();
        assert!(archived.iter().all(|one| one.class == Class::Receipts));
        assert_eq!(folders.turns(opened), (1..61).collect::<Vec<_>>());
        assert_eq!(folders.verdicts(opened, 1..61), [1; 60]);
    });
}

#[test]
fn an_old_segment_ends_before_it_is_full() {
    let usual = FlushPolicy::default();
    let folders = Folders::filled(1..11, usual);
    let store = folders.store();
    let segments = "SELECT count(*) FROM eras";
    let last = |opened: &SqliteStore| {
        let document = opened.read(CollectionId(1), "d-10").unwrap();
        document.map(|document| document.version)
    };
    folders.with(usual, |opened| {
        // A sixteenth of the hour behind the first turn.
        let young = at(1) + HOUR / 16 - 1;
        assert_eq!(folders.archive(opened, &keep(HOUR), young).unwrap(), []);
        assert_eq!(ask(&store, segments), 0);
        assert_eq!(folders.archive(opened, &keep(HOUR), young + 1).unwrap(), []);
        assert_eq!(ask(&store, segments), 1);
        assert_eq!(last(opened), Some(1));
        // Nothing new has come: the next segment does not end.
        assert_eq!(
            folders
                .archive(opened, &keep(HOUR), young + HOUR / 2)
                .unwrap(),
            []
        );
        assert_eq!(ask(&store, segments), 1);
    });
    folders.with(usual, |opened| write(opened, 11..14));
    assert_eq!(
        ask(
            &store,
            "SELECT count(*) FROM documents WHERE place >> 16 = 1"
        ),
        3
    );
    folders.with(usual, |opened| {
        assert_eq!(last(opened), Some(1));
        let archived = folders.archive(opened, &keep(HOUR), at(10) + HOUR).unwrap();
        let archived: Vec<_> = archived
            .iter()
            .map(|one| (one.class, one.segment, one.items))
            .collect();
        assert_eq!(
            archived,
            [(Class::History, 0, 20), (Class::Receipts, 0, 10)]
        );
        assert_eq!(folders.turns(opened), (1..14).collect::<Vec<_>>());
        // The documents are where they were.
        assert_eq!(last(opened), Some(1));
    });
    assert_eq!(ask(&store, RECEIPTS), 3);
}

#[test]
fn an_interrupted_pass_misses_nothing_and_is_continued() {
    let mut steps = 0;
    loop {
        let folders = Folders::filled(1..13, FEW);
        let asked = Cell::new(0);
        let is_enough = || {
            asked.set(asked.get() + 1);
            asked.get() > steps
        };
        let now = Timestamp(at(12) + HOUR);
        folders.with(FEW, |store| {
            store
                .archive(&keep(HOUR), &folders.archives(), now, &is_enough)
                .unwrap();
            assert_eq!(folders.turns(store), (1..13).collect::<Vec<_>>(), "{steps}");
            assert_eq!(folders.verdicts(store, 1..13), [1; 12], "{steps}");
        });
        let was_enough = asked.get() > steps;
        folders.with(FEW, |store| {
            // Whatever the operator says meanwhile.
            folders.archive(store, &Keep::default(), now.0).unwrap();
            let archives = store.archives().unwrap();
            assert!(archives.iter().all(|one| one.done), "{archives:?}");
            folders.archive(store, &keep(HOUR), now.0).unwrap();
            assert_eq!(folders.turns(store), (1..13).collect::<Vec<_>>(), "{steps}");
            assert_eq!(folders.verdicts(store, 1..13), [1; 12], "{steps}");
        });
        if !was_enough {
            break;
        }
        steps += 1;
    }
    assert!(steps > 10, "only {steps} steps");
}

/// Copy a folder of files.
fn copy(from: &Path, to: &Path) {
    rialto_files::folder(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        std::fs::copy(&path, to.join(path.file_name().unwrap())).unwrap();
    }
}

#[test]
fn a_crashs_file_is_used_and_another_stores_stays() {
    let folders = Folders::filled(1..31, FEW);
    let before = folders.folder.path().join("before");
    // By the store's own means: its files come and go while its connections close.
    backup::take(&folders.store(), None, &before, &mut |_| {}).unwrap();
    let now = at(30) + HOUR;
    let first = folders.with(FEW, |store| {
        folders.archive(store, &keep(HOUR), now).unwrap()
    });
    // As after a crash behind the file's new name: the store knows nothing of it.
    std::fs::remove_dir_all(folders.store()).unwrap();
    copy(&before, &folders.store());
    let again = folders.with(FEW, |store| {
        folders.archive(store, &keep(HOUR), now).unwrap()
    });
    assert_eq!(again, first);
    let names = || std::fs::read_dir(folders.archives()).unwrap().count();
    assert_eq!(names(), first.len());
    let bytes = |archive: &Archive| std::fs::read(folders.archives().join(&archive.file)).unwrap();
    let kept = bytes(&first[0]);
    // Another store that writes to the same folder.
    let other = Folders::filled(1..31, FEW);
    let archives = folders.archives();
    let others = other.with(FEW, |store| {
        let now = Timestamp(now);
        store
            .archive(&keep(HOUR), &archives, now, &|| false)
            .unwrap()
    });
    assert_eq!(names(), first.len() + others.len());
    assert_eq!(bytes(&first[0]), kept);
    // What somebody left who was killed while writing goes; what is not this store's stays.
    let store = verify(&folders.archives().join(&first[0].file))
        .unwrap()
        .head
        .store;
    let (own, strange) = (format!("a.{store}-1.partial"), "a.0-1.partial".to_owned());
    for left in [&own, &strange] {
        std::fs::write(folders.archives().join(left), b"").unwrap();
    }
    folders.with(FEW, |store| {
        assert_eq!(folders.archive(store, &Keep::default(), now).unwrap(), []);
        assert_eq!(folders.turns(store), (1..31).collect::<Vec<_>>());
    });
    assert!(!folders.archives().join(own).exists());
    assert!(folders.archives().join(strange).exists());
}

#[test]
fn without_its_file_nothing_more_is_removed() {
    let folders = Folders::filled(1..31, FEW);
    let now = at(30) + HOUR;
    // Enough as soon as there is a file.
    let is_enough = || {
        let files = std::fs::read_dir(folders.archives());
        let is_archive = |path: PathBuf| path.extension().is_some_and(|end| end == "gz");
        files.is_ok_and(|mut files| files.any(|file| is_archive(file.unwrap().path())))
    };
    folders.with(FEW, |store| {
        let archived = store
            .archive(&keep(HOUR), &folders.archives(), Timestamp(now), &is_enough)
            .unwrap();
        let file = folders.archives().join(&archived[0].file);
        let away = folders.folder.path().join("away");
        let rows = ask(&folders.store(), PAGES);
        for wrong in [None, Some(b"something else".as_slice())] {
            std::fs::rename(&file, &away).unwrap();
            if let Some(wrong) = wrong {
                std::fs::write(&file, wrong).unwrap();
            }
            let lost = folders.archive(store, &keep(HOUR), now).unwrap_err();
            let RetentionError::Lost { path, sha256 } = &lost else {
                panic!("{lost:?}");
            };
            assert_eq!((path, sha256), (&file, &archived[0].sha256));
            assert_eq!(ask(&folders.store(), PAGES), rows);
            std::fs::rename(&away, &file).unwrap();
        }
        folders.archive(store, &keep(HOUR), now).unwrap();
        assert_eq!(folders.turns(store), (1..31).collect::<Vec<_>>());
        std::fs::rename(&file, &away).unwrap();
        let rest = store
            .archived_history(&folders.archives(), SHARED, 1_000)
            .unwrap();
        assert_eq!(rest.missing, [archived[0].file.clone()]);
    });
}

/// What the migration made, undone.
const WITHOUT_RETENTION: [&str; 35] = [
    "DELETE FROM _sqlx_migrations WHERE version >= 7",
    "DROP TABLE dictionaries",
    "DROP TABLE filter_slices",
    "DROP INDEX documents_by_run",
    "CREATE UNIQUE INDEX documents_by_era ON documents (place >> 16, collection, id)",
    "DROP INDEX receipts_by_run",
    "CREATE INDEX receipts_by_era ON receipts (era, subject)",
    "CREATE TABLE history_by_era (era INTEGER NOT NULL, subject TEXT NOT NULL, page INTEGER NOT NULL,
         PRIMARY KEY (era, subject, page)) WITHOUT ROWID",
    "INSERT INTO history_by_era SELECT era, subject, page FROM history_by_run",
    "DROP TABLE history_by_run",
    "UPDATE receipts SET body = '{ \"verdict\": \"é\", \"n\": ' || substr(subject, 5) || ' }'",
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
    "ALTER TABLE operations DROP COLUMN note",
    "DROP TABLE eras_asked",
    "DROP TABLE era_contents",
    "DROP TABLE archives",
    "DELETE FROM meta WHERE key = 'store'",
];

#[test]
fn a_store_of_the_layout_before_is_counted_and_archived() {
    let folders = Folders::filled(1..61, FEW);
    for statement in WITHOUT_RETENTION {
        ask(&folders.store(), statement);
    }
    folders.with(FEW, |store| {
        assert_eq!(
            folders
                .archive(store, &keep(HOUR), at(1) + HOUR - 1)
                .unwrap(),
            []
        );
        let archived = folders.archive(store, &keep(HOUR), at(60) + HOUR).unwrap();
        assert!(archived.len() >= 2, "{archived:?}");
        let of = |class| archived.iter().filter(move |one| one.class == class);
        let items: u64 = of(Class::Receipts).map(|one| one.items).sum();
        assert_eq!(
            of(Class::History).map(|one| one.items).sum::<u64>(),
            2 * items
        );
        assert_eq!(folders.turns(store), (1..61).collect::<Vec<_>>());
        assert_eq!(folders.verdicts(store, 1..61), [1; 60]);
        // Receipts of this layout beside those of the one before.
        write(store, 61..81);
        assert_eq!(folders.verdicts(store, 1..81), [1; 80]);
    });
    assert_eq!(ask(&folders.store(), PAGED), 20);
    folders.with(FEW, |store| {
        folders.archive(store, &keep(HOUR), at(80) + HOUR).unwrap();
        assert_eq!(folders.verdicts(store, 1..81), [1; 80]);
    });
    assert_eq!(ask(&folders.store(), UNUSED_PAGES), 0);
}

#[test]
fn readers_miss_nothing_while_a_segment_is_archived() {
    let folders = Folders::filled(1..101, FEW);
    folders.with(FEW, |store| {
        let done = AtomicBool::new(false);
        std::thread::scope(|threads| {
            let archiving = threads.spawn(|| {
                let archived = folders.archive(store, &keep(HOUR), at(100) + HOUR);
                done.store(true, Ordering::Release);
                archived.unwrap()
            });
            let mut last = 100;
            while !done.load(Ordering::Acquire) {
                last += 1;
                write(store, last..last + 1);
                assert_eq!(folders.turns(store), (1..=last).collect::<Vec<_>>());
                let one = last % 100 + 1;
                assert_eq!(folders.verdicts(store, one..one + 1), [1]);
            }
            assert!(!archiving.join().unwrap().is_empty());
        });
    });
}
