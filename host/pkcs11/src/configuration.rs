//! What the operator says of a token: the module, the token, its PIN, and how much is asked of it at once.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cryptoki::types::AuthPin;
use zeroize::Zeroizing;

/// Sessions, if the operator says nothing.
pub const SESSIONS: usize = 4;
/// The longest wait of a call, if the operator says nothing.
pub const TIMEOUT: Duration = Duration::from_secs(2);

/// The longest wait for a module that is loaded.
pub const LOAD_TIMEOUT: Duration = Duration::from_secs(10);

/// The bits of a file's mode that let others access it.
const OTHERS: u32 = 0o077;
/// The longest file with a PIN, in bytes.
const PIN_FILE_BYTES_MAX: u64 = 1_024;

/// A token and how it is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Configuration {
    /// The module's library.
    pub module: PathBuf,
    /// The token's label, or its serial number.
    pub token: String,
    /// Where the user's PIN is.
    pub pin: PinSource,
    /// Sessions, which are also the calls at once. At least 1.
    pub sessions: usize,
    /// The longest wait of a call, for a session and for the answer together.
    pub timeout: Duration,
    /// The longest wait until the module is loaded and initialized.
    pub load_timeout: Duration,
}

/// Where the user's PIN is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PinSource {
    /// In a file; white space around it is not part of it.
    File(PathBuf),
    /// In an environment variable.
    Variable(String),
}

/// Why a token's module or PIN cannot be used. The token itself may come later.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The library is not there, or is no PKCS #11 module.
    #[error(
        "the PKCS #11 module {path} cannot be loaded: {why}. Check the path, and that the module's package is installed"
    )]
    Module {
        /// The library.
        path: PathBuf,
        /// What the system or the module says.
        why: String,
    },
    /// The module's own code has not returned in time.
    #[error(
        "the PKCS #11 module {path} has not been loaded for {} s: look what it waits for (its daemon, its device, the network), and start again",
        timeout.as_secs_f32()
    )]
    SlowModule {
        /// The library.
        path: PathBuf,
        /// How long it was waited for.
        timeout: Duration,
    },
    /// The file with the PIN cannot be read.
    #[error("{path}, which has the PIN of the token, cannot be read: {source}")]
    PinFile {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The variable with the PIN is not set.
    #[error("the environment variable `{0}`, which has the PIN of the token, is not set")]
    NoPinVariable(String),
    /// Others can read or replace the PIN.
    #[error(
        "{0}, which has the PIN of the token, must be a plain file that only the host’s user can access: chmod 600"
    )]
    PinFileOpen(PathBuf),
    /// There is nothing in the file or the variable.
    #[error("{0}, which has the PIN of the token, is empty")]
    NoPin(String),
    /// The system starts no thread.
    #[error("no thread could be started for the token: {0}")]
    Thread(std::io::Error),
}

impl PinSource {
    /// The PIN. It is overwritten with zeros when it is dropped, and is not in its `Debug` text.
    pub(crate) fn read(&self) -> Result<AuthPin, OpenError> {
        let (text, place) = match self {
            Self::File(path) => (of_file(path)?, path.display().to_string()),
            Self::Variable(name) => {
                let text = std::env::var(name).map(Zeroizing::new);
                let text = text.map_err(|_| OpenError::NoPinVariable(name.clone()))?;
                (text, format!("the environment variable `{name}`"))
            }
        };
        let pin = text.trim();
        if pin.is_empty() {
            return Err(OpenError::NoPin(place));
        }
        Ok(AuthPin::from(pin))
    }
}

fn of_file(path: &Path) -> Result<Zeroizing<String>, OpenError> {
    let failed = |source| OpenError::PinFile {
        path: path.to_owned(),
        source,
    };
    let found = std::fs::symlink_metadata(path).map_err(failed)?;
    let is_private = found.is_file() && found.permissions().mode() & OTHERS == 0;
    if !is_private || found.len() > PIN_FILE_BYTES_MAX {
        return Err(OpenError::PinFileOpen(path.to_owned()));
    }
    std::fs::read_to_string(path)
        .map(Zeroizing::new)
        .map_err(failed)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

    use std::fs::{Permissions, set_permissions, write};

    use super::*;

    #[test]
    fn pin_file_that_others_can_access_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pin");
        write(&path, "1234\n").unwrap();
        let read = |path: &Path| PinSource::File(path.to_owned()).read();
        for (mode, is_private) in [(0o644, false), (0o620, false), (0o600, true), (0o400, true)] {
            set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            let refused = matches!(read(&path), Err(OpenError::PinFileOpen(_)));
            assert_eq!(refused, !is_private, "{mode:o}");
        }
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        assert!(matches!(read(&link), Err(OpenError::PinFileOpen(_))));
        assert!(matches!(
            read(&folder.path().join("none")),
            Err(OpenError::PinFile { .. })
        ));
    }
}
