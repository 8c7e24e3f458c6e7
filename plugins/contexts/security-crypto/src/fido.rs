//! FIDO2 (W3C Web Authentication): register authenticators, authenticate their users, authorize transactions.
//!
//! Each operation begins with a challenge and finishes with the browser's response to it. A challenge is 32 random bytes
//! that stand for what was begun: a registration, an authentication, or a transaction with its amount and payee. It is
//! used once. A response that cannot be read changes nothing. One that is read and fails the verification uses the
//! challenge up.
//!
//! | Module | Holds |
//! |---|---|
//! | [`cryptography`] | the host's, for the steps of the specification, which are in the crate `rialto-webauthn` |
//! | [`inputs`] | what callers give, checked |
//! | [`challenges`] | giving out challenges, and using them up |
//! | [`credentials`] | what operators see of credentials, and revoking one |
//! | [`users`] | writing users, and removing those that are left with nothing |
//! | [`documents`] | what is kept |
//! | [`http`] | the operations' forms over HTTP |
//!
//! The host verifies the signatures, as all others (`keys.verify-with`). All that strangers have written is parsed within
//! the sandbox.

pub mod challenges;
pub mod credentials;
pub mod cryptography;
pub mod documents;
pub mod http;
pub mod inputs;
#[cfg(test)]
mod tests;
pub mod users;

pub use crate::bindings::exports::rialto::security_crypto::fido::FidoError;
use crate::bindings::exports::rialto::security_crypto::fido::{
    Authenticated, Authorized, Begun, Owner, OwnerKind, Registered, Transaction as Asked,
    User as Named,
};
use crate::settings::Fido;
use crate::world::World;
use challenges::Taken;
use cryptography::{OfTheHost, failed};
use documents::{
    CREDENTIALS, Credential, Known, Outcome, Purpose, State, Transaction, USERS, User,
    credential_key, user_key,
};
use inputs::{is_label, owner_text, transaction, user_id};
use rialto_webauthn::assertion::{self, Counter, Wanted, not_of_the_user};
use rialto_webauthn::options::{self, UserVerification};
use rialto_webauthn::{registration, response};

/// Credentials of a user that work, at most.
pub const CREDENTIALS_MAX: usize = 10;

/// A verification that failed, in a sentence.
fn refused(why: impl Into<String>) -> FidoError {
    FidoError::Refused(why.into())
}

fn malformed(why: &str) -> FidoError {
    FidoError::Malformed(why.to_owned())
}

/// The relying party of the settings.
fn party(world: &mut impl World) -> Result<Fido, FidoError> {
    world.fido().ok_or(FidoError::NotSet)
}

/// Begin to register an authenticator. The user is created if there is none.
///
/// # Errors
/// When the names are malformed, or the user has as many credentials as a user may have.
pub fn begin_registration(
    world: &mut impl World,
    owner: &Owner,
    named: &Named,
) -> Result<Begun, FidoError> {
    let party = party(world)?;
    let owner = owner_text(owner)?;
    let id = user_id(&named.id)?;
    for (member, text) in [("name", &named.name), ("displayName", &named.display_name)] {
        if !is_label(text, 64) {
            let why = format!("`user.{member}` must have 1 to 64 characters");
            return Err(FidoError::Malformed(why));
        }
    }
    let key = user_key(&owner, id);
    let mut user = match USERS.within(world).get_for_update(&key) {
        Some(user) => user,
        None => User {
            owner,
            id: id.to_owned(),
            name: String::new(),
            display_name: String::new(),
            handle: challenges::random(world),
            credentials: Vec::new(),
            challenges: Vec::new(),
            created_at: world.now(),
        },
    };
    has_place(&user)?;
    user.name.clone_from(&named.name);
    user.display_name.clone_from(&named.display_name);
    let given = challenges::give(world, &party, &mut user, (Purpose::Register, None));
    USERS.within(world).put(&key, &user);
    challenges::remove_expired(world);
    let named = options::User {
        handle: &user.handle,
        name: &user.name,
        display_name: &user.display_name,
    };
    let challenge = given.told(&party);
    let options = options::creation(&party.party(), named, challenge, user.known());
    Ok(begun(&given, &options))
}

/// Finish a registration: keep the credential.
///
/// # Errors
/// When the response cannot be read or fails, or the challenge is not one that waits for it.
pub fn finish_registration(
    world: &mut impl World,
    owner: &Owner,
    id: &str,
    response: &str,
) -> Result<Registered, FidoError> {
    let party = party(world)?;
    let sent = response::registration(response).map_err(|why| failed(world, why))?;
    let taken = challenges::take(world, &owner_text(owner)?, Purpose::Register, id, response)?;
    let (challenge, outcome) = taken.finish(world, None, |world, challenge| {
        let cryptography = &mut OfTheHost(world);
        let key = registration::verify(cryptography, &party.party(), &challenge.challenge, &sent);
        let key = key.map_err(|why| failed(world, why))?;
        let user = user_key(&challenge.owner, &challenge.user);
        keep(world, &user, &sent, key)
    })?;
    Ok(Registered {
        user: challenge.user,
        credential: outcome.credential,
        registered_at: outcome.at,
    })
}

/// Keep a verified credential: steps 22 and 23 of section 7.1.
fn keep(
    world: &mut impl World,
    key: &str,
    sent: &response::Registration,
    public_key: String,
) -> Result<Outcome, FidoError> {
    let mut user = USERS
        .within(world)
        .get_for_update(key)
        .ok_or(FidoError::UnknownUser)?;
    has_place(&user)?;
    let id = options::base64url(&sent.credential.id);
    let known = Known {
        user: key.to_owned(),
        revoked: None,
    };
    // Step 22. Only one of two turns inserts it.
    if !CREDENTIALS
        .within(world)
        .insert_if_absent(&credential_key(&id), &known)
    {
        return Err(FidoError::CredentialKnown);
    }
    // Step 23. Those that no longer work make room; their ids stay known, so they are never registered again.
    user.credentials
        .retain(|credential| credential.state == State::Active);
    let now = world.now();
    user.credentials.push(Credential {
        id: id.clone(),
        public_key,
        sign_count: sent.data.sign_count,
        transports: sent.transports.clone(),
        is_backup_eligible: sent.data.flags.is_backup_eligible(),
        state: State::Active,
        registered_at: now,
        used_at: None,
    });
    USERS.within(world).put(key, &user);
    Ok(Outcome {
        credential: id,
        user_verified: true,
        at: now,
    })
}

/// Begin to authenticate a user.
///
/// # Errors
/// When the owner has no such user, or the user has no credential that works.
pub fn begin_authentication(
    world: &mut impl World,
    owner: &Owner,
    user: &str,
) -> Result<Begun, FidoError> {
    begin(world, owner, user, (Purpose::Authenticate, None))
}

/// Finish an authentication.
///
/// # Errors
/// When the response cannot be read or fails, or the challenge is not one that waits for it.
pub fn finish_authentication(
    world: &mut impl World,
    owner: &Owner,
    id: &str,
    response: &str,
) -> Result<Authenticated, FidoError> {
    let (challenge, outcome) = finish(world, owner, (Purpose::Authenticate, None), id, response)?;
    Ok(Authenticated {
        user: challenge.user,
        credential: outcome.credential,
        user_verified: outcome.user_verified,
        authenticated_at: outcome.at,
    })
}

/// Begin to authorize a transaction.
///
/// # Errors
/// As [`begin_authentication`], or when the transaction is malformed.
pub fn begin_authorization(
    world: &mut impl World,
    owner: &Owner,
    user: &str,
    asked: &Asked,
) -> Result<Begun, FidoError> {
    let transaction = transaction(world, asked)?;
    begin(world, owner, user, (Purpose::Authorize, Some(transaction)))
}

/// Finish an authorization. The `expected` transaction must be the one that was begun.
///
/// # Errors
/// When no transaction is expected, the response cannot be read or fails, or the challenge is not one that waits for it.
pub fn finish_authorization(
    world: &mut impl World,
    owner: &Owner,
    id: &str,
    response: &str,
    expected: Option<&Asked>,
) -> Result<Authorized, FidoError> {
    let expected = expected.ok_or_else(|| {
        malformed("`transaction` must be named at the finish too: the one that was begun")
    })?;
    let expected = Some(transaction(world, expected)?);
    let (challenge, outcome) = finish(world, owner, (Purpose::Authorize, expected), id, response)?;
    // `begin_authorization` gives no challenge without a transaction.
    let transaction = challenge.transaction.ok_or(FidoError::UnknownChallenge)?;
    Ok(Authorized {
        user: challenge.user,
        credential: outcome.credential,
        transaction: Asked {
            transfer_id: transaction.transfer_id,
            amount: transaction.amount.amount,
            currency: transaction.amount.currency,
            payee: transaction.payee,
        },
        authorized_at: outcome.at,
    })
}

fn begin(
    world: &mut impl World,
    owner: &Owner,
    user: &str,
    what: (Purpose, Option<Transaction>),
) -> Result<Begun, FidoError> {
    let party = party(world)?;
    let key = user_key(&owner_text(owner)?, user_id(user)?);
    let found = USERS.within(world).get_for_update(&key);
    let mut user = found.ok_or(FidoError::UnknownUser)?;
    if user.working().next().is_none() {
        return Err(FidoError::UnknownUser);
    }
    let given = challenges::give(world, &party, &mut user, what);
    USERS.within(world).put(&key, &user);
    challenges::remove_expired(world);
    let verification = match given.purpose {
        Purpose::Authorize => UserVerification::Required,
        Purpose::Register | Purpose::Authenticate => UserVerification::Preferred,
    };
    let challenge = given.told(&party);
    let options = options::request(&party.party(), challenge, verification, user.known());
    Ok(begun(&given, &options))
}

fn finish(
    world: &mut impl World,
    owner: &Owner,
    (purpose, expected): (Purpose, Option<Transaction>),
    id: &str,
    response: &str,
) -> Result<(documents::Challenge, Outcome), FidoError> {
    let party = party(world)?;
    let sent = response::assertion(response).map_err(|why| failed(world, why))?;
    let taken: Taken = challenges::take(world, &owner_text(owner)?, purpose, id, response)?;
    taken.finish(world, expected.as_ref(), |world, challenge| {
        let key = user_key(&challenge.owner, &challenge.user);
        let found = USERS.within(world).get_for_update(&key);
        let mut user = found.ok_or(FidoError::UnknownUser)?;
        let wanted = Wanted {
            challenge: &challenge.challenge,
            given_at: challenge.given_at,
            user_verification: purpose == Purpose::Authorize,
        };
        let now = world.now();
        let (credential, counter) = signed_with(world, &party, wanted, &mut user, &sent)?;
        match counter {
            Counter::Grown => {}
            Counter::Late => {
                return Err(refused(
                    "the authenticator has made a later response, which came before this one: begin again",
                ));
            }
            Counter::NotGrown => {
                let (before, now) = (credential.sign_count, sent.data.sign_count);
                credential.state = State::Suspect;
                world.alert(&format!(
                    "the counter of a FIDO credential of {key} was {before} and is {now}: there may be a copy of the \
                     authenticator; the credential no longer works, and the user must register again"
                ));
                USERS.within(world).put(&key, &user);
                return Err(FidoError::CredentialSuspect);
            }
        }
        // Step 22 of section 7.2.
        credential.sign_count = sent.data.sign_count;
        credential.used_at = Some(now);
        USERS.within(world).put(&key, &user);
        Ok(Outcome {
            credential: sent.id.clone(),
            user_verified: sent.data.flags.is_user_verified(),
            at: now,
        })
    })
}

/// The user's credential that a response is signed with, and what its counter says.
fn signed_with<'a>(
    world: &mut impl World,
    party: &Fido,
    wanted: Wanted<'_>,
    user: &'a mut User,
    sent: &response::Assertion,
) -> Result<(&'a mut Credential, Counter), FidoError> {
    assertion::is_of_user(sent, &user.handle).map_err(|why| failed(world, why))?;
    let credentials = user.credentials.iter_mut();
    let mut found = credentials.filter(|credential| credential.id == sent.id);
    let Some(credential) = found.next() else {
        return Err(failed(world, not_of_the_user()));
    };
    if credential.state == State::Suspect {
        return Err(FidoError::CredentialSuspect);
    }
    let known = assertion::Credential {
        public_key: &credential.public_key,
        sign_count: credential.sign_count,
        used_at: credential.used_at,
        is_backup_eligible: credential.is_backup_eligible,
    };
    let counter = assertion::verify(&mut OfTheHost(world), &party.party(), wanted, known, sent);
    let counter = counter.map_err(|why| failed(world, why))?;
    Ok((credential, counter))
}

fn begun(given: &documents::Challenge, options: &serde_json::Value) -> Begun {
    Begun {
        id: given.id.clone(),
        public_key: options.to_string(),
        expires_at: given.expires_at,
    }
}

fn has_place(user: &User) -> Result<(), FidoError> {
    if user.working().count() < CREDENTIALS_MAX {
        return Ok(());
    }
    Err(FidoError::TooManyCredentials)
}
