//! The journal's files: they are used again, a clean stop leaves none, and a start refuses a journal that lacks a group or
//! is damaged.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rand::RngExt as _;
use rialto_engine::store::{Group, Store as _};
use rialto_store_sqlite::{FlushPolicy, SqliteStore};
use rialto_store_suite::samples::{collection, group, put};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions as _, Connection as _};

use crate::written;

/// Hexadecimal digits of a large group, which do not compress to less than half.
const DIGITS: usize = 400_000;

fn large(lsn: u64) -> Group {
    let mut random = rand::rng();
    let digits: String = (0..DIGITS / 16)
        .map(|_| format!("{:016x}", random.random::<u64>()))
        .collect();
    let mut next = group(lsn);
    if lsn == 1 {
        next.collections = vec![collection(1)];
    }
    next.documents = vec![put(1, &format!("d-{lsn}"), 1, &format!("\"{digits}\""))];
    next
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let all = std::fs::read_dir(folder.join("journal")).unwrap();
    let all = all.map(|entry| entry.unwrap().path());
    let mut all: Vec<PathBuf> = all.filter(|path| !path.ends_with("head")).collect();
    all.sort();
    all
}

/// What a crash leaves of a store with so many large groups, none of which is in the tables.
fn crashed(groups: u64) -> tempfile::TempDir {
    let folder = rialto_files::temporary_folder().unwrap();
    let store = SqliteStore::open_with(folder.path(), written::never()).unwrap();
    store.recover().unwrap();
    (1..=groups).for_each(|lsn| store.write(&large(lsn)).unwrap());
    let copy = rialto_files::temporary_folder().unwrap();
    written::copy(folder.path(), copy.path());
    copy
}

fn refusal(folder: &Path) -> String {
    let store = SqliteStore::open(folder).unwrap();
    store.recover().unwrap_err().to_string()
}

#[test]
fn files_are_used_again_and_a_clean_stop_leaves_none() {
    const GROUPS: u64 = 150;
    let folder = rialto_files::temporary_folder().unwrap();
    let at_once = FlushPolicy {
        after: Duration::ZERO,
        bytes: 1 << 20,
        ..FlushPolicy::default()
    };
    let store = SqliteStore::open_with(folder.path(), at_once).unwrap();
    store.recover().unwrap();
    let mut most = 0;
    for lsn in 1..=GROUPS {
        store.write(&large(lsn)).unwrap();
        most = most.max(files(folder.path()).len());
        // A flush that is behind keeps files.
        while store.behind().groups > 8 {
            std::thread::yield_now();
        }
    }
    // They have 30 MB, and a file has 4 at most.
    assert!(most < 8, "there were {most} files");
    drop(store);
    assert_eq!(files(folder.path()), Vec::<PathBuf>::new());
    let store = SqliteStore::open(folder.path()).unwrap();
    assert_eq!(store.recover().unwrap().lsn.0, GROUPS);
}

#[test]
fn a_journal_that_lacks_a_file_is_refused() {
    let copy = crashed(12);
    let all = files(copy.path());
    assert!(all.len() > 1, "{all:?}");
    std::fs::remove_file(&all[0]).unwrap();
    let refused = refusal(copy.path());
    assert!(refused.contains("groups 1 to"), "{refused}");
    assert!(
        refused.contains("put back the folder `journal`"),
        "{refused}"
    );
}

#[test]
fn damage_before_a_later_group_is_refused_and_a_torn_end_is_not() {
    // Both are in the first file.
    let copy = crashed(2);
    let path = &files(copy.path())[0];
    let whole = std::fs::read(path).unwrap();
    let mut damaged = whole.clone();
    damaged[1_000] ^= 1;
    std::fs::write(path, &damaged).unwrap();
    let refused = refusal(copy.path());
    assert!(refused.contains("is damaged"), "{refused}");
    // The last group was not yet acknowledged when the writer ended in the midst of it.
    let mut torn = whole;
    let end = torn.iter().rposition(|byte| *byte != 0).unwrap();
    torn[end - 1_000..].fill(0);
    std::fs::write(path, &torn).unwrap();
    let store = SqliteStore::open(copy.path()).unwrap();
    assert_eq!(store.recover().unwrap().lsn.0, 1);
}

#[test]
fn a_database_without_the_journal_of_its_flush_is_refused() {
    let copy = crashed(3);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let options = SqliteConnectOptions::new().filename(copy.path().join("rialto.db"));
        let mut database = options.connect().await.unwrap();
        let begun = sqlx::query("UPDATE meta SET value = 3 WHERE key = 'folding'");
        begun.execute(&mut database).await.unwrap();
        database.close().await.unwrap();
    });
    for path in files(copy.path()) {
        std::fs::remove_file(path).unwrap();
    }
    let refused = refusal(copy.path());
    assert!(refused.contains("groups 1 to 3 are missing"), "{refused}");
}
