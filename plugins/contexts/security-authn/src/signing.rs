//! The keys that sign tokens. One signs; those before it verify until their last token has ended.

use rialto_sdk::documents::{Collection, Range};
use serde::{Deserialize, Serialize};

use crate::bindings::rialto::host::keys::KeyError;
use crate::settings::{LIFETIME_SECONDS_MAX, Settings};
use crate::world::World;

/// Keys, by `kid`.
pub const KEYS: Collection<SigningKey> = Collection::new("signing-keys");
/// Keys that are kept at most: with the shortest rotation, two verify at a time.
const KEYS_MAX: u32 = 100;
const DAY_MS: u64 = 86_400_000;

/// A key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SigningKey {
    /// The `kid`: a UUID.
    pub id: String,
    /// The host's reference.
    pub reference: String,
    /// SubjectPublicKeyInfo as PEM.
    pub public_key: String,
    /// When it was made: UTC, milliseconds since 1970.
    pub created_at: u64,
    /// Until when it signs.
    pub signs_until: u64,
}

impl SigningKey {
    /// Whether a token that it signed may still be valid.
    const fn verifies(&self, now: u64) -> bool {
        now < self.signs_until + LIFETIME_SECONDS_MAX * 1_000
    }
}

/// The keys whose tokens may be valid now.
pub fn verifying(world: &mut impl World) -> Vec<SigningKey> {
    let now = world.now();
    let all = all(world);
    all.into_iter().filter(|key| key.verifies(now)).collect()
}

fn all(world: &mut impl World) -> Vec<SigningKey> {
    let page = KEYS.within(world).scan(&Range::All, None, KEYS_MAX);
    page.documents.into_iter().map(|(_, key)| key).collect()
}

/// A key that the host can no longer use signs no more. Tokens that it signed stay valid until their end.
pub fn give_up(world: &mut impl World, key: &SigningKey) {
    let now = world.now();
    let ended = SigningKey {
        signs_until: now,
        ..key.clone()
    };
    KEYS.within(world).put(&key.id, &ended);
    world.alert(&format!(
        "the key {} can no longer sign tokens: a new one is made",
        key.id
    ));
}

/// The key that signs now. A new one is made when the last one has come to its end.
///
/// # Errors
/// When none can be made.
pub fn current(world: &mut impl World, settings: &Settings) -> Result<SigningKey, KeyError> {
    let now = world.now();
    let keys = all(world);
    let signing = keys.iter().filter(|key| now < key.signs_until);
    if let Some(newest) = signing.max_by_key(|key| key.created_at) {
        return Ok(newest.clone());
    }
    let signs_until = now + settings.signing_key_days * DAY_MS;
    let made = world.generate("access tokens", signs_until)?;
    let public_key = made
        .public_key
        .ok_or_else(|| KeyError::Unsupported("the provider gives no public key".to_owned()))?;
    for old in keys.iter().filter(|key| !key.verifies(now)) {
        KEYS.within(world).delete(&old.id);
    }
    let key = SigningKey {
        id: world.uuid(),
        reference: made.reference,
        public_key,
        created_at: now,
        signs_until,
    };
    KEYS.within(world).put(&key.id, &key);
    Ok(key)
}
