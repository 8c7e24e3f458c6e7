//! Backups beside a writer, and their restore.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use rialto_engine::Timestamp;
use rialto_engine::store::Store as _;
use rialto_store_sqlite::CredentialStore as _;
use rialto_store_sqlite::backup::{self, BackupError};
use rialto_store_sqlite::{Credential, CredentialKind, FlushPolicy, OpenError, SqliteStore};
use rialto_store_suite::model::Model;

use crate::retention::{self, FEW, Folders, HOUR};
use crate::written;

fn take(store: &Path, to: &Path) -> Result<backup::Manifest, BackupError> {
    backup::take(store, Some(&store.join("archives")), to, &mut |_| {})
}

fn restore(from: &Path, to: &Path) -> Result<backup::Manifest, BackupError> {
    backup::restore(from, to, &to.join("archives"), &mut |_| {})
}

/// A flush that does not come in the time of a test.
fn late() -> FlushPolicy {
    FlushPolicy {
        after: Duration::from_secs(3_600),
        ..FlushPolicy::default()
    }
}

#[test]
fn a_backup_is_one_commit_with_all_acknowledged_before() {
    const BACKUPS: usize = 10;
    let outer = rialto_files::temporary_folder().unwrap();
    let at = |name: &str| outer.path().join(name);
    let store = SqliteStore::open_with(&at("store"), written::flushing()).unwrap();
    store.recover().unwrap();
    let (acknowledged, stop) = (AtomicU64::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for lsn in 1.. {
                if stop.load(Ordering::Relaxed) {
                    break;
                }
                store.write(&written::at(lsn)).unwrap();
                acknowledged.store(lsn, Ordering::Release);
            }
        });
        for n in 0..BACKUPS {
            let before = acknowledged.load(Ordering::Acquire);
            let copy = at(&format!("backup-{n}"));
            let manifest = take(&at("store"), &copy).unwrap();
            let after = acknowledged.load(Ordering::Acquire) + 1;
            let range = before..=after;
            assert!(range.contains(&manifest.lsn), "{range:?}: {manifest:?}");
            let to = at(&format!("restored-{n}"));
            assert_eq!(restore(&copy, &to).unwrap(), manifest);
            let mut model = Model::default();
            written::judge_restored(&to, &mut model, manifest.lsn);
        }
        stop.store(true, Ordering::Relaxed);
    });
    let written = acknowledged.into_inner();
    assert!(written > BACKUPS as u64, "nothing was written meanwhile");
}

#[test]
fn what_is_only_in_the_journal_is_in_the_backup() {
    let outer = rialto_files::temporary_folder().unwrap();
    let at = |name: &str| outer.path().join(name);
    let store = SqliteStore::open_with(&at("store"), late()).unwrap();
    store.recover().unwrap();
    for lsn in 1..=5 {
        store.write(&written::at(lsn)).unwrap();
    }
    assert_eq!(take(&at("store"), &at("backup")).unwrap().lsn, 5);
    restore(&at("backup"), &at("restored")).unwrap();
    written::judge_restored(&at("restored"), &mut Model::default(), 5);
}

#[test]
fn a_restored_store_reuses_no_number() {
    let outer = rialto_files::temporary_folder().unwrap();
    let at = |name: &str| outer.path().join(name);
    let store = SqliteStore::open_with(&at("store"), late()).unwrap();
    let first = store.recover().unwrap();
    assert_eq!(store.just_restored().unwrap(), None);
    let numbered = |lsn, next_id| rialto_engine::store::Group {
        next_id,
        ..written::at(lsn)
    };
    store.write(&numbered(1, 7_000)).unwrap();
    let manifest = take(&at("store"), &at("backup")).unwrap();
    // The lost store goes on.
    store.write(&numbered(2, 9_000)).unwrap();
    restore(&at("backup"), &at("restored")).unwrap();
    let restored = SqliteStore::open(&at("restored")).unwrap();
    let origin = restored.just_restored().unwrap().unwrap();
    assert_eq!(origin.lsn, 1);
    assert_eq!(
        origin.taken.as_millisecond(),
        manifest.taken.as_millisecond()
    );
    let recovered = restored.recover().unwrap();
    assert!(recovered.next_id > 1 << 32, "{}", recovered.next_id);
    assert!(first.next_id < 7_000);
    restored.write(&numbered(2, recovered.next_id + 1)).unwrap();
    assert_eq!(restored.just_restored().unwrap(), None);
    drop(restored);
    // Of a backup of the restored one it is told how often that was.
    let again = take(&at("restored"), &at("again")).unwrap();
    assert_eq!((again.lsn, again.restored), (2, 1));
}

#[test]
fn no_session_or_token_is_restored() {
    let outer = rialto_files::temporary_folder().unwrap();
    let at = |name: &str| outer.path().join(name);
    let store = SqliteStore::open(&at("store")).unwrap();
    store.recover().unwrap();
    let token = Credential {
        id: "one".to_owned(),
        hash: [1; 32],
        kind: CredentialKind::Token,
        operator: "anna".to_owned(),
        person: "anna".to_owned(),
        subject: None,
        label: "a script".to_owned(),
        roles: None,
        made: Timestamp(1),
        expires: Timestamp(u64::MAX >> 1),
    };
    store.add_credential(&token).unwrap();
    take(&at("store"), &at("backup")).unwrap();
    // It may be ended after the backup, and must not come back.
    restore(&at("backup"), &at("restored")).unwrap();
    let restored = SqliteStore::open(&at("restored")).unwrap();
    assert_eq!(restored.credentials().unwrap(), []);
    assert_eq!(store.credentials().unwrap(), [token]);
}

#[test]
fn nothing_is_overwritten_and_no_half_is_served() {
    let outer = rialto_files::temporary_folder().unwrap();
    let at = |name: &str| outer.path().join(name);
    let refused = take(&at("store"), &at("backup"));
    assert!(
        matches!(refused, Err(BackupError::NoStore(_))),
        "{refused:?}"
    );
    let store = SqliteStore::open(&at("store")).unwrap();
    take(&at("store"), &at("backup")).unwrap();
    for to in [at("backup"), at("store")] {
        let refused = take(&at("store"), &to);
        assert!(
            matches!(refused, Err(BackupError::NotEmpty(_))),
            "{refused:?}"
        );
        let refused = restore(&at("backup"), &to);
        assert!(
            matches!(refused, Err(BackupError::NotEmpty(_))),
            "{refused:?}"
        );
    }
    drop(store);
    // As a restore that was interrupted leaves it.
    rialto_files::folder(&at("half")).unwrap();
    rialto_files::create(&at("half").join(backup::UNFINISHED)).unwrap();
    let refused = SqliteStore::open(&at("half")).err();
    assert!(
        matches!(refused, Some(OpenError::Restoring(_))),
        "{refused:?}"
    );
    restore(&at("backup"), &at("half")).unwrap();
    SqliteStore::open(&at("half")).unwrap();
}

#[test]
fn archives_are_in_the_backup_and_are_restored_with_it() {
    let folders = Folders::filled(1..61, FEW);
    let at = |name: &str| folders.folder.path().join(name);
    let now = retention::at(50) + HOUR;
    let archived = folders.with(FEW, |store| {
        folders.archive(store, &retention::keep(HOUR), now).unwrap()
    });
    assert!(archived.len() > 1, "{archived:?}");
    let take = |archives: Option<&Path>, to: &str| {
        backup::take(&folders.store(), archives, &at(to), &mut |_| {})
    };
    let manifest = take(Some(&folders.archives()), "backup").unwrap();
    let names = |manifest: &backup::Manifest| -> Vec<String> {
        manifest
            .archives
            .iter()
            .map(|one| one.file.clone())
            .collect()
    };
    assert_eq!(names(&manifest).len(), archived.len());
    assert!(manifest.archives_elsewhere.is_empty());
    // Everything is read from what was restored, into an empty folder.
    let lost = at("lost");
    std::fs::rename(folders.store(), &lost).unwrap();
    std::fs::rename(folders.archives(), at("lost-archives")).unwrap();
    let restore = || {
        backup::restore(
            &at("backup"),
            &folders.store(),
            &folders.archives(),
            &mut |_| {},
        )
    };
    restore().unwrap();
    folders.with(FEW, |store| {
        assert_eq!(folders.turns(store), (1..61).collect::<Vec<_>>());
    });
    // Archives that are there stay, if they are the same.
    std::fs::remove_dir_all(folders.store()).unwrap();
    restore().unwrap();
    std::fs::remove_dir_all(folders.store()).unwrap();
    let one = folders.archives().join(&archived[0].file);
    let bytes = std::fs::read(&one).unwrap();
    std::fs::write(&one, b"another store's").unwrap();
    let refused = restore();
    assert!(
        matches!(&refused, Err(BackupError::InTheWay(path)) if *path == one),
        "{refused:?}"
    );
    assert_eq!(std::fs::read(&one).unwrap(), b"another store's");
    // What is damaged in the backup is not restored, and what is damaged in the store not backed up.
    std::fs::remove_file(&one).unwrap();
    let copied = at("backup").join("archives").join(&archived[0].file);
    std::fs::write(&copied, &bytes[1..]).unwrap();
    let refused = restore();
    assert!(
        matches!(&refused, Err(BackupError::Damaged { path, .. }) if *path == copied),
        "{refused:?}"
    );
    assert!(!one.exists() && !folders.store().join("rialto.db").exists());
    // No host makes a new store in the place of one that could not be restored.
    let refused = SqliteStore::open(&folders.store()).err();
    assert!(
        matches!(refused, Some(OpenError::Restoring(_))),
        "{refused:?}"
    );
    std::fs::write(&copied, &bytes).unwrap();
    // A manifest may be somebody else's word: no name leads out of the folder.
    let told = at("backup").join(backup::MANIFEST);
    let text = std::fs::read_to_string(&told).unwrap();
    for name in [
        "../evil.jsonl.gz",
        "/tmp/evil.jsonl.gz",
        "a/b.jsonl.gz",
        "evil",
        "..",
    ] {
        let changed = text.replace(&archived[0].file, name);
        std::fs::write(&told, changed).unwrap();
        let refused = restore();
        assert!(
            matches!(&refused, Err(BackupError::Damaged { path, .. }) if *path == told),
            "{name}: {refused:?}"
        );
    }
    std::fs::write(&told, text).unwrap();
    restore().unwrap();
    std::fs::write(&one, &bytes[1..]).unwrap();
    let refused = take(Some(&folders.archives()), "again");
    assert!(
        matches!(&refused, Err(BackupError::Damaged { path, .. }) if *path == one),
        "{refused:?}"
    );
    // One that is not there is named, and all may be left out.
    std::fs::remove_file(&one).unwrap();
    let manifest = take(Some(&folders.archives()), "fewer").unwrap();
    assert_eq!(manifest.archives.len(), archived.len() - 1);
    assert_eq!(manifest.archives_elsewhere, [archived[0].file.clone()]);
    let manifest = take(None, "none").unwrap();
    assert_eq!(manifest.archives_elsewhere.len(), archived.len());
    assert!(!at("none").join("archives").exists());
}
