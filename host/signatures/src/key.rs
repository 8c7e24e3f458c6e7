//! Keys: RSA from 2048 bits on, and the curve P-256. Each is parsed once, when it is read.

use std::fmt;

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, ParsedPublicKey,
    RSA_PKCS1_2048_8192_SHA256, RSA_PKCS1_2048_8192_SHA384, RSA_PKCS1_2048_8192_SHA512,
    RSA_PKCS1_SHA256, RsaKeyPair, RsaParameters,
};

use crate::pem::{self, Block, PemError};

/// The shortest RSA key, in bits.
const RSA_BITS_MIN: usize = 2_048;
/// The longest, in bits: longer ones only cost time.
const RSA_BITS_MAX: usize = 8_192;

/// The algorithm of a signature. There is no `none`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// RSA, PKCS #1 v1.5, SHA-256.
    Rs256,
    /// RSA, PKCS #1 v1.5, SHA-384.
    Rs384,
    /// RSA, PKCS #1 v1.5, SHA-512.
    Rs512,
    /// ECDSA on P-256, SHA-256.
    Es256,
}

impl Algorithm {
    /// Its name in a JWS.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rs256 => "RS256",
            Self::Rs384 => "RS384",
            Self::Rs512 => "RS512",
            Self::Es256 => "ES256",
        }
    }
}

/// Why a text is not a usable key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// It is no PEM.
    #[error(transparent)]
    Pem(#[from] PemError),
    /// A block of another kind.
    #[error("a block `{found}` where `{wanted}` belongs{}", hint(.found))]
    Label {
        /// Its label.
        found: String,
        /// The expected label.
        wanted: &'static str,
    },
    /// The bytes are no supported key.
    #[error(
        "its bytes are no RSA key of at least {RSA_BITS_MIN} bits and no key on the curve P-256"
    )]
    Unknown,
    /// An RSA key of an unsupported length.
    #[error("an RSA key of {0} bits; {RSA_BITS_MIN} to {RSA_BITS_MAX} are taken")]
    Bits(usize),
    /// More than one private key.
    #[error("it has {0} blocks; a private key is one")]
    Several(usize),
}

/// How to convert a key from the found form to the expected one.
fn hint(found: &str) -> &'static str {
    match found {
        "CERTIFICATE" => {
            "; `openssl x509 -in FILE -noout -pubkey` writes the public key of a certificate"
        }
        "RSA PUBLIC KEY" => {
            "; `openssl rsa -RSAPublicKey_in -in FILE -pubout` writes the key in that form"
        }
        "PRIVATE KEY" => "; `openssl pkey -in FILE -pubout` writes its public key",
        "RSA PRIVATE KEY" | "EC PRIVATE KEY" | "ENCRYPTED PRIVATE KEY" => {
            "; `openssl pkcs8 -topk8 -nocrypt -in FILE` writes the key in that form"
        }
        _ => "",
    }
}

/// A key that verifies.
#[derive(Clone, Debug)]
pub struct PublicKey(Public);

#[derive(Clone, Debug)]
enum Public {
    Rsa(Box<Rsa>),
    P256(Box<ParsedPublicKey>),
}

#[derive(Clone, Debug)]
struct Rsa {
    sha256: ParsedPublicKey,
    sha384: ParsedPublicKey,
    sha512: ParsedPublicKey,
}

impl PublicKey {
    /// All keys of a PEM text.
    ///
    /// # Errors
    /// When there is no key, or one of them is not supported. No key is skipped.
    pub fn all_of_pem(text: &str) -> Result<Vec<Self>, KeyError> {
        let wanted = "PUBLIC KEY";
        let of_block = |block: Block| match block.label.as_str() {
            "PUBLIC KEY" => Self::from_spki(&block.der),
            _ => Err(KeyError::Label {
                found: block.label,
                wanted,
            }),
        };
        pem::blocks(text)?.into_iter().map(of_block).collect()
    }

    /// The key of a SubjectPublicKeyInfo.
    fn from_spki(der: &[u8]) -> Result<Self, KeyError> {
        if let Ok(key) = ParsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, der) {
            return Ok(Self(Public::P256(Box::new(key))));
        }
        let key = rsa::PublicKey::from_der(der).map_err(|_| KeyError::Unknown)?;
        let modulus = key.modulus();
        let bits = bits(modulus.big_endian_without_leading_zero());
        if !(RSA_BITS_MIN..=RSA_BITS_MAX).contains(&bits) {
            return Err(KeyError::Bits(bits));
        }
        let with = |parameters: &'static RsaParameters| {
            ParsedPublicKey::new(parameters, der).map_err(|_| KeyError::Unknown)
        };
        Ok(Self(Public::Rsa(Box::new(Rsa {
            sha256: with(&RSA_PKCS1_2048_8192_SHA256)?,
            sha384: with(&RSA_PKCS1_2048_8192_SHA384)?,
            sha512: with(&RSA_PKCS1_2048_8192_SHA512)?,
        }))))
    }

    /// Whether this is this key's signature of the message by this algorithm. False if the algorithm is not
    /// for keys of this kind.
    #[must_use]
    pub fn verifies(&self, algorithm: Algorithm, message: &[u8], signature: &[u8]) -> bool {
        let key = match (&self.0, algorithm) {
            (Public::Rsa(rsa), Algorithm::Rs256) => &rsa.sha256,
            (Public::Rsa(rsa), Algorithm::Rs384) => &rsa.sha384,
            (Public::Rsa(rsa), Algorithm::Rs512) => &rsa.sha512,
            (Public::P256(key), Algorithm::Es256) => key,
            (Public::Rsa(_), Algorithm::Es256) | (Public::P256(_), _) => return false,
        };
        key.verify_sig(message, signature).is_ok()
    }
}

/// The bits of a number without leading zero octets.
fn bits(number: &[u8]) -> usize {
    let zeros = number.first().map_or(0, |first| first.leading_zeros());
    (number.len() * 8).saturating_sub(zeros as usize)
}

/// A key that signs. Its content is never shown.
pub struct PrivateKey(Private);

enum Private {
    Rsa(Box<RsaKeyPair>),
    P256(Box<EcdsaKeyPair>),
}

impl fmt::Debug for PrivateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PrivateKey({})", self.algorithm().name())
    }
}

/// The system refused to sign: it has no randomness, or no memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the key could not sign")]
pub struct SignError;

impl PrivateKey {
    /// The key of a PEM text (PKCS #8, not encrypted).
    ///
    /// # Errors
    /// When it is no supported key, or not the only block.
    pub fn of_pem(text: &str) -> Result<Self, KeyError> {
        let blocks = pem::blocks(text)?;
        let [block] = blocks.as_slice() else {
            return Err(KeyError::Several(blocks.len()));
        };
        if block.label != "PRIVATE KEY" {
            return Err(KeyError::Label {
                found: block.label.clone(),
                wanted: "PRIVATE KEY",
            });
        }
        if let Ok(key) = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &block.der) {
            return Ok(Self(Private::P256(Box::new(key))));
        }
        let key = RsaKeyPair::from_pkcs8(&block.der).map_err(|_| KeyError::Unknown)?;
        Ok(Self(Private::Rsa(Box::new(key))))
    }

    /// The algorithm by which it signs.
    #[must_use]
    pub const fn algorithm(&self) -> Algorithm {
        match self.0 {
            Private::Rsa(_) => Algorithm::Rs256,
            Private::P256(_) => Algorithm::Es256,
        }
    }

    /// Sign a message.
    ///
    /// # Errors
    /// When the system is out of randomness or memory.
    pub fn sign(&self, message: &[u8]) -> Result<Vec<u8>, SignError> {
        let random = SystemRandom::new();
        match &self.0 {
            Private::Rsa(key) => {
                let mut signature = vec![0; key.public_modulus_len()];
                key.sign(&RSA_PKCS1_SHA256, &random, message, &mut signature)
                    .map_err(|_| SignError)?;
                Ok(signature)
            }
            Private::P256(key) => {
                let signature = key.sign(&random, message).map_err(|_| SignError)?;
                Ok(signature.as_ref().to_vec())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_counted_from_the_first_that_is_set() {
        assert_eq!(bits(&[]), 0);
        assert_eq!(bits(&[1]), 1);
        assert_eq!(bits(&[0x80, 0]), 16);
        assert_eq!(bits(&[0x7f, 0]), 15);
    }
}
