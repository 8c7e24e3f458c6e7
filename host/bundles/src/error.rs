//! Why bytes are no bundle, or files cannot become one.

use std::path::PathBuf;

use crate::path::BadPath;
use crate::{ALL_BYTES_MAX, BundlePath, Digest, FILES_MAX};

/// Why a bundle cannot be made, read or unpacked.
#[derive(Debug, thiserror::Error)]
pub enum BundleError {
    /// A file cannot be read or written.
    #[error("{path} cannot be used: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The folder for unpacking has files.
    #[error("{0} is not empty: name a new folder")]
    NotEmpty(PathBuf),
    /// The file ends within an entry.
    #[error("the file ends too early, in {within}: copy it again")]
    Truncated {
        /// The entry.
        within: String,
    },
    /// A header of the archive is damaged, or of another kind of archive.
    #[error(
        "the archive's header at byte {at} cannot be used: {why}. A bundle is a file of `rialto bundle pack`"
    )]
    Header {
        /// The header's first byte.
        at: usize,
        /// Why.
        why: &'static str,
    },
    /// An entry is a link, a folder or a device.
    #[error("the archive has {name:?}, which is no plain file: a bundle has plain files alone")]
    NotPlain {
        /// The entry.
        name: String,
    },
    /// An entry has a name that a bundle does not have.
    #[error("the archive has {name:?}, which does not belong into a bundle")]
    Stranger {
        /// The entry.
        name: String,
    },
    /// An entry, or a path, is there twice.
    #[error("{name:?} is in the bundle twice")]
    Twice {
        /// Which.
        name: String,
    },
    /// An entry, a file or all of them have too many bytes.
    #[error("{what} has {bytes} bytes, and {max} are taken at most")]
    TooLarge {
        /// Which.
        what: String,
        /// Its bytes.
        bytes: u64,
        /// The most.
        max: u64,
    },
    /// All files together have too many bytes.
    #[error("the files have {bytes} bytes in all, and a bundle has {ALL_BYTES_MAX} at most")]
    AllTooLarge {
        /// Their bytes.
        bytes: u64,
    },
    /// There are too many files.
    #[error("there are {0} files, and a bundle has {FILES_MAX} at most")]
    TooMany(usize),
    /// An entry is missing.
    #[error("{name} is missing: the file is no bundle, or damaged")]
    Missing {
        /// Which.
        name: String,
    },
    /// A document of the bundle cannot be read.
    #[error("{what} cannot be read: {why}")]
    Unreadable {
        /// Which.
        what: &'static str,
        /// Why.
        why: String,
    },
    /// The artifact is something else.
    #[error(
        "{what} is of the type {found:?}, and a bundle's is {wanted:?}: it is something else than a bundle"
    )]
    OtherType {
        /// Which part.
        what: String,
        /// Its type.
        found: String,
        /// The type that is taken.
        wanted: &'static str,
    },
    /// A newer version wrote it.
    #[error(
        "the bundle is of the form {found}, and this version reads the form {known}: use the version that packed it"
    )]
    NewerFormat {
        /// The number of its form.
        found: u32,
        /// The number that is known.
        known: u32,
    },
    /// Bytes are not those of their digest.
    #[error("{what} should have the digest {wanted}, and has {found}: its bytes have changed")]
    Changed {
        /// Which.
        what: String,
        /// The digest that was said.
        wanted: Digest,
        /// The digest of the bytes.
        found: Digest,
    },
    /// A blob has another length than was said.
    #[error("{what} should have {wanted} bytes, and has {found}")]
    Length {
        /// Which.
        what: String,
        /// The length that was said.
        wanted: u64,
        /// The length that it has.
        found: u64,
    },
    /// A blob is there that the manifest does not name.
    #[error("the archive has {name}, which the manifest does not list")]
    Unlisted {
        /// Which.
        name: String,
    },
    /// A path cannot be used.
    #[error(transparent)]
    Path(#[from] BadPath),
    /// A path is a file and a folder.
    #[error("{file} is a file, and {within} would be in a folder of that name")]
    FileAndFolder {
        /// The file.
        file: BundlePath,
        /// The other one.
        within: BundlePath,
    },
    /// The configuration and the manifest name other files.
    #[error(
        "the configuration and the manifest do not name the same files: {0:?} is in one of them"
    )]
    Disagree(String),
    /// All is there, but not in the one form.
    #[error(
        "{what} differs at byte {at} from what `rialto bundle pack` writes: the bundle was changed, or made otherwise"
    )]
    NotOneForm {
        /// Which part.
        what: &'static str,
        /// The first byte that differs.
        at: usize,
    },
}

impl BundleError {
    /// For `map_err`: the system's error for this path.
    pub(crate) fn io(path: &std::path::Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { path, source }
    }
}
