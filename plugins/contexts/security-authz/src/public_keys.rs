//! Public keys of programs, which prove with the private key who they are (`/app-pem-auth`).

use rialto_sdk::documents::Collection;
use rialto_sdk::operators::{Kind, Problem};
use serde::{Deserialize, Serialize};

use crate::bindings::rialto::host::keys;
use crate::bindings::rialto::security_authz::privileges_changed::{Event, Kind as EventKind};
use crate::names::Subject;
use crate::world::World;

/// Registered public keys, by id.
pub const PUBLIC_KEYS: Collection<PublicKey> = Collection::new("public-keys");
/// The longest key in PEM, in bytes.
const PEM_BYTES_MAX: usize = 4_096;

/// The algorithm of a key's signatures (RFC 7518).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Algorithm {
    /// ECDSA on P-256.
    #[serde(rename = "ES256")]
    Es256,
    /// ECDSA on P-384.
    #[serde(rename = "ES384")]
    Es384,
    /// RSA, PKCS #1 v1.5.
    #[serde(rename = "RS256")]
    Rs256,
}

impl Algorithm {
    /// Its name (RFC 7518).
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Es256 => "ES256",
            Self::Es384 => "ES384",
            Self::Rs256 => "RS256",
        }
    }
}

impl From<Algorithm> for keys::Algorithm {
    fn from(algorithm: Algorithm) -> Self {
        match algorithm {
            Algorithm::Es256 => Self::Es256,
            Algorithm::Es384 => Self::Es384,
            Algorithm::Rs256 => Self::Rs256,
        }
    }
}

/// A registered key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PublicKey {
    /// The `kid` of assertions: a UUID.
    pub id: String,
    /// Whose it is.
    pub subject: Subject,
    /// Its algorithm.
    pub algorithm: Algorithm,
    /// SubjectPublicKeyInfo.
    pub public_key: String,
    /// After this instant it proves nothing: UTC, milliseconds since 1970.
    pub not_after: u64,
    /// The request that registered it.
    pub request: String,
    /// When: UTC, milliseconds since 1970.
    pub registered_at: u64,
    /// Who revoked it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked_by: Option<String>,
    /// When: UTC, milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked_at: Option<u64>,
}

/// Check that a text is a public key of this algorithm.
///
/// # Errors
/// When it is none.
pub fn check(world: &mut impl World, pem: &str, algorithm: Algorithm) -> Result<(), Problem> {
    // Of the right length, so that nothing but the key can be wrong.
    let signature = match algorithm {
        Algorithm::Es256 => 64,
        Algorithm::Es384 => 96,
        Algorithm::Rs256 => 256,
    };
    let is_short = pem.len() <= PEM_BYTES_MAX;
    let is_key = is_short
        && world
            .verify_with(pem, algorithm.into(), b"", &vec![0; signature])
            .is_ok();
    is_key.then_some(()).ok_or_else(|| {
        let detail = "`publicKey` is no public key of this algorithm: give SubjectPublicKeyInfo as PEM, as `openssl pkey -pubout` prints it";
        Problem::new(Kind::KeyInput, detail)
    })
}

/// What a change of a subject's keys is about.
#[must_use]
pub fn about(subject: &Subject) -> String {
    format!("key/{}", subject.text())
}

/// Revoke a key at once, and publish that. There is no way back.
///
/// # Errors
/// When there is none of this id, or it was revoked.
pub fn revoke(world: &mut impl World, id: &str, by: &str) -> Result<PublicKey, Problem> {
    let found = PUBLIC_KEYS.within(world).get_for_update(id);
    let mut key = found
        .ok_or_else(|| Problem::new(Kind::KeyUnknown, format!("there is no public key {id}")))?;
    if key.revoked_at.is_some() {
        let detail = format!("the public key {id} was revoked before");
        return Err(Problem::new(Kind::KeyState, detail).with("state", "REVOKED"));
    }
    let now = world.now();
    key.revoked_by = Some(by.to_owned());
    key.revoked_at = Some(now);
    PUBLIC_KEYS.within(world).put(id, &key);
    let subject = key.subject.text();
    world.changed(&Event {
        request: key.request.clone(),
        kind: EventKind::PublicKey,
        about: about(&key.subject),
        summary: format!("{subject} loses the public key {id}"),
        maker: by.to_owned(),
        // One operator is enough.
        checker: by.to_owned(),
        changed_at: now,
    });
    Ok(key)
}
