//! The host's cryptography for the steps of Web Authentication, and what a failed step is to who asks.

use rialto_webauthn::{Cryptography, Failure, NotVerified};

use super::{FidoError, refused};
use crate::bindings::rialto::host::keys::{Algorithm, Hash, KeyError};
use crate::world::World;

/// The cryptography of the host.
pub struct OfTheHost<'w, W>(pub &'w mut W);

impl<W: World> Cryptography for OfTheHost<'_, W> {
    fn sha256(&mut self, message: &[u8]) -> Vec<u8> {
        self.0.digest(Hash::Sha256, message)
    }

    fn verifies(
        &mut self,
        public_key: &str,
        message: &[u8],
        signature: &[u8],
    ) -> Result<bool, NotVerified> {
        let verified = self
            .0
            .verify_with(public_key, Algorithm::Es256, message, signature);
        verified.map_err(|error| match error {
            KeyError::BadInput(_) => NotVerified::NoKey,
            other => NotVerified::Failed(format!("{other:?}")),
        })
    }
}

/// What who asks is told. A signature that could not be verified for a cause that is not the authenticator's is something
/// that an operator must see.
pub fn failed(world: &mut impl World, failure: Failure) -> FidoError {
    match failure {
        Failure::Malformed(why) => FidoError::Malformed(why),
        Failure::Refused(why) => FidoError::Refused(why),
        Failure::NotVerified(why) => {
            world.alert(&format!("the host verified no signature of FIDO2: {why}"));
            refused(
                "the host could not verify the signature: begin again, and tell its operator if that repeats",
            )
        }
    }
}
