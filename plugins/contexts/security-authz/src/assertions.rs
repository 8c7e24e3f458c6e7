//! Assertions: JSON Web Tokens that a program signs with its own private key to prove who it is (RFC 7523, section 3).
//! Each is accepted once.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rialto_sdk::documents::{Collection, Range};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Number;

use crate::authorize::{Decision, proven};
use crate::bindings::rialto::auditing::audit_log_write::{Event, Outcome};
use crate::bindings::rialto::security_authn::types::ApplicationState;
use crate::names::{Privilege, SubjectKind};
use crate::public_keys::{Algorithm, PUBLIC_KEYS, PublicKey};
use crate::world::World;

/// Assertions that were accepted, by key, end and id.
const USED: Collection<Used> = Collection::new("used-assertions");
/// The longest assertion, in bytes.
const BYTES_MAX: usize = 4_096;
/// The longest time for which one may be valid, in milliseconds.
const LASTS_MAX: u64 = 300_000;
/// How much the clocks may differ, in milliseconds.
const CLOCKS_DIFFER: u64 = 30_000;
/// The most characters of an assertion's id.
const ID_CHARS_MAX: usize = 128;
/// How many old ones a turn forgets.
const FORGOTTEN_AT_ONCE: u32 = 20;

/// An assertion that was accepted.
#[derive(Debug, Serialize, Deserialize)]
struct Used {
    /// When: UTC, milliseconds since 1970.
    at: u64,
}

#[derive(Deserialize)]
struct Header {
    alg: Algorithm,
    kid: String,
    /// Extensions that must be understood (RFC 7515, 4.1.11). None are.
    #[serde(default)]
    crit: Option<serde_json::Value>,
}

#[derive(Deserialize)]
struct Claims {
    iss: String,
    sub: String,
    aud: Audience,
    jti: String,
    exp: NumericDate,
    #[serde(default)]
    nbf: NumericDate,
}

/// Seconds since 1970, which may have a fraction (RFC 7519, section 2). Here they are milliseconds.
#[derive(Debug, Clone, Copy, Default)]
struct NumericDate(u64);

impl<'de> Deserialize<'de> for NumericDate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = Number::deserialize(deserializer)?;
        let no_time = || D::Error::custom("a number of seconds since 1970");
        if let Some(seconds) = number.as_u64() {
            return Ok(Self(seconds.saturating_mul(1_000)));
        }
        let seconds = number.as_f64().ok_or_else(no_time)?;
        let since = Duration::try_from_secs_f64(seconds).map_err(|_| no_time())?;
        let milliseconds = u64::try_from(since.as_millis()).map_err(|_| no_time())?;
        Ok(Self(milliseconds))
    }
}

/// One text or several (RFC 7519, 4.1.3).
#[derive(Deserialize)]
#[serde(untagged)]
enum Audience {
    One(String),
    Several(Vec<String>),
}

impl Audience {
    fn has(&self, wanted: &str) -> bool {
        match self {
            Self::One(one) => one == wanted,
            Self::Several(all) => all.iter().any(|one| one == wanted),
        }
    }
}

/// Decide about the sender of an assertion. A valid one is spent by this.
pub fn decide(world: &mut impl World, assertion: &str, wanted: Option<&Privilege>) -> Decision {
    match accepted(world, assertion) {
        Err(reason) => {
            refused(world, assertion, reason);
            Decision::unproven(reason)
        }
        Ok((key, participant, ends)) => proven(world, key.subject, participant, ends, wanted),
    }
}

/// Publish for the audit log that an assertion was not accepted, if it names a key that is registered. Others say nothing
/// of anybody here.
fn refused(world: &mut impl World, assertion: &str, reason: &str) {
    let header = assertion.split('.').next().unwrap_or_default();
    let header = URL_SAFE_NO_PAD.decode(header).ok();
    let header = header.and_then(|bytes| serde_json::from_slice::<Header>(&bytes).ok());
    let Some(header) = header.filter(|header| is_id(&header.kid)) else {
        return;
    };
    let Some(key) = PUBLIC_KEYS.within(world).get(&header.kid) else {
        return;
    };
    let at = world.now();
    world.audit(&Event {
        context: "security-authz".to_owned(),
        action: "assertion.refused".to_owned(),
        about: key.subject.text().to_owned(),
        outcome: Outcome::Refused,
        note: format!("{reason} (public key {})", key.id),
        at,
    });
}

fn is_id(id: &str) -> bool {
    (1..=64).contains(&id.len()) && !id.chars().any(char::is_control)
}

/// The subject that has signed an assertion, and the id of its key. A valid assertion is spent by this.
///
/// # Errors
/// When it is not valid: the reason.
pub fn verify(world: &mut impl World, assertion: &str) -> Result<(String, String), &'static str> {
    match accepted(world, assertion) {
        Ok((key, _, _)) => Ok((key.subject.text().to_owned(), key.id)),
        Err(reason) => {
            refused(world, assertion, reason);
            Err(reason)
        }
    }
}

/// The key of a valid assertion, the participant of an application, and when the assertion ends, in milliseconds.
fn accepted(
    world: &mut impl World,
    assertion: &str,
) -> Result<(PublicKey, Option<String>, u64), &'static str> {
    if assertion.len() > BYTES_MAX {
        return Err("the assertion is too long");
    }
    let malformed = "the assertion is no JSON Web Token with `alg`, `kid`, `iss`, `sub`, `aud`, `jti` and `exp`";
    let (signed, signature) = assertion.rsplit_once('.').ok_or(malformed)?;
    let (header, claims) = signed.split_once('.').ok_or(malformed)?;
    let bytes = |part: &str| URL_SAFE_NO_PAD.decode(part).map_err(|_| malformed);
    let header: Header = serde_json::from_slice(&bytes(header)?).map_err(|_| malformed)?;
    if header.crit.is_some() {
        return Err("the assertion needs extensions (`crit`), and none are known here");
    }
    let key = key(world, &header.kid, |algorithm| algorithm == header.alg)?;
    let verified = world.verify_with(
        &key.public_key,
        key.algorithm.into(),
        signed.as_bytes(),
        &bytes(signature)?,
    );
    if verified != Ok(true) {
        return Err("the signature is not of this key");
    }
    let claims: Claims = serde_json::from_slice(&bytes(claims)?).map_err(|_| malformed)?;
    check(world, &claims, &key)?;
    let participant = participant(world, &key)?;
    spend(world, &claims, &key)?;
    Ok((key, participant, claims.exp.0))
}

/// The key of this id, if it is valid now and of the algorithm that is said.
pub fn key(
    world: &mut impl World,
    id: &str,
    is_said: impl FnOnce(Algorithm) -> bool,
) -> Result<PublicKey, &'static str> {
    let unknown = "no such key is registered";
    if !is_id(id) {
        return Err(unknown);
    }
    let key = PUBLIC_KEYS.within(world).get(id).ok_or(unknown)?;
    if key.revoked_at.is_some() {
        return Err("the key was revoked");
    }
    if world.now() > key.not_after {
        return Err("the key has reached its end");
    }
    // The key says which algorithm is used, never the assertion.
    if !is_said(key.algorithm) {
        return Err("the key is of another algorithm");
    }
    Ok(key)
}

fn check(world: &mut impl World, claims: &Claims, key: &PublicKey) -> Result<(), &'static str> {
    let name = key.subject.parts().map_or("", |(_, name)| name);
    if claims.iss != name || claims.sub != name {
        return Err("`iss` and `sub` must be the name of the key’s subject");
    }
    if !claims.aud.has(&world.scheme()) {
        return Err("`aud` must be the scheme’s name");
    }
    let now = world.now();
    let (NumericDate(exp), NumericDate(nbf)) = (claims.exp, claims.nbf);
    if now >= exp.saturating_add(CLOCKS_DIFFER) {
        return Err("the assertion has expired");
    }
    if nbf > now + CLOCKS_DIFFER {
        return Err("the assertion is not valid yet");
    }
    if exp > now + LASTS_MAX + CLOCKS_DIFFER {
        return Err("the assertion lasts longer than five minutes");
    }
    let is_id = (1..=ID_CHARS_MAX).contains(&claims.jti.len())
        && claims.jti.bytes().all(|byte| byte.is_ascii_graphic());
    is_id
        .then_some(())
        .ok_or("`jti` must have 1 to 128 printable characters of ASCII")
}

/// The participant of an application, which must still be active; none for another subject.
fn participant(world: &mut impl World, key: &PublicKey) -> Result<Option<String>, &'static str> {
    match key.subject.parts() {
        Some((SubjectKind::Application, id)) => match world.application(id) {
            Some(found) if found.state == ApplicationState::Active => Ok(Some(found.name)),
            _ => Err("the application is not active"),
        },
        _ => Ok(None),
    }
}

/// Remember an assertion, unless it was used before, and forget some that have expired.
fn spend(world: &mut impl World, claims: &Claims, key: &PublicKey) -> Result<(), &'static str> {
    let now = world.now();
    let of = |exp: u64| format!("{}/{exp:020}/", key.id);
    let until = now.saturating_sub(CLOCKS_DIFFER);
    let old = Range::Between((of(0), of(until)));
    let old = USED.within(world).scan(&old, None, FORGOTTEN_AT_ONCE);
    for (id, _) in old.documents {
        USED.within(world).delete(&id);
    }
    let id = format!("{}{}", of(claims.exp.0), claims.jti);
    let is_first = USED.within(world).insert_if_absent(&id, &Used { at: now });
    is_first
        .then_some(())
        .ok_or("the assertion was used before")
}
