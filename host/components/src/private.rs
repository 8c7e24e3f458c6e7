//! Folders and files that only this user can have touched: where native code is loaded from.
//!
//! A folder in a shared place, or one that somebody else made first, may hold what others put there.
//! So a folder is used only if it is a real folder of this user in which nobody else can write, and a
//! secret only if nobody else can read it.

use std::fs::{DirBuilder, Metadata, OpenOptions};
use std::io::{Error, ErrorKind, Result};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// Permissions of the group and of all others.
const OTHERS: u32 = 0o077;
/// Their permission to change something.
const OTHERS_WRITE: u32 = 0o022;

/// The user as whom this process makes files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owner(u32);

/// Make a folder that is open to this user alone, or take one that is there.
///
/// # Errors
/// When it cannot be made, is no folder, belongs to somebody else, or others can write in it.
pub fn folder(path: &Path) -> Result<Owner> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)?;
    let found = std::fs::symlink_metadata(path)?;
    if !found.is_dir() {
        return Err(refused(
            path,
            "is a link, not a folder",
            "name the folder itself",
        ));
    }
    if found.mode() & OTHERS_WRITE != 0 {
        let help = "delete it, and have it made again";
        return Err(refused(path, "can be written in by others", help));
    }
    let owner = whoever_writes(path)?;
    owned(path, &found, owner)?;
    if found.mode() & OTHERS != 0 {
        // Ours, and others could only look: from now on they cannot.
        let closed = std::os::unix::fs::PermissionsExt::from_mode(0o700);
        std::fs::set_permissions(path, closed)?;
    }
    Ok(owner)
}

/// Accept a secret's file.
///
/// # Errors
/// When it is not there, is no plain file, belongs to somebody else, or is open to others.
pub fn secret(path: &Path, owner: Owner) -> Result<()> {
    let found = std::fs::symlink_metadata(path)?;
    let help = "delete it, and a new one will be drawn";
    if !found.is_file() {
        return Err(refused(path, "is no plain file", help));
    }
    owned(path, &found, owner)?;
    if found.mode() & OTHERS != 0 {
        return Err(refused(path, "is open to others", help));
    }
    Ok(())
}

fn owned(path: &Path, found: &Metadata, Owner(us): Owner) -> Result<()> {
    if found.uid() == us {
        return Ok(());
    }
    let what = format!("belongs to user {}, and this is user {us}", found.uid());
    Err(refused(path, &what, "use a folder of your own"))
}

/// Who owns what this process writes in this folder.
///
/// # Errors
/// When it cannot write there.
pub fn whoever_writes(folder: &Path) -> Result<Owner> {
    static PROBES: AtomicU64 = AtomicU64::new(0);
    let probe = PROBES.fetch_add(1, Ordering::Relaxed);
    let path = folder.join(format!(".whose-{}-{probe}", std::process::id()));
    let made = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&path);
    let uid = match made {
        Ok(file) => file.metadata().map(|found| found.uid()),
        Err(error) => {
            let what = format!("cannot be written in: {error}");
            return Err(refused(folder, &what, "use a folder of your own"));
        }
    };
    std::fs::remove_file(&path)?;
    uid.map(Owner)
}

fn refused(path: &Path, what: &str, help: &str) -> Error {
    let text = format!("{} {what}: {help}", path.display());
    Error::new(ErrorKind::PermissionDenied, text)
}
