//! Whether a store is in use: a host has a lock on a file beside it as long as it runs.

use std::fs::File;
use std::io;
use std::path::Path;
use std::time::Duration;

use rialto_files::{FileError, Owner};

/// How often a lock that is taken is tried again, and the pause between: who only looks whether a store is
/// in use has it for a moment.
const LOCK_TRIES: u32 = 10;
/// See [`LOCK_TRIES`].
const LOCK_PAUSE: Duration = Duration::from_millis(10);

/// The file that is locked, made if it is not there; open to this user alone.
///
/// # Errors
/// When it cannot be made, or others can touch it.
pub(crate) fn lock_file(folder: &Path, owner: Owner) -> Result<File, FileError> {
    rialto_files::create_if_missing(&folder.join("lock"), owner)
}

/// Take the lock, and keep it as long as the file is open.
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

/// Whether a process has the store of this folder open.
///
/// # Errors
/// When that cannot be seen; a folder without a store is in nobody's use.
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
