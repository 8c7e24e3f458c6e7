//! Archives in a backup. Their files never change, so they are copied one by one, and each is compared with
//! the digest that the database has of it.

use std::path::Path;

use super::{BackupError, Copied, Step, hashed, io_of};
use crate::retention::Archive;

/// The folder of archives in a backup.
pub(super) const FOLDER: &str = "archives";
/// How the name of a file ends that is being written.
const PARTIAL: &str = ".partial";

/// Copy the archives that a database names and that are there. Answers them, and the names of the others.
pub(super) fn take(
    named: &[Archive],
    from: Option<&Path>,
    backup: &Path,
    tell: &mut dyn FnMut(Step),
) -> Result<(Vec<Copied>, Vec<String>), BackupError> {
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
        let expected = Copied {
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

/// Copy the archives of a backup into the folder of archives. One that is there already stays.
pub(super) fn restore(
    archives: &[Copied],
    backup: &Path,
    to: &Path,
    tell: &mut dyn FnMut(Step),
) -> Result<(), BackupError> {
    if archives.is_empty() {
        return Ok(());
    }
    rialto_files::folder(to)?;
    for expected in archives {
        let path = to.join(&expected.file);
        if path.exists() {
            let of = expected.bytes;
            let mut told = |done| tell(Step::Hashing { done, of });
            let (bytes, sha256) = hashed(&path, None, &mut told)?;
            if (bytes, &sha256) != (expected.bytes, &expected.sha256) {
                return Err(BackupError::InTheWay(path));
            }
            continue;
        }
        let from = backup.join(FOLDER).join(&expected.file);
        copy(&from, to, expected, tell)?;
    }
    Ok(rialto_files::sync_folder(to)?)
}

/// Copy one file into a folder, under its name once it is whole and on the disk.
fn copy(
    from: &Path,
    folder: &Path,
    expected: &Copied,
    tell: &mut dyn FnMut(Step),
) -> Result<(), BackupError> {
    let partial = folder.join(format!("{}{PARTIAL}", expected.file));
    match std::fs::remove_file(&partial) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(io_of(&partial)(error));
        }
        _ => {}
    }
    let mut file = rialto_files::create(&partial)?;
    let of = expected.bytes;
    let mut told = |done| tell(Step::Copying { done, of });
    let (bytes, sha256) = hashed(from, Some((&partial, &mut file)), &mut told)?;
    if (bytes, &sha256) != (expected.bytes, &expected.sha256) {
        let _ = std::fs::remove_file(&partial);
        return Err(BackupError::differs(from, (bytes, &sha256), expected));
    }
    file.sync_all().map_err(io_of(&partial))?;
    let path = folder.join(&expected.file);
    std::fs::rename(&partial, &path).map_err(io_of(&path))
}
