//! The relying party's part of an authentication: Web Authentication Level 2, section 7.2. The numbers are those of its
//! steps. What Level 3 adds is marked.

use super::client_data::GET;
use super::documents::{Credential, State, User};
use super::response::Assertion;
use super::{FidoError, refused};
use crate::bindings::rialto::host::keys::{Algorithm, Hash};
use crate::settings::Fido;
use crate::world::World;

/// What a response must have besides a right signature.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    /// The challenge that was given out: base64url.
    pub challenge: &'a str,
    /// Whether the authenticator must have verified the user.
    pub user_verification: bool,
}

/// What a verified response says of its credential.
#[derive(Debug, PartialEq, Eq)]
pub enum Counter {
    /// Step 21: the counter has grown, or the authenticator has none.
    Grown,
    /// Step 21: the counter has not grown, so there may be a copy of the authenticator.
    NotGrown,
}

/// The refusal of a credential that the user does not have: never had, or has no more since it was revoked.
#[must_use]
pub fn not_of_the_user() -> FidoError {
    refused("the credential is none of this user's")
}

/// The user's credential that a response is signed with, once it has passed steps 5 to 20; and what step 21 has found.
///
/// # Errors
/// [`FidoError::Refused`], and [`FidoError::CredentialSuspect`] for one whose counter was seen to go back before.
pub fn verify<'a>(
    world: &mut impl World,
    party: &Fido,
    wanted: Wanted<'_>,
    user: &'a mut User,
    sent: &Assertion,
) -> Result<(&'a mut Credential, Counter), FidoError> {
    // Steps 1 to 4 are the browser's, and reading the response.
    // Steps 5 and 6: the user was named at the beginning, and has the credential.
    if sent
        .user_handle
        .as_ref()
        .is_some_and(|handle| *handle != user.handle)
    {
        return Err(refused("the authenticator has told another user"));
    }
    let credentials = user.credentials.iter_mut();
    let mut found = credentials.filter(|credential| credential.id == sent.id);
    let credential = found.next().ok_or_else(not_of_the_user)?;
    if credential.state == State::Suspect {
        return Err(FidoError::CredentialSuspect);
    }
    // Step 7: the public key is with the credential. Steps 8 to 10 have read the response.
    // Step 11.
    sent.client_data.is_of_type(GET)?;
    // Step 12.
    sent.client_data.answers(wanted.challenge)?;
    // Step 13.
    sent.client_data.is_from(party)?;
    // Step 14: no client binds tokens any more, and Level 3 has no such step.
    // Step 15.
    let party_hash = world.digest(Hash::Sha256, party.relying_party.as_bytes());
    if sent.data.rp_id_hash[..] != party_hash[..] {
        return Err(refused(
            "the authenticator has signed for another relying party",
        ));
    }
    // Step 16.
    let flags = sent.data.flags;
    if !flags.is_user_present() {
        return Err(refused("the user has not touched the authenticator"));
    }
    // Step 17.
    if wanted.user_verification && !flags.is_user_verified() {
        return Err(refused("the authenticator has not verified the user"));
    }
    // Level 3, steps 18 and 19: whether a credential may be backed up never changes.
    if flags.is_backup_eligible() != credential.is_backup_eligible
        || (flags.is_backed_up() && !flags.is_backup_eligible())
    {
        return Err(refused(
            "the authenticator's flags about backups contradict those of the registration",
        ));
    }
    // Step 18: no extension was asked for, and what comes unasked is ignored.
    // Steps 19 and 20.
    let hash = world.digest(Hash::Sha256, &sent.client_data_json);
    let message = [&sent.signed[..], &hash].concat();
    let key = &credential.public_key;
    let verified = world.verify_with(key, Algorithm::Es256, &message, &sent.signature);
    if verified != Ok(true) {
        return Err(refused("the signature is not one of the credential's key"));
    }
    // Step 21.
    let (before, now) = (credential.sign_count, sent.data.sign_count);
    let has_counter = before != 0 || now != 0;
    let counter = if has_counter && now <= before {
        Counter::NotGrown
    } else {
        Counter::Grown
    };
    Ok((credential, counter))
}
