//! The key that encrypts secrets. A provider of the host keeps it; here is its reference.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rialto_sdk::documents::{Collection, Range};
use rialto_sdk::operators::{Kind, Problem};
use serde::{Deserialize, Serialize};

use crate::bindings::rialto::host::keys::KeyError;
use crate::world::World;

/// Keys, by id. The newest one encrypts; all decrypt.
const KEYS: Collection<SealingKey> = Collection::new("sealing-keys");
/// Keys that are looked at. A new one is made only when the one before cannot be used.
const KEYS_MAX: u32 = 100;

/// A key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct SealingKey {
    id: String,
    /// The host's reference.
    reference: String,
    /// UTC, milliseconds since 1970.
    created_at: u64,
}

/// An encrypted value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sealed {
    /// The key's id.
    key: String,
    /// base64.
    ciphertext: String,
}

/// Encrypt a value. Only whoever names the same `associated` text can decrypt it.
///
/// # Errors
/// When no key can be used or made.
pub fn seal(world: &mut impl World, associated: &str, value: &str) -> Result<Sealed, Problem> {
    let mut key = match newest(world) {
        Some(key) => key,
        None => make(world)?,
    };
    let mut sealed = world.encrypt(&key.reference, value.as_bytes(), associated.as_bytes());
    if matches!(
        &sealed,
        Err(KeyError::NoKey(_) | KeyError::NoProvider | KeyError::Expired)
    ) {
        key = make(world)?;
        sealed = world.encrypt(&key.reference, value.as_bytes(), associated.as_bytes());
    }
    Ok(Sealed {
        key: key.id,
        ciphertext: STANDARD.encode(sealed.map_err(problem)?),
    })
}

/// Decrypt a value.
///
/// # Errors
/// When the key cannot be used, or the value was changed or moved.
pub fn open(world: &mut impl World, associated: &str, sealed: &Sealed) -> Result<String, Problem> {
    let lost = || {
        let detail = "the key of this secret is gone: set the secret again";
        Problem::new(Kind::KeyUnavailable, detail)
    };
    let key = KEYS.within(world).get(&sealed.key).ok_or_else(lost)?;
    let ciphertext = STANDARD.decode(&sealed.ciphertext).map_err(|_| lost())?;
    let opened = world.decrypt(&key.reference, &ciphertext, associated.as_bytes());
    String::from_utf8(opened.map_err(problem)?).map_err(|_| lost())
}

fn newest(world: &mut impl World) -> Option<SealingKey> {
    let page = KEYS.within(world).scan(&Range::All, None, KEYS_MAX);
    let keys = page.documents.into_iter().map(|(_, key)| key);
    keys.max_by_key(|key| key.created_at)
}

fn make(world: &mut impl World) -> Result<SealingKey, Problem> {
    let reference = world.generate("secrets of contexts").map_err(problem)?;
    let key = SealingKey {
        id: world.uuid(),
        reference,
        created_at: world.now(),
    };
    KEYS.within(world).put(&key.id, &key);
    Ok(key)
}

fn problem(error: KeyError) -> Problem {
    let (kind, detail) = match error {
        KeyError::NoProvider => (
            Kind::ProviderUnknown,
            "the host has no provider of keys that encrypts: add one to `[keys.providers]` of rialto.toml".to_owned(),
        ),
        KeyError::ProviderAway(why) => (
            Kind::ProviderAway,
            format!("the provider of the key does not answer now: {why}"),
        ),
        KeyError::NotOpened => (
            Kind::NotOpened,
            "the secret cannot be opened: set it again".to_owned(),
        ),
        KeyError::NoKey(why) | KeyError::Unsupported(why) | KeyError::BadInput(why) => (
            Kind::KeyUnavailable,
            format!("the host cannot use the key of this secret: {why}"),
        ),
        KeyError::WrongPurpose | KeyError::Expired => (
            Kind::KeyUnavailable,
            "the host cannot use the key of this secret".to_owned(),
        ),
    };
    Problem::new(kind, detail)
}
