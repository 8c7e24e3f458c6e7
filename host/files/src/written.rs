//! Writes files completely and durably.

use std::fs::{File, OpenOptions, Permissions};
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::owned::FILE;
use crate::{FileError, io};

/// The ending of the name of a file that is being written.
const NEW: &str = ".new";

/// Create an empty private file, whatever the umask. Its name is on the disk after the next `sync_folder`.
///
/// # Errors
/// When a file of this name exists, or the system refuses.
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

/// Write a private file, replacing an existing one. It is on the disk when this returns. After a crash or a power cut,
/// the file is the old one or the new one.
///
/// # Errors
/// When the system refuses. Then nothing has changed, or the new file is there and may be lost again in a power cut.
pub fn write(path: &Path, parts: &[&[u8]]) -> Result<(), FileError> {
    let new = beside(path, parts)?;
    if let Err(error) = std::fs::rename(&new, path) {
        let _ = std::fs::remove_file(&new);
        return Err(io(path)(error));
    }
    sync_folder(folder_of(path))
}

/// The same, but only if no file of this name exists. Of several concurrent writers, one succeeds. Returns whether it
/// was this one.
///
/// # Errors
/// As `write`.
pub fn make_once(path: &Path, parts: &[&[u8]]) -> Result<bool, FileError> {
    let new = beside(path, parts)?;
    // A hard link, unlike a rename, does not replace an existing file. The linked file is complete.
    let linked = std::fs::hard_link(&new, path);
    std::fs::remove_file(&new).map_err(io(&new))?;
    let made = match linked {
        Ok(()) => true,
        Err(error) if error.kind() == ErrorKind::AlreadyExists => false,
        Err(error) => return Err(io(path)(error)),
    };
    // This also syncs the name of another writer's file.
    sync_folder(folder_of(path))?;
    Ok(made)
}

/// Sync a folder: the names of files that were created, renamed or removed in it.
///
/// # Errors
/// When the system refuses.
pub fn sync_folder(path: &Path) -> Result<(), FileError> {
    let synced = File::open(path).and_then(|folder| folder.sync_all());
    synced.map_err(io(path))
}

/// The files that killed processes have left while they wrote a file, which no living process writes now.
///
/// # Errors
/// When the folder cannot be read.
pub fn unfinished(path: &Path) -> std::io::Result<Vec<PathBuf>> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder_of(path))? {
        let path = entry?.path();
        let other = path.file_name().unwrap_or_default().to_string_lossy();
        let write = other
            .strip_prefix(&*name)
            .and_then(|rest| rest.strip_prefix('.')?.strip_suffix(NEW));
        let is_one = write
            .and_then(|write| write.split_once('-'))
            .is_some_and(|(process, write)| is_number(process) && is_number(write));
        if is_one {
            found.push(path);
        }
    }
    Ok(found)
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Write a private file beside its final name. Its bytes are on the disk.
fn beside(path: &Path, parts: &[&[u8]]) -> Result<PathBuf, FileError> {
    static WRITES: AtomicU64 = AtomicU64::new(0);
    let mut name = path.file_name().unwrap_or_default().to_owned();
    // The name is of this write alone, because two threads may write the same file.
    let write = WRITES.fetch_add(1, Ordering::Relaxed);
    name.push(format!(".{}-{write}{NEW}", std::process::id()));
    let new = path.with_file_name(name);
    let written = (|| {
        let mut file = match create(&new) {
            // Left by a killed process with the same id: no other process uses this name now.
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
