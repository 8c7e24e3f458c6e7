//! The archives of a backup. Their files never change, so they are copied one by one. Each copy is compared with
//! its digest in the database.

use std::io::ErrorKind;
use std::path::Path;

use rialto_files::FileError;

use super::{BackupError, BackupFile, Step, hashed, io_of};
use crate::retention::Archive;

/// The folder of archives in a backup.
pub(super) const FOLDER: &str = "archives";
/// The ending of the name of a file that is being written.
const PARTIAL: &str = ".partial";

/// Copy the archives of a database that exist. Returns them, and the names of the missing ones.
pub(super) fn take(
    named: &[Archive],
    from: Option<&Path>,
    backup: &Path,
    tell: &mut dyn FnMut(Step),
) -> Result<(Vec<BackupFile>, Vec<String>), BackupError> {
    let to = backup.join(FOLDER);
    let (mut copied, mut elsewhere) = (Vec::new(), Vec::new());
    for archive in named {
        let there = from.map(|folder| folder.join(&archive.file));
        let Some(path) = there.filter(|path| path.is_file()) else {
            elsewhere.push(archive.file.clone());
            continue;
        };
        if copied.is_empty() {
            rialto_files::folder(&to)?;
        }
        let expected = BackupFile {
            file: archive.file.clone(),
            bytes: archive.bytes,
            sha256: archive.sha256.clone(),
        };
        copy(&path, &to, &expected, tell)?;
        copied.push(expected);
    }
    assert!(
        copied.len() + elsewhere.len() == named.len(),
        "of {} archives {} are copied and {} are elsewhere",
        named.len(),
        copied.len(),
        elsewhere.len()
    );
    if !copied.is_empty() {
        rialto_files::sync_folder(&to)?;
    }
    Ok((copied, elsewhere))
}

/// Copy the archives of a backup into the folder of archives. Existing ones stay.
pub(super) fn restore(
    archives: &[BackupFile],
    backup: &Path,
    to: &Path,
    tell: &mut dyn FnMut(Step),
) -> Result<(), BackupError> {
    if archives.is_empty() {
        return Ok(());
    }
    rialto_files::folder(to)?;
    for expected in archives {
        if to.join(&expected.file).exists() {
            continue;
        }
        let from = backup.join(FOLDER).join(&expected.file);
        copy(&from, to, expected, tell)?;
    }
    Ok(rialto_files::sync_folder(to)?)
}

/// Fail if another file has the name of an archive, or other users can access the folder.
pub(super) fn nothing_in_the_way(
    archives: &[BackupFile],
    to: &Path,
    tell: &mut dyn FnMut(Step),
) -> Result<(), BackupError> {
    if archives.is_empty() {
        return Ok(());
    }
    rialto_files::folder(to)?;
    for expected in archives {
        let path = to.join(&expected.file);
        if !path.exists() {
            continue;
        }
        let of = expected.bytes;
        let mut told = |done| tell(Step::Hashing { done, of });
        let (bytes, sha256) = hashed(&path, None, &mut told)?;
        if (bytes, &sha256) != (expected.bytes, &expected.sha256) {
            return Err(BackupError::InTheWay(path));
        }
    }
    Ok(())
}

/// Copy one file into a folder. It gets its name when it is complete and on the disk.
fn copy(
    from: &Path,
    folder: &Path,
    expected: &BackupFile,
    tell: &mut dyn FnMut(Step),
) -> Result<(), BackupError> {
    let partial = folder.join(format!("{}{PARTIAL}", expected.file));
    match std::fs::remove_file(&partial) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            return Err(io_of(&partial)(error));
        }
        _ => {}
    }
    let copied = fill(from, &partial, expected, tell).and_then(|()| {
        let path = folder.join(&expected.file);
        // A hard link, because a rename would overwrite a file that another process creates at this moment.
        match std::fs::hard_link(&partial, &path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                Err(BackupError::InTheWay(path))
            }
            linked => linked.map_err(io_of(&path)),
        }
    });
    let removed = std::fs::remove_file(&partial).map_err(io_of(&partial));
    copied.and(removed)
}

/// Copy a file to the disk, and compare its digest.
fn fill(
    from: &Path,
    partial: &Path,
    expected: &BackupFile,
    tell: &mut dyn FnMut(Step),
) -> Result<(), BackupError> {
    // Not a symbolic link, and not a pipe, which might never end.
    let found = std::fs::symlink_metadata(from).map_err(io_of(from))?;
    if !found.is_file() {
        return Err(FileError::NoFile(from.to_owned()).into());
    }
    let mut file = rialto_files::create(partial)?;
    let of = expected.bytes;
    let mut told = |done| tell(Step::Copying { done, of });
    let (bytes, sha256) = hashed(from, Some((partial, &mut file)), &mut told)?;
    if (bytes, &sha256) != (expected.bytes, &expected.sha256) {
        return Err(BackupError::differs(from, (bytes, &sha256), expected));
    }
    file.sync_all().map_err(io_of(partial))
}
