//! The names in directories over a power cut.

use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use rialto_power_cut::{PowerCut, Survives};

fn names(folder: &Path) -> Vec<String> {
    let listed = fs::read_dir(folder).unwrap();
    let mut names: Vec<_> = listed
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn sync(path: &Path) {
    File::open(path).unwrap().sync_all().unwrap();
}

#[test]
fn file_in_an_unsynced_directory_is_lost() {
    let mut disk = PowerCut::mount().unwrap();
    let path = disk.path().join("a");
    let mut file = File::create(&path).unwrap();
    file.write_all(b"bytes").unwrap();
    file.sync_all().unwrap();
    drop(file);
    disk.cut(Survives::Nothing, 0).unwrap();
    assert_eq!(names(disk.path()), Vec::<String>::new());
}

#[test]
fn what_a_directory_did_since_it_was_synced_is_undone() {
    let mut disk = PowerCut::mount().unwrap();
    let at = |name: &str| disk.path().join(name);
    for name in ["removed", "renamed"] {
        fs::write(at(name), name).unwrap();
        sync(&at(name));
    }
    fs::create_dir(at("folder")).unwrap();
    fs::write(at("folder").join("inside"), "").unwrap();
    sync(&at("folder"));
    sync(disk.path());
    fs::remove_file(at("removed")).unwrap();
    fs::rename(at("renamed"), at("new")).unwrap();
    fs::hard_link(at("new"), at("link")).unwrap();
    fs::remove_dir_all(at("folder")).unwrap();
    fs::create_dir(at("other")).unwrap();
    assert_eq!(names(disk.path()), ["link", "new", "other"]);
    disk.cut(Survives::Nothing, 0).unwrap();
    assert_eq!(names(disk.path()), ["folder", "removed", "renamed"]);
    assert_eq!(names(&disk.path().join("folder")), ["inside"]);
    let kept = fs::read(disk.path().join("renamed")).unwrap();
    assert_eq!(kept, b"renamed");
}

#[test]
fn a_rename_survives_whole_or_not_at_all() {
    let (mut old, mut new) = (0, 0);
    for seed in 0..40 {
        let mut disk = PowerCut::mount().unwrap();
        fs::write(disk.path().join("a.new"), "new").unwrap();
        fs::write(disk.path().join("a"), "old").unwrap();
        sync(&disk.path().join("a.new"));
        sync(&disk.path().join("a"));
        sync(disk.path());
        fs::rename(disk.path().join("a.new"), disk.path().join("a")).unwrap();
        disk.cut(Survives::Some, seed).unwrap();
        match fs::read_to_string(disk.path().join("a")).unwrap().as_str() {
            "old" => {
                assert_eq!(names(disk.path()), ["a", "a.new"]);
                old += 1;
            }
            "new" => {
                assert_eq!(names(disk.path()), ["a"]);
                new += 1;
            }
            other => panic!("{other}"),
        }
    }
    assert!(old > 0 && new > 0, "{old} and {new}");
}

#[test]
fn modes_are_kept() {
    let mut disk = PowerCut::mount().unwrap();
    let path = disk.path().join("a");
    File::create(&path).unwrap();
    fs::set_permissions(&path, PermissionsExt::from_mode(0o640)).unwrap();
    sync(disk.path());
    disk.cut(Survives::Nothing, 0).unwrap();
    let mode = fs::metadata(disk.path().join("a")).unwrap().permissions();
    assert_eq!(mode.mode() & 0o7777, 0o640);
}
