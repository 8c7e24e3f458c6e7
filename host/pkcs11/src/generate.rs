//! Generating keys on the token. A key of a given id is made once: after a failure that leaves open whether it was
//! made, the token is asked first.

use cryptoki::mechanism::Mechanism;
use cryptoki::object::{Attribute, ObjectClass, ObjectHandle};
use rialto_keys::{Algorithm, Attributes, KeyError};

use crate::connection::{Attempt, Connection, Live};
use crate::failure::Failure;
use crate::material::{Found, Id};
use crate::mechanisms::{RSA_BITS, SECRET_BITS};
use crate::{objects, public_key, templates};

/// Generate a key with this id.
pub(crate) fn generate(
    connection: &mut Connection,
    attributes: &Attributes,
    id: Id,
) -> Result<Found, KeyError> {
    let mut may_be_there = false;
    let _unclear = objects::OnPanic(id);
    let outcome = connection.attempt(|live, attempt| {
        live.supports(attributes.algorithm)?;
        let public_key = live.generate_once(attributes, &id, attempt, &mut may_be_there)?;
        Ok(Found {
            id,
            serial: live.known.serial.clone(),
            public_key,
        })
    });
    if outcome.is_err() && may_be_there {
        objects::discard(connection, &id);
    }
    outcome
}

impl Live {
    /// Refuses algorithms that the token does not support.
    pub(crate) fn supports(&self, algorithm: Algorithm) -> Result<(), KeyError> {
        if self.known.algorithms.contains(&algorithm) {
            return Ok(());
        }
        Err(KeyError::Unsupported(format!(
            "the token `{}` has no keys of the algorithm {algorithm:?}; it supports {:?}",
            self.known.label, self.known.algorithms
        )))
    }

    /// The public key of the new key, empty for secret keys.
    fn generate_once(
        &mut self,
        attributes: &Attributes,
        id: &Id,
        attempt: Attempt,
        may_be_there: &mut bool,
    ) -> Result<Vec<u8>, Failure> {
        let algorithm = attributes.algorithm;
        if attempt == Attempt::Second {
            if let Some(made) = self.made(algorithm, id)? {
                return Ok(made);
            }
            // Half a pair is of no use.
            self.destroy(id)?;
        }
        *may_be_there = true;
        self.make(algorithm, id, &attributes.label)
            .map_err(Failure::ambiguous)?;
        self.made(algorithm, id)?.ok_or_else(|| {
            let why = "the token does not show the key that it made".to_owned();
            KeyError::ProviderAway(why).into()
        })
    }

    /// The public key of a whole key of this id, empty for secret keys.
    fn made(&self, algorithm: Algorithm, id: &Id) -> Result<Option<Vec<u8>>, Failure> {
        let class = templates::class(algorithm);
        if self.find(id, class)?.is_none() {
            return Ok(None);
        }
        if class == ObjectClass::SECRET_KEY {
            return Ok(Some(Vec::new()));
        }
        let Some(public) = self.find(id, ObjectClass::PUBLIC_KEY)? else {
            return Ok(None);
        };
        self.public_key(public, algorithm)
    }

    fn make(&self, algorithm: Algorithm, id: &Id, label: &str) -> Result<ObjectHandle, Failure> {
        let mut template = templates::usable(algorithm, id, label);
        // So that nobody allows another use later. SoftHSM unwraps no such keys, so loaded ones stay without.
        template.push(Attribute::Modifiable(false));
        if templates::class(algorithm) == ObjectClass::PRIVATE_KEY {
            let (mechanism, parameters) = pair(algorithm)?;
            let mut public = templates::public(id, label);
            public.extend(parameters);
            let (_, private) = self
                .session
                .generate_key_pair(&mechanism, &public, &template)?;
            return Ok(private);
        }
        let mechanism = match algorithm {
            Algorithm::Hs256 => Mechanism::GenericSecretKeyGen,
            _ => Mechanism::AesKeyGen,
        };
        template.push(Attribute::ValueLen(((SECRET_BITS / 8) as u64).into()));
        Ok(self.session.generate_key(&mechanism, &template)?)
    }
}

/// How a key pair is generated.
fn pair(algorithm: Algorithm) -> Result<(Mechanism<'static>, Vec<Attribute>), KeyError> {
    let curve = |parameters: &[u8]| {
        (
            Mechanism::EccKeyPairGen,
            vec![Attribute::EcParams(parameters.to_vec())],
        )
    };
    Ok(match algorithm {
        Algorithm::Es256 => curve(public_key::P256),
        Algorithm::Es384 => curve(public_key::P384),
        Algorithm::Rs256 | Algorithm::RsaOaep256Kwp => (
            Mechanism::RsaPkcsKeyPairGen,
            vec![
                Attribute::ModulusBits((RSA_BITS as u64).into()),
                Attribute::PublicExponent(vec![1, 0, 1]),
            ],
        ),
        _ => return Err(KeyError::WrongPurpose),
    })
}
