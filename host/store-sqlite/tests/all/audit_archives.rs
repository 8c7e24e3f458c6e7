//! The oldest entries of the audit log move to archives and are read there. Nothing is lost or shown twice, whenever it is
//! interrupted.

use std::cell::Cell;
use std::path::PathBuf;

use rialto_archive::verify;
use rialto_engine::Timestamp;
use rialto_engine::store::{AuditEntry, Group, Store as _};
use rialto_store_sqlite::retention::ReadArchives as _;
use rialto_store_sqlite::retention::{
    Archive, ArchivedEntries, AuditKeep, Class, Keep, RetentionError,
};
use rialto_store_sqlite::{ArchiveStore as _, AuditStore as _};
use rialto_store_sqlite::{EntryFilter, Snapshot, SqliteStore, StoredCheckpoint, StoredEntry};
use rialto_store_suite::samples::group;
use tempfile::TempDir;

const HOUR: u64 = 3_600_000;
/// Between two entries, in simulated milliseconds: a sixteenth of an hour has fewer than 512.
const STEP: u64 = 500;
const ENTRIES: u64 = 1_000;
const BUNDLE: u64 = 256;
/// Everything is old.
const LATER: u64 = 10 * HOUR;

fn body(n: u64) -> String {
    match n % 100 {
        // Bytes that somebody has changed.
        17 => format!("no entry {n}\n\"of any kind\""),
        18 => format!("{{\"spaced\":\n{n}}}"),
        19 => format!(" {{\"about\":{n}}} "),
        // The name of the subject by which an earlier bundle is found.
        20 => format!(
            "{{\"about\":\"bundle:{}\"}}",
            n.saturating_sub(300) / BUNDLE
        ),
        _ => format!(
            "{{\"at\":{},\"about\":\"own:{n}\",\"\u{e9}\":1.50}}",
            n * STEP
        ),
    }
}

/// A store with entries, and its folder of archives.
struct Scene {
    _folder: TempDir,
    store: SqliteStore,
    archives: PathBuf,
    state: PathBuf,
}

impl Scene {
    fn filled() -> Self {
        let folder = rialto_files::temporary_folder().unwrap();
        let state = folder.path().join("state");
        let store = SqliteStore::open(&state).unwrap();
        store.recover().unwrap();
        for lsn in 1..=ENTRIES / 100 {
            let entry = |n| AuditEntry {
                at: Timestamp(n * STEP),
                body: body(n).into(),
            };
            let first = (lsn - 1) * 100;
            let audit = (first..first + 100).map(entry).collect();
            let group = Group {
                audit,
                ..group(lsn)
            };
            store.write(&group).unwrap();
        }
        // Closed, so that all is in the tables.
        drop(store);
        let mut scene = Self {
            archives: folder.path().join("archives"),
            store: SqliteStore::open(&state).unwrap(),
            state,
            _folder: folder,
        };
        scene.store.recover().unwrap();
        assert_eq!(scene.store.audit_size(), Ok(ENTRIES));
        scene.is_whole();
        scene
    }

    fn archive(&self, keep: &Keep, now: u64) -> Result<Vec<Archive>, RetentionError> {
        let now = Timestamp(now);
        self.store.archive(keep, &self.archives, now, &|| false)
    }

    fn all(&self) -> (Vec<StoredEntry>, ArchivedEntries) {
        let mut archived = ArchivedEntries::new(&self.archives, &[]);
        let mut found: Vec<StoredEntry> = Vec::new();
        loop {
            let next = found.last().map_or(0, |entry| entry.index + 1);
            let store = &self.store;
            let more = store.all_audit_entries(&mut archived, next, 100).unwrap();
            if more.is_empty() {
                return (found, archived);
            }
            assert!(more.len() <= 100);
            found.extend(more);
        }
    }

    /// Each entry is there once, with its bytes, for a host and for a command.
    fn is_whole(&mut self) {
        let (found, mut archived) = self.all();
        let wanted: Vec<StoredEntry> = (0..ENTRIES).map(stored).collect();
        assert!(
            found == wanted,
            "{} entries: {:?}",
            found.len(),
            found.first()
        );
        assert_eq!(archived.take_unread(), []);
        let mut snapshot = Snapshot::open(&self.state).unwrap();
        for first in [0, 255, 256, 700] {
            let found = archived.all_entries(&mut snapshot, first, 3).unwrap();
            assert_eq!(found.first(), Some(&stored(first)));
        }
    }

    /// The index of the first entry in the table.
    fn begins(&self) -> Option<u64> {
        let entries = self.store.audit_entries(0, 1).unwrap();
        entries.first().map(|entry| entry.index)
    }

    fn search(&self, filter: &EntryFilter) -> Vec<u64> {
        let mut archived = ArchivedEntries::new(&self.archives, &[]);
        let (mut found, mut next) = (Vec::new(), 0);
        while next < ENTRIES {
            let bounds = ((next, ENTRIES), (7, 300));
            let (more, then) = self
                .store
                .search_all_audit(&mut archived, filter, bounds.0, bounds.1)
                .unwrap();
            assert!(then > next, "it goes on");
            found.extend(more.iter().map(|entry| entry.index));
            next = then;
        }
        found
    }
}

fn stored(index: u64) -> StoredEntry {
    StoredEntry {
        index,
        at: Timestamp(index * STEP),
        body: body(index),
    }
}

const KEPT: AuditKeep = AuditKeep {
    period: HOUR,
    only_signed: false,
    only_sent: false,
};

fn keep(audit: AuditKeep) -> Keep {
    Keep {
        audit: Some(audit),
        ..Keep::default()
    }
}

#[test]
fn old_entries_are_in_archives_and_read_there() {
    let mut scene = Scene::filled();
    let keep = keep(KEPT);
    // The file of a sixteenth of the period waits until all of it is old.
    let part = HOUR / 16;
    assert_eq!(scene.archive(&keep, HOUR + part - 1).unwrap(), []);
    let archived = scene.archive(&keep, HOUR + part).unwrap();
    let ranges = |archives: &[Archive]| -> Vec<(u32, u64)> {
        archives
            .iter()
            .map(|one| (one.segment, one.items))
            .collect()
    };
    assert_eq!(ranges(&archived), [(0, BUNDLE)]);
    assert_eq!(scene.begins(), Some(BUNDLE));
    scene.is_whole();
    let rest = scene.archive(&keep, LATER).unwrap();
    assert_eq!(ranges(&rest), [(1, BUNDLE), (2, BUNDLE)]);
    assert_eq!(scene.archive(&keep, LATER).unwrap(), []);
    // The part of a bundle stays.
    assert_eq!(scene.begins(), Some(3 * BUNDLE));
    scene.is_whole();
    for one in archived.iter().chain(&rest) {
        assert!(one.done && one.class == Class::Audit);
        let verified = verify(&scene.archives.join(&one.file)).unwrap();
        assert!(one.is(&verified));
        assert_eq!(verified.head.class, "audit");
    }
    // A new process reads the same.
    drop(scene.store);
    scene.store = SqliteStore::open(&scene.state).unwrap();
    scene.store.recover().unwrap();
    scene.is_whole();
    // Searches find entries of both.
    let text = |text: &str| EntryFilter {
        texts: vec![vec![text.to_owned()]],
        ..EntryFilter::default()
    };
    assert_eq!(scene.search(&text("own:300\"")), [300]);
    let some = scene.search(&text("of any kind"));
    let wanted: Vec<u64> = (0..10).map(|n| n * 100 + 17).collect();
    assert_eq!(some, wanted);
    let between = EntryFilter {
        since: Some(250 * STEP),
        until: Some(790 * STEP),
        ..EntryFilter::default()
    };
    let wanted: Vec<u64> = (250..790).collect();
    assert_eq!(scene.search(&between), wanted);
}

#[test]
fn entry_that_is_about_another_bundle_hides_none() {
    let mut scene = Scene::filled();
    let keep = keep(AuditKeep {
        period: 10 * HOUR,
        ..KEPT
    });
    let archived = scene.archive(&keep, 2 * LATER).unwrap();
    assert_eq!(archived.len(), 1, "all bundles are in one file");
    scene.is_whole();
}

#[test]
fn interrupted_archiver_goes_on_and_loses_no_entry() {
    for stop_after in 0..20_u32 {
        let mut scene = Scene::filled();
        let keep = keep(KEPT);
        let left = Cell::new(stop_after);
        let is_enough = || {
            let now = left.get();
            left.set(now.saturating_sub(1));
            now == 0
        };
        let archives = scene.archives.clone();
        let stopped = scene
            .store
            .archive(&keep, &archives, Timestamp(LATER), &is_enough);
        stopped.unwrap();
        scene.is_whole();
        scene.archive(&keep, LATER).unwrap();
        scene.is_whole();
        assert_eq!(scene.begins(), Some(3 * BUNDLE), "after {stop_after}");
        let archives = scene.store.archives().unwrap();
        assert_eq!(archives.len(), 3, "after {stop_after}");
        assert!(archives.iter().all(|one| one.done));
        let files = std::fs::read_dir(&scene.archives).unwrap();
        assert_eq!(files.count(), 3, "after {stop_after}");
    }
}

#[test]
fn unsigned_and_unsent_entries_stay() {
    let mut scene = Scene::filled();
    let signed = keep(AuditKeep {
        only_signed: true,
        ..KEPT
    });
    assert_eq!(scene.archive(&signed, LATER).unwrap(), []);
    let checkpoint = StoredCheckpoint {
        size: 2 * BUNDLE + 1,
        at: Timestamp(1),
        note: "signed".to_owned(),
    };
    let store = &scene.store;
    store.add_audit_checkpoint(&checkpoint, &[], None).unwrap();
    let sent = keep(AuditKeep {
        only_signed: true,
        only_sent: true,
        ..KEPT
    });
    assert_eq!(scene.archive(&sent, LATER).unwrap(), []);
    scene.store.set_audit_sent(2 * BUNDLE - 1).unwrap();
    assert_eq!(scene.archive(&sent, LATER).unwrap().len(), 1);
    assert_eq!(scene.begins(), Some(BUNDLE));
    scene.archive(&signed, LATER).unwrap();
    assert_eq!(scene.begins(), Some(2 * BUNDLE));
    scene.is_whole();
}

#[test]
fn missing_file_is_told_and_put_back() {
    let mut scene = Scene::filled();
    let archived = scene.archive(&keep(KEPT), LATER).unwrap();
    let file = scene.archives.join(&archived[1].file);
    let away = scene.archives.join("away");
    std::fs::rename(&file, &away).unwrap();
    let (found, mut entries) = scene.all();
    let indexes: Vec<u64> = found.iter().map(|entry| entry.index).collect();
    let rest: Vec<u64> = (0..BUNDLE).chain(2 * BUNDLE..ENTRIES).collect();
    assert_eq!(indexes, rest);
    let unread = entries.take_unread();
    assert_eq!(unread.len(), 1);
    assert_eq!((unread[0].first, unread[0].last), (256, 511));
    assert!(unread[0].to_string().contains(&archived[1].file));
    assert!(unread[0].to_string().contains("put it back"));
    std::fs::write(&file, b"something else").unwrap();
    let (found, mut entries) = scene.all();
    assert_eq!(found.len() as u64, ENTRIES - BUNDLE);
    let unread = entries.take_unread();
    assert!(unread[0].why.contains("damaged"), "{unread:?}");
    std::fs::rename(&away, &file).unwrap();
    scene.is_whole();
}
