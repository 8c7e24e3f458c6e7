//! Makes a copy of a scheme's folder one in which everybody uses TLS: the host on its listener for FSPs and towards
//! their callback addresses, and each FSP with a certificate by which the host knows it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::pki::{SchemePki, write_private};

/// The folder of certificates in the scheme's folder.
const FOLDER: &str = "tls";
/// The scheme's setting before and after.
const PLAIN: &str = "fsps = \"none\"";
const MUTUAL: &str = "fsps = \"mutual-tls\"";
/// The grant of requests to this machine, before and after.
const GRANT: &str = "\"http://127.0.0.1:*\"";
const TLS_GRANT: &str = "\"https://127.0.0.1:*\"";
/// The tables that rialto.toml gets.
const TABLES: &str = r#"
[listeners.fsps.tls]
certificate = "tls/hub.pem"
key = "tls/hub.key"
client-ca = "tls/ca.pem"
revocations = "tls/revoked.pem"

[outbound.tls]
ca = "tls/ca.pem"
certificate = "tls/hub.pem"
key = "tls/hub.key"
"#;

/// Why a scheme's copy cannot be secured.
#[derive(Debug, thiserror::Error)]
pub enum SecureError {
    /// A file cannot be read or written.
    #[error("{0}: {1}")]
    File(PathBuf, #[source] io::Error),
    /// A document does not have what is replaced.
    #[error("{0} does not have `{1}`, which would be replaced")]
    Document(PathBuf, &'static str),
    /// A certificate cannot be made.
    #[error("making certificates: {0}")]
    Certificate(#[from] rcgen::Error),
}

/// Secure the copy of a scheme in this folder, which has these participants. Its callback addresses are on this
/// machine.
///
/// # Errors
/// When a document does not fit, or a file cannot be written.
pub fn secure<'a>(
    folder: &Path,
    participants: impl IntoIterator<Item = &'a str>,
) -> Result<SchemePki, SecureError> {
    let pki = SchemePki::new(participants)?;
    let files = folder.join(FOLDER);
    pki.write(&files)
        .map_err(|error| SecureError::File(files.clone(), error))?;
    revoke(folder, &pki, &[])?;
    change(
        folder,
        "scheme.toml",
        &[(PLAIN, MUTUAL), (GRANT, TLS_GRANT)],
        |text| {
            // What is left of http are the callback addresses.
            text.replace("= \"http://", "= \"https://")
        },
    )?;
    change(folder, "rialto.toml", &[(GRANT, TLS_GRANT)], |text| {
        text + TABLES
    })?;
    Ok(pki)
}

/// Replace the revocation list by one with these serial numbers.
///
/// # Errors
/// When it cannot be made or written.
pub fn revoke(folder: &Path, pki: &SchemePki, serials: &[u64]) -> Result<(), SecureError> {
    let list = pki.authority.revoke(serials)?;
    let path = file(folder, "revoked.pem");
    write_private(&path, &list).map_err(|error| SecureError::File(path, error))
}

/// A file of the folder of certificates.
#[must_use]
pub fn file(folder: &Path, name: &str) -> PathBuf {
    folder.join(FOLDER).join(name)
}

fn change(
    folder: &Path,
    document: &str,
    replaced: &[(&'static str, &str)],
    more: impl FnOnce(String) -> String,
) -> Result<(), SecureError> {
    let path = folder.join(document);
    let wrong = |error| SecureError::File(path.clone(), error);
    let mut text = fs::read_to_string(&path).map_err(wrong)?;
    for (from, to) in replaced {
        if !text.contains(from) {
            return Err(SecureError::Document(path.clone(), from));
        }
        text = text.replace(from, to);
    }
    fs::write(&path, more(text)).map_err(wrong)
}
