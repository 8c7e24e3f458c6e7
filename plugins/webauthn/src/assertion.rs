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

use crate::client_data::GET;
use crate::response::Assertion;
use crate::{Cryptography, Failure, NotVerified, RelyingParty, refused};

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

/// What is kept of the credential that a response is signed with.
#[derive(Debug, Clone, Copy)]
pub struct Credential<'a> {
    /// Its public key: SubjectPublicKeyInfo as PEM.
    pub public_key: &'a str,
    /// The greatest counter that was seen.
    pub sign_count: u32,
    /// When it was last used: UTC, milliseconds since 1970.
    pub used_at: Option<u64>,
    /// Whether it may be copied to the user's other devices.
    pub is_backup_eligible: bool,
}

/// The refusal of a credential that the user does not have: never had, or has no more since it was revoked.
#[must_use]
pub fn not_of_the_user() -> Failure {
    refused("the credential is none of this user's")
}

/// Steps 5 and 6: an authenticator that tells a user tells the one with this handle. That the user has the credential is
/// for the caller to know.
///
/// # Errors
/// [`Failure::Refused`].
pub fn is_of_user(sent: &Assertion, handle: &str) -> Result<(), Failure> {
    let told = sent.user_handle.as_deref();
    if told.is_some_and(|told| told != handle) {
        return Err(refused("the authenticator has told another user"));
    }
    Ok(())
}

/// What step 21 finds of the user's credential that a response is signed with, once the response has passed steps 7 to 20.
///
/// # Errors
/// [`Failure::Refused`] and [`Failure::NotVerified`].
pub fn verify(
    cryptography: &mut impl Cryptography,
    party: &RelyingParty,
    wanted: Wanted<'_>,
    credential: Credential<'_>,
    sent: &Assertion,
) -> Result<Counter, Failure> {
    // Steps 1 to 4 are the browser's, and reading the response.
    // Step 7: the public key is with the credential. Steps 8 to 10 have read the response.
    // Step 11.
    sent.client_data.is_of_type(GET)?;
    // Step 12.
    sent.client_data.answers(wanted.challenge)?;
    // Step 13.
    sent.client_data.is_from(party)?;
    // Step 14: no client binds tokens any more, and Level 3 has no such step.
    // Step 15.
    let party_hash = cryptography.sha256(party.id.as_bytes());
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
    let hash = cryptography.sha256(&sent.client_data_json);
    let message = [&sent.signed[..], &hash].concat();
    match cryptography.verifies(credential.public_key, &message, &sent.signature) {
        Ok(true) => {}
        Ok(false) => return Err(refused("the signature is not one of the credential's key")),
        // It was a key when it was registered.
        Err(NotVerified::NoKey) => {
            return Err(Failure::NotVerified("the kept key is none".to_owned()));
        }
        Err(NotVerified::Failed(why)) => return Err(Failure::NotVerified(why)),
    }
    // Step 21.
    Ok(counter(credential, wanted.given_at, sent.data.sign_count))
}

/// What a counter says, in a response to a challenge that was given out at an instant.
fn counter(credential: Credential<'_>, given_at: u64, now: u32) -> Counter {
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
