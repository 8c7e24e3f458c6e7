//! Secret keys in memory: message authentication codes, encryption, unwrapping, PIN zones.

use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use aws_lc_rs::hmac;
use aws_lc_rs::key_wrap::{AES_256, AesKek, KeyWrapPadded as _};
use aws_lc_rs::rand::{SecureRandom as _, SystemRandom};
use zeroize::Zeroizing;

use super::no_randomness;
use crate::attributes::Algorithm;
use crate::error::KeyError;
use crate::pin::PinKey;
use crate::provider::{Key, Material, OnlyUnwraps};

/// Bytes of the keys that are no PIN keys.
const SECRET_BYTES: usize = 32;

pub(super) fn open(algorithm: Algorithm, material: &[u8]) -> Result<Box<dyn Key>, KeyError> {
    let sized = || match material.len() {
        SECRET_BYTES => Ok(material),
        other => Err(KeyError::BadInput(format!(
            "a key of {other} bytes where {SECRET_BYTES} are needed"
        ))),
    };
    Ok(match algorithm {
        Algorithm::Hs256 => Box::new(Mac(hmac::Key::new(hmac::HMAC_SHA256, sized()?))),
        Algorithm::A256Gcm => {
            let key = UnboundKey::new(&AES_256_GCM, sized()?);
            Box::new(Aead(LessSafeKey::new(key.map_err(|_| unusable())?)))
        }
        Algorithm::A256Kwp => {
            sized()?;
            Box::new(OnlyUnwraps)
        }
        Algorithm::PinTdes => Box::new(Pin(PinKey::tdes(material).map_err(bad_pin_key)?)),
        Algorithm::PinAes => Box::new(Pin(PinKey::aes(material).map_err(bad_pin_key)?)),
        _ => return Err(unusable()),
    })
}

fn unusable() -> KeyError {
    KeyError::BadInput("the bytes are no key of this algorithm".to_owned())
}

fn bad_pin_key(error: crate::pin::PinKeyError) -> KeyError {
    KeyError::BadInput(error.to_string())
}

/// Unwrap with padding (RFC 5649).
pub(super) fn unwrap_padded(kek: &[u8], wrapped: &[u8]) -> Result<Material, KeyError> {
    let kek = AesKek::new(&AES_256, kek).map_err(|_| KeyError::NotOpened)?;
    let mut output = Zeroizing::new(vec![0; wrapped.len()]);
    let length = kek
        .unwrap_with_padding(wrapped, &mut output)
        .map_err(|_| KeyError::NotOpened)?
        .len();
    output.truncate(length);
    Ok(output)
}

struct Mac(hmac::Key);

impl Key for Mac {
    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, KeyError> {
        Ok(hmac::sign(&self.0, message).as_ref().to_vec())
    }

    fn verify(&self, message: &[u8], signature: &[u8]) -> Result<bool, KeyError> {
        Ok(hmac::verify(&self.0, message, signature).is_ok())
    }
}

struct Aead(LessSafeKey);

impl Key for Aead {
    fn encrypt(&self, plaintext: &[u8], associated: &[u8]) -> Result<Vec<u8>, KeyError> {
        let mut nonce = [0; NONCE_LEN];
        SystemRandom::new()
            .fill(&mut nonce)
            .map_err(|_| no_randomness())?;
        let tag_bytes = AES_256_GCM.tag_len();
        let mut whole = Vec::with_capacity(NONCE_LEN + plaintext.len() + tag_bytes);
        whole.extend_from_slice(&nonce);
        whole.extend_from_slice(plaintext);
        let nonce = Nonce::assume_unique_for_key(nonce);
        let tag = self.0.seal_in_place_separate_tag(
            nonce,
            Aad::from(associated),
            &mut whole[NONCE_LEN..],
        );
        whole.extend_from_slice(tag.map_err(|_| no_randomness())?.as_ref());
        Ok(whole)
    }

    fn decrypt(&self, ciphertext: &[u8], associated: &[u8]) -> Result<Vec<u8>, KeyError> {
        let (nonce, sealed) = ciphertext
            .split_at_checked(NONCE_LEN)
            .ok_or(KeyError::NotOpened)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).map_err(|_| KeyError::NotOpened)?;
        let mut content = sealed.to_vec();
        let opened = self
            .0
            .open_in_place(nonce, Aad::from(associated), &mut content);
        let length = opened.map_err(|_| KeyError::NotOpened)?.len();
        content.truncate(length);
        Ok(content)
    }
}

struct Pin(PinKey);

impl Key for Pin {
    fn pin_zone(&self) -> Result<&PinKey, KeyError> {
        Ok(&self.0)
    }
}
