//! The lock of a store: a running host has a lock on a file in the store's folder.

use std::fs::File;
use std::io;
use std::path::Path;
use std::time::Duration;

use rialto_files::{FileError, Owner};

use crate::OpenError;

/// How often a lock that is taken is tried again, with [`LOCK_PAUSE`] between. A process that only checks
/// whether the store is in use has the lock for a moment.
const LOCK_TRIES: u32 = 10;
/// See [`LOCK_TRIES`].
const LOCK_PAUSE: Duration = Duration::from_millis(10);

/// Open the lock file, with access for this user alone. Creates it if it does not exist.
///
/// # Errors
/// When it cannot be created, or other users can access it.
pub(crate) fn lock_file(folder: &Path, owner: Owner) -> Result<File, FileError> {
    rialto_files::create_if_missing(&folder.join("lock"), owner)
}

/// Take the lock until the file is closed.
///
/// # Errors
/// When another process has it.
pub(crate) fn locked(lock: &File) -> Result<(), ()> {
    for n in 0..LOCK_TRIES {
        if n > 0 {
            std::thread::sleep(LOCK_PAUSE);
        }
        if lock.try_lock().is_ok() {
            return Ok(());
        }
    }
    Err(())
}

/// Lock a folder that has no store, as a store's folder is locked. Makes the folder if it does not exist. The lock is
/// released with the file.
///
/// # Errors
/// When another process has it, or other users can access the folder.
pub fn lock(folder: &Path) -> Result<File, OpenError> {
    let owner = rialto_files::folder(folder)?;
    let lock = lock_file(folder, owner)?;
    locked(&lock).map_err(|()| OpenError::InUse(folder.to_owned()))?;
    Ok(lock)
}

/// Whether a process has the store of this folder open, or its lock.
///
/// # Errors
/// When the lock file cannot be opened. A folder without a store is not in use.
pub fn is_open(folder: &Path) -> io::Result<bool> {
    let lock = match File::open(folder.join("lock")) {
        Ok(lock) => lock,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    };
    match lock.try_lock_shared() {
        // It is released with the file.
        Ok(()) => Ok(false),
        Err(std::fs::TryLockError::WouldBlock) => Ok(true),
        Err(std::fs::TryLockError::Error(error)) => Err(error),
    }
}
