//! Loading wrapped keys: the token unwraps them, and no byte of them comes out.

use cryptoki::mechanism::Mechanism;
use cryptoki::object::{Attribute, AttributeType, ObjectClass, ObjectHandle};
use rialto_keys::{Algorithm, Attributes, KeyError, PublicKey};

use crate::connection::{Attempt, Connection, Live};
use crate::failure::{Failure, is_not_opened};
use crate::material::{Found, Id};
use crate::mechanisms::{self, SECRET_BITS};
use crate::{objects, templates};

/// Bytes of a secret key that is wrapped with padding (RFC 5649). A key of 25 to 31 bytes has as many.
const PADDED_BYTES: usize = SECRET_BITS / 8 + 8;
/// The shortest and the longest RSA key, in bytes of its modulus.
const RSA_BYTES: std::ops::RangeInclusive<usize> = 256..=1024;

/// The key that unwraps.
pub(crate) struct Unwrapper {
    pub(crate) found: Found,
    pub(crate) algorithm: Algorithm,
}

/// Load a wrapped key under this id.
pub(crate) fn load(
    connection: &mut Connection,
    attributes: &Attributes,
    unwraps: &Unwrapper,
    wrapped: &[u8],
    id: Id,
) -> Result<Found, KeyError> {
    let mut may_be_there = false;
    let _unclear = objects::OnPanic(id);
    let outcome = connection.attempt(|live, attempt| {
        live.supports(unwraps.algorithm)?;
        live.supports(attributes.algorithm)?;
        if attempt == Attempt::Second {
            live.destroy(&id)?;
        }
        may_be_there = true;
        let (key, around) = live.unwrap_whole(attributes, unwraps, wrapped, &id)?;
        Ok(Found {
            id,
            serial: live.known.serial.clone(),
            public_key: live.checked(key, attributes.algorithm, wrapped.len() - around)?,
        })
    });
    if outcome.is_err() && may_be_there {
        objects::discard(connection, &id);
    }
    outcome
}

impl Live {
    /// The unwrapped key, and how many bytes were around the one that is wrapped with padding.
    fn unwrap_whole(
        &mut self,
        attributes: &Attributes,
        unwraps: &Unwrapper,
        wrapped: &[u8],
        id: &Id,
    ) -> Result<(ObjectHandle, usize), Failure> {
        let template = templates::usable(attributes.algorithm, id, &attributes.label);
        let outer = self.handle(&unwraps.found, unwraps.algorithm)?;
        if unwraps.algorithm == Algorithm::A256Kwp {
            let key = self.unwrap(&Mechanism::AesKeyWrapPad, outer, wrapped, &template)?;
            return Ok((key, 0));
        }
        let told = self.read(outer, &[AttributeType::Modulus])?;
        let Some([Attribute::Modulus(modulus)]) = told.as_deref() else {
            let why = "the token does not tell the length of the key that unwraps".to_owned();
            return Err(KeyError::Unsupported(why).into());
        };
        let (around, inner) = wrapped
            .split_at_checked(modulus.len())
            .ok_or(KeyError::NotOpened)?;
        let passing = templates::passing();
        let between = self.unwrap(&mechanisms::oaep(), outer, around, &passing)?;
        let unwrapped = self
            .require_bytes(between, KeyError::NotOpened)
            .and_then(|()| self.unwrap(&Mechanism::AesKeyWrapPad, between, inner, &template));
        // The session's end would destroy it too. A lost session has done so.
        let destroyed = self.session.destroy_object(between);
        let key = unwrapped?;
        destroyed?;
        Ok((key, around.len()))
    }

    fn unwrap(
        &self,
        mechanism: &Mechanism<'_>,
        key: ObjectHandle,
        wrapped: &[u8],
        template: &[Attribute],
    ) -> Result<ObjectHandle, Failure> {
        let unwrapped = self.session.unwrap_key(mechanism, key, wrapped, template);
        unwrapped.map_err(|error| {
            Failure::from(error).explain(|code| is_not_opened(code).then_some(KeyError::NotOpened))
        })
    }

    /// Refuses a secret key that the token says to have another length than 32 bytes. Some tokens tell no length of
    /// keys that they unwrapped, or 0.
    fn require_bytes(&self, key: ObjectHandle, refusal: KeyError) -> Result<(), Failure> {
        let told = self.read(key, &[AttributeType::ValueLen])?;
        match told.as_deref() {
            Some([Attribute::ValueLen(bytes)])
                if ![0, SECRET_BITS / 8].contains(&usize::from(*bytes)) =>
            {
                Err(refusal.into())
            }
            _ => Ok(()),
        }
    }

    /// The public key of a loaded pair, empty for secret keys. Refuses keys that are not of the algorithm.
    fn checked(
        &self,
        key: ObjectHandle,
        algorithm: Algorithm,
        padded: usize,
    ) -> Result<Vec<u8>, Failure> {
        if templates::class(algorithm) == ObjectClass::SECRET_KEY {
            let why = format!(
                "the wrapped key has not the {} bytes that are needed",
                SECRET_BITS / 8
            );
            let refusal = KeyError::BadInput(why);
            if padded != PADDED_BYTES {
                return Err(refusal.into());
            }
            self.require_bytes(key, refusal)?;
            return Ok(Vec::new());
        }
        let told = self.public_key(key, algorithm)?.ok_or_else(|| {
            let why = "the token does not tell the public key of a loaded private key: generate the key there";
            KeyError::Unsupported(why.to_owned())
        })?;
        match algorithm {
            Algorithm::Rs256 | Algorithm::RsaOaep256Kwp => {
                let modulus = self.read(key, &[AttributeType::Modulus])?;
                let fits = matches!(modulus.as_deref(), Some([Attribute::Modulus(n)]) if RSA_BYTES.contains(&n.len()));
                if !fits {
                    let why = "the wrapped key is no RSA key of 2048 to 8192 bits".to_owned();
                    return Err(KeyError::BadInput(why).into());
                }
            }
            _ => {
                PublicKey::from_der(algorithm, &told)?;
            }
        }
        Ok(told)
    }
}
