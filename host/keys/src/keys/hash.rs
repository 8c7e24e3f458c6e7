//! Hashes of messages.

use aws_lc_rs::digest::{SHA256, SHA384, SHA512, digest};

use super::{MESSAGE_BYTES_MAX, bounded};
use crate::error::KeyError;

/// A hash function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hash {
    /// SHA-256.
    Sha256,
    /// SHA-384.
    Sha384,
    /// SHA-512.
    Sha512,
}

/// The hash of a message.
///
/// # Errors
/// When it is too long.
pub fn hash(hash: Hash, message: &[u8]) -> Result<Vec<u8>, KeyError> {
    bounded(message.len(), MESSAGE_BYTES_MAX)?;
    let algorithm = match hash {
        Hash::Sha256 => &SHA256,
        Hash::Sha384 => &SHA384,
        Hash::Sha512 => &SHA512,
    };
    Ok(digest(algorithm, message).as_ref().to_vec())
}
