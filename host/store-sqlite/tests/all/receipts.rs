//! Reading all receipts of a time: each once, wherever it is, also while a host writes and archives.

use std::collections::BTreeMap;
use std::ops::Range;

use rialto_engine::store::{Group, Store as _};
use rialto_engine::{Lsn, Timestamp};
use rialto_store::ReceiptPages as _;
use rialto_store_sqlite::{FlushPolicy, ReceiptReader};

use super::retention::{FEW, Folders, HOUR, at, keep, verdict, write};

const EVER: Range<u64> = 0..u64::MAX / 2;

/// The ids of the receipts of this time, each with how often it is read.
fn read(folders: &Folders, time: Range<u64>) -> BTreeMap<u64, u32> {
    let mut counts = BTreeMap::new();
    let mut reader = open(folders, time);
    visit(&mut reader, &mut |id| *counts.entry(id).or_default() += 1);
    assert!(reader.unread().is_empty(), "{:?}", reader.unread());
    counts
}

fn open(folders: &Folders, time: Range<u64>) -> ReceiptReader {
    let [since, until] = [time.start, time.end].map(Timestamp);
    ReceiptReader::open(&folders.store(), &folders.archives(), since, until).unwrap()
}

fn visit(reader: &mut ReceiptReader, each: &mut dyn FnMut(u64)) {
    let read = reader.visit_while(&mut |page| {
        for receipt in page {
            assert_eq!(receipt, verdict(receipt.id));
            each(receipt.id);
        }
        true
    });
    read.unwrap();
}

fn once(ids: Range<u64>) -> BTreeMap<u64, u32> {
    ids.map(|id| (id, 1)).collect()
}

#[test]
fn each_receipt_is_read_once_from_archives_tables_and_journal() {
    let folders = Folders::filled(1..31, FEW);
    assert_eq!(read(&folders, EVER), once(1..31));
    folders.with(FEW, |store| {
        folders.archive(store, &keep(HOUR), HOUR + at(15)).unwrap();
    });
    assert_eq!(read(&folders, EVER), once(1..31));
    assert_eq!(read(&folders, at(3)..at(27)), once(3..27));
    // In the journal alone, while a host runs.
    folders.with(FlushPolicy::default(), |store| {
        write(store, 31..40);
        assert_eq!(read(&folders, EVER), once(1..40));
        assert_eq!(read(&folders, at(35)..at(38)), once(35..38));
    });
    assert!(read(&folders, at(50)..at(60)).is_empty());
}

#[test]
fn receipts_that_are_archived_meanwhile_are_read_once() {
    // More than one page, so that the tables are read twice.
    let folders = Folders::filled(1..31, FEW);
    let many = 31..4_031;
    folders.with(FlushPolicy::default(), |store| write(store, many.clone()));
    let mut reader = open(&folders, EVER);
    let mut counts: BTreeMap<u64, u32> = BTreeMap::new();
    let mut is_archived = false;
    let read = reader.visit_while(&mut |page| {
        for receipt in page {
            *counts.entry(receipt.id).or_default() += 1;
        }
        if !is_archived {
            is_archived = true;
            folders.with(FEW, |store| {
                write(store, 4_031..4_034);
                let archived = folders.archive(store, &keep(HOUR), HOUR + at(5_000));
                assert!(!archived.unwrap().is_empty());
            });
        }
        true
    });
    read.unwrap();
    let missing: Vec<u64> = (1..4_031).filter(|id| !counts.contains_key(id)).collect();
    assert!(missing.is_empty(), "{missing:?}");
    assert!(counts.values().all(|&times| times == 1));
}

/// A group with these receipts alone.
fn group(lsn: u64, ids: &[u64]) -> Group {
    Group {
        lsn: Lsn(lsn),
        receipts: ids.iter().map(|id| verdict(*id)).collect(),
        ..Group::default()
    }
}

#[test]
fn receipts_of_slow_turns_are_read_although_their_ids_are_lower() {
    let folders = Folders::filled(1..2, FEW);
    let ids: Vec<u64> = (10_000..15_000).collect();
    folders.with(FlushPolicy::default(), |store| {
        store.write(&group(2, &ids)).unwrap()
    });
    let mut reader = open(&folders, EVER);
    let mut counts: BTreeMap<u64, u32> = BTreeMap::new();
    let mut is_late = false;
    let read = reader.visit_while(&mut |page| {
        for receipt in page {
            *counts.entry(receipt.id).or_default() += 1;
        }
        // It comes to the tables behind the page that should have had it.
        if !is_late {
            is_late = true;
            folders.with(FEW, |store| store.write(&group(3, &[9_999])).unwrap());
        }
        true
    });
    read.unwrap();
    assert_eq!(counts.get(&9_999), Some(&1));
    assert_eq!(counts.len(), 5_001 + usize::from(counts.contains_key(&1)));
    assert!(counts.values().all(|&times| times == 1));
}

#[test]
fn receipts_of_a_wrong_clock_are_read_and_end_nothing() {
    let folders = Folders::filled(1..2, FEW);
    let mut receipts: Vec<_> = (10_u64..6_010).map(verdict).collect();
    // A clock that is five hours ahead for more than a page.
    for receipt in &mut receipts[1_000..4_000] {
        receipt.at = Timestamp(receipt.at.0 + 5 * HOUR);
    }
    let all = Group {
        lsn: Lsn(2),
        receipts,
        ..Group::default()
    };
    folders.with(FlushPolicy::default(), |store| store.write(&all).unwrap());
    let mut reader = open(&folders, 0..at(7_000));
    let mut count = 0;
    let read = reader.visit_while(&mut |page| {
        count += page.len();
        true
    });
    read.unwrap();
    assert_eq!(count, 1 + 3_000);
}

#[test]
fn missing_and_changed_archives_are_named_and_left_out() {
    let folders = Folders::filled(1..31, FEW);
    let archived = folders.with(FEW, |store| {
        folders.archive(store, &keep(HOUR), HOUR + at(15)).unwrap()
    });
    let of_receipts: Vec<_> = archived
        .iter()
        .filter(|one| one.class.name() == "receipts")
        .collect();
    let [missing, changed, ..] = &of_receipts[..] else {
        panic!("{archived:?}");
    };
    let path = |file: &str| folders.archives().join(file);
    std::fs::remove_file(path(&missing.file)).unwrap();
    let mut bytes = std::fs::read(path(&changed.file)).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(path(&changed.file), bytes).unwrap();
    let mut reader = open(&folders, EVER);
    let mut count = 0;
    visit(&mut reader, &mut |_| count += 1);
    assert_eq!(count, 30 - missing.items - changed.items);
    let [first, second] = reader.unread() else {
        panic!("{:?}", reader.unread());
    };
    assert!(
        first.contains(&missing.file) && first.contains("missing"),
        "{first}"
    );
    assert!(second.starts_with(&changed.file), "{second}");
}
