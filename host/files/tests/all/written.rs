//! Written files are complete after a power cut.

use std::fs;

use rialto_files::{folder, make_once, write};
use rialto_power_cut::{PowerCut, Survives};

#[test]
fn what_was_written_is_there_after_a_power_cut() {
    let mut disk = PowerCut::mount().unwrap();
    let path = disk.path().join("a/b");
    folder(&path).unwrap();
    write(&path.join("written"), &[b"one ", b"file"]).unwrap();
    assert!(make_once(&path.join("made"), &[b"first"]).unwrap());
    assert!(!make_once(&path.join("made"), &[b"second"]).unwrap());
    assert!(disk.is_synced(), "nothing waits to be written");
    disk.cut(Survives::Nothing, 0).unwrap();
    assert_eq!(fs::read(path.join("written")).unwrap(), b"one file");
    assert_eq!(fs::read(path.join("made")).unwrap(), b"first");
    assert_eq!(fs::read_dir(&path).unwrap().count(), 2);
}

#[test]
fn a_power_cut_leaves_the_old_or_new_file() {
    let (mut old, mut new) = (0, 0);
    for seed in 0..60 {
        let mut disk = PowerCut::mount().unwrap();
        let path = disk.path().join("file");
        write(&path, &[b"old"]).unwrap();
        // Making it takes some seven steps: the power goes at each of them.
        disk.die_after(seed % 8);
        let written = write(&path, &[&[b'n'; 5_000]]);
        disk.cut(Survives::Some, seed).unwrap();
        let left = fs::read(&path).unwrap();
        if left == b"old" {
            assert!(written.is_err(), "it was said to be written");
            old += 1;
        } else {
            assert_eq!(left, [b'n'; 5_000]);
            new += 1;
        }
    }
    assert!(old > 0 && new > 0, "{old} and {new}");
}
