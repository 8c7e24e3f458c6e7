//! A process that writes is killed at any moment: what it was told is written is there, and no half of
//! a group.
//!
//! The test starts itself once more as the writer, which is told so by an environment variable. The
//! group at each place of the log is a function of the place, so what must be in the store follows
//! from its last place alone.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use rand::RngExt as _;
use rialto_engine::history::{Ended, Kind, Record};
use rialto_engine::store::{Group, Receipt, Store};
use rialto_engine::{Timestamp, TurnId};
use rialto_store_sqlite::{Folding, SqliteStore};
use rialto_store_suite::model::{Kept, Model};
use rialto_store_suite::samples::{collection, delivery, group, outbound, put, reminder, remove};
use rialto_store_suite::session::compare;

/// The folder of the store, for the writer.
const FOLDER: &str = "RIALTO_TEST_KILLED_WRITER";
const NAME: &str =
    "killed_writer::a_killed_writer_loses_nothing_that_was_acknowledged_and_leaves_no_half";
const KILLS: usize = 30;
/// The longest that a writer lives after its first group.
const LIFE_MAX: Duration = Duration::from_millis(150);

/// Documents of many groups, a few of its own, and things that come and go a few places later.
fn at(lsn: u64) -> Group {
    let mut next = group(lsn);
    if lsn == 1 {
        next.collections = vec![collection(1), collection(2)];
    }
    // Some groups fill many pages.
    let documents = if lsn.is_multiple_of(10) { 300 } else { 6 };
    next.documents = (0..documents)
        .map(|n| put(1, &format!("shared-{n}"), lsn, &lsn.to_string()))
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

/// Write groups and say the place of each when it is written, until killed.
fn write(folder: &Path) {
    // Some lives end in the midst of folding, some with all that they wrote in the journal.
    let folding = Folding {
        after: Duration::from_millis(rand::rng().random_range(0..60)),
        era_documents: 50,
        ..Folding::default()
    };
    let store = SqliteStore::open_with(folder, folding).unwrap();
    let last = store.recover().unwrap().lsn.0;
    let mut out = std::io::stdout();
    for lsn in last + 1.. {
        store.write(&at(lsn)).unwrap();
        writeln!(out, "\nwritten {lsn}").unwrap();
        out.flush().unwrap();
    }
}

/// When a writer is killed.
#[derive(Clone, Copy, Debug)]
enum Killed {
    /// So long after its start: perhaps while it reads back what the one before left.
    AfterStart(Duration),
    /// So long after its first group.
    AfterGroup(Duration),
}

impl Killed {
    fn at_random(round: usize) -> Self {
        let life = LIFE_MAX.mul_f64(rand::rng().random());
        match round % 3 {
            0 => Self::AfterStart(life),
            _ => Self::AfterGroup(life),
        }
    }
}

/// Start a writer and kill it. Answers the last place that it said, if it said one.
fn last_said(folder: &Path, killed: Killed) -> Option<u64> {
    let mut writer = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", NAME, "--nocapture", "--test-threads", "1"])
        .env(FOLDER, folder)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let out = BufReader::new(writer.stdout.take().unwrap());
    let (said, first) = std::sync::mpsc::channel();
    let reader = std::thread::spawn(move || {
        let places = out.lines().map_while(Result::ok);
        let places = places.filter_map(|line| line.strip_prefix("written ")?.parse().ok());
        places
            .inspect(|_| {
                let _ = said.send(());
            })
            .last()
    });
    let (began, life) = match killed {
        Killed::AfterStart(life) => (Ok(()), life),
        // A writer that ends by itself closes the channel, too.
        Killed::AfterGroup(life) => (first.recv_timeout(Duration::from_secs(60)), life),
    };
    // Not a wait for something: the moment of death is what this test varies.
    std::thread::sleep(life);
    writer.kill().unwrap();
    let status = writer.wait().unwrap();
    began.unwrap_or_else(|e| panic!("the writer wrote nothing: {e}; {status}"));
    assert_eq!(status.code(), None, "the writer ended by itself: {status}");
    reader.join().unwrap()
}

#[test]
fn a_killed_writer_loses_nothing_that_was_acknowledged_and_leaves_no_half() {
    if let Some(folder) = std::env::var_os(FOLDER) {
        return write(Path::new(&folder));
    }
    let folder = tempfile::tempdir().unwrap();
    let mut model = Model::default();
    for round in 0..KILLS {
        let killed = Killed::at_random(round);
        // Who said nothing has at least not lost what was there.
        let said = last_said(folder.path(), killed).unwrap_or(model.lsn());
        let store = SqliteStore::open(folder.path()).unwrap();
        let recovered = store.recover().unwrap();
        let last = recovered.lsn.0;
        let round = format!("round {round}, {killed:?}, last place said {said}");
        // One group may have been written without a word about it.
        assert!(
            (said..=said + 1).contains(&last),
            "{round}, but {last} is on disk"
        );
        while model.lsn() < last {
            model.apply(&at(model.lsn() + 1));
        }
        assert_eq!(Kept::of(recovered), model.kept(1), "{round}");
        compare(&store, &model);
        // What is kept for good follows the same rule.
        let all: Vec<_> = store.history("shared:1").unwrap();
        let turns = all.iter().map(|record| record.turn.0);
        assert!(turns.eq(1..=last), "{round}: the history has a gap");
        for lsn in last.saturating_sub(50).max(1)..=last {
            let subject = format!("own:{lsn}");
            assert_eq!(store.history(&subject).unwrap().len(), 1, "{round}");
            assert_eq!(store.receipts(&subject).unwrap().len(), 1, "{round}");
        }
        let subject = format!("own:{}", last + 1);
        assert!(store.history(&subject).unwrap().is_empty(), "{round}");
        assert!(store.receipts(&subject).unwrap().is_empty(), "{round}");
    }
    println!("{} groups in {KILLS} lives", model.lsn());
}
