//! SHA-256 in hexadecimal digits, as `sha256sum` prints it.

use sha2::{Digest as _, Sha256};

/// The digest of these bytes.
pub fn sha256(bytes: impl AsRef<[u8]>) -> String {
    let digest = Sha256::digest(bytes);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}
