//! A process that writes and archives is killed at any moment. All acknowledged groups are in the tables or in archives,
//! and all archives are intact.
//!
//! The test starts itself again as the process that is killed. An environment variable tells it so.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use rand::RngExt as _;
use rialto_archive::verify;
use rialto_engine::history::{Ended, Kind, Record};
use rialto_engine::store::{AuditEntry, Group, Receipt, Store};
use rialto_engine::{Timestamp, TurnId};
use rialto_store_sqlite::retention::ReadArchives as _;
use rialto_store_sqlite::retention::{ArchivedEntries, AuditKeep, Class, Keep};
use rialto_store_sqlite::{ArchiveStore as _, HistoryStore as _};
use rialto_store_sqlite::{FlushPolicy, SqliteStore};
use rialto_store_suite::samples::{collection, group, put};

/// The folder of the store, for the one that is killed.
const FOLDER: &str = "RIALTO_TEST_KILLED_ARCHIVER";
/// Set for one that archives entries of the audit log only. Others archive them last, and some lives are too short for that.
const ENTRIES_ONLY: &str = "RIALTO_TEST_ENTRIES_ONLY";
const NAME: &str = "killed_archiver::one_that_archives_and_is_killed_loses_nothing";
const KILLS: usize = 24;
/// The longest life after the first group, or after the first archive of a pass.
const LIFE_MAX: Duration = Duration::from_millis(100);
/// Turns that are kept, by their simulated time.
const KEPT: u64 = 40;
/// Entries of the audit log of a turn. They are archived 256 at a time.
const ENTRIES: u64 = 20;

fn at(lsn: u64) -> Group {
    let record = |n: u64| Record {
        turn: TurnId(lsn * 10 + n),
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
    };
    Group {
        collections: if lsn == 1 {
            vec![collection(1)]
        } else {
            vec![]
        },
        documents: (0..5)
            .map(|n| put(1, &format!("{lsn}-{n}"), 1, "1"))
            .collect(),
        receipts: vec![Receipt {
            id: lsn,
            subject: format!("own:{lsn}").into(),
            at: Timestamp(lsn),
            body: "{}".into(),
        }],
        history: (0..3).map(|n| Arc::new(record(n))).collect(),
        audit: (0..ENTRIES)
            .map(|n| AuditEntry {
                at: Timestamp(lsn),
                body: entry((lsn - 1) * ENTRIES + n).into(),
            })
            .collect(),
        ..group(lsn)
    }
}

/// An entry of the audit log, by its index.
fn entry(index: u64) -> String {
    format!("{{\"about\":\"own:{index}\"}}")
}

/// The indexes of all entries, of the tables and of archives, in order. Each is the one that was written.
fn entries(store: &SqliteStore, archives: &Path) -> Vec<u64> {
    let mut archived = ArchivedEntries::new(archives, &[]);
    let mut indexes = Vec::new();
    loop {
        let at = indexes.len() as u64;
        let some = store.all_audit_entries(&mut archived, at, 10_000).unwrap();
        assert!(archived.take_unread().is_empty());
        if some.is_empty() {
            return indexes;
        }
        for one in some {
            assert_eq!(one.body, entry(one.index));
            indexes.push(one.index);
        }
    }
}

/// Say a line to the one that will kill this process.
fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    write!(out, "\n{line}\n").unwrap();
    out.flush().unwrap();
}

/// The archives in the folder that are not being written.
fn whole_files(archives: &Path) -> usize {
    let files = std::fs::read_dir(archives).into_iter().flatten().flatten();
    let whole = files.filter(|file| file.path().extension().is_none_or(|end| end != "partial"));
    whole.count()
}

/// Write groups and say the position of each when it is written, archiving beside, until killed.
fn run(folder: &Path) {
    let flushing = FlushPolicy {
        after: Duration::from_millis(rand::rng().random_range(0..20)),
        segment_documents: 50,
        ..FlushPolicy::default()
    };
    let store = SqliteStore::open_with(folder, flushing).unwrap();
    let last = store.recover().unwrap().lsn.0;
    let now = std::sync::atomic::AtomicU64::new(last);
    let others = std::env::var_os(ENTRIES_ONLY).is_none();
    let keep = Keep {
        history: others.then_some(KEPT),
        receipts: others.then_some(KEPT / 2),
        audit: Some(AuditKeep {
            period: KEPT / 2,
            only_signed: false,
            only_sent: false,
        }),
        ..Keep::default()
    };
    std::thread::scope(|threads| {
        threads.spawn(|| {
            loop {
                let now = Timestamp(now.load(std::sync::atomic::Ordering::Relaxed));
                let archives = folder.join("archives");
                let before = whole_files(&archives);
                let tell = || {
                    if whole_files(&archives) > before {
                        say("archived");
                    }
                    false
                };
                store.archive(&keep, &archives, now, &tell).unwrap();
            }
        });
        for lsn in last + 1.. {
            store.write(&at(lsn)).unwrap();
            now.store(lsn, std::sync::atomic::Ordering::Relaxed);
            say(&format!("written {lsn}"));
        }
    });
}

/// Wait until the process has written a group, and has made an archive if it should.
fn wait_for(lines: &Receiver<String>, an_archive: bool) -> Result<(), RecvTimeoutError> {
    let until = Instant::now() + Duration::from_secs(60);
    let (mut has_written, mut has_archived) = (false, false);
    while !has_written || (an_archive && !has_archived) {
        let line = lines.recv_timeout(until.saturating_duration_since(Instant::now()))?;
        has_written |= line != "archived";
        has_archived |= line == "archived";
    }
    Ok(())
}

/// Start one and kill it. Returns the last position that it said, if it said one.
fn last_said(folder: &Path, round: usize) -> Option<u64> {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", NAME, "--nocapture", "--test-threads", "1"])
        .env(FOLDER, folder)
        .stdout(Stdio::piped());
    // Two rounds in turn archive all, and two entries only. The first of each two lives until it has made an archive.
    if round % 4 > 1 {
        command.env(ENTRIES_ONLY, "");
    }
    let mut child = command.spawn().unwrap();
    let out = BufReader::new(child.stdout.take().unwrap());
    let (said, lines) = std::sync::mpsc::channel();
    let reader = std::thread::spawn(move || {
        let positions = out.lines().map_while(Result::ok).filter_map(|line| {
            let position = line.strip_prefix("written ").map(str::parse::<u64>);
            if position.is_some() || line == "archived" {
                // Nobody listens after the last that is awaited.
                let _ = said.send(line);
            }
            position?.ok()
        });
        positions.last()
    });
    let lived = wait_for(&lines, round.is_multiple_of(2));
    // Not a wait for something: the moment of death is what this test varies.
    std::thread::sleep(LIFE_MAX.mul_f64(rand::rng().random()));
    child.kill().unwrap();
    let status = child.wait().unwrap();
    lived.unwrap_or_else(|e| panic!("it wrote or archived nothing: {e}; {status}"));
    assert_eq!(status.code(), None, "it ended by itself: {status}");
    reader.join().unwrap()
}

#[test]
fn one_that_archives_and_is_killed_loses_nothing() {
    if let Some(folder) = std::env::var_os(FOLDER) {
        return run(Path::new(&folder));
    }
    let folder = rialto_files::temporary_folder().unwrap();
    let archives = folder.path().join("archives");
    let mut said = 0;
    for round in 0..KILLS {
        said = last_said(folder.path(), round).unwrap_or(said);
        let store = SqliteStore::open(folder.path()).unwrap();
        let last = store.recover().unwrap().lsn.0;
        assert!(
            (said..=said + 1).contains(&last),
            "round {round}: {last} after {said}"
        );
        // What was about to be taken out is in both.
        let mut turns = BTreeSet::new();
        let archived = store
            .archived_history(&archives, "shared:1", usize::MAX)
            .unwrap();
        assert_eq!(archived.missing.len(), 0, "round {round}");
        for record in archived
            .found
            .iter()
            .chain(&store.history("shared:1").unwrap())
        {
            turns.insert(record.turn.0);
        }
        let expected = (1..=last).flat_map(|lsn| (0..3).map(move |n| lsn * 10 + n));
        assert!(
            turns.into_iter().eq(expected),
            "round {round}: a turn is lost, or one too many"
        );
        for lsn in [1, last / 2, last.saturating_sub(KEPT).max(1), last] {
            let subject = format!("own:{lsn}");
            let mut found = store.receipts(&subject).unwrap();
            found.extend(store.archived_receipts(&archives, &subject).unwrap().found);
            found.dedup();
            assert_eq!(found.len(), 1, "round {round}, {subject}");
        }
        let indexes = entries(&store, &archives);
        let expected = 0..last * ENTRIES;
        assert!(
            indexes.into_iter().eq(expected),
            "round {round}: an entry of the audit log is lost, or is there twice"
        );
        for archive in store.archives().unwrap() {
            let verified = verify(&archives.join(&archive.file)).unwrap();
            assert!(archive.is(&verified), "round {round}: {}", archive.file);
        }
    }
    let store = SqliteStore::open(folder.path()).unwrap();
    let (of_entries, others): (Vec<_>, Vec<_>) = store
        .archives()
        .unwrap()
        .into_iter()
        .partition(|archive| archive.class == Class::Audit);
    assert!(
        of_entries.len() > 4 && others.len() > 4,
        "hardly anything was archived: {} and {} archives, {said} groups",
        of_entries.len(),
        others.len()
    );
}
