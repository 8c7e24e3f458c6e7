//! The check of a log: each kind of damage has its name.

use std::convert::Infallible;
use std::fs;

use rialto_audit::folder::{Reader, Writer};
use rialto_audit::verify::{Head, Log, Report, check};
use rialto_audit::{Finding, Hash, Tree};

use crate::support::{checkpoint, entry};

/// A log in memory: rows of entries, and their hashes.
#[derive(Clone)]
struct Rows {
    entries: Vec<(u64, Vec<u8>)>,
    hashes: Vec<Hash>,
}

impl Log for Rows {
    type Error = Infallible;

    fn entries(&mut self, first: u64) -> Result<Vec<(u64, Vec<u8>)>, Infallible> {
        let found = self.entries.iter().filter(|(at, _)| *at >= first);
        Ok(found.take(256).cloned().collect())
    }

    fn hashes(&mut self, tile: u64) -> Result<Option<Vec<Hash>>, Infallible> {
        let tile = usize::try_from(tile).unwrap();
        Ok(self.hashes.chunks(256).nth(tile).map(<[_]>::to_vec))
    }
}

/// A log of 1,000 entries with checkpoints at 300 and 900.
fn log() -> (Rows, Vec<Head>) {
    let entries: Vec<_> = (0..1_000).map(|at| (at, entry(at))).collect();
    let mut tree = Tree::default();
    let (mut hashes, mut heads) = (Vec::new(), Vec::new());
    for (_, entry) in &entries {
        let hash = Hash::of_entry(entry);
        hashes.push(hash);
        tree.append(hash);
        if [300, 900].contains(&tree.size()) {
            heads.push(head(&tree));
        }
    }
    (Rows { entries, hashes }, heads)
}

fn head(tree: &Tree) -> Head {
    Head {
        checkpoint: checkpoint(tree),
        place: format!("checkpoint {}", tree.size()),
    }
}

fn checked(rows: &Rows, heads: &[Head]) -> Report {
    let Ok(report) = check(&mut rows.clone(), heads);
    report
}

fn findings(change: impl FnOnce(&mut Rows)) -> Vec<Finding> {
    let (mut rows, heads) = log();
    change(&mut rows);
    checked(&rows, &heads).findings
}

#[test]
fn whole_log_has_no_findings() {
    let (rows, heads) = log();
    let report = checked(&rows, &heads);
    let expected = Report {
        entries: 1_000,
        signed: 900,
        fitting: 2,
        findings: vec![],
    };
    assert_eq!(report, expected);
    let report = checked(&rows, &[]);
    assert_eq!((report.entries, report.signed), (1_000, 0));
    let nothing = Rows {
        entries: vec![],
        hashes: vec![],
    };
    assert_eq!(checked(&nothing, &[]), Report::default());
}

#[test]
fn each_kind_of_damage_is_named() {
    let changed = findings(|rows| rows.entries[17].1.push(b'!'));
    assert_eq!(changed, [Finding::Changed(17)]);
    let removed = findings(|rows| drop(rows.entries.remove(18)));
    assert_eq!(removed, [Finding::Missing(18, 18)]);
    let cut = findings(|rows| rows.entries.truncate(800));
    assert_eq!(cut, [Finding::Missing(800, 899)]);
    let swapped = findings(|rows| {
        let first = rows.entries[40].1.clone();
        rows.entries[40].1 = std::mem::replace(&mut rows.entries[50].1, first);
    });
    let moved = |first, last, to| Finding::Moved { first, last, to };
    assert_eq!(swapped, [moved(50, 50, 40), moved(40, 40, 50)]);
    let shifted = findings(|rows| {
        rows.entries.remove(100);
        for (at, row) in rows.entries.iter_mut().enumerate() {
            row.0 = at as u64;
        }
    });
    // The entry behind the last checkpoint, which nobody has signed yet, has come before it.
    let expected = [
        Finding::Missing(100, 100),
        moved(101, 899, 100),
        Finding::Inserted(899),
    ];
    assert_eq!(shifted, expected);
    let inserted = findings(|rows| {
        rows.entries.insert(100, (0, b"another".to_vec()));
        for (at, row) in rows.entries.iter_mut().enumerate() {
            row.0 = at as u64;
        }
    });
    assert_eq!(
        inserted[..2],
        [Finding::Inserted(100), moved(100, 898, 101)]
    );
}

#[test]
fn hashes_that_were_made_anew_do_not_fit_the_checkpoint() {
    let found = findings(|rows| {
        rows.entries[500].1.push(b'!');
        rows.hashes[500] = Hash::of_entry(&rows.entries[500].1);
    });
    let [Finding::OtherLog { place, size, good }] = &found[..] else {
        panic!("{found:?}")
    };
    assert_eq!((&**place, *size, *good), ("checkpoint 900", 900, 300));
    let said = found[0].to_string();
    assert!(said.contains("from entry 300 to entry 899"), "{said}");
    // Both are gone.
    let found = findings(|rows| {
        rows.entries.truncate(700);
        rows.hashes.truncate(700);
    });
    assert_eq!(found, [Finding::Missing(700, 899)]);
}

#[test]
fn log_before_a_checkpoint_from_outside_is_found() {
    let (mut rows, heads) = log();
    let outside = heads[1].clone();
    // An older database was restored: it fits its own checkpoints.
    rows.entries.truncate(400);
    rows.hashes.truncate(400);
    assert_eq!(checked(&rows, &heads[..1]).findings, []);
    let found = checked(&rows, &[heads[0].clone(), outside]).findings;
    assert_eq!(found, [Finding::Missing(400, 899)]);
    // The whole log was made anew with the real key.
    let (mut rows, mut own) = log();
    rows.entries[5].1.push(b'!');
    rows.hashes = rows
        .entries
        .iter()
        .map(|(_, e)| Hash::of_entry(e))
        .collect();
    let mut tree = Tree::default();
    for hash in &rows.hashes[..900] {
        tree.append(*hash);
    }
    let real = own.pop().unwrap();
    assert_eq!(checked(&rows, &[head(&tree)]).findings, []);
    let found = checked(&rows, &[head(&tree), real]).findings;
    assert!(
        matches!(found[..], [Finding::OtherLog { size: 900, .. }]),
        "{found:?}"
    );
}

#[test]
fn folder_is_checked_as_the_store_is() {
    let (rows, heads) = log();
    let folder = tempfile::tempdir().unwrap();
    let mut writer = Writer::new(folder.path()).unwrap();
    for (_, entry) in &rows.entries[..900] {
        writer.entry(entry).unwrap();
    }
    writer.finish().unwrap();
    let report =
        |folder: &tempfile::TempDir| check(&mut Reader::new(folder.path(), 900), &heads).unwrap();
    let whole = report(&folder);
    assert_eq!((whole.entries, whole.fitting), (900, 2));
    assert_eq!(whole.findings, []);
    let bundle = folder.path().join("tile/entries/001");
    let bytes = fs::read(&bundle).unwrap();
    let mut changed = bytes.clone();
    // The last byte of the bundle's first entry, `entry 256`.
    changed[2 + 8] = b'!';
    fs::write(&bundle, &changed).unwrap();
    assert_eq!(report(&folder).findings, [Finding::Changed(256)]);
    fs::write(&bundle, &bytes[..bytes.len() - 1]).unwrap();
    let refused = check(&mut Reader::new(folder.path(), 900), &heads).unwrap_err();
    assert!(refused.to_string().contains("is damaged"), "{refused}");
    fs::remove_file(&bundle).unwrap();
    assert_eq!(report(&folder).findings, [Finding::Missing(256, 511)]);
}
