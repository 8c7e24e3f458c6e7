//! Keys as objects on the token: found by their ids, read and destroyed.

use cryptoki::object::{Attribute, AttributeType, ObjectClass, ObjectHandle};
use rialto_keys::{Algorithm, KeyError};

use crate::connection::{Connection, Live};
use crate::failure::Failure;
use crate::material::{Found, Id, hex};
use crate::{public_key, templates};

/// The token has another serial number than the key's.
const OTHER_TOKEN: KeyError = KeyError::NoKey("it is in another token");
/// Nothing has this id.
const GONE: KeyError = KeyError::NoKey("the token no longer has it");

impl Live {
    /// Objects of this id.
    fn with_id(&self, id: &Id) -> Result<Vec<ObjectHandle>, Failure> {
        let wanted = [Attribute::Token(true), Attribute::Id(id.to_vec())];
        Ok(self.session.find_objects(&wanted)?)
    }

    /// The object of this id and class.
    pub(crate) fn find(
        &self,
        id: &Id,
        class: ObjectClass,
    ) -> Result<Option<ObjectHandle>, Failure> {
        let wanted = [
            Attribute::Token(true),
            Attribute::Class(class),
            Attribute::Id(id.to_vec()),
        ];
        Ok(self.session.find_objects(&wanted)?.first().copied())
    }

    /// The handle of a key that is used.
    pub(crate) fn handle(
        &mut self,
        found: &Found,
        algorithm: Algorithm,
    ) -> Result<ObjectHandle, Failure> {
        if self.known.serial != found.serial {
            return Err(OTHER_TOKEN.into());
        }
        if let Some(handle) = self.handles.get(&found.id) {
            return Ok(*handle);
        }
        let handle = self
            .find(&found.id, templates::class(algorithm))?
            .ok_or(GONE)?;
        self.handles.insert(found.id, handle);
        Ok(handle)
    }

    /// The attributes of an object that it tells, in the order of `wanted`; none if it does not tell all.
    pub(crate) fn read(
        &self,
        object: ObjectHandle,
        wanted: &[AttributeType],
    ) -> Result<Option<Vec<Attribute>>, Failure> {
        let told = self.session.get_attributes(object, wanted)?;
        let is_whole = told.len() == wanted.len();
        Ok(is_whole.then_some(told))
    }

    /// SubjectPublicKeyInfo of an object with the attributes of a public key; none if it does not tell them.
    pub(crate) fn public_key(
        &self,
        object: ObjectHandle,
        algorithm: Algorithm,
    ) -> Result<Option<Vec<u8>>, Failure> {
        let curve = match algorithm {
            Algorithm::Es256 => public_key::P256,
            Algorithm::Es384 => public_key::P384,
            _ => {
                let wanted = [AttributeType::Modulus, AttributeType::PublicExponent];
                let told = self.read(object, &wanted)?;
                return Ok(match told.as_deref() {
                    Some([Attribute::Modulus(n), Attribute::PublicExponent(e)]) => {
                        Some(public_key::of_rsa(n, e))
                    }
                    _ => None,
                });
            }
        };
        let told = self.read(object, &[AttributeType::EcPoint])?;
        Ok(match told.as_deref() {
            Some([Attribute::EcPoint(point)]) => public_key::of_curve(curve, point),
            _ => None,
        })
    }

    /// Destroy whatever has this id. Returns whether there was something.
    pub(crate) fn destroy(&mut self, id: &Id) -> Result<bool, Failure> {
        let objects = self.with_id(id)?;
        for object in &objects {
            self.session.destroy_object(*object)?;
        }
        self.handles.remove(id);
        Ok(!objects.is_empty())
    }
}

/// Destroy a key. One that is gone is no error.
pub(crate) fn destroy(connection: &mut Connection, found: &Found) -> Result<(), KeyError> {
    let was_there = connection.attempt(|live, _| {
        if live.known.serial != found.serial {
            return Err(OTHER_TOKEN.into());
        }
        live.destroy(&found.id)
    })?;
    connection.token.forget_handles();
    if was_there {
        tracing::info!(id = hex(&found.id), "a key was destroyed on the token");
    }
    Ok(())
}

/// Destroy a key that nobody will have a reference of.
pub(crate) fn discard(connection: &mut Connection, id: &Id) {
    let outcome = connection.attempt(|live, _| live.destroy(id));
    connection.token.forget_handles();
    if let Err(error) = outcome {
        warn_of(id, &error.to_string());
    }
}

/// Says in the log which key may be on the token when this is dropped by a panic.
pub(crate) struct OnPanic(pub(crate) Id);

impl Drop for OnPanic {
    fn drop(&mut self) {
        if std::thread::panicking() {
            warn_of(&self.0, "the host panicked");
        }
    }
}

fn warn_of(id: &Id, why: &str) {
    tracing::warn!(
        id = hex(id),
        why,
        "a key of this CKA_ID may have stayed on the token, and no reference of it exists: destroy it with the token's tools"
    );
}
