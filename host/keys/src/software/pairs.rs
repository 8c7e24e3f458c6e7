//! Key pairs in memory: signatures, and unwrapping with RSA. And public keys of others.

use aws_lc_rs::encoding::AsDer as _;
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::{
    KeySize, OAEP_SHA256_MGF1SHA256, OaepPrivateDecryptingKey, OaepPublicEncryptingKey,
    PrivateDecryptingKey, PublicEncryptingKey,
};
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED,
    ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair, EcdsaSigningAlgorithm, KeyPair as _,
    ParsedPublicKey, RSA_PKCS1_2048_8192_SHA256, RSA_PKCS1_SHA256, RsaKeyPair,
};
use rialto_signatures::pem;
use zeroize::Zeroizing;

use super::{no_randomness, secrets};
use crate::attributes::Algorithm;
use crate::error::KeyError;
use crate::provider::{Key, Material, OnlyUnwraps};

/// The first byte of a DER document that is a sequence.
const SEQUENCE: u8 = 0x30;
/// The shortest and the longest RSA key, in bytes of its modulus.
const RSA_BYTES: std::ops::RangeInclusive<usize> = 256..=1024;

/// The PKCS #8 document of a new key pair.
pub(super) fn generate(algorithm: Algorithm) -> Result<Material, KeyError> {
    let failed = |_| no_randomness();
    if let Some(curve) = curve(algorithm) {
        let pair = EcdsaKeyPair::generate(curve).map_err(failed)?;
        let document = pair.to_pkcs8v1().map_err(failed)?;
        return Ok(Zeroizing::new(document.as_ref().to_vec()));
    }
    let pair = PrivateDecryptingKey::generate(KeySize::Rsa3072).map_err(failed)?;
    let document = pair.as_der().map_err(failed)?;
    Ok(Zeroizing::new(document.as_ref().to_vec()))
}

/// The SubjectPublicKeyInfo of a key pair; none for secret keys.
pub(super) fn public_key(
    algorithm: Algorithm,
    material: &[u8],
) -> Result<Option<Vec<u8>>, KeyError> {
    if let Some(curve) = curve(algorithm) {
        let pair = EcdsaKeyPair::from_pkcs8(curve, material).map_err(|_| no_pair(algorithm))?;
        let der = pair.public_key().as_der().map_err(|_| no_pair(algorithm))?;
        return Ok(Some(der.as_ref().to_vec()));
    }
    match algorithm {
        Algorithm::Rs256 | Algorithm::RsaOaep256Kwp => {
            let pair = decrypting(algorithm, material)?;
            let der = pair.public_key().as_der().map_err(|_| no_pair(algorithm))?;
            Ok(Some(der.as_ref().to_vec()))
        }
        _ => Ok(None),
    }
}

pub(super) fn open(algorithm: Algorithm, material: &[u8]) -> Result<Box<dyn Key>, KeyError> {
    if let Some(curve) = curve(algorithm) {
        let pair = EcdsaKeyPair::from_pkcs8(curve, material).map_err(|_| no_pair(algorithm))?;
        let public = pair.public_key().as_ref().to_vec();
        return Ok(Box::new(Ecdsa {
            public: parsed(algorithm, &public).ok_or_else(|| no_pair(algorithm))?,
            pair,
        }));
    }
    if algorithm == Algorithm::Rs256 {
        let pair = RsaKeyPair::from_pkcs8(material).map_err(|_| no_pair(algorithm))?;
        if !RSA_BYTES.contains(&pair.public_modulus_len()) {
            return Err(no_pair(algorithm));
        }
        let public = parsed(algorithm, pair.public_key().as_ref());
        return Ok(Box::new(Rsa {
            public: public.ok_or_else(|| no_pair(algorithm))?,
            pair,
        }));
    }
    oaep(algorithm, material)?;
    Ok(Box::new(OnlyUnwraps))
}

fn decrypting(algorithm: Algorithm, material: &[u8]) -> Result<PrivateDecryptingKey, KeyError> {
    let key = PrivateDecryptingKey::from_pkcs8(material).map_err(|_| no_pair(algorithm))?;
    if RSA_BYTES.contains(&key.key_size_bytes()) {
        Ok(key)
    } else {
        Err(no_pair(algorithm))
    }
}

fn curve(algorithm: Algorithm) -> Option<&'static EcdsaSigningAlgorithm> {
    match algorithm {
        Algorithm::Es256 => Some(&ECDSA_P256_SHA256_FIXED_SIGNING),
        Algorithm::Es384 => Some(&ECDSA_P384_SHA384_FIXED_SIGNING),
        _ => None,
    }
}

fn no_pair(algorithm: Algorithm) -> KeyError {
    KeyError::BadInput(match algorithm {
        Algorithm::Es256 => "the bytes are no key pair on P-256 (PKCS #8)".to_owned(),
        Algorithm::Es384 => "the bytes are no key pair on P-384 (PKCS #8)".to_owned(),
        _ => "the bytes are no RSA key pair of 2048 to 8192 bits (PKCS #8)".to_owned(),
    })
}

/// A public key: DER or the bytes that aws-lc gives.
fn parsed(algorithm: Algorithm, bytes: &[u8]) -> Option<ParsedPublicKey> {
    match algorithm {
        Algorithm::Es256 => ParsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, bytes).ok(),
        Algorithm::Es384 => ParsedPublicKey::new(&ECDSA_P384_SHA384_FIXED, bytes).ok(),
        Algorithm::Rs256 => ParsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, bytes).ok(),
        _ => None,
    }
}

/// The SubjectPublicKeyInfo (DER) of somebody's public key.
fn public_key_of(text: &str) -> Result<Vec<u8>, KeyError> {
    // The library would take a bare point too, which does not say on which curve it is.
    let info = pem::public_key(text).filter(|der| der.first() == Some(&SEQUENCE));
    info.ok_or_else(|| {
        let why = "a public key is one PEM block `PUBLIC KEY`, as `openssl pkey -pubout` writes it";
        KeyError::BadInput(why.to_owned())
    })
}

/// Whether this public key (PEM) of somebody else made the signature.
pub(crate) fn public_key_that_verifies(
    text: &str,
    algorithm: Algorithm,
    message: &[u8],
    signature: &[u8],
) -> Result<bool, KeyError> {
    if curve(algorithm).is_none() && algorithm != Algorithm::Rs256 {
        let why = "public keys verify ES256, ES384 and RS256".to_owned();
        return Err(KeyError::Unsupported(why));
    }
    let key = parsed(algorithm, &public_key_of(text)?).ok_or_else(|| {
        KeyError::BadInput("the public key is of another kind than the algorithm".to_owned())
    })?;
    Ok(key.verify_sig(message, signature).is_ok())
}

/// A public key that verifies signatures in this process.
pub struct PublicKey(ParsedPublicKey);

impl PublicKey {
    /// The key of a SubjectPublicKeyInfo (DER).
    ///
    /// # Errors
    /// When it is no public key of the algorithm.
    pub fn from_der(algorithm: Algorithm, der: &[u8]) -> Result<Self, KeyError> {
        let key = parsed(algorithm, der).filter(|_| der.first() == Some(&SEQUENCE));
        key.map(Self).ok_or_else(|| {
            KeyError::BadInput(format!(
                "it is no public key of the algorithm {algorithm:?}"
            ))
        })
    }

    /// Whether the key made this signature.
    #[must_use]
    pub fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        self.0.verify_sig(message, signature).is_ok()
    }
}

/// The RSA key (PEM) of somebody who gets a secret.
pub(crate) fn receiver(text: &str) -> Result<OaepPublicEncryptingKey, KeyError> {
    let refused =
        || KeyError::BadInput("the receiver's key is no RSA key of 2048 to 8192 bits".to_owned());
    let key = PublicEncryptingKey::from_der(&public_key_of(text)?).map_err(|_| refused())?;
    if !RSA_BYTES.contains(&key.key_size_bytes()) {
        return Err(refused());
    }
    OaepPublicEncryptingKey::new(key).map_err(|_| refused())
}

struct Ecdsa {
    pair: EcdsaKeyPair,
    public: ParsedPublicKey,
}

impl Key for Ecdsa {
    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, KeyError> {
        let signature = self.pair.sign(&SystemRandom::new(), message);
        Ok(signature.map_err(|_| no_randomness())?.as_ref().to_vec())
    }

    fn verify(&self, message: &[u8], signature: &[u8]) -> Result<bool, KeyError> {
        Ok(self.public.verify_sig(message, signature).is_ok())
    }
}

struct Rsa {
    pair: RsaKeyPair,
    public: ParsedPublicKey,
}

impl Key for Rsa {
    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, KeyError> {
        let mut signature = vec![0; self.pair.public_modulus_len()];
        let random = SystemRandom::new();
        let signed = self
            .pair
            .sign(&RSA_PKCS1_SHA256, &random, message, &mut signature);
        signed.map_err(|_| no_randomness())?;
        Ok(signature)
    }

    fn verify(&self, message: &[u8], signature: &[u8]) -> Result<bool, KeyError> {
        Ok(self.public.verify_sig(message, signature).is_ok())
    }
}

fn oaep(algorithm: Algorithm, material: &[u8]) -> Result<OaepPrivateDecryptingKey, KeyError> {
    let key = decrypting(algorithm, material)?;
    OaepPrivateDecryptingKey::new(key).map_err(|_| no_pair(algorithm))
}

/// Unwrap RSA-OAEP around an AES-256 key, then the key that it wraps.
pub(super) fn unwrap(material: &[u8], wrapped: &[u8]) -> Result<Material, KeyError> {
    let key = oaep(Algorithm::RsaOaep256Kwp, material)?;
    let (around, inner) = wrapped
        .split_at_checked(key.key_size_bytes())
        .ok_or(KeyError::NotOpened)?;
    let mut output = Zeroizing::new(vec![0; key.min_output_size()]);
    let kek = key
        .decrypt(&OAEP_SHA256_MGF1SHA256, around, &mut output, None)
        .map_err(|_| KeyError::NotOpened)?;
    secrets::unwrap_padded(kek, inner)
}
