//! Names and encodings of the API, and the problems that the providers' errors become.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rialto_sdk::operators::{Kind, Problem};
use serde::{Deserialize, Serialize};

use crate::bindings::rialto::host::keys::{self, KeyError, PinFormat};

/// What a key is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Usage {
    /// Signatures.
    Sign,
    /// Message authentication codes.
    Mac,
    /// Encryption.
    Encrypt,
    /// Unwrapping keys that are loaded.
    Unwrap,
    /// PIN blocks.
    Pin,
}

/// The algorithm of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Algorithm {
    /// ECDSA on P-256 with SHA-256.
    #[serde(rename = "ES256")]
    Es256,
    /// ECDSA on P-384 with SHA-384.
    #[serde(rename = "ES384")]
    Es384,
    /// RSA, PKCS #1 v1.5, SHA-256.
    #[serde(rename = "RS256")]
    Rs256,
    /// HMAC with SHA-256.
    #[serde(rename = "HS256")]
    Hs256,
    /// AES-256-GCM.
    #[serde(rename = "A256GCM")]
    A256Gcm,
    /// AES-256 key wrap with padding.
    #[serde(rename = "A256KWP")]
    A256Kwp,
    /// RSA-OAEP around an AES-256 key that wraps with padding.
    #[serde(rename = "RSA-OAEP-256-KWP")]
    RsaOaep256Kwp,
    /// Triple DES for PIN blocks.
    #[serde(rename = "PIN-TDES")]
    PinTdes,
    /// AES for PIN blocks.
    #[serde(rename = "PIN-AES")]
    PinAes,
}

/// How an algorithm's keys are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// Secret keys.
    Secret,
    /// Key pairs on elliptic curves.
    Curve,
    /// RSA key pairs.
    Rsa,
}

impl Algorithm {
    /// How its keys are made.
    #[must_use]
    pub const fn family(self) -> Family {
        match self {
            Self::Es256 | Self::Es384 => Family::Curve,
            Self::Rs256 | Self::RsaOaep256Kwp => Family::Rsa,
            Self::Hs256 | Self::A256Gcm | Self::A256Kwp | Self::PinTdes | Self::PinAes => {
                Family::Secret
            }
        }
    }

    /// What its keys are for.
    #[must_use]
    pub const fn usage(self) -> Usage {
        match self {
            Self::Es256 | Self::Es384 | Self::Rs256 => Usage::Sign,
            Self::Hs256 => Usage::Mac,
            Self::A256Gcm => Usage::Encrypt,
            Self::A256Kwp | Self::RsaOaep256Kwp => Usage::Unwrap,
            Self::PinTdes | Self::PinAes => Usage::Pin,
        }
    }
}

impl From<Algorithm> for keys::Algorithm {
    fn from(algorithm: Algorithm) -> Self {
        match algorithm {
            Algorithm::Es256 => Self::Es256,
            Algorithm::Es384 => Self::Es384,
            Algorithm::Rs256 => Self::Rs256,
            Algorithm::Hs256 => Self::Hs256,
            Algorithm::A256Gcm => Self::A256Gcm,
            Algorithm::A256Kwp => Self::A256Kwp,
            Algorithm::RsaOaep256Kwp => Self::RsaOaep256Kwp,
            Algorithm::PinTdes => Self::PinTdes,
            Algorithm::PinAes => Self::PinAes,
        }
    }
}

impl From<keys::Algorithm> for Algorithm {
    fn from(algorithm: keys::Algorithm) -> Self {
        match algorithm {
            keys::Algorithm::Es256 => Self::Es256,
            keys::Algorithm::Es384 => Self::Es384,
            keys::Algorithm::Rs256 => Self::Rs256,
            keys::Algorithm::Hs256 => Self::Hs256,
            keys::Algorithm::A256Gcm => Self::A256Gcm,
            keys::Algorithm::A256Kwp => Self::A256Kwp,
            keys::Algorithm::RsaOaep256Kwp => Self::RsaOaep256Kwp,
            keys::Algorithm::PinTdes => Self::PinTdes,
            keys::Algorithm::PinAes => Self::PinAes,
        }
    }
}

impl From<Usage> for keys::Purpose {
    fn from(usage: Usage) -> Self {
        match usage {
            Usage::Sign => Self::Sign,
            Usage::Mac => Self::Mac,
            Usage::Encrypt => Self::Encrypt,
            Usage::Unwrap => Self::Unwrap,
            Usage::Pin => Self::Pin,
        }
    }
}

/// A format of PIN blocks (ISO 9564-1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum Format {
    /// Format 0.
    #[serde(rename = "ISO-0")]
    Iso0,
    /// Format 1.
    #[serde(rename = "ISO-1")]
    Iso1,
    /// Format 3.
    #[serde(rename = "ISO-3")]
    Iso3,
    /// Format 4.
    #[serde(rename = "ISO-4")]
    Iso4,
}

impl From<Format> for PinFormat {
    fn from(format: Format) -> Self {
        match format {
            Format::Iso0 => Self::Iso0,
            Format::Iso1 => Self::Iso1,
            Format::Iso3 => Self::Iso3,
            Format::Iso4 => Self::Iso4,
        }
    }
}

/// A hash function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Hash {
    /// SHA-256.
    #[serde(rename = "SHA-256")]
    Sha256,
    /// SHA-384.
    #[serde(rename = "SHA-384")]
    Sha384,
    /// SHA-512.
    #[serde(rename = "SHA-512")]
    Sha512,
}

impl From<Hash> for keys::Hash {
    fn from(hash: Hash) -> Self {
        match hash {
            Hash::Sha256 => Self::Sha256,
            Hash::Sha384 => Self::Sha384,
            Hash::Sha512 => Self::Sha512,
        }
    }
}

/// The bytes of a base64 text (RFC 4648, section 4).
///
/// # Errors
/// When it is none.
pub fn bytes(member: &str, text: &str) -> Result<Vec<u8>, Problem> {
    STANDARD.decode(text).map_err(|_| {
        let detail = format!("`{member}` must be base64 with padding (RFC 4648, section 4)");
        Problem::new(Kind::Malformed, detail)
    })
}

/// Bytes as base64.
#[must_use]
pub fn base64(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// Bytes as lower-case hexadecimal digits.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The bytes of hexadecimal digits.
#[must_use]
pub fn of_hex(text: &str) -> Option<Vec<u8>> {
    let digit = |digit: u8| char::from(digit).to_digit(16);
    let pairs = text.as_bytes().chunks(2);
    pairs
        .map(|pair| match pair {
            [high, low] => u8::try_from(digit(*high)? * 16 + digit(*low)?).ok(),
            _ => None,
        })
        .collect()
}

/// A provider's error as a problem.
#[must_use]
pub fn problem(error: KeyError) -> Problem {
    let (kind, detail) = match error {
        KeyError::NoProvider => (
            Kind::ProviderUnknown,
            "the host no longer has the provider of this key".to_owned(),
        ),
        KeyError::NoKey(why) => (
            Kind::KeyUnavailable,
            format!("the host cannot use this key: {why}"),
        ),
        KeyError::WrongPurpose => (
            Kind::KeyPurpose,
            "the key is for something else: see its `usage`".to_owned(),
        ),
        KeyError::Expired => (
            Kind::KeyExpired,
            "the key has reached its end and makes nothing new; it still verifies and decrypts"
                .to_owned(),
        ),
        KeyError::Unsupported(why) => (Kind::KeyUnsupported, why),
        KeyError::BadInput(why) => (Kind::KeyInput, why),
        KeyError::NotOpened => (
            Kind::NotOpened,
            "it cannot be opened with this key; the cause is never told".to_owned(),
        ),
        KeyError::ProviderAway(why) => (
            Kind::ProviderAway,
            format!("the provider of this key does not answer now: {why}"),
        ),
    };
    Problem::new(kind, detail)
}
