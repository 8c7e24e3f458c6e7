//! The power is cut at any moment. All acknowledged groups are in the store, and no half of a group.
//!
//! The store is on a file system that loses unsynced data, or any part of it (`rialto-power-cut`). This process serves
//! that file system, so it opens no store on it: SQLite maps a file into memory, and the process would wait for itself.
//! Writers are processes of their own. The test checks a copy of the disk.

use std::path::Path;

use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use rialto_engine::store::Store as _;
use rialto_power_cut::{PowerCut, Survives};
use rialto_store_sqlite::{Risk, SqliteStore};
use rialto_store_suite::model::Model;
use tempfile::TempDir;

use crate::written;

/// What the writer is told: its folder, and how it syncs.
const WRITER: &str = "RIALTO_TEST_POWER_CUT";
const CUTS: usize = 50;
/// Every so many cuts, a store begins anew on an empty disk.
const FRESH_EVERY: usize = 5;
/// Changes and syncs of the disk that a writer lives for.
const LIFE: std::ops::Range<u64> = 1..3_000;
/// The same on an empty disk, where the first ones make the store.
const FRESH_LIFE: std::ops::Range<u64> = 1..800;
/// Cuts of a store that does not sync as it should.
const CUTS_AT_RISK: usize = 5;
/// Cuts while a start goes on where a killed writer has ended.
const CUTS_AFTER_KILLS: usize = 20;
/// Changes and syncs of the disk until such a cut.
const LIFE_AFTER_KILL: std::ops::Range<u64> = 1..120;
/// Another seed than a random one: to repeat a failure's draws.
const SEED_VARIABLE: &str = "RIALTO_TEST_SEED";

fn seed() -> u64 {
    let seed = match std::env::var(SEED_VARIABLE) {
        Ok(text) => text.parse().unwrap(),
        Err(_) => rand::random(),
    };
    println!("seed {seed} (set {SEED_VARIABLE} to repeat the draws)");
    seed
}

/// Write until the power goes. Returns the last position that the writer said, if it said one.
fn last_said(test: &str, disk: &PowerCut, folder: &Path, how: &str, life: u64) -> Option<u64> {
    disk.die_after(life);
    let told = format!("{how} {}", folder.display());
    let mut writer = written::start(&format!("power_cut::{test}"), WRITER, told);
    let last = written::said(writer.stdout.take().unwrap()).last();
    let status = writer.wait().unwrap();
    assert!(
        disk.is_dead(),
        "the writer ended with the power on: {status}"
    );
    last
}

/// Write as told: this is the writer.
fn write(told: &str) -> ! {
    let (how, folder) = told.split_once(' ').unwrap();
    let folder = Path::new(folder);
    let opened = match how {
        "make" => {
            SqliteStore::open(folder).unwrap().recover().unwrap();
            std::process::exit(0);
        }
        "nine" => {
            let store = SqliteStore::open(folder).unwrap();
            store.recover().unwrap();
            (1..10).for_each(|lsn| written::write_one(&store, lsn).unwrap());
            drop(store);
            std::process::exit(0);
        }
        "unsynced" => {
            let risk = Risk::NoJournalSync;
            let store = SqliteStore::open_at_risk(folder, written::never(), risk).unwrap();
            let last = store.recover().unwrap().lsn.0;
            written::write_one(&store, last + 1).unwrap();
            loop {
                std::thread::park();
            }
        }
        "full" => SqliteStore::open_with(folder, written::flushing()),
        "normal" => SqliteStore::open_at_risk(folder, written::flushing(), Risk::SyncsLater),
        "off" => SqliteStore::open_at_risk(folder, written::flushing(), Risk::NeverSyncs),
        other => panic!("{other}"),
    };
    let why = opened.map_or_else(
        |e| format!("{e:?}"),
        |store| written::write(&store).to_string(),
    );
    // The power has gone: there is nothing to tidy up.
    eprintln!("{why}");
    std::process::exit(1);
}

/// What is on the disk, in another folder.
fn copied(folder: &Path) -> TempDir {
    let copy = rialto_files::temporary_folder().unwrap();
    // The power may have gone before the folder was there for good.
    if folder.exists() {
        written::copy(folder, copy.path());
    }
    copy
}

fn survives(random: &mut StdRng) -> Survives {
    match random.random_range(0..6) {
        0 => Survives::Nothing,
        1 => Survives::Everything,
        _ => Survives::Some,
    }
}

#[test]
fn a_power_cut_loses_nothing_acknowledged() {
    if let Ok(told) = std::env::var(WRITER) {
        write(&told);
    }
    let name = "a_power_cut_loses_nothing_acknowledged";
    let mut random = StdRng::seed_from_u64(seed());
    let mut disk = PowerCut::mount().unwrap();
    let mut model = Model::default();
    let (mut acknowledged, mut silent) = (0, 0);
    for cut in 0..CUTS {
        let fresh = cut % FRESH_EVERY == 0;
        if fresh {
            disk = PowerCut::mount().unwrap();
            model = Model::default();
        }
        let folder = disk.path().join("var/state");
        let life = random.random_range(if fresh { FRESH_LIFE } else { LIFE });
        let (survives, seed) = (survives(&mut random), random.random());
        let before = model.lsn();
        let last = last_said(name, &disk, &folder, "full", life);
        silent += usize::from(last.is_none());
        // Who said nothing has at least not lost what was there.
        let said = last.unwrap_or(before);
        acknowledged += said - before;
        disk.cut(survives, seed).unwrap();
        let round = format!("cut {cut} after {life} operations, {survives:?} with {seed}");
        written::judge(copied(&folder).path(), &mut model, said, &round);
    }
    let told = format!(
        "{acknowledged} groups acknowledged over {CUTS} cuts, {silent} of them before the first"
    );
    assert!(
        acknowledged > 10 * CUTS as u64 && 3 * silent < 2 * CUTS,
        "{told}"
    );
    println!("{told}");
}

/// Write a group, and be killed before it is synced.
fn written_unsynced(test: &str, disk: &PowerCut, folder: &Path) {
    disk.die_after(u64::MAX);
    let told = format!("unsynced {}", folder.display());
    let mut writer = written::start(&format!("power_cut::{test}"), WRITER, told);
    let said = written::said(writer.stdout.take().unwrap()).next();
    writer.kill().unwrap();
    writer.wait().unwrap();
    assert!(said.is_some() && !disk.is_dead(), "it wrote {said:?}");
}

#[test]
fn a_group_of_a_killed_writer_is_durable_once_it_is_seen() {
    if let Ok(told) = std::env::var(WRITER) {
        write(&told);
    }
    let name = "a_group_of_a_killed_writer_is_durable_once_it_is_seen";
    let mut random = StdRng::seed_from_u64(seed());
    let mut said_after = 0;
    for cut in 0..CUTS_AFTER_KILLS {
        let mut disk = PowerCut::mount().unwrap();
        let folder = disk.path().join("state");
        // The tenth group takes several slices of a flush.
        let told = format!("nine {}", folder.display());
        let made = written::start(&format!("power_cut::{name}"), WRITER, told).wait();
        assert!(made.unwrap().success());
        disk.cut(Survives::Everything, 0).unwrap();
        written_unsynced(name, &disk, &folder);
        // The next one reads it from the system's memory, and brings it into the tables.
        let life = random.random_range(LIFE_AFTER_KILL);
        let said = last_said(name, &disk, &folder, "full", life);
        let (survives, seed) = (survives(&mut random), random.random());
        disk.cut(survives, seed).unwrap();
        said_after += usize::from(said.is_some());
        let round = format!("cut {cut} after {life} operations, {survives:?} with {seed}");
        let least = said.unwrap_or(9);
        written::judge_from(copied(&folder).path(), &mut Model::default(), least, &round);
    }
    assert!(said_after < CUTS_AFTER_KILLS, "no cut was within a start");
}

/// Of how many cuts it is seen that they lost what was acknowledged, or damaged the store, when the store
/// syncs in this way.
fn seen_to_lose(test: &str, how: &str) -> usize {
    let mut random = StdRng::seed_from_u64(seed());
    let cut = |_| {
        let mut disk = PowerCut::mount().unwrap();
        let folder = disk.path().join("state");
        // It is made as it should be: only what comes then is at risk.
        let told = format!("make {}", folder.display());
        let made = written::start(&format!("power_cut::{test}"), WRITER, told).wait();
        assert!(made.unwrap().success());
        disk.cut(Survives::Everything, 0).unwrap();
        let life = random.random_range(LIFE.end / 2..LIFE.end);
        let said = last_said(test, &disk, &folder, how, life).expect("it writes");
        disk.cut(Survives::Nothing, 0).unwrap();
        let left = copied(&folder);
        let opened = SqliteStore::open(left.path());
        let last = opened.map(|store| store.recover().map(|recovered| recovered.lsn.0));
        !matches!(last, Ok(Ok(last)) if last >= said)
    };
    (0..CUTS_AT_RISK).map(cut).filter(|lost| *lost).count()
}

#[test]
fn a_store_that_never_syncs_is_seen_to_lose() {
    if let Ok(told) = std::env::var(WRITER) {
        write(&told);
    }
    let lost = seen_to_lose("a_store_that_never_syncs_is_seen_to_lose", "off");
    assert_eq!(lost, CUTS_AT_RISK, "a cut was not seen to lose anything");
}

#[test]
fn a_store_that_syncs_too_late_is_seen_to_lose() {
    if let Ok(told) = std::env::var(WRITER) {
        write(&told);
    }
    let lost = seen_to_lose("a_store_that_syncs_too_late_is_seen_to_lose", "normal");
    assert!(lost > 0, "no cut was seen to lose anything");
}
