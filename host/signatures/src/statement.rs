//! Signatures of people under a statement: Ed25519 (RFC 8032), or ECDSA on P-256 with SHA-256 (FIPS 186-5).
//!
//! The statement is a short text that says what it is for, so that a signature of one kind of statement is none of
//! another kind.

use std::fmt;

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P256_SHA256_FIXED_SIGNING, ED25519, EcdsaKeyPair,
    Ed25519KeyPair, ParsedPublicKey,
};

use crate::key::SignError;
use crate::pem::{self, PemError};

/// The beginning of the SubjectPublicKeyInfo of an Ed25519 key (RFC 8410, 4), before its 32 bytes.
const ED25519_SPKI: [u8; 12] = [
    0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00,
];

/// Why a text is not a key that signs statements.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StatementKeyError {
    /// It is no PEM.
    #[error(transparent)]
    Pem(#[from] PemError),
    /// Another block, or several.
    #[error("it must be one block `{0}` and nothing else")]
    Blocks(&'static str),
    /// The bytes are no supported key.
    #[error("its bytes are no key of Ed25519 and none on the curve P-256")]
    Unknown,
}

/// The algorithm of a person's key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// Ed25519.
    Ed25519,
    /// ECDSA on P-256 with SHA-256; the signature is its two numbers, 32 bytes each.
    Es256,
}

impl Scheme {
    /// Its name in a signature's file.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ed25519 => "Ed25519",
            Self::Es256 => "ES256",
        }
    }
}

/// The public key of a person.
#[derive(Clone, Debug)]
pub struct PersonKey {
    scheme: Scheme,
    der: Vec<u8>,
    key: ParsedPublicKey,
}

impl PersonKey {
    /// The one public key of a PEM text.
    ///
    /// # Errors
    /// When it is no supported key, or not the only block.
    pub fn of_pem(text: &str) -> Result<Self, StatementKeyError> {
        let der = only_block(text, "PUBLIC KEY")?;
        let unknown = |_| StatementKeyError::Unknown;
        let (scheme, key) = match der.strip_prefix(&ED25519_SPKI) {
            Some(raw) => (Scheme::Ed25519, ParsedPublicKey::new(&ED25519, raw)),
            None => (
                Scheme::Es256,
                ParsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, &der),
            ),
        };
        let key = key.map_err(unknown)?;
        Ok(Self { scheme, der, key })
    }

    /// The key's algorithm.
    #[must_use]
    pub const fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// Whether another key is this one, octet by octet.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        self.der == other.der
    }

    /// Whether this is the key's signature under the statement.
    #[must_use]
    pub fn verifies(&self, statement: &[u8], signature: &[u8]) -> bool {
        self.key.verify_sig(statement, signature).is_ok()
    }
}

/// The private key of a person. Its content is never shown.
pub struct PersonSigner(Private);

enum Private {
    Ed25519(Ed25519KeyPair),
    Es256(Box<EcdsaKeyPair>),
}

impl fmt::Debug for PersonSigner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PersonSigner({})", self.scheme().name())
    }
}

impl PersonSigner {
    /// The key of a PEM text (PKCS #8, not encrypted).
    ///
    /// # Errors
    /// When it is no supported key, or not the only block.
    pub fn of_pem(text: &str) -> Result<Self, StatementKeyError> {
        let der = only_block(text, "PRIVATE KEY")?;
        if let Ok(pair) = Ed25519KeyPair::from_pkcs8_maybe_unchecked(&der) {
            return Ok(Self(Private::Ed25519(pair)));
        }
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &der);
        let pair = pair.map_err(|_| StatementKeyError::Unknown)?;
        Ok(Self(Private::Es256(Box::new(pair))))
    }

    /// The key's algorithm.
    #[must_use]
    pub const fn scheme(&self) -> Scheme {
        match &self.0 {
            Private::Ed25519(_) => Scheme::Ed25519,
            Private::Es256(_) => Scheme::Es256,
        }
    }

    /// Sign a statement.
    ///
    /// # Errors
    /// When the system has no randomness.
    pub fn sign(&self, statement: &[u8]) -> Result<Vec<u8>, SignError> {
        match &self.0 {
            Private::Ed25519(pair) => Ok(pair.sign(statement).as_ref().to_vec()),
            Private::Es256(pair) => {
                let signature = pair.sign(&SystemRandom::new(), statement);
                Ok(signature.map_err(|_| SignError)?.as_ref().to_vec())
            }
        }
    }
}

fn only_block(text: &str, label: &'static str) -> Result<Vec<u8>, StatementKeyError> {
    let mut blocks = pem::blocks(text)?.into_iter();
    match (blocks.next(), blocks.next()) {
        (Some(only), None) if only.label == label => Ok(only.der),
        _ => Err(StatementKeyError::Blocks(label)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Of `openssl genpkey -algorithm ed25519` and `openssl pkey -pubout`.
    const ED25519_PRIVATE: &str = "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g\n-----END PRIVATE KEY-----\n";
    const ED25519_PUBLIC: &str = "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=\n-----END PUBLIC KEY-----\n";

    #[test]
    fn known_answer_of_rfc_8032() {
        let (signer, key) = (
            PersonSigner::of_pem(ED25519_PRIVATE).unwrap(),
            PersonKey::of_pem(ED25519_PUBLIC).unwrap(),
        );
        // RFC 8032, 7.1, TEST 1: the empty message.
        let signature = signer.sign(b"").unwrap();
        let hex = data_encoding::HEXLOWER.encode(&signature);
        assert!(
            hex.starts_with("e5564300c360ac729086e2cc806e828a84877f1eb8e5d974"),
            "{hex}"
        );
        assert!(key.verifies(b"", &signature));
        assert!(!key.verifies(b"x", &signature));
        assert!(!key.verifies(b"", &signature[1..]));
        assert_eq!(key.scheme(), Scheme::Ed25519);
        assert_eq!(format!("{signer:?}"), "PersonSigner(Ed25519)");
    }

    #[test]
    fn keys_on_p256_sign_too() {
        let random = SystemRandom::new();
        let der = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
        let signer = PersonSigner::of_pem(&pem::write("PRIVATE KEY", der.as_ref())).unwrap();
        let Private::Es256(pair) = &signer.0 else {
            panic!("{signer:?}");
        };
        let point = aws_lc_rs::signature::KeyPair::public_key(&**pair);
        let spki =
            aws_lc_rs::encoding::AsDer::<aws_lc_rs::encoding::PublicKeyX509Der<'_>>::as_der(point);
        let key = PersonKey::of_pem(&pem::write("PUBLIC KEY", spki.unwrap().as_ref())).unwrap();
        assert_eq!(key.scheme(), Scheme::Es256);
        let signature = signer.sign(b"a statement").unwrap();
        assert!(key.verifies(b"a statement", &signature));
        assert!(!key.verifies(b"another", &signature));
    }

    #[test]
    fn other_texts_are_no_keys() {
        let twice = format!("{ED25519_PUBLIC}{ED25519_PUBLIC}");
        for wrong in [
            "",
            ED25519_PRIVATE,
            &twice,
            "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n",
        ] {
            assert!(PersonKey::of_pem(wrong).is_err(), "{wrong}");
        }
        assert!(PersonSigner::of_pem(ED25519_PUBLIC).is_err());
    }
}
