//! Folders and files that other users can access are refused, with help.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, chown, symlink};
use std::path::{Path, PathBuf};

use rialto_files::{FileError, accept, accept_if_there, create, folder};
use tempfile::TempDir;

/// A user that these tests are not.
const NOBODY: u32 = 65_534;

/// A place for a folder, in a folder that goes away.
fn store_path() -> (TempDir, PathBuf) {
    let outer = tempfile::tempdir().unwrap();
    let path = outer.path().join("a/b");
    (outer, path)
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

#[test]
fn new_files_are_private_and_are_accepted_again() {
    let (_outer, path) = store_path();
    let owner = folder(&path).unwrap();
    assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o700, 0o700));
    assert!(!accept_if_there(&path.join("file"), owner).unwrap());
    create(&path.join("file")).unwrap();
    assert_eq!(mode(&path.join("file")), 0o600);
    assert_eq!(folder(&path).unwrap(), owner);
    assert!(accept_if_there(&path.join("file"), owner).unwrap());
    let left: Vec<_> = fs::read_dir(&path).unwrap().collect();
    assert_eq!(left.len(), 1, "{left:?}");
}

#[test]
fn files_of_an_ended_process_are_no_obstacle() {
    // In a container each start of the host has the same number.
    let (_outer, path) = store_path();
    folder(&path).unwrap();
    for probe in 0..200 {
        let left = path.join(format!(".whose-{}-{probe}", std::process::id()));
        fs::write(left, "").unwrap();
    }
    folder(&path).unwrap();
}

#[test]
fn files_open_to_others_are_refused_with_help() {
    let (_outer, path) = store_path();
    let owner = folder(&path).unwrap();
    let file = path.join("file");
    create(&file).unwrap();
    for others in [0o640, 0o604, 0o620, 0o666] {
        set_mode(&file, others);
        let said = accept(&file, owner).unwrap_err().to_string();
        let expected = format!("file is open to others (mode {others:o}): `chmod 600 ");
        assert!(said.contains(&expected), "{said}");
    }
    for others in [0o755, 0o710, 0o770, 0o701] {
        set_mode(&path, others);
        let said = folder(&path).unwrap_err().to_string();
        let expected = format!("b is open to others (mode {others:o}): `chmod -R go= ");
        assert!(said.contains(&expected), "{said}");
    }
}

#[test]
fn links_and_what_is_no_file_are_refused() {
    let (outer, path) = store_path();
    let owner = folder(&path).unwrap();
    let link = outer.path().join("link");
    symlink(&path, &link).unwrap();
    assert!(matches!(folder(&link), Err(FileError::Link(_))));
    create(&path.join("file")).unwrap();
    symlink(path.join("file"), path.join("link")).unwrap();
    let refused = accept(&path.join("link"), owner);
    assert!(matches!(refused, Err(FileError::NoFile(_))));
    assert!(matches!(accept(&path, owner), Err(FileError::NoFile(_))));
    let refused = folder(&path.join("file"));
    assert!(refused.is_err(), "a file is no folder");
}

#[test]
fn what_belongs_to_somebody_else_is_refused() {
    let (_outer, path) = store_path();
    let owner = folder(&path).unwrap();
    create(&path.join("file")).unwrap();
    // The tests of the store mount file systems, which takes root as well.
    chown(path.join("file"), Some(NOBODY), None).expect("these tests run as root");
    let said = accept(&path.join("file"), owner).unwrap_err().to_string();
    assert!(
        said.contains("file belongs to user 65534, and this is user"),
        "{said}"
    );
    chown(&path, Some(NOBODY), None).unwrap();
    let said = folder(&path).unwrap_err().to_string();
    assert!(said.contains("b belongs to user 65534"), "{said}");
}
