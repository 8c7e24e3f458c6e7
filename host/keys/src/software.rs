//! The provider in software: keys are in this process's memory while they are used, and under the seal of a master key
//! everywhere else.

mod pairs;
mod secrets;

use aws_lc_rs::rand::{SecureRandom as _, SystemRandom};
use zeroize::Zeroizing;

use crate::attributes::{Algorithm, Attributes};
use crate::error::KeyError;
use crate::provider::{Key, Made, Material, Provider, Unwrapping};

pub use pairs::PublicKey;
pub(crate) use pairs::{public_key_that_verifies, receiver};

/// Its kind in the operator's document.
pub const KIND: &str = "software";

/// The provider.
#[derive(Clone, Copy, Debug, Default)]
pub struct Software;

impl Provider for Software {
    fn kind(&self) -> &'static str {
        KIND
    }

    fn algorithms(&self) -> Vec<Algorithm> {
        Algorithm::ALL.to_vec()
    }

    fn generate(&self, attributes: &Attributes) -> Result<Made, KeyError> {
        match attributes.algorithm {
            Algorithm::Es256 | Algorithm::Es384 | Algorithm::Rs256 | Algorithm::RsaOaep256Kwp => {
                let material = pairs::generate(attributes.algorithm)?;
                made(attributes.algorithm, material)
            }
            Algorithm::Hs256 | Algorithm::A256Gcm | Algorithm::A256Kwp | Algorithm::PinAes => {
                made(attributes.algorithm, random(32)?)
            }
            Algorithm::PinTdes => made(attributes.algorithm, random(24)?),
        }
    }

    fn load(
        &self,
        attributes: &Attributes,
        unwraps: Unwrapping<'_>,
        wrapped: &[u8],
    ) -> Result<Made, KeyError> {
        let content = match unwraps.attributes.algorithm {
            Algorithm::A256Kwp => secrets::unwrap_padded(unwraps.material, wrapped)?,
            Algorithm::RsaOaep256Kwp => pairs::unwrap(unwraps.material, wrapped)?,
            _ => return Err(KeyError::WrongPurpose),
        };
        made(attributes.algorithm, content)
    }

    fn open(&self, attributes: &Attributes, material: &[u8]) -> Result<Box<dyn Key>, KeyError> {
        open(attributes.algorithm, material)
    }

    fn public_key(&self, attributes: &Attributes, material: &[u8]) -> Option<Vec<u8>> {
        pairs::public_key(attributes.algorithm, material).ok()?
    }
}

/// A key of this material, if it is one of the algorithm.
fn made(algorithm: Algorithm, material: Material) -> Result<Made, KeyError> {
    open(algorithm, &material)?;
    let public_key = pairs::public_key(algorithm, &material)?;
    Ok(Made {
        material,
        public_key,
    })
}

fn open(algorithm: Algorithm, material: &[u8]) -> Result<Box<dyn Key>, KeyError> {
    match algorithm {
        Algorithm::Es256 | Algorithm::Es384 | Algorithm::Rs256 | Algorithm::RsaOaep256Kwp => {
            pairs::open(algorithm, material)
        }
        Algorithm::Hs256
        | Algorithm::A256Gcm
        | Algorithm::A256Kwp
        | Algorithm::PinTdes
        | Algorithm::PinAes => secrets::open(algorithm, material),
    }
}

/// Random bytes.
///
/// # Errors
/// When the system gives no randomness.
pub fn random(length: usize) -> Result<Material, KeyError> {
    let mut bytes = Zeroizing::new(vec![0; length]);
    SystemRandom::new()
        .fill(&mut bytes)
        .map_err(|_| no_randomness())?;
    Ok(bytes)
}

pub(crate) fn no_randomness() -> KeyError {
    KeyError::ProviderAway("the system gives no randomness".to_owned())
}
