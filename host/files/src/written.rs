//! Writes files completely and durably.

use std::fs::{File, OpenOptions, Permissions};
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::owned::FILE;
use crate::{FileError, io};

/// Make an empty file for this user alone, whatever the umask. Its name is on the disk with the next
/// `sync_folder`.
///
/// # Errors
/// When there is one of this name, or the system refuses.
pub fn create(path: &Path) -> Result<File, FileError> {
    let made = OpenOptions::new()
        .read(true)
        .write(true)
        .create_new(true)
        .mode(FILE)
        .open(path);
    let made = made.map_err(io(path))?;
    let closed = made.set_permissions(Permissions::from_mode(FILE));
    closed.map_err(io(path))?;
    Ok(made)
}

/// Write a file for this user alone, in the place of one that may be there. It is on the disk when this
/// returns; whenever the process or the power goes, the file is the old one or the new one.
///
/// # Errors
/// When the system refuses; then nothing has changed.
pub fn write(path: &Path, parts: &[&[u8]]) -> Result<(), FileError> {
    let new = beside(path, parts)?;
    if let Err(error) = std::fs::rename(&new, path) {
        let _ = std::fs::remove_file(&new);
        return Err(io(path)(error));
    }
    sync_folder(folder_of(path))
}

/// The same, but only if there is no file of this name: of many that write it at once, one does. Answers
/// whether it was this one.
///
/// # Errors
/// As `write`.
pub fn make_once(path: &Path, parts: &[&[u8]]) -> Result<bool, FileError> {
    let new = beside(path, parts)?;
    // A link, unlike a rename, does not replace what is there; and what it puts there is whole.
    let linked = std::fs::hard_link(&new, path);
    std::fs::remove_file(&new).map_err(io(&new))?;
    let made = match linked {
        Ok(()) => true,
        Err(error) if error.kind() == ErrorKind::AlreadyExists => false,
        Err(error) => return Err(io(path)(error)),
    };
    // Also that of another one, who has perhaps not come so far.
    sync_folder(folder_of(path))?;
    Ok(made)
}

/// Bring the names in a folder to the disk: what was made, renamed or removed there.
///
/// # Errors
/// When the system refuses.
pub fn sync_folder(path: &Path) -> Result<(), FileError> {
    let synced = File::open(path).and_then(|folder| folder.sync_all());
    synced.map_err(io(path))
}

/// Write a file of this user alone beside the one that it is to become. Its bytes are on the disk.
fn beside(path: &Path, parts: &[&[u8]]) -> Result<PathBuf, FileError> {
    static WRITES: AtomicU64 = AtomicU64::new(0);
    let mut name = path.file_name().unwrap_or_default().to_owned();
    // Of this write alone: two threads may be making the same file.
    let write = WRITES.fetch_add(1, Ordering::Relaxed);
    name.push(format!(".{}-{write}.new", std::process::id()));
    let new = path.with_file_name(name);
    let written = (|| {
        let mut file = match create(&new) {
            // Of a process of the same number that was killed: nobody else has this name now.
            Err(FileError::Io { source, .. }) if source.kind() == ErrorKind::AlreadyExists => {
                std::fs::remove_file(&new).map_err(io(&new))?;
                create(&new)?
            }
            other => other?,
        };
        for part in parts {
            file.write_all(part).map_err(io(&new))?;
        }
        file.sync_all().map_err(io(&new))
    })();
    if let Err(error) = written {
        let _ = std::fs::remove_file(&new);
        return Err(error);
    }
    Ok(new)
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}
