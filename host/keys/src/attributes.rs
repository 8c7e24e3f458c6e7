//! What is said of a key: its purpose, its algorithm, its label and its end.

use serde::{Deserialize, Serialize};

use crate::error::KeyError;

/// The longest label, in characters.
const LABEL_CHARS_MAX: usize = 64;

/// What a key is for. It is used for nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Purpose {
    /// Sign and verify signatures.
    Sign,
    /// Make and verify message authentication codes.
    Mac,
    /// Encrypt and decrypt.
    Encrypt,
    /// Unwrap other keys.
    Unwrap,
    /// Translate PIN blocks.
    Pin,
}

/// The algorithm of a key, which includes its length. The names are those of `rialto:host/keys`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Algorithm {
    /// ECDSA on P-256 with SHA-256.
    Es256,
    /// ECDSA on P-384 with SHA-384.
    Es384,
    /// RSA, PKCS #1 v1.5, SHA-256.
    Rs256,
    /// HMAC with SHA-256.
    Hs256,
    /// AES-256-GCM.
    A256Gcm,
    /// AES-256 key wrap with padding (RFC 5649).
    A256Kwp,
    /// RSA-OAEP with SHA-256 around an AES-256 key, which wraps with padding.
    RsaOaep256Kwp,
    /// Triple DES for PIN blocks.
    PinTdes,
    /// AES for PIN blocks.
    PinAes,
}

impl Algorithm {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Es256,
        Self::Es384,
        Self::Rs256,
        Self::Hs256,
        Self::A256Gcm,
        Self::A256Kwp,
        Self::RsaOaep256Kwp,
        Self::PinTdes,
        Self::PinAes,
    ];

    /// The one purpose of its keys.
    #[must_use]
    pub const fn purpose(self) -> Purpose {
        match self {
            Self::Es256 | Self::Es384 | Self::Rs256 => Purpose::Sign,
            Self::Hs256 => Purpose::Mac,
            Self::A256Gcm => Purpose::Encrypt,
            Self::A256Kwp | Self::RsaOaep256Kwp => Purpose::Unwrap,
            Self::PinTdes | Self::PinAes => Purpose::Pin,
        }
    }
}

/// What is said of a key when it is made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attributes {
    /// For people: 1 to 64 characters, none of them a control character.
    pub label: String,
    /// What it is for.
    pub purpose: Purpose,
    /// Its algorithm.
    pub algorithm: Algorithm,
    /// After this instant it makes nothing new: UTC, milliseconds since 1970.
    pub not_after: Option<u64>,
}

impl Attributes {
    /// Refuse what makes no key.
    ///
    /// # Errors
    /// When the label is empty, too long or not plain, or when the algorithm is for another purpose.
    pub fn check(&self) -> Result<(), KeyError> {
        let length = self.label.chars().count();
        if !(1..=LABEL_CHARS_MAX).contains(&length) || self.label.chars().any(char::is_control) {
            let why =
                format!("a label has 1 to {LABEL_CHARS_MAX} characters, no control characters");
            return Err(KeyError::BadInput(why));
        }
        if self.algorithm.purpose() != self.purpose {
            let why = format!(
                "the algorithm {:?} is for the purpose {:?}, not {:?}",
                self.algorithm,
                self.algorithm.purpose(),
                self.purpose
            );
            return Err(KeyError::Unsupported(why));
        }
        Ok(())
    }
}
