//! A key of the service in use.

use std::sync::Arc;

use rialto_keys::{Algorithm, Hash, Key, KeyError, PublicKey, Purpose, hash};

use crate::ecdsa;
use crate::envelope::{self, Parts};
use crate::failure::{Failure, unreadable};
use crate::material::Found;
use crate::wire::{
    Context, DataKeyAnswer, Decrypt, DecryptAnswer, GenerateDataKey, GenerateMac,
    GenerateMacAnswer, Operation, Sign, SignAnswer, VerifyMac, VerifyMacAnswer,
};
use crate::worker::Worker;

/// The longest message of a code, in bytes: the service takes no longer ones.
const MAC_MESSAGE_BYTES_MAX: usize = 4096;
/// Bytes of a code.
const MAC_BYTES: usize = 32;
const MAC_ALGORITHM: &str = "HMAC_SHA_256";
/// What data keys are bound to.
const CONTEXT: Context = Context {
    rialto: "a256-gcm/1",
};

/// A key that signs, makes codes, or encrypts.
pub(crate) struct ServiceKey {
    worker: Arc<Worker>,
    algorithm: Algorithm,
    found: Found,
    /// The public key of a pair that signs.
    public_key: Option<PublicKey>,
}

impl ServiceKey {
    pub(crate) fn new(
        worker: Arc<Worker>,
        algorithm: Algorithm,
        found: Found,
    ) -> Result<Self, KeyError> {
        let is_pair = algorithm.purpose() == Purpose::Sign;
        let public_key = is_pair.then(|| PublicKey::from_der(algorithm, &found.public_key));
        Ok(Self {
            worker,
            algorithm,
            found,
            public_key: public_key.transpose()?,
        })
    }

    fn id(&self) -> &str {
        self.found.arn.text()
    }

    fn require(&self, purpose: Purpose) -> Result<(), KeyError> {
        if self.algorithm.purpose() == purpose {
            Ok(())
        } else {
            Err(KeyError::WrongPurpose)
        }
    }

    /// A signature that the public key verifies: what else comes from the service is none.
    fn signature(&self, public_key: &PublicKey, message: &[u8]) -> Result<Vec<u8>, KeyError> {
        let (hashing, signing_algorithm, number_bytes) = match self.algorithm {
            Algorithm::Es256 => (Hash::Sha256, "ECDSA_SHA_256", Some(32)),
            Algorithm::Es384 => (Hash::Sha384, "ECDSA_SHA_384", Some(48)),
            Algorithm::Rs256 => (Hash::Sha256, "RSASSA_PKCS1_V1_5_SHA_256", None),
            _ => return Err(KeyError::WrongPurpose),
        };
        let operation = Operation::Sign;
        let answer: SignAnswer = self.worker.call(
            operation,
            &Sign {
                key_id: self.id(),
                message: &hash(hashing, message)?,
                message_type: "DIGEST",
                signing_algorithm,
            },
        )?;
        let signature = match number_bytes {
            Some(bytes) => ecdsa::fixed(&answer.signature.0, bytes),
            None => Some(answer.signature.0.to_vec()),
        };
        let signature = signature.filter(|signature| public_key.verifies(message, signature));
        Ok(signature.ok_or_else(|| unreadable(operation, "it is no signature of the key"))?)
    }

    fn code(&self, message: &[u8]) -> Result<Vec<u8>, KeyError> {
        refuse_long(message)?;
        let operation = Operation::GenerateMac;
        let answer: GenerateMacAnswer = self.worker.call(
            operation,
            &GenerateMac {
                key_id: self.id(),
                message,
                mac_algorithm: MAC_ALGORITHM,
            },
        )?;
        if answer.mac.0.len() != MAC_BYTES {
            return Err(unreadable(operation, "it is no code of the key").into());
        }
        Ok(answer.mac.0.to_vec())
    }

    fn is_code(&self, message: &[u8], code: &[u8]) -> Result<bool, KeyError> {
        refuse_long(message)?;
        if code.len() != MAC_BYTES {
            return Ok(false);
        }
        let answer: Result<VerifyMacAnswer, _> = self.worker.call(
            Operation::VerifyMac,
            &VerifyMac {
                key_id: self.id(),
                message,
                mac: code,
                mac_algorithm: MAC_ALGORITHM,
            },
        );
        match answer {
            Ok(answer) => Ok(answer.mac_valid),
            Err(Failure::WrongMac) => Ok(false),
            Err(failure) => Err(failure.into()),
        }
    }
}

impl Key for ServiceKey {
    /// The message is hashed here for signatures, so that it may be as long as any.
    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, KeyError> {
        if let Some(public_key) = &self.public_key {
            return self.signature(public_key, message);
        }
        self.require(Purpose::Mac)?;
        self.code(message)
    }

    /// The public key verifies here. The service verifies its own codes.
    fn verify(&self, message: &[u8], signature: &[u8]) -> Result<bool, KeyError> {
        if let Some(public_key) = &self.public_key {
            return Ok(public_key.verifies(message, signature));
        }
        self.require(Purpose::Mac)?;
        self.is_code(message, signature)
    }

    fn encrypt(&self, plaintext: &[u8], associated: &[u8]) -> Result<Vec<u8>, KeyError> {
        self.require(Purpose::Encrypt)?;
        let operation = Operation::GenerateDataKey;
        let answer: DataKeyAnswer = self.worker.call(
            operation,
            &GenerateDataKey {
                key_id: self.id(),
                key_spec: "AES_256",
                encryption_context: CONTEXT,
            },
        )?;
        if answer.key_id != self.id() {
            return Err(unreadable(operation, "it is of another key").into());
        }
        let (data_key, wrapped) = (&answer.plaintext.0, &answer.ciphertext_blob.0);
        let sealed = envelope::seal(data_key, wrapped, plaintext, associated)?;
        Ok(sealed.ok_or_else(|| unreadable(operation, "it is no data key"))?)
    }

    fn decrypt(&self, ciphertext: &[u8], associated: &[u8]) -> Result<Vec<u8>, KeyError> {
        self.require(Purpose::Encrypt)?;
        let parts = Parts::of(ciphertext).ok_or(KeyError::NotOpened)?;
        let answer: DecryptAnswer = self.worker.call(
            Operation::Decrypt,
            &Decrypt {
                key_id: self.id(),
                ciphertext_blob: parts.wrapped,
                encryption_context: CONTEXT,
            },
        )?;
        parts.open(&answer.plaintext.0, associated)
    }
}

fn refuse_long(message: &[u8]) -> Result<(), KeyError> {
    if (1..=MAC_MESSAGE_BYTES_MAX).contains(&message.len()) {
        return Ok(());
    }
    Err(KeyError::BadInput(format!(
        "{} bytes where AWS KMS makes codes of 1 to {MAC_MESSAGE_BYTES_MAX}: make the code of a hash, or use another provider",
        message.len()
    )))
}
