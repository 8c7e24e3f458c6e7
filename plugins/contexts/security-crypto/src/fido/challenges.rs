//! Giving out challenges, using each up once, and removing those that have expired.

use rialto_sdk::canonical::sha256_hex;
use rialto_sdk::documents::Range;
use rialto_webauthn::assertion::not_of_the_user;
use rialto_webauthn::options::base64url;

use super::cryptography::failed;
use super::documents::{
    CHALLENGES, Challenge, EXPIRIES, Expiry, Given, Outcome, Purpose, Spent, State, Transaction,
    USERS, User, expiry_key, user_key,
};
use super::{FidoError, refused, users};
use crate::settings::Fido;
use crate::words::of_hex;
use crate::world::World;

/// Bytes of a challenge.
const BYTES: u32 = 32;
/// Challenges of a user that are kept for each purpose, at most. One more removes the oldest of its purpose.
pub const GIVEN_MAX: usize = 8;
/// Expired challenges that a turn removes, at most.
const REMOVED_AT_ONCE: u32 = 4;

/// A challenge for which a response has come.
pub struct Taken {
    challenge: Challenge,
    /// The SHA-256 of the response.
    response: String,
}

/// 32 random bytes as base64url.
pub fn random(world: &mut impl World) -> String {
    // The host's random bytes are hexadecimal digits.
    base64url(
        &of_hex(&world.random(BYTES)).expect("the host’s random bytes are hexadecimal digits"),
    )
}

/// Give a user a challenge. Expired ones of the user are removed, and the oldest of the same purpose if there are too
/// many. The user's document is the caller's to write; then the caller calls [`remove_expired`].
pub fn give(
    world: &mut impl World,
    party: &Fido,
    user: &mut User,
    (purpose, transaction): (Purpose, Option<Transaction>),
) -> Challenge {
    make_room(world, user, purpose);
    let given_at = world.now();
    let challenge = Challenge {
        id: world.uuid(),
        purpose,
        owner: user.owner.clone(),
        user: user.id.clone(),
        challenge: random(world),
        transaction,
        given_at,
        expires_at: given_at + party.challenge_seconds * 1_000,
        spent: None,
    };
    user.challenges.push(Given {
        id: challenge.id.clone(),
        purpose,
        expires_at: challenge.expires_at,
    });
    let expiry = Expiry {
        challenge: challenge.id.clone(),
        user: user_key(&user.owner, &user.id),
    };
    let key = expiry_key(challenge.expires_at, &challenge.id);
    EXPIRIES.within(world).put(&key, &expiry);
    CHALLENGES.within(world).put(&challenge.id, &challenge);
    challenge
}

/// Make room for one more challenge of a purpose. Those of other purposes stay until they expire, so that begun logins
/// do not push out the challenge of a payment.
fn make_room(world: &mut impl World, user: &mut User, purpose: Purpose) {
    let now = world.now();
    let is_alike = |given: &Given| given.purpose == purpose && given.expires_at > now;
    let alike = user.challenges.iter().filter(|given| is_alike(given));
    let mut over = (alike.count() + 1).saturating_sub(GIVEN_MAX);
    user.challenges.retain(|given| {
        let is_too_many = is_alike(given) && over > 0;
        if is_too_many {
            over -= 1;
        }
        let stays = given.expires_at > now && !is_too_many;
        if !stays {
            let key = expiry_key(given.expires_at, &given.id);
            EXPIRIES.within(world).delete(&key);
            CHALLENGES.within(world).delete(&given.id);
        }
        stays
    });
}

/// Remove some challenges that have expired, of any user, and each user who is left with nothing. A turn that gives one
/// challenge removes more than one, so that those that nobody finishes do not add up.
pub fn remove_expired(world: &mut impl World) {
    let end = expiry_key(world.now() + 1, "");
    let expired = Range::Between((expiry_key(0, ""), end));
    let expired = EXPIRIES.within(world).scan(&expired, None, REMOVED_AT_ONCE);
    for (key, expiry) in expired.documents {
        EXPIRIES.within(world).delete(&key);
        CHALLENGES.within(world).delete(&expiry.challenge);
        let Some(mut user) = USERS.within(world).get_for_update(&expiry.user) else {
            continue;
        };
        user.challenges.retain(|given| given.id != expiry.challenge);
        users::write(world, &expiry.user, &user);
    }
}

/// The challenge that a response names.
///
/// # Errors
/// When the owner has none of this id for this purpose, it has expired, or another response has used it up.
pub fn take(
    world: &mut impl World,
    owner: &str,
    purpose: Purpose,
    id: &str,
    response: &str,
) -> Result<Taken, FidoError> {
    // Another text is no key of a document.
    let is_uuid = id.len() == 36
        && id
            .bytes()
            .all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    if !is_uuid {
        return Err(FidoError::UnknownChallenge);
    }
    let found = CHALLENGES.within(world).get_for_update(id);
    let challenge = found
        .filter(|challenge| challenge.owner == owner && challenge.purpose == purpose)
        .ok_or(FidoError::UnknownChallenge)?;
    if challenge.expires_at <= world.now() {
        return Err(FidoError::ChallengeExpired);
    }
    let response = sha256_hex(response.as_bytes());
    let is_repeat = |spent: &Spent| {
        // Whoever has a copy of a login must not log in with it. What is registered or authorized again is the same.
        purpose != Purpose::Authenticate && spent.response == response && spent.outcome.is_some()
    };
    match &challenge.spent {
        Some(spent) if !is_repeat(spent) => Err(FidoError::ChallengeUsed),
        _ => Ok(Taken {
            challenge,
            response,
        }),
    }
}

impl Taken {
    /// Use the challenge up by a verification, whatever that says. A response that has succeeded before is not verified
    /// again, and has the outcome that it had, while its credential works.
    ///
    /// # Errors
    /// Those of the verification, or when another transaction than that of the challenge is expected.
    pub fn finish<W: World>(
        self,
        world: &mut W,
        expected: Option<&Transaction>,
        verify: impl FnOnce(&mut W, &Challenge) -> Result<Outcome, FidoError>,
    ) -> Result<(Challenge, Outcome), FidoError> {
        let mut challenge = self.challenge;
        let is_other = expected.is_some() && expected != challenge.transaction.as_ref();
        let other =
            || refused("the transaction is not the one that the challenge stands for: begin again");
        let spent = challenge.spent.as_ref();
        if let Some(outcome) = spent.and_then(|spent| spent.outcome.clone()) {
            if is_other {
                return Err(other());
            }
            works(world, &challenge, &outcome.credential)?;
            return Ok((challenge, outcome));
        }
        let verified = match is_other {
            true => Err(other()),
            false => verify(world, &challenge),
        };
        challenge.spent = Some(Spent {
            response: self.response,
            outcome: verified.as_ref().ok().cloned(),
        });
        CHALLENGES.within(world).put(&challenge.id, &challenge);
        Ok((challenge, verified?))
    }
}

/// Check that a credential still works, whose response has succeeded before.
fn works(world: &mut impl World, challenge: &Challenge, id: &str) -> Result<(), FidoError> {
    let user = USERS
        .within(world)
        .get(&user_key(&challenge.owner, &challenge.user));
    let credentials = user.map(|user| user.credentials).unwrap_or_default();
    let found = credentials.into_iter().find(|kept| kept.id == id);
    match found.map(|kept| kept.state) {
        Some(State::Active) => Ok(()),
        Some(State::Suspect) => Err(FidoError::CredentialSuspect),
        None => Err(failed(world, not_of_the_user())),
    }
}
