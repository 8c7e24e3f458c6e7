//! A process that writes is killed at any moment. All acknowledged groups are in the store, and no half of a group.

use std::path::Path;
use std::time::Duration;

use rand::RngExt as _;
use rialto_store_sqlite::SqliteStore;
use rialto_store_suite::model::Model;

use crate::written;

/// The folder of the store, for the writer.
const FOLDER: &str = "RIALTO_TEST_KILLED_WRITER";
const NAME: &str = "killed_writer::a_killed_writer_loses_nothing_acknowledged";
const KILLS: usize = 30;
/// The longest that a writer lives after its first group.
const LIFE_MAX: Duration = Duration::from_millis(150);

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

/// Start a writer and kill it. Returns the last position that it said, if it said one.
fn last_said(folder: &Path, killed: Killed) -> Option<u64> {
    let mut writer = written::start(NAME, FOLDER, folder);
    let out = writer.stdout.take().unwrap();
    let (said, first) = std::sync::mpsc::channel();
    let reader = std::thread::spawn(move || {
        written::said(out)
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
fn a_killed_writer_loses_nothing_acknowledged() {
    if let Some(folder) = std::env::var_os(FOLDER) {
        let store = SqliteStore::open_with(Path::new(&folder), written::flushing()).unwrap();
        panic!("{}", written::write(&store));
    }
    let folder = rialto_files::temporary_folder().unwrap();
    let mut model = Model::default();
    for round in 0..KILLS {
        let killed = Killed::at_random(round);
        // Who said nothing has at least not lost what was there.
        let said = last_said(folder.path(), killed).unwrap_or(model.lsn());
        let round = format!("round {round}, {killed:?}");
        written::judge(folder.path(), &mut model, said, &round);
    }
    println!("{} groups in {KILLS} lives", model.lsn());
}
