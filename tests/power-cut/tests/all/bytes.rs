//! The bytes of files over a power cut.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;

use rialto_power_cut::{PowerCut, Survives};

const SECTOR: usize = 512;

/// A disk with a file of this name and these bytes, on the disk for good.
fn with(name: &str, bytes: &[u8]) -> (PowerCut, PathBuf) {
    let disk = PowerCut::mount().unwrap();
    let path = disk.path().join(name);
    let mut file = File::create(&path).unwrap();
    file.write_all(bytes).unwrap();
    file.sync_all().unwrap();
    File::open(disk.path()).unwrap().sync_all().unwrap();
    assert!(disk.is_synced());
    (disk, path)
}

#[test]
fn what_was_synced_stays_and_what_was_not_goes() {
    let (mut disk, path) = with("a", b"kept");
    let file = OpenOptions::new().append(true).open(&path).unwrap();
    (&file).write_all(b" for now").unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"kept for now");
    assert!(!disk.is_synced());
    drop(file);
    disk.cut(Survives::Nothing, 0).unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"kept");
    // The disk goes on.
    fs::write(&path, b"anew").unwrap();
    File::open(&path).unwrap().sync_data().unwrap();
    disk.cut(Survives::Nothing, 0).unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"anew");
}

#[test]
fn a_killed_process_loses_nothing() {
    let (mut disk, path) = with("a", b"kept");
    fs::write(&path, b"written").unwrap();
    fs::write(disk.path().join("b"), b"new").unwrap();
    disk.cut(Survives::Everything, 0).unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"written");
    assert_eq!(fs::read(disk.path().join("b")).unwrap(), b"new");
}

#[test]
fn unsynced_writes_are_torn_and_reordered_by_sector() {
    const SECTORS: usize = 64;
    let mut seen = BTreeSet::new();
    let mut out_of_order = false;
    let mut torn = false;
    for seed in 0..40 {
        let (mut disk, path) = with("a", &[0; SECTORS * SECTOR]);
        let file = OpenOptions::new().write(true).open(&path).unwrap();
        // Memory of the process: of a constant, whose pages the kernel may have to read first, it writes what it has, so that
        // one write comes to the disk as two, parted anywhere.
        let (first, second) = (vec![1; SECTORS * SECTOR], vec![2; 10 * SECTOR]);
        file.write_all_at(&first, 0).unwrap();
        // Begins and ends in the midst of sectors.
        file.write_all_at(&second, 100).unwrap();
        drop(file);
        disk.cut(Survives::Some, seed).unwrap();
        let left = fs::read(&path).unwrap();
        assert_eq!(left.len(), SECTORS * SECTOR);
        let sectors: Vec<_> = left.chunks(SECTOR).collect();
        for (n, sector) in sectors.iter().enumerate() {
            let of: BTreeSet<u8> = sector.iter().copied().collect();
            let could_be: &[&[u8]] = match n {
                0 | 10 => &[&[0], &[1], &[1, 2]],
                1..10 => &[&[0], &[1], &[2]],
                _ => &[&[0], &[1]],
            };
            let of: Vec<u8> = of.into_iter().collect();
            assert!(could_be.contains(&&of[..]), "sector {n}: {of:?}");
            seen.insert(of);
        }
        torn |= sectors[20..].windows(2).any(|two| two[0] != two[1]);
        // The second write is in one sector, and the first one not yet in another one.
        let second = sectors[1..10].iter().any(|sector| sector[0] == 2);
        out_of_order |= second && sectors[20..].iter().any(|sector| sector[0] == 0);
    }
    assert!(torn && out_of_order);
    assert_eq!(seen.len(), 4, "{seen:?}");
}

#[test]
fn unsynced_length_may_revert_and_lose_bytes() {
    let mut lengths = BTreeSet::new();
    for seed in 0..40 {
        let (mut disk, path) = with("a", &[1; 3 * SECTOR]);
        let file = OpenOptions::new().write(true).open(&path).unwrap();
        file.set_len(SECTOR as u64).unwrap();
        file.write_all_at(&[2; SECTOR], 4 * SECTOR as u64).unwrap();
        drop(file);
        disk.cut(Survives::Some, seed).unwrap();
        let left = fs::read(&path).unwrap();
        lengths.insert(left.len() / SECTOR);
        assert_eq!(left[..SECTOR], [1; SECTOR], "nobody wrote there");
    }
    assert_eq!(lengths, BTreeSet::from([1, 3, 5]));
}

#[test]
fn without_power_nothing_is_taken_and_the_call_says_so() {
    let (mut disk, path) = with("a", b"kept");
    let file = OpenOptions::new().write(true).open(&path).unwrap();
    disk.die_after(1);
    file.write_all_at(b"KEPT", 0).unwrap();
    assert!(!disk.is_dead());
    file.sync_all().unwrap_err();
    assert!(disk.is_dead());
    drop(file);
    disk.cut(Survives::Nothing, 0).unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"kept");
}
