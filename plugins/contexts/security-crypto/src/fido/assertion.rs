//! The relying party's part of an authentication: Web Authentication Level 2, section 7.2. The numbers are those of its
//! steps. What Level 3 adds is marked.
//!
//! # The counter
//!
//! By step 21 a counter that has not grown is a sign that there may be a copy of the authenticator, and what follows from
//! it is up to the relying party. Level 3 (step 22) names another cause: responses arrive in another order than the
//! authenticator has made them. So the counter and the time of the challenge decide together:
//!
//! | The counter | The challenge was given | Then |
//! |---|---|---|
//! | has grown, or the authenticator has none | | the response is accepted |
//! | is smaller | before the credential was last used | the response is refused; the credential works on |
//! | is smaller | later | the credential is suspect |
//! | is the same | | the credential is suspect |
//!
//! In the second row the response may have been made before the one that was accepted, so it says nothing of a copy. It
//! is refused all the same, because a copy could have made it too: the user begins again. An authenticator never uses a
//! number twice, so in the last row two have signed.

use std::cmp::Ordering;

use super::client_data::GET;
use super::documents::{Credential, State, User};
use super::response::Assertion;
use super::{FidoError, not_verified, refused};
use crate::bindings::rialto::host::keys::{Algorithm, Hash};
use crate::settings::Fido;
use crate::world::World;

/// What a response must have besides a right signature.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    /// The challenge that was given out: base64url.
    pub challenge: &'a str,
    /// When it was given out: UTC, milliseconds since 1970.
    pub given_at: u64,
    /// Whether the authenticator must have verified the user.
    pub user_verification: bool,
}

/// What a verified response says of its credential.
#[derive(Debug, PartialEq, Eq)]
pub enum Counter {
    /// Step 21: the counter has grown, or the authenticator has none.
    Grown,
    /// Step 21: the response may have been made before the latest that was accepted.
    Late,
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
    match world.verify_with(key, Algorithm::Es256, &message, &sent.signature) {
        Ok(true) => {}
        Ok(false) => return Err(refused("the signature is not one of the credential's key")),
        Err(error) => return Err(not_verified(world, &error)),
    }
    // Step 21.
    let counter = counter(credential, wanted.given_at, sent.data.sign_count);
    Ok((credential, counter))
}

/// What a counter says, in a response to a challenge that was given out at an instant.
fn counter(credential: &Credential, given_at: u64, now: u32) -> Counter {
    let before = credential.sign_count;
    let has_none = before == 0 && now == 0;
    let was_used_since = credential.used_at.is_some_and(|used_at| given_at < used_at);
    match now.cmp(&before) {
        _ if has_none => Counter::Grown,
        Ordering::Greater => Counter::Grown,
        Ordering::Less if was_used_since => Counter::Late,
        Ordering::Less | Ordering::Equal => Counter::NotGrown,
    }
}
