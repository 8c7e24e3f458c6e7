//! The settings of a provider, and its secret.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use rialto_tls::BadTls;
use zeroize::Zeroizing;

/// The bits of a file's mode that let others access it.
const OTHERS: u32 = 0o077;
/// The longest file with a secret, in bytes.
const SECRET_BYTES_MAX: u64 = 4 * 1024;

/// The settings of a provider.
#[derive(Clone, Debug)]
pub struct Configuration {
    /// The issuer's URL, octet by octet as the provider writes it: `https`, or `http` for an address of this machine.
    pub issuer: String,
    /// The name by which the provider knows this client.
    pub client_id: String,
    /// Where the client's secret is; none for a public client.
    pub client_secret: Option<SecretSource>,
    /// The URL to which the provider sends browsers back.
    pub redirect_uri: String,
    /// The certificates of the authority that must have certified the provider, PEM. Without it, the system's authorities.
    pub ca: Option<PathBuf>,
    /// Scopes to ask for beside `openid`.
    pub scopes: Vec<String>,
}

/// Where a client's secret is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SecretSource {
    /// A file that only the host's user can access.
    File(PathBuf),
    /// An environment variable.
    Variable(String),
}

/// Why a provider cannot be used as it is configured.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The issuer is no URL that may be used.
    #[error("the issuer `{url}` cannot be used: {why}")]
    Issuer {
        /// What was configured.
        url: String,
        /// Why.
        why: &'static str,
    },
    /// The file with the secret cannot be read.
    #[error("{path}, which has the client's secret, cannot be read: {source}")]
    SecretFile {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// Others can read or replace the secret.
    #[error(
        "{0}, which has the client's secret, must be a plain file that only the host's user can access: chmod 600"
    )]
    SecretFileOpen(PathBuf),
    /// The variable is not set.
    #[error("the environment variable `{0}`, which has the client's secret, is not set")]
    NoVariable(String),
    /// There is nothing in the file or the variable, or something that is no secret.
    #[error("{0}, which has the client's secret, must have one line of printable ASCII")]
    NoSecret(String),
    /// The certificates of the authority cannot be used.
    #[error(transparent)]
    Tls(#[from] BadTls),
}

impl SecretSource {
    /// The secret. It is overwritten with zeros when it is dropped.
    pub(crate) fn read(&self) -> Result<Zeroizing<String>, OpenError> {
        let (text, place) = match self {
            Self::File(path) => (of_file(path)?, path.display().to_string()),
            Self::Variable(name) => {
                let text = std::env::var(name).map(Zeroizing::new);
                let text = text.map_err(|_| OpenError::NoVariable(name.clone()))?;
                (text, format!("the environment variable `{name}`"))
            }
        };
        let secret = text.trim();
        let is_printable = |byte: u8| byte == b' ' || byte.is_ascii_graphic();
        if secret.is_empty() || !secret.bytes().all(is_printable) {
            return Err(OpenError::NoSecret(place));
        }
        Ok(Zeroizing::new(secret.to_owned()))
    }
}

fn of_file(path: &Path) -> Result<Zeroizing<String>, OpenError> {
    let failed = |source| OpenError::SecretFile {
        path: path.to_owned(),
        source,
    };
    let found = std::fs::symlink_metadata(path).map_err(failed)?;
    let is_private = found.is_file() && found.permissions().mode() & OTHERS == 0;
    if !is_private || found.len() > SECRET_BYTES_MAX {
        return Err(OpenError::SecretFileOpen(path.to_owned()));
    }
    let text = std::fs::read_to_string(path);
    text.map(Zeroizing::new).map_err(failed)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

    use std::fs::{Permissions, set_permissions, write};

    use super::*;

    #[test]
    fn secret_file_that_others_can_access_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secret");
        write(&path, "s3cret\n").unwrap();
        let source = SecretSource::File(path.clone());
        set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        assert_eq!(**source.read().unwrap(), *"s3cret");
        for mode in [0o640, 0o604, 0o602, 0o620] {
            set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            let refused = source.read().unwrap_err();
            assert!(matches!(refused, OpenError::SecretFileOpen(_)), "{refused}");
        }
    }

    #[test]
    fn what_is_no_secret_is_refused_without_its_text() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secret");
        let source = SecretSource::File(path.clone());
        for bad in ["", "\n", "one\ntwo", "sch\u{f6}n"] {
            write(&path, bad).unwrap();
            set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
            let refused = source.read().unwrap_err();
            assert!(matches!(refused, OpenError::NoSecret(_)), "{refused}");
            assert!(!refused.to_string().contains("two"), "{refused}");
        }
        let unset = SecretSource::Variable("RIALTO_NOBODY_SETS_THIS".to_owned());
        assert!(matches!(
            unset.read().unwrap_err(),
            OpenError::NoVariable(_)
        ));
    }
}
