//! The folder of compiled components is this user's alone: native code is loaded from it.

#![allow(
    clippy::unwrap_used,
    reason = "a failed unwrap in a test is a failed test"
)]

use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt as _, chown, symlink};
use std::path::{Path, PathBuf};

use rialto_components::cache::Cache;
use rialto_engine::Entropy as _;
use rialto_engine::time::SystemEntropy;

/// A user that these tests are not.
const NOBODY: u32 = 65_534;

/// The path of a folder for the cache, in a folder that is removed at the end.
fn cache_folder() -> (tempfile::TempDir, PathBuf) {
    let outer = rialto_files::temporary_folder().unwrap();
    let path = outer.path().join("a/compiled");
    (outer, path)
}

fn open(path: &Path) -> Result<Cache, String> {
    let opened = Cache::open(path, |key| SystemEntropy.fill(key));
    opened.map_err(|error| error.to_string())
}

/// What opening says.
fn refused(path: &Path) -> String {
    open(path).err().expect("a refusal")
}

fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn a_new_folder_and_its_key_are_private() {
    let (_outer, path) = cache_folder();
    open(&path).unwrap();
    assert_eq!(mode(&path), 0o700);
    assert_eq!(mode(&path.join("key")), 0o600);
    let files: Vec<_> = std::fs::read_dir(&path).unwrap().collect();
    assert_eq!(files.len(), 1, "{files:?}");
    open(&path).unwrap();
}

#[test]
fn a_folder_that_others_can_read_or_change_is_refused() {
    let (_outer, path) = cache_folder();
    std::fs::create_dir_all(&path).unwrap();
    for others in [0o755, 0o770, 0o703, 0o777] {
        set_mode(&path, others);
        let reason = refused(&path);
        assert!(reason.contains("is open to others"), "{reason}");
    }
}

#[test]
fn links_are_not_followed() {
    let (outer, path) = cache_folder();
    open(&path).unwrap();
    let link = outer.path().join("link");
    symlink(&path, &link).unwrap();
    let reason = refused(&link);
    assert!(reason.contains("is a link, not a folder"), "{reason}");
    let (key, elsewhere) = (path.join("key"), outer.path().join("elsewhere"));
    std::fs::rename(&key, &elsewhere).unwrap();
    symlink(&elsewhere, &key).unwrap();
    let reason = refused(&path);
    assert!(reason.contains("is no plain file"), "{reason}");
}

#[test]
fn a_key_that_others_can_read_is_no_key() {
    let (_outer, path) = cache_folder();
    open(&path).unwrap();
    set_mode(&path.join("key"), 0o640);
    let reason = refused(&path);
    assert!(reason.contains("is open to others"), "{reason}");
}

#[test]
fn what_belongs_to_somebody_else_is_refused() {
    let (_outer, path) = cache_folder();
    open(&path).unwrap();
    if chown(path.join("key"), Some(NOBODY), None).is_err() {
        return; // only root can give files away
    }
    let reason = refused(&path);
    assert!(reason.contains("belongs to user 65534"), "{reason}");
    chown(path.join("key"), Some(0), None).unwrap();
    open(&path).unwrap();
    chown(&path, Some(NOBODY), None).unwrap();
    let reason = refused(&path);
    assert!(reason.contains("belongs to user 65534"), "{reason}");
}
