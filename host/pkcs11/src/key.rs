//! A key of a token in use.

use std::sync::Arc;

use cryptoki::error::RvError;
use cryptoki::mechanism::Mechanism;
use cryptoki::mechanism::aead::GcmParams;
use cryptoki::object::ObjectHandle;
use rialto_keys::{Algorithm, Hash, Key, KeyError, PublicKey, Purpose, hash, random};
use zeroize::Zeroizing;

use crate::connection::Live;
use crate::failure::{Failure, is_not_opened};
use crate::material::Found;
use crate::pool::Pool;

/// Bytes of the nonce in front of a ciphertext.
const NONCE_BYTES: usize = 12;
/// Bytes of the tag behind it.
const TAG_BYTES: usize = 16;

/// A key that signs, makes codes, or encrypts.
pub(crate) struct TokenKey {
    pool: Arc<Pool>,
    algorithm: Algorithm,
    found: Found,
    /// The public key of a pair that signs.
    public_key: Option<PublicKey>,
}

impl TokenKey {
    pub(crate) fn new(
        pool: Arc<Pool>,
        algorithm: Algorithm,
        found: Found,
    ) -> Result<Self, KeyError> {
        let is_pair = algorithm.purpose() == Purpose::Sign;
        let public_key = is_pair.then(|| PublicKey::from_der(algorithm, &found.public_key));
        Ok(Self {
            pool,
            algorithm,
            found,
            public_key: public_key.transpose()?,
        })
    }

    /// Use the key in a session.
    fn with<T: Send + 'static>(
        &self,
        mut work: impl FnMut(&Live, ObjectHandle) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, KeyError> {
        let (found, algorithm) = (self.found.clone(), self.algorithm);
        self.pool.call(move |connection| {
            connection.attempt(|live, _| {
                let key = live.handle(&found, algorithm)?;
                work(live, key)
            })
        })
    }

    fn require(&self, purpose: Purpose) -> Result<(), KeyError> {
        if self.algorithm.purpose() == purpose {
            Ok(())
        } else {
            Err(KeyError::WrongPurpose)
        }
    }
}

impl Key for TokenKey {
    /// ECDSA signs the hash that is made here; the token hashes for the others.
    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, KeyError> {
        let algorithm = self.algorithm;
        let data = match algorithm {
            Algorithm::Es256 => hash(Hash::Sha256, message)?,
            Algorithm::Es384 => hash(Hash::Sha384, message)?,
            Algorithm::Rs256 | Algorithm::Hs256 => message.to_vec(),
            _ => return Err(KeyError::WrongPurpose),
        };
        self.with(move |live, key| {
            let mechanism = match algorithm {
                Algorithm::Rs256 => Mechanism::Sha256RsaPkcs,
                Algorithm::Hs256 => Mechanism::Sha256Hmac,
                _ => Mechanism::Ecdsa,
            };
            Ok(live.session.sign(&mechanism, key, &data)?)
        })
    }

    /// The public key verifies here. The token verifies its own codes.
    fn verify(&self, message: &[u8], signature: &[u8]) -> Result<bool, KeyError> {
        if let Some(public_key) = &self.public_key {
            return Ok(public_key.verifies(message, signature));
        }
        self.require(Purpose::Mac)?;
        let (message, signature) = (message.to_vec(), signature.to_vec());
        self.with(move |live, key| {
            let verified = live
                .session
                .verify(&Mechanism::Sha256Hmac, key, &message, &signature);
            match verified.map_err(Failure::from) {
                Ok(()) => Ok(true),
                Err(Failure::Code(RvError::SignatureInvalid | RvError::SignatureLenRange, _)) => {
                    Ok(false)
                }
                Err(other) => Err(other),
            }
        })
    }

    fn encrypt(&self, plaintext: &[u8], associated: &[u8]) -> Result<Vec<u8>, KeyError> {
        self.require(Purpose::Encrypt)?;
        let nonce = random(NONCE_BYTES)?.to_vec();
        let (plaintext, associated) = (Zeroizing::new(plaintext.to_vec()), associated.to_vec());
        self.with(move |live, key| {
            let mut nonce = nonce.clone();
            let sealed = live
                .session
                .encrypt(&gcm(&mut nonce, &associated)?, key, &plaintext)
                .map_err(|error| Failure::from(error).explain(too_long))?;
            // A token may have put a nonce of its own there.
            if sealed.len() != plaintext.len() + TAG_BYTES {
                let why =
                    "the token's AES-GCM does not put a tag of 16 bytes behind the ciphertext";
                return Err(KeyError::Unsupported(why.to_owned()).into());
            }
            Ok([nonce.as_slice(), &sealed].concat())
        })
    }

    fn decrypt(&self, ciphertext: &[u8], associated: &[u8]) -> Result<Vec<u8>, KeyError> {
        self.require(Purpose::Encrypt)?;
        let (nonce, sealed) = ciphertext
            .split_at_checked(NONCE_BYTES)
            .ok_or(KeyError::NotOpened)?;
        if sealed.len() < TAG_BYTES {
            return Err(KeyError::NotOpened);
        }
        let (nonce, sealed, associated) = (nonce.to_vec(), sealed.to_vec(), associated.to_vec());
        self.with(move |live, key| {
            let opened = live
                .session
                .decrypt(&gcm(&mut nonce.clone(), &associated)?, key, &sealed);
            let refused = |code| is_not_opened(code).then_some(KeyError::NotOpened);
            opened.map_err(|error| Failure::from(error).explain(refused))
        })
    }
}

/// AES-GCM with this nonce.
fn gcm<'a>(nonce: &'a mut [u8], associated: &'a [u8]) -> Result<Mechanism<'a>, Failure> {
    let parameters = GcmParams::new(nonce, associated, ((TAG_BYTES * 8) as u64).into())?;
    Ok(Mechanism::AesGcm(parameters))
}

fn too_long(code: RvError) -> Option<KeyError> {
    (code == RvError::DataLenRange)
        .then(|| KeyError::BadInput("it is longer than the token takes".to_owned()))
}
