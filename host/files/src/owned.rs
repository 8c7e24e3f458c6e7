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
/// Of a folder that is this user's alone.
pub(crate) const FOLDER: u32 = 0o700;
/// Of such a file.
pub(crate) const FILE: u32 = 0o600;

/// The user as whom this process makes files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owner(u32);

/// Make a folder for this user alone, and those above it that are missing, or take one that is there. It
/// is on the disk when this returns.
///
/// # Errors
/// When it cannot be made, is no folder, belongs to somebody else, or is open to others.
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

/// A folder for this user alone where the system keeps what is temporary; it is removed with the value.
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

/// Accept a file that is this user's alone.
///
/// # Errors
/// When it is not there, is no plain file, belongs to somebody else, or is open to others.
pub fn accept(path: &Path, owner: Owner) -> Result<(), FileError> {
    let found = std::fs::symlink_metadata(path).map_err(io(path))?;
    if !found.is_file() {
        return Err(FileError::NoFile(path.to_owned()));
    }
    owned(path, &found, owner)?;
    closed(path, &found, "chmod 600")
}

/// The same; answers whether it is there.
///
/// # Errors
/// As `accept`, but that it is not there.
pub fn accept_if_there(path: &Path, owner: Owner) -> Result<bool, FileError> {
    match accept(path, owner) {
        Ok(()) => Ok(true),
        Err(FileError::Io { source, .. }) if source.kind() == ErrorKind::NotFound => Ok(false),
        Err(refused) => Err(refused),
    }
}

/// Open a file of this user alone to write, made if it is not there.
///
/// # Errors
/// When it cannot be made or opened, is no plain file, belongs to somebody else, or is open to others.
pub fn create_if_missing(path: &Path, owner: Owner) -> Result<File, FileError> {
    match crate::create(path) {
        Err(FileError::Io { source, .. }) if source.kind() == ErrorKind::AlreadyExists => {}
        made => return made,
    }
    accept(path, owner)?;
    let opened = OpenOptions::new().read(true).write(true).open(path);
    opened.map_err(io(path))
}

/// Make what is missing of a path, from above, each of it on the disk before the next. So when the last
/// folder is there, those above it are there for good.
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
            // The umask may have taken away what this user needs.
            let closed = Permissions::from_mode(FOLDER);
            std::fs::set_permissions(path, closed).map_err(io(path))?;
            sync_folder(above)
        }
        Err(error) if error.kind() == ErrorKind::AlreadyExists => match sync_folder(above) {
            // Whoever made it could write there; this user may not even look.
            Err(FileError::Io { source, .. }) if source.kind() == ErrorKind::PermissionDenied => {
                Ok(())
            }
            // Who made it may have ended before this.
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

/// Who owns what this process writes.
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
        // Of a process of the same number that ended right here: nobody else has this name now.
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
