//! The keys that sign tokens. One signs; those before it verify until their last token has ended. Then they are destroyed at
//! their provider.

use rialto_sdk::documents::{Collection, Range};
use serde::{Deserialize, Serialize};

use crate::bindings::rialto::host::keys::KeyError;
use crate::settings::{LIFETIME_SECONDS_MAX, Settings};
use crate::world::World;

/// Keys, by `kid`.
pub const KEYS: Collection<SigningKey> = Collection::new("signing-keys");
/// Keys that are kept at most: with the shortest rotation, two verify at a time.
const KEYS_MAX: u32 = 100;
/// The provider that operators have chosen for new keys, in one document.
const CHOSEN: Collection<Chosen> = Collection::new("key-provider");
/// The id of that document.
const ONE: &str = "chosen";
const DAY_MS: u64 = 86_400_000;
/// The time between two requests to destroy a key.
const ASKED_AGAIN_AFTER_MS: u64 = 3_600_000;

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
    /// When its provider was asked last to destroy it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub destruction_asked_at: Option<u64>,
}

/// The provider of new keys.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Chosen {
    /// Its name in the operator's document.
    provider: String,
    /// When it was chosen: UTC, milliseconds since 1970.
    at: u64,
}

/// Operators have chosen a provider for new keys. The key that signs now stays until its end.
pub fn choose(world: &mut impl World, provider: String, at: u64) {
    let before = CHOSEN.within(world).get_for_update(ONE);
    // Events may arrive in another order.
    if before.is_none_or(|before| before.at <= at) {
        CHOSEN.within(world).put(ONE, &Chosen { provider, at });
    }
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
    destroy_one(world, &keys, now);
    let signing = keys.iter().filter(|key| now < key.signs_until);
    if let Some(newest) = signing.max_by_key(|key| key.created_at) {
        return Ok(newest.clone());
    }
    let signs_until = now + settings.signing_key_days * DAY_MS;
    let chosen = CHOSEN.within(world).get(ONE);
    let chosen = chosen.as_ref().map(|chosen| &*chosen.provider);
    let made = world.generate("access tokens", signs_until, chosen)?;
    let public_key = made
        .public_key
        .ok_or_else(|| KeyError::Unsupported("the provider gives no public key".to_owned()))?;
    let key = SigningKey {
        id: world.uuid(),
        reference: made.reference,
        public_key,
        created_at: now,
        signs_until,
        destruction_asked_at: None,
    };
    KEYS.within(world).put(&key.id, &key);
    Ok(key)
}

/// Destroy a key whose tokens have all ended. A provider that is away is asked again after a while, so that no token waits for
/// it each time. That its time is over was decided when it was made, so it may be destroyed in a turn that fails later: the
/// next turn finds it gone, which is no error.
fn destroy_one(world: &mut impl World, keys: &[SigningKey], now: u64) {
    let is_due = |key: &&SigningKey| {
        let asked = key.destruction_asked_at;
        !key.verifies(now) && asked.is_none_or(|asked| now >= asked + ASKED_AGAIN_AFTER_MS)
    };
    let Some(old) = keys.iter().find(is_due) else {
        return;
    };
    match world.destroy(&old.reference) {
        Ok(()) => {
            KEYS.within(world).delete(&old.id);
        }
        // The host can say nothing of it to any provider.
        Err(error @ KeyError::NoKey(_)) => {
            KEYS.within(world).delete(&old.id);
            world.alert(&format!(
                "the key {}, whose tokens have ended, may still be at its provider: {error}",
                old.id
            ));
        }
        Err(error) => {
            let asked = SigningKey {
                destruction_asked_at: Some(now),
                ..old.clone()
            };
            KEYS.within(world).put(&old.id, &asked);
            world.alert(&format!(
                "the key {}, whose tokens have ended, is not destroyed yet: {error}",
                old.id
            ));
        }
    }
}
