//! Private folders and files, and files that survive a power cut complete.
//!
//! Another user may have put files into a shared folder, and can read open files. So a folder or a file is used only
//! if it belongs to this user and no other user can access it: modes 0700 and 0600, whatever the umask.
//!
//! A written file, and its name, is on the disk when the call returns. It has all of its new bytes or all of its old
//! ones.

mod owned;
mod written;

use std::io;
use std::path::PathBuf;

pub use owned::{Owner, accept, accept_if_there, create_if_missing, folder, temporary_folder};
pub use written::{create, make_once, sync_folder, unfinished, write};

/// Why a folder or a file is not used.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// Other users can read or change it.
    #[error(
        "{path} is open to others (mode {mode:o}): `{help} {path}`, and think of what they may have read or changed there"
    )]
    Open {
        /// What.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
        /// The command that makes it private.
        help: &'static str,
    },
    /// It belongs to another user, who could remove or change it.
    #[error(
        "{path} belongs to user {found}, and this is user {us}: give it to this user (`chown {us} {path}`), or use a folder of your own"
    )]
    Foreign {
        /// What.
        path: PathBuf,
        /// Its owner.
        found: u32,
        /// This process's user.
        us: u32,
    },
    /// It is a symbolic link, which may lead anywhere.
    #[error("{0} is a link, not a folder: name the folder itself")]
    Link(PathBuf),
    /// It is not a file.
    #[error("{0} is no plain file: take it away")]
    NoFile(PathBuf),
    /// Files cannot be created in it.
    #[error("{path} cannot be written in: use a folder of your own")]
    NotWritable {
        /// The folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The system refused.
    #[error("{path} cannot be used")]
    Io {
        /// What.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// For `map_err`: the system's error for this path.
pub(crate) fn io(path: &std::path::Path) -> impl FnOnce(io::Error) -> FileError {
    let path = path.to_owned();
    move |source| FileError::Io { path, source }
}
