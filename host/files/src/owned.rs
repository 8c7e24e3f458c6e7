//! Checks the owner and the mode of folders and files.

use std::fs::{DirBuilder, File, Metadata, OpenOptions, Permissions};
use std::io::ErrorKind;
use std::os::unix::fs::{
    DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _,
};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use tempfile::TempDir;

use crate::{FileError, io, sync_folder};

/// Permissions of the group and of all others.
const OTHERS: u32 = 0o077;
/// The mode of a private folder.
pub(crate) const FOLDER: u32 = 0o700;
/// The mode of a private file.
pub(crate) const FILE: u32 = 0o600;

/// The user who owns this process's files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owner(u32);

/// Create a private folder and its missing parents, or accept an existing one. It is on the disk when this returns.
///
/// # Errors
/// When it cannot be created, is not a folder, belongs to another user, or other users can access it.
pub fn folder(path: &Path) -> Result<Owner, FileError> {
    make(path)?;
    let found = std::fs::symlink_metadata(path).map_err(io(path))?;
    if !found.is_dir() {
        return Err(FileError::Link(path.to_owned()));
    }
    closed(path, &found, "chmod -R go=")?;
    let owner = whoever_writes(path)?;
    owned(path, &found, owner)?;
    Ok(owner)
}

/// A private temporary folder. It is removed with the value.
///
/// # Errors
/// When it cannot be made.
pub fn temporary_folder() -> Result<TempDir, FileError> {
    let mut builder = tempfile::Builder::new();
    let made = builder
        .permissions(Permissions::from_mode(FOLDER))
        .tempdir();
    made.map_err(io(&std::env::temp_dir()))
}

/// Check that a file is private.
///
/// # Errors
/// When it does not exist, is not a plain file, belongs to another user, or other users can access it.
pub fn accept(path: &Path, owner: Owner) -> Result<(), FileError> {
    let found = std::fs::symlink_metadata(path).map_err(io(path))?;
    if !found.is_file() {
        return Err(FileError::NoFile(path.to_owned()));
    }
    owned(path, &found, owner)?;
    closed(path, &found, "chmod 600")
}

/// The same. Returns false if it does not exist.
///
/// # Errors
/// As `accept`, except for a missing file.
pub fn accept_if_there(path: &Path, owner: Owner) -> Result<bool, FileError> {
    match accept(path, owner) {
        Ok(()) => Ok(true),
        Err(FileError::Io { source, .. }) if source.kind() == ErrorKind::NotFound => Ok(false),
        Err(refused) => Err(refused),
    }
}

/// Open a private file to write. Creates it if it does not exist.
///
/// # Errors
/// When it cannot be created or opened, is not a plain file, belongs to another user, or other users can access it.
pub fn create_if_missing(path: &Path, owner: Owner) -> Result<File, FileError> {
    match crate::create(path) {
        Err(FileError::Io { source, .. }) if source.kind() == ErrorKind::AlreadyExists => {}
        made => return made,
    }
    accept(path, owner)?;
    let opened = OpenOptions::new().read(true).write(true).open(path);
    opened.map_err(io(path))
}

/// Create the missing folders of a path, from the top. Each is on the disk before the next, so all parents survive a
/// power cut if the last folder does.
fn make(path: &Path) -> Result<(), FileError> {
    let above = match path.parent() {
        None => return Ok(()),
        Some(above) if above.as_os_str().is_empty() => Path::new("."),
        Some(above) => above,
    };
    let create = || DirBuilder::new().mode(FOLDER).create(path);
    let mut made = create();
    if matches!(&made, Err(error) if error.kind() == ErrorKind::NotFound) {
        make(above)?;
        made = create();
    }
    match made {
        Ok(()) => {
            // The umask may have removed permissions that this user needs.
            let closed = Permissions::from_mode(FOLDER);
            std::fs::set_permissions(path, closed).map_err(io(path))?;
            sync_folder(above)
        }
        Err(error) if error.kind() == ErrorKind::AlreadyExists => match sync_folder(above) {
            // Its creator could write there; this user may not be able to read it.
            Err(FileError::Io { source, .. }) if source.kind() == ErrorKind::PermissionDenied => {
                Ok(())
            }
            // Its creator may have ended before this.
            other => other,
        },
        Err(error) => Err(io(path)(error)),
    }
}

fn closed(path: &Path, found: &Metadata, help: &'static str) -> Result<(), FileError> {
    let mode = found.mode() & 0o7777;
    if mode & OTHERS == 0 {
        return Ok(());
    }
    let path = path.to_owned();
    Err(FileError::Open { path, mode, help })
}

fn owned(path: &Path, found: &Metadata, Owner(us): Owner) -> Result<(), FileError> {
    let (path, found) = (path.to_owned(), found.uid());
    if found == us {
        return Ok(());
    }
    Err(FileError::Foreign { path, found, us })
}

/// The owner of this process's files.
fn whoever_writes(folder: &Path) -> Result<Owner, FileError> {
    static PROBES: AtomicU64 = AtomicU64::new(0);
    let probe = PROBES.fetch_add(1, Ordering::Relaxed);
    let path = folder.join(format!(".whose-{}-{probe}", std::process::id()));
    let make = || {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(FILE);
        options.open(&path)
    };
    let made = match make() {
        // Left by an ended process with the same id: no other process uses this name now.
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            remove(&path)?;
            make()
        }
        made => made,
    };
    let made = made.map_err(|source| FileError::NotWritable {
        path: folder.to_owned(),
        source,
    })?;
    let found = made.metadata().map_err(io(&path))?;
    remove(&path)?;
    Ok(Owner(found.uid()))
}

/// Remove a file, if it is there.
fn remove(path: &Path) -> Result<(), FileError> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(io(path)(error)),
        _ => Ok(()),
    }
}
