//! Witnesses: others who sign a checkpoint too, if it goes on from the one that they signed before (c2sp.org/tlog-witness,
//! c2sp.org/tlog-cosignature). A log that shows two histories needs all of them to take part.
//!
//! A witness signs with Ed25519: the time, and the text of the checkpoint. Keys are written as c2sp.org/signed-note has
//! them: `name+id+key`.

use std::fmt::{self, Write as _};
use std::str::FromStr;

use aws_lc_rs::signature::{ED25519, UnparsedPublicKey};
use data_encoding::BASE64;
use sha2::{Digest as _, Sha256};

use crate::checkpoint::{check_origin, parsed};
use crate::hash::Hash;

/// The note format's type of cosignatures with a time.
const COSIGNATURE: u8 = 0x04;
/// The length of an Ed25519 public key, in bytes.
const KEY_BYTES: usize = 32;
/// The most signatures that one answer of a witness may have.
const LINES_MAX: usize = 16;

/// Why a text is no key of a witness.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadWitnessKey {
    /// It is not of the format.
    #[error("a witness's key is `name+id+key`: eight hexadecimal digits and Base64")]
    Malformed,
    /// It is of another type.
    #[error("a witness's key is of the type 4: Ed25519 for cosignatures with a time")]
    Type,
    /// The id is not that of the name and the key.
    #[error("the id is not that of the name and the key: it was copied with a mistake")]
    Id,
}

/// What a checkpoint has of a witness.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cosignature {
    /// No signature.
    None,
    /// Its signature, made at this time: seconds since 1970.
    At(u64),
    /// A signature in its name that is not one of this text.
    Bad,
}

/// The public key of a witness.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WitnessKey {
    name: String,
    key: [u8; KEY_BYTES],
}

impl WitnessKey {
    /// A key of this name.
    ///
    /// # Errors
    /// When the name cannot be one.
    pub fn new(name: &str, key: [u8; KEY_BYTES]) -> Result<Self, BadWitnessKey> {
        check_origin(name).map_err(|_| BadWitnessKey::Malformed)?;
        let name = name.to_owned();
        Ok(Self { name, key })
    }

    /// The witness's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    fn typed(&self) -> Vec<u8> {
        [&[COSIGNATURE], &self.key[..]].concat()
    }

    /// Its id in notes.
    #[must_use]
    pub fn id(&self) -> [u8; 4] {
        let hasher = Sha256::new().chain_update(&self.name).chain_update("\n");
        let digest: [u8; 32] = hasher.chain_update(self.typed()).finalize().into();
        [digest[0], digest[1], digest[2], digest[3]]
    }

    /// What a checkpoint has of this witness. The log's own signature is not looked at.
    #[must_use]
    pub fn cosignature(&self, note: &str) -> Cosignature {
        let Some((_, text, signatures)) = parsed(note) else {
            return Cosignature::None;
        };
        let id = self.id();
        let own = signatures
            .iter()
            .filter(|(name, bytes)| *name == self.name && bytes[..4] == id);
        let mut found = Cosignature::None;
        for (_, bytes) in own {
            let Some((time, signature)) = bytes[4..].split_first_chunk::<8>() else {
                return Cosignature::Bad;
            };
            let time = u64::from_be_bytes(*time);
            let key = UnparsedPublicKey::new(&ED25519, &self.key);
            if key.verify(&message(text, time), signature).is_err() {
                return Cosignature::Bad;
            }
            found = Cosignature::At(time);
        }
        found
    }

    /// The checkpoint with those lines of a witness's answer that are its cosignature. None if no line is.
    #[must_use]
    pub fn added(&self, note: &str, answer: &str) -> Option<String> {
        let mut lines = answer.lines().take(LINES_MAX);
        lines.find_map(|line| {
            let with = format!("{note}{line}\n");
            matches!(self.cosignature(&with), Cosignature::At(_)).then_some(with)
        })
    }
}

/// The bytes that a witness signs for a checkpoint's text.
#[must_use]
pub fn message(text: &str, time: u64) -> Vec<u8> {
    format!("cosignature/v1\ntime {time}\n{text}").into_bytes()
}

impl fmt::Display for WitnessKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let id = u32::from_be_bytes(self.id());
        write!(f, "{}+{id:08x}+{}", self.name, BASE64.encode(&self.typed()))
    }
}

impl FromStr for WitnessKey {
    type Err = BadWitnessKey;

    fn from_str(text: &str) -> Result<Self, BadWitnessKey> {
        // Base64 has plus signs too.
        let mut parts = text.splitn(3, '+');
        let (Some(name), Some(id), Some(key)) = (parts.next(), parts.next(), parts.next()) else {
            return Err(BadWitnessKey::Malformed);
        };
        let typed = BASE64.decode(key.as_bytes());
        let typed = typed.map_err(|_| BadWitnessKey::Malformed)?;
        let Some((&COSIGNATURE, key)) = typed.split_first() else {
            return Err(BadWitnessKey::Type);
        };
        let key = key.try_into().map_err(|_| BadWitnessKey::Malformed)?;
        let key = Self::new(name, key)?;
        let expected = format!("{:08x}", u32::from_be_bytes(key.id()));
        if !expected.eq_ignore_ascii_case(id) {
            return Err(BadWitnessKey::Id);
        }
        Ok(key)
    }
}

/// The body of a request to a witness: the size that it signed before, the proof from there, and the checkpoint.
#[must_use]
pub fn request(old: u64, proof: &[Hash], note: &str) -> String {
    let mut body = format!("old {old}\n");
    for hash in proof {
        // Writing to a string does not fail.
        let _ = writeln!(body, "{hash}");
    }
    body.push('\n');
    body.push_str(note);
    body
}
