//! Disclosures: a field of a receipt with its salt, and the digest that stands for it when it is taken away.
//!
//! A disclosure is the Base64url (RFC 4648, without padding) of the JSON array `[salt, name, value]`. Its digest is the
//! SHA-256 of the disclosure's characters (RFC 9901, 4.2.1 and 4.2.3). A salt is the first 16 bytes of
//! HMAC-SHA-256(salt of the receipt, name), so one random number a receipt is enough, and a salt tells nothing of another.

use std::fmt;

use aws_lc_rs::hmac;
use data_encoding::BASE64URL_NOPAD;
use serde_json::value::RawValue;
use sha2::{Digest as _, Sha256};

/// The length of a receipt's salt and of a field's salt, in bytes.
pub const SALT_BYTES: usize = 16;

/// The salt of a receipt: 128 random bits. Whoever knows it can test guesses of fields that were taken away.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Salt(pub [u8; SALT_BYTES]);

impl fmt::Debug for Salt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Salt")
    }
}

impl Salt {
    /// As text: Base64url.
    #[must_use]
    pub fn text(&self) -> String {
        BASE64URL_NOPAD.encode(&self.0)
    }

    /// A salt of a text. None if it is none.
    #[must_use]
    pub fn of_text(text: &str) -> Option<Self> {
        let bytes = BASE64URL_NOPAD.decode(text.as_bytes()).ok()?;
        Some(Self(bytes.try_into().ok()?))
    }

    /// What derives the salts of fields.
    pub(crate) fn key(&self) -> hmac::Key {
        hmac::Key::new(hmac::HMAC_SHA256, &self.0)
    }
}

/// The digest of a disclosure.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct FieldDigest(pub [u8; 32]);

impl FieldDigest {
    /// The digest of a disclosure.
    #[must_use]
    pub fn of(disclosure: &str) -> Self {
        Self(Sha256::digest(disclosure).into())
    }

    /// A digest of a text. None if it is none.
    #[must_use]
    pub fn of_text(text: &str) -> Option<Self> {
        let bytes = BASE64URL_NOPAD.decode(text.as_bytes()).ok()?;
        Some(Self(bytes.try_into().ok()?))
    }

    /// As text: Base64url.
    #[must_use]
    pub fn text(&self) -> String {
        BASE64URL_NOPAD.encode(&self.0)
    }
}

/// The hash of a receipt: SHA-256 of the digests of its fields, one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ReceiptHash(pub [u8; 32]);

impl ReceiptHash {
    /// The hash of a receipt whose fields have these digests.
    #[must_use]
    pub fn of(digests: &[FieldDigest]) -> Self {
        let mut hasher = Sha256::new();
        for digest in digests {
            hasher.update(digest.0);
        }
        Self(hasher.finalize().into())
    }

    /// As text: Base64url.
    #[must_use]
    pub fn text(&self) -> String {
        BASE64URL_NOPAD.encode(&self.0)
    }
}

/// The disclosure of a field. `value` is JSON.
#[must_use]
pub(crate) fn disclosure(salts: &hmac::Key, name: &str, value: &str) -> String {
    let salt = hmac::sign(salts, name.as_bytes());
    let salt = BASE64URL_NOPAD.encode(&salt.as_ref()[..SALT_BYTES]);
    // A name is a member of JSON, whose escapes are kept by this.
    let name = serde_json::Value::from(name);
    let text = format!("[\"{salt}\",{name},{value}]");
    BASE64URL_NOPAD.encode(text.as_bytes())
}

/// The name and the value (JSON) of a disclosure. None if it is none.
#[must_use]
pub(crate) fn read(disclosure: &str) -> Option<(String, Box<RawValue>)> {
    let text = BASE64URL_NOPAD.decode(disclosure.as_bytes()).ok()?;
    let (salt, name, value): (String, String, Box<RawValue>) =
        serde_json::from_slice(&text).ok()?;
    Salt::of_text(&salt)?;
    Some((name, value))
}
