//! The relying party's part of a registration: Web Authentication Level 2, section 7.1. The numbers are those of its
//! steps. What Level 3 adds is marked.
//!
//! The options ask for the attestation `none`, so the maker of the authenticator is not told and not judged (steps 20 and
//! 21). A statement that comes all the same (`packed` and others) is not looked at.

use crate::client_data::CREATE;
use crate::public_key::PublicKey;
use crate::response::Registration;
use crate::{Cryptography, Failure, NotVerified, RelyingParty, refused};

/// The public key (PEM) of a new credential, once its response has passed all steps but the caller's: whether the credential
/// is known (22), and keeping it (23).
///
/// # Errors
/// [`Failure::Refused`] and [`Failure::NotVerified`].
pub fn verify(
    cryptography: &mut impl Cryptography,
    party: &RelyingParty,
    challenge: &str,
    sent: &Registration,
) -> Result<String, Failure> {
    // Steps 1 to 4 are the browser's, and reading the response. Steps 5 and 6 have read the client data.
    // Step 7.
    sent.client_data.is_of_type(CREATE)?;
    // Step 8.
    sent.client_data.answers(challenge)?;
    // Step 9.
    sent.client_data.is_from(party)?;
    // Step 10: no client binds tokens any more, and Level 3 has no such step.
    // Step 11 makes a hash for the attestation alone. Step 12 has read the attestation object.
    // Step 13.
    let party_hash = cryptography.sha256(party.id.as_bytes());
    if sent.data.rp_id_hash[..] != party_hash[..] {
        return Err(refused(
            "the authenticator has signed for another relying party",
        ));
    }
    // Step 14.
    if !sent.data.flags.is_user_present() {
        return Err(refused("the user has not touched the authenticator"));
    }
    // Step 15: the options require it, because a transaction is authorized by verified users only.
    if !sent.data.flags.is_user_verified() {
        return Err(refused(
            "the authenticator has not verified the user: use one with a PIN or a biometric",
        ));
    }
    // Level 3, step 17: a credential that is backed up is one that may be.
    if sent.data.flags.is_backed_up() && !sent.data.flags.is_backup_eligible() {
        return Err(refused(
            "the authenticator's flags about backups contradict each other",
        ));
    }
    // Step 16.
    let key = match &sent.credential.public_key {
        PublicKey::Es256(key) => key,
        PublicKey::Other(algorithm) => {
            let why =
                format!("the public key has the algorithm {algorithm}; ES256 (-7) was asked for");
            return Err(refused(why));
        }
    };
    // Step 17: no extension was asked for, and what comes unasked is ignored.
    // Steps 18 and 19: of the attestation `none` the statement is empty.
    if sent.none_attestation == Some(false) {
        return Err(refused(
            "the attestation `none` has a statement; it must be empty",
        ));
    }
    // A verifier knows points of the curve. No signature is made of zeros, so only an error says something.
    match cryptography.verifies(key, &[], &[0; 64]) {
        Ok(_) => Ok(key.clone()),
        Err(NotVerified::NoKey) => Err(refused("the public key is no point of the curve P-256")),
        Err(NotVerified::Failed(why)) => Err(Failure::NotVerified(why)),
    }
}
