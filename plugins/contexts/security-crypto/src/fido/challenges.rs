//! Giving out challenges, and using each up once.

use rialto_sdk::canonical::sha256_hex;

use super::assertion::not_of_the_user;
use super::documents::{
    CHALLENGES, Challenge, Given, Outcome, Purpose, Spent, State, Transaction, USERS, User,
    user_key,
};
use super::options::base64url;
use super::{FidoError, refused};
use crate::settings::Fido;
use crate::words::of_hex;
use crate::world::World;

/// Bytes of a challenge.
const BYTES: u32 = 32;
/// Challenges of a user that are kept, at most. One more removes the oldest.
pub const GIVEN_MAX: usize = 8;

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

/// Give a user a challenge. Expired ones of the user are removed, and the oldest if there are too many. The user's
/// document is the caller's to write.
pub fn give(
    world: &mut impl World,
    party: &Fido,
    user: &mut User,
    (purpose, transaction): (Purpose, Option<Transaction>),
) -> Challenge {
    let now = world.now();
    let over = user.challenges.len().saturating_sub(GIVEN_MAX - 1);
    let mut index = 0;
    user.challenges.retain(|given| {
        let stays = given.expires_at > now && index >= over;
        if !stays {
            CHALLENGES.within(world).delete(&given.id);
        }
        index += 1;
        stays
    });
    let challenge = Challenge {
        id: world.uuid(),
        purpose,
        owner: user.owner.clone(),
        user: user.id.clone(),
        challenge: random(world),
        transaction,
        expires_at: now + party.challenge_seconds * 1_000,
        spent: None,
    };
    user.challenges.push(Given {
        id: challenge.id.clone(),
        expires_at: challenge.expires_at,
    });
    CHALLENGES.within(world).put(&challenge.id, &challenge);
    challenge
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
        None => Err(not_of_the_user()),
    }
}
