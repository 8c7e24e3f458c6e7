//! What a provider of keys can do. Each kind of provider implements it: software here, a hardware module or a cloud
//! in crates of their own.

use std::time::{Duration, Instant};

use zeroize::Zeroizing;

use crate::attributes::{Algorithm, Attributes};
use crate::error::KeyError;
use crate::pin;

/// Bytes that only the provider understands: the key itself in software, its name in a hardware module.
pub type Material = Zeroizing<Vec<u8>>;

/// A key that a provider has made.
pub struct Made {
    /// How the provider finds it again. It is kept under the host's seal.
    pub material: Material,
    /// The public key of a key pair: SubjectPublicKeyInfo, DER.
    pub public_key: Option<Vec<u8>>,
}

/// The key that unwraps another one. The provider has it.
#[derive(Clone, Copy)]
pub struct Unwrapping<'a> {
    /// What is said of it. Its purpose is [`Purpose::Unwrap`](crate::Purpose::Unwrap).
    pub attributes: &'a Attributes,
    /// How the provider finds it.
    pub material: &'a [u8],
}

/// A provider of keys.
pub trait Provider: Send + Sync {
    /// Its kind, as in the operator's document: `software`.
    fn kind(&self) -> &'static str;

    /// The algorithms of keys that it can make. It asks nobody: a remote provider that has not answered yet has none.
    fn algorithms(&self) -> Vec<Algorithm>;

    /// Whether a call leaves this process, so that it may take long or get no answer.
    fn is_remote(&self) -> bool {
        false
    }

    /// How many calls of a remote provider run at once.
    fn calls_at_once(&self) -> usize {
        4
    }

    /// The longest that a call of a remote provider lasts.
    fn timeout(&self) -> Duration {
        Duration::from_secs(2)
    }

    /// Make a new key.
    ///
    /// # Errors
    /// When it does not support the algorithm, or does not answer.
    fn generate(&self, attributes: &Attributes) -> Result<Made, KeyError>;

    /// Load a key that `unwraps` unwraps: PKCS #8 for key pairs, else the bytes of the key. The provider unwraps it
    /// where its keys are.
    ///
    /// # Errors
    /// When it cannot be unwrapped, or is no key of this algorithm.
    fn load(
        &self,
        attributes: &Attributes,
        unwraps: Unwrapping<'_>,
        wrapped: &[u8],
    ) -> Result<Made, KeyError>;

    /// A key ready for use.
    ///
    /// # Errors
    /// When the provider no longer has it.
    fn open(&self, attributes: &Attributes, material: &[u8]) -> Result<Box<dyn Key>, KeyError>;

    /// Destroy a key for good. A key that is gone is no error. A provider whose keys lie in their references has
    /// nothing to destroy.
    ///
    /// # Errors
    /// When the provider does not answer, so that the key may still be there.
    fn destroy(&self, _material: &[u8]) -> Result<(), KeyError> {
        Ok(())
    }

    /// How people find a key with the provider's own tools: its id there, and nothing secret. None for a provider whose
    /// keys lie in their references.
    fn name_of(&self, _material: &[u8]) -> Option<String> {
        None
    }

    /// The public key of a key pair: SubjectPublicKeyInfo, DER. It asks nobody. None for secret keys, and for material
    /// that is not the provider's.
    fn public_key(&self, _attributes: &Attributes, _material: &[u8]) -> Option<Vec<u8>> {
        None
    }

    /// Refuse calls from now on, and end what is under way, until this instant.
    ///
    /// # Errors
    /// When something has not ended then.
    fn close(&self, _deadline: Instant) -> Result<(), KeyError> {
        Ok(())
    }
}

/// A key ready for use. What it is not for is refused with [`KeyError::WrongPurpose`].
pub trait Key: Send + Sync {
    /// The signature, or the code, of a message.
    ///
    /// # Errors
    /// When the key is for something else, or the provider does not answer.
    fn sign(&self, _message: &[u8]) -> Result<Vec<u8>, KeyError> {
        Err(KeyError::WrongPurpose)
    }

    /// Whether the key made this signature or code.
    ///
    /// # Errors
    /// When the key is for something else, or the provider does not answer.
    fn verify(&self, _message: &[u8], _signature: &[u8]) -> Result<bool, KeyError> {
        Err(KeyError::WrongPurpose)
    }

    /// Nonce, ciphertext and tag.
    ///
    /// # Errors
    /// When the key is for something else, or the provider does not answer.
    fn encrypt(&self, _plaintext: &[u8], _associated: &[u8]) -> Result<Vec<u8>, KeyError> {
        Err(KeyError::WrongPurpose)
    }

    /// The plaintext.
    ///
    /// # Errors
    /// When the key is for something else or did not encrypt this, or the provider does not answer.
    fn decrypt(&self, _ciphertext: &[u8], _associated: &[u8]) -> Result<Vec<u8>, KeyError> {
        Err(KeyError::WrongPurpose)
    }

    /// The key of a PIN zone, for providers whose keys are in this process.
    ///
    /// # Errors
    /// When the key is for something else.
    fn pin_zone(&self) -> Result<&pin::PinKey, KeyError> {
        Err(KeyError::WrongPurpose)
    }
}

/// A key that only [`Provider::load`] uses.
#[derive(Clone, Copy, Debug)]
pub struct OnlyUnwraps;

impl Key for OnlyUnwraps {}
