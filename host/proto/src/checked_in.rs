//! Reads, writes and accepts the checked-in files: the lock and the `.proto` files beside the WIT.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::breaks::Break;
use crate::derive::{Problem, derive};
use crate::lock::{BadLock, Lock, Locked};
use crate::model::File;
use crate::wit::Chosen;
use crate::{text, wit};

/// The lock, in the folder of the WIT.
pub const LOCK: &str = "proto.lock.toml";
/// The list of events that clients may publish, in the folder of the WIT, if there are any.
pub const EVENTS: &str = "proto.toml";

/// Why there are no files.
#[derive(Debug, thiserror::Error)]
pub enum NoFiles {
    /// The WIT cannot be read.
    #[error(transparent)]
    Wit(#[from] wit::BadWit),
    /// The lock cannot be read.
    #[error(transparent)]
    Lock(#[from] BadLock),
    /// The list of events cannot be read.
    #[error("{0} is no list of events: write `events = [\"package/interface\"]`")]
    Events(PathBuf, #[source] toml::de::Error),
    /// Something in the WIT has no form in protobuf.
    #[error("the WIT has no form in protobuf: {}", listed(.0))]
    Problems(Vec<Problem>),
    /// The changes would break clients.
    #[error("{}", listed(.0))]
    Breaks(Vec<Break>),
    /// A file cannot be read or written.
    #[error("cannot use {0}")]
    Io(PathBuf, #[source] io::Error),
}

fn listed<T: ToString>(items: &[T]) -> String {
    let items: Vec<_> = items.iter().map(ToString::to_string).collect();
    items.join("\n")
}

/// Derives the files from the WIT in a folder, with the lock in it. Changes that break clients are listed, not
/// refused.
///
/// # Errors
/// When the WIT or the lock cannot be read, or when the WIT has no form in protobuf.
pub fn read(folder: &Path) -> Result<Locked, NoFiles> {
    let path = folder.join(LOCK);
    let lock = match fs::read_to_string(&path) {
        Ok(text) => Lock::parse(&text)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Lock::default(),
        Err(error) => return Err(NoFiles::Io(path, error)),
    };
    let chosen = Chosen {
        events: events(folder)?,
        only: None,
    };
    let files = derive(&wit::folder(folder)?, &chosen, &lock).map_err(NoFiles::Problems)?;
    Ok(lock.apply(files))
}

/// The events that clients may publish.
///
/// # Errors
/// When the file cannot be read.
pub fn events(folder: &Path) -> Result<BTreeSet<String>, NoFiles> {
    let path = folder.join(EVENTS);
    match fs::read_to_string(&path) {
        Ok(text) => parse_events(&text).map_err(|error| NoFiles::Events(path, error)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(BTreeSet::new()),
        Err(error) => Err(NoFiles::Io(path, error)),
    }
}

/// The events in the text of such a file.
pub(crate) fn parse_events(text: &str) -> Result<BTreeSet<String>, toml::de::Error> {
    let mut tables: BTreeMap<String, BTreeSet<String>> = toml::from_str(text)?;
    Ok(tables.remove("events").unwrap_or_default())
}

/// Write files as text into a folder. What else is in it stays.
///
/// # Errors
/// When a file cannot be written.
pub fn write(files: &[File], folder: &Path) -> Result<(), NoFiles> {
    for file in files {
        let path = folder.join(&file.path);
        let made = path.parent().map_or(Ok(()), fs::create_dir_all);
        let written = made.and_then(|()| fs::write(&path, text::proto(file)));
        written.map_err(|error| NoFiles::Io(path, error))?;
    }
    Ok(())
}

/// Accepts the WIT of a folder: writes its lock, and the `.proto` files to `protos`, and removes other files there.
///
/// # Errors
/// As [`read`] and [`write()`]. Also when a change would break clients; then nothing is written.
pub fn accept(folder: &Path, protos: &Path) -> Result<(), NoFiles> {
    let locked = read(folder)?;
    if !locked.breaks.is_empty() {
        return Err(NoFiles::Breaks(locked.breaks));
    }
    let wanted: BTreeSet<_> = locked
        .files
        .iter()
        .map(|file| protos.join(&file.path))
        .collect();
    for path in found(protos).map_err(|error| NoFiles::Io(protos.to_owned(), error))? {
        if !wanted.contains(&path) {
            fs::remove_file(&path).map_err(|error| NoFiles::Io(path, error))?;
        }
    }
    write(&locked.files, protos)?;
    let path = folder.join(LOCK);
    fs::write(&path, locked.lock.to_text()).map_err(|error| NoFiles::Io(path, error))
}

/// The `.proto` files of a folder, if there is one.
///
/// # Errors
/// When a folder cannot be listed.
pub fn found(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut files = Vec::new();
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() {
            files.extend(found(&path)?);
        } else if path
            .extension()
            .is_some_and(|extension| extension == "proto")
        {
            files.push(path);
        }
    }
    Ok(files)
}
