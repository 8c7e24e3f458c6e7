//! Checkpoints: the size and the root of a log, signed (c2sp.org/tlog-checkpoint, c2sp.org/signed-note).
//!
//! The signature is ECDSA on P-256 with SHA-256 (the note format's type 0x02), because tokens and services of keys have
//! that. Others may add signatures to a checkpoint, for example witnesses; here only the log's own is looked at.

use std::fmt::Write as _;

use aws_lc_rs::signature::{ECDSA_P256_SHA256_ASN1, UnparsedPublicKey};
use data_encoding::BASE64;
use sha2::{Digest as _, Sha256};

use crate::hash::Hash;

/// The longest checkpoint that is read, in bytes.
pub const CHECKPOINT_BYTES_MAX: usize = 64 << 10;
/// How a line with a signature begins: an em dash and a space.
const SIGNATURE: &str = "\u{2014} ";

/// Why a text is no checkpoint of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadCheckpoint {
    /// It is not of the format.
    #[error("it is no checkpoint: three lines (origin, size, root), an empty line, and signatures")]
    Malformed,
    /// The key has not signed it.
    #[error("it is not signed by the log's key")]
    OtherKey,
    /// The signature is of something else.
    #[error("the signature by the log's key is not one of this text")]
    BadSignature,
    /// The origin cannot be one.
    #[error("an origin is 1 to 255 characters without blanks, line ends and plus signs")]
    Origin,
}

/// The public key of a log: on the curve P-256.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicKey(Vec<u8>);

impl PublicKey {
    /// A key: SubjectPublicKeyInfo, DER.
    #[must_use]
    pub const fn of_der(der: Vec<u8>) -> Self {
        Self(der)
    }

    /// Its id in notes: the first four bytes of the SHA-256 of the key.
    #[must_use]
    pub fn id(&self) -> [u8; 4] {
        let digest: [u8; 32] = Sha256::digest(&self.0).into();
        [digest[0], digest[1], digest[2], digest[3]]
    }

    fn verifies(&self, text: &[u8], signature: &[u8]) -> bool {
        let key = UnparsedPublicKey::new(&ECDSA_P256_SHA256_ASN1, &self.0);
        key.verify(text, signature).is_ok()
    }
}

/// The size and the root of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// The log's name, which is the name of its key too: a URL without its scheme, by the format's advice.
    pub origin: String,
    /// How many entries it has.
    pub size: u64,
    /// The root of its tree.
    pub root: Hash,
}

/// A checkpoint without its signature.
#[derive(Clone, Debug)]
pub struct Unsigned {
    text: String,
    origin: String,
}

/// Look whether this can be a log's name.
///
/// # Errors
/// When it cannot.
pub fn check_origin(origin: &str) -> Result<(), BadCheckpoint> {
    let is_bad = |c: char| c.is_whitespace() || c.is_control() || c == '+';
    let length = origin.chars().count();
    if !(1..=255).contains(&length) || origin.contains(is_bad) {
        return Err(BadCheckpoint::Origin);
    }
    Ok(())
}

impl Checkpoint {
    /// The text to be signed.
    ///
    /// # Errors
    /// When the origin cannot be one.
    pub fn unsigned(&self) -> Result<Unsigned, BadCheckpoint> {
        check_origin(&self.origin)?;
        let Self { origin, size, root } = self;
        Ok(Unsigned {
            text: format!("{origin}\n{size}\n{root}\n"),
            origin: origin.clone(),
        })
    }

    /// Read a signed checkpoint, and verify the log's signature.
    ///
    /// # Errors
    /// When it is none, or the key has not signed it.
    pub fn verified(note: &str, key: &PublicKey) -> Result<Self, BadCheckpoint> {
        let (checkpoint, text, signatures) = parsed(note).ok_or(BadCheckpoint::Malformed)?;
        let mut own = signatures
            .iter()
            .filter(|(name, bytes)| *name == checkpoint.origin && bytes[..4] == key.id());
        let (_, bytes) = own.next().ok_or(BadCheckpoint::OtherKey)?;
        if !key.verifies(text.as_bytes(), &bytes[4..]) {
            return Err(BadCheckpoint::BadSignature);
        }
        Ok(checkpoint)
    }
}

impl Unsigned {
    /// The bytes to be signed.
    #[must_use]
    pub fn message(&self) -> &[u8] {
        self.text.as_bytes()
    }

    /// The signed checkpoint, with the log's signature as DER (RFC 3279, 2.2.3).
    ///
    /// # Errors
    /// When the signature is not one of the key.
    pub fn signed(mut self, key: &PublicKey, signature: &[u8]) -> Result<String, BadCheckpoint> {
        if !key.verifies(self.message(), signature) {
            return Err(BadCheckpoint::BadSignature);
        }
        let bytes = [&key.id(), signature].concat();
        let (origin, bytes) = (&self.origin, BASE64.encode(&bytes));
        // Writing to a string does not fail.
        let _ = write!(self.text, "\n{SIGNATURE}{origin} {bytes}\n");
        Ok(self.text)
    }
}

/// A name, and a key's id with its signature.
pub(crate) type Signature<'n> = (&'n str, Vec<u8>);

/// A checkpoint, its signed text, and its signatures. None if it is none.
pub(crate) fn parsed(note: &str) -> Option<(Checkpoint, &str, Vec<Signature<'_>>)> {
    let is_bad = |c: char| c < ' ' && c != '\n';
    if note.len() > CHECKPOINT_BYTES_MAX || note.contains(is_bad) {
        return None;
    }
    let end = note.rfind("\n\n")? + 1;
    let (text, signatures) = (&note[..end], &note[end + 1..]);
    let mut lines = text.split_terminator('\n');
    let (origin, size, root) = (lines.next()?, lines.next()?, lines.next()?);
    check_origin(origin).ok()?;
    let number: u64 = size.parse().ok()?;
    // Lines of extensions may follow, and none is empty.
    if number.to_string() != size || lines.any(str::is_empty) {
        return None;
    }
    let checkpoint = Checkpoint {
        origin: origin.to_owned(),
        size: number,
        root: Hash::of_text(root)?,
    };
    let signatures = signatures.strip_suffix('\n')?.split('\n');
    let signatures = signatures.map(signature).collect::<Option<_>>()?;
    Some((checkpoint, text, signatures))
}

fn signature(line: &str) -> Option<Signature<'_>> {
    let (name, text) = line.strip_prefix(SIGNATURE)?.split_once(' ')?;
    let bytes = BASE64.decode(text.as_bytes()).ok()?;
    (bytes.len() > 4).then_some((name, bytes))
}
