//! Signatures of programs over what they have written (`verify-signature`), for contexts that keep it.

use crate::assertions::key;
use crate::bindings::exports::rialto::security_authz::verify_signature::Signed;
use crate::public_keys::Algorithm;
use crate::world::World;

/// Whose registered key has signed this.
///
/// # Errors
/// When none has: a sentence that says why.
pub fn verify(world: &mut impl World, signed: &Signed) -> Result<String, String> {
    let is_said = |algorithm: Algorithm| algorithm.name() == signed.algorithm;
    let key = key(world, &signed.key_id, is_said)?;
    let verified = world.verify_with(
        &key.public_key,
        key.algorithm.into(),
        &signed.message,
        &signed.signature,
    );
    if verified != Ok(true) {
        return Err("the signature is not of this key".to_owned());
    }
    Ok(key.subject.text().to_owned())
}
