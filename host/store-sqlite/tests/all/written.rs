//! Groups that another process writes, and the state that the store must have after it.
//!
//! The group at each position of the log is a function of the position. So the expected state follows from the last
//! position. The writer is the test itself, started again; an environment variable tells it so.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use rand::RngExt as _;
use rialto_engine::history::{Ended, Kind, Record};
use rialto_engine::store::{AuditEntry, Group, Receipt, Recovered, Store, StoreError};
use rialto_engine::{Timestamp, TurnId};
use rialto_store_sqlite::{AuditStore as _, HistoryStore as _};
use rialto_store_sqlite::{FlushPolicy, SqliteStore};
use rialto_store_suite::model::{Kept, Model};
use rialto_store_suite::samples::{collection, delivery, group, outbound, put, reminder, remove};
use rialto_store_suite::session::compare;

/// Documents of many groups, a few of its own, and things that come and go a few positions later.
pub fn at(lsn: u64) -> Group {
    let mut next = group(lsn);
    if lsn == 1 {
        next.collections = vec![collection(1), collection(2)];
    }
    // Some groups fill many pages.
    let documents = if lsn.is_multiple_of(10) { 300 } else { 6 };
    next.documents = (0..documents)
        .map(|n| put(1, &format!("shared-{n}"), lsn, &body(lsn, n)))
        .collect();
    next.documents
        .push(put(2, &format!("own-{lsn}"), 1, "\"own\""));
    if lsn > 3 {
        next.documents
            .push(remove(2, &format!("own-{}", lsn - 3), 2));
        next.deliveries_removed = vec![lsn - 3];
        next.outbound_removed = vec![lsn - 3];
    }
    next.deliveries_added = vec![delivery(lsn)];
    next.outbound_added = vec![outbound(lsn)];
    next.reminders_set = vec![
        reminder("one", "shared", lsn),
        reminder("one", &format!("own-{}", lsn % 5), lsn),
    ];
    next.receipts = vec![Receipt {
        id: lsn,
        subject: format!("own:{lsn}").into(),
        at: Timestamp(lsn),
        body: "{}".into(),
    }];
    next.audit = audited(lsn);
    next.history = vec![Arc::new(Record {
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
    })];
    next
}

/// A body that is long enough to be compressed, once there are many.
fn body(lsn: u64, n: u64) -> String {
    format!("{{\"position\":{lsn},\"number\":{n},\"collection\":\"shared\",\"state\":\"written\"}}")
}

/// The entries of the audit log at a position: none, one or two.
fn audited(lsn: u64) -> Vec<AuditEntry> {
    let entry = |n| AuditEntry {
        at: Timestamp(lsn),
        body: format!("{{\"position\":{lsn},\"n\":{n}}}").into(),
    };
    (0..lsn % 3).map(entry).collect()
}

/// How the writer flushes: some lives end in the midst of flushing, some with all that they wrote in the
/// journal.
pub fn flushing() -> FlushPolicy {
    FlushPolicy {
        after: Duration::from_millis(rand::rng().random_range(0..60)),
        segment_documents: 50,
        ..FlushPolicy::default()
    }
}

/// A policy by which nothing is flushed.
pub fn never() -> FlushPolicy {
    FlushPolicy {
        after: Duration::from_hours(1),
        ..flushing()
    }
}

/// Write groups and say the position of each when it is written, until it fails or the process ends.
pub fn write(store: &SqliteStore) -> StoreError {
    let last = match store.recover() {
        Ok(recovered) => recovered.lsn.0,
        Err(error) => return error,
    };
    for lsn in last + 1.. {
        if let Err(error) = write_one(store, lsn) {
            return error;
        }
    }
    unreachable!("there are more numbers than groups")
}

/// Write the group of a position, and say it when it is written.
pub fn write_one(store: &SqliteStore, lsn: u64) -> Result<(), StoreError> {
    store.write(&at(lsn))?;
    let mut out = std::io::stdout();
    writeln!(out, "\nwritten {lsn}").unwrap();
    out.flush().unwrap();
    Ok(())
}

/// Start the test of this name once more, as a writer.
pub fn start(test: &str, variable: &str, value: impl AsRef<std::ffi::OsStr>) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture", "--test-threads", "1"])
        .env(variable, value)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// The positions that a writer says, as they come.
pub fn said(out: ChildStdout) -> impl Iterator<Item = u64> {
    let lines = BufReader::new(out).lines().map_while(Result::ok);
    lines.filter_map(|line| line.strip_prefix("written ")?.parse().ok())
}

/// Judge a store that was restored from a backup which ends with this position. Its next number is another one
/// than the model's.
pub fn judge_restored(folder: &Path, model: &mut Model, lsn: u64) {
    let store = SqliteStore::open(folder).unwrap();
    let mut recovered = store.recover().unwrap();
    assert_eq!(recovered.lsn.0, lsn);
    recovered.next_id -= 1 << 32;
    judge_opened(&store, recovered, model, "restored");
}

/// Judge a store whose writer has ended: `said` is the last position that it said.
pub fn judge(folder: &Path, model: &mut Model, said: u64, round: &str) {
    let store = SqliteStore::open(folder).unwrap_or_else(|e| panic!("{round}: {e:?}"));
    let recovered = store.recover().unwrap();
    let last = recovered.lsn.0;
    let round = format!("{round}, last position said {said}");
    // One group may have been written without a word about it.
    assert!(
        (said..=said + 1).contains(&last),
        "{round}, but {last} is on disk"
    );
    judge_opened(&store, recovered, model, &round);
}

/// Judge a store whose last position is this one at least.
pub fn judge_from(folder: &Path, model: &mut Model, least: u64, round: &str) {
    let store = SqliteStore::open(folder).unwrap_or_else(|e| panic!("{round}: {e:?}"));
    let recovered = store.recover();
    let recovered = recovered.unwrap_or_else(|e| panic!("{round}: {e:?}"));
    let last = recovered.lsn.0;
    assert!(
        last >= least,
        "{round}: {least} was said, {last} is on disk"
    );
    judge_opened(&store, recovered, model, round);
}

fn judge_opened(store: &SqliteStore, recovered: Recovered, model: &mut Model, round: &str) {
    let last = recovered.lsn.0;
    while model.lsn() < last {
        model.apply(&at(model.lsn() + 1));
    }
    assert_eq!(Kept::of(recovered), model.kept(1), "{round}");
    compare(store, model);
    // What is kept for good follows the same rule.
    let all: Vec<_> = store.history("shared:1").unwrap();
    let turns = all.iter().map(|record| record.turn.0);
    assert!(turns.eq(1..=last), "{round}: the history has a gap");
    for lsn in last.saturating_sub(50).max(1)..=last {
        let subject = format!("own:{lsn}");
        assert_eq!(store.history(&subject).unwrap().len(), 1, "{round}");
        assert_eq!(store.receipts(&subject).unwrap().len(), 1, "{round}");
    }
    // The audit log is exactly that of the positions, in their order.
    let expected: Vec<_> = (1..=last).flat_map(audited).collect();
    assert_eq!(
        store.audit_size().unwrap(),
        expected.len() as u64,
        "{round}"
    );
    let stored = store.audit_entries(0, u32::MAX).unwrap();
    assert_eq!(stored.len(), expected.len(), "{round}");
    for (at, (entry, stored)) in expected.iter().zip(&stored).enumerate() {
        assert_eq!((stored.index, stored.at), (at as u64, entry.at), "{round}");
        assert_eq!(*entry.body, *stored.body, "{round}");
    }
    let subject = format!("own:{}", last + 1);
    assert!(store.history(&subject).unwrap().is_empty(), "{round}");
    assert!(store.receipts(&subject).unwrap().is_empty(), "{round}");
}

/// Copy the files of a store as they are now, which is what a crash leaves.
pub fn copy(from: &Path, to: &Path) {
    rialto_files::folder(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let (path, to) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() {
            copy(&path, &to);
        } else {
            rialto_files::write(&to, &[&std::fs::read(&path).unwrap()]).unwrap();
        }
    }
}
