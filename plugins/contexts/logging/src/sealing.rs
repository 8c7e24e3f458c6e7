//! Signing and encrypting entries, if the settings say so. Providers of the host keep the keys; here are their references.
//!
//! The signature is over the whole entry with its message. Only the message is encrypted, because the rest is searched by.
//! The ciphertext is bound to the entry's id. A signature is verified with the host's own reference of the key, so whoever
//! can write into the store cannot put a key of theirs in its place.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rialto_sdk::documents::{Collection, Range};
use serde::{Deserialize, Serialize};

use crate::bindings::rialto::host::keys::KeyError;
use crate::entries::Entry;
use crate::settings::Settings;
use crate::world::World;

/// Keys, by id. The newest one of a use makes new signatures or ciphertexts; all are read with.
const KEYS: Collection<Key> = Collection::new("keys");
/// Keys that are looked at. A new one is made only when the one before cannot be used.
const KEYS_MAX: u32 = 100;
/// The beginning of what is signed, so that the signature is one of nothing else.
const SIGNED: &str = "rialto log entry\n";

/// What a key is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Use {
    /// It signs entries.
    Sign,
    /// It encrypts messages.
    Encrypt,
}

/// A key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Key {
    id: String,
    r#use: Use,
    /// The host's reference.
    reference: String,
    /// UTC, milliseconds since 1970.
    created_at: u64,
}

/// What a key has made of an entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Made {
    /// The key's id.
    key: String,
    /// The signature or the ciphertext, in base64.
    bytes: String,
}

/// The keys of one turn that protect entries.
#[derive(Default)]
pub struct Protection {
    sign: Option<Key>,
    encrypt: Option<Key>,
}

impl Protection {
    /// Sign and encrypt an entry as the settings say.
    ///
    /// # Errors
    /// When no key can be used or made.
    pub fn apply(
        &mut self,
        world: &mut impl World,
        settings: &Settings,
        entry: &mut Entry,
    ) -> Result<(), KeyError> {
        if settings.signed {
            let message = signed(entry);
            let signature = self.make(world, Use::Sign, |world, key| world.sign(key, &message))?;
            entry.signature = Some(signature);
        }
        if settings.encrypted {
            let message = std::mem::take(&mut entry.message);
            let sealed = self.make(world, Use::Encrypt, |world, key| {
                world.encrypt(key, message.as_bytes(), entry.id.as_bytes())
            })?;
            entry.sealed = Some(sealed);
        }
        Ok(())
    }

    fn make<W: World>(
        &mut self,
        world: &mut W,
        r#use: Use,
        run: impl Fn(&mut W, &str) -> Result<Vec<u8>, KeyError>,
    ) -> Result<Made, KeyError> {
        let slot = match r#use {
            Use::Sign => &mut self.sign,
            Use::Encrypt => &mut self.encrypt,
        };
        let mut key = match slot.take().or_else(|| newest(world, r#use)) {
            Some(key) => key,
            None => generate(world, r#use)?,
        };
        let mut made = run(world, &key.reference);
        if matches!(
            &made,
            Err(KeyError::NoKey(_) | KeyError::NoProvider | KeyError::Expired)
        ) {
            key = generate(world, r#use)?;
            made = run(world, &key.reference);
        }
        let made = Made {
            key: key.id.clone(),
            bytes: STANDARD.encode(made?),
        };
        *slot = Some(key);
        Ok(made)
    }
}

fn newest(world: &mut impl World, r#use: Use) -> Option<Key> {
    let page = KEYS.within(world).scan(&Range::All, None, KEYS_MAX);
    let keys = page.documents.into_iter().map(|(_, key)| key);
    keys.filter(|key| key.r#use == r#use)
        .max_by_key(|key| key.created_at)
}

fn generate(world: &mut impl World, r#use: Use) -> Result<Key, KeyError> {
    let key = Key {
        reference: world.generate(r#use)?,
        id: world.random(),
        r#use,
        created_at: world.now(),
    };
    KEYS.within(world).put(&key.id, &key);
    Ok(key)
}

/// What is signed of an entry with its message.
fn signed(entry: &Entry) -> Vec<u8> {
    let plain = Entry {
        sealed: None,
        signature: None,
        ..entry.clone()
    };
    // Texts and numbers only, with texts as keys: there is nothing that JSON could refuse.
    let json = serde_json::to_string(&plain).unwrap_or_default();
    format!("{SIGNED}{json}").into_bytes()
}

/// Decrypt the message of an entry. An entry with a plain message stays as it is.
///
/// # Errors
/// A sentence for people that says why it cannot be read.
pub fn open(world: &mut impl World, entry: &mut Entry) -> Result<(), String> {
    let Some(sealed) = &entry.sealed else {
        return Ok(());
    };
    let (reference, ciphertext) = read(world, Use::Encrypt, sealed)?;
    let opened = world.decrypt(&reference, &ciphertext, entry.id.as_bytes());
    let opened = opened.map_err(|error| match error {
        KeyError::NotOpened => {
            "its message cannot be decrypted: the entry was changed, or is another one's".to_owned()
        }
        error => cannot(&error),
    })?;
    entry.message = String::from_utf8(opened).map_err(|_| "its message is no text".to_owned())?;
    Ok(())
}

/// Verify the signature of an entry with its message.
///
/// # Errors
/// A sentence for people that says why it is not verified.
pub fn verify(world: &mut impl World, entry: &Entry) -> Result<(), String> {
    let Some(signature) = &entry.signature else {
        return Err("it has no signature".to_owned());
    };
    let (reference, bytes) = read(world, Use::Sign, signature)?;
    match world.verify(&reference, &signed(entry), &bytes) {
        Ok(true) => Ok(()),
        Ok(false) => Err("its signature does not fit: the entry was changed".to_owned()),
        Err(error) => Err(cannot(&error)),
    }
}

/// The key's reference and the bytes.
fn read(world: &mut impl World, r#use: Use, made: &Made) -> Result<(String, Vec<u8>), String> {
    let key = KEYS.within(world).get(&made.key);
    let key = key.filter(|key| key.r#use == r#use);
    let key = key.ok_or_else(|| "its key is not known".to_owned())?;
    let bytes = STANDARD.decode(&made.bytes);
    let bytes = bytes.map_err(|_| "it was changed: a part of it is not base64".to_owned())?;
    Ok((key.reference, bytes))
}

fn cannot(error: &KeyError) -> String {
    match error {
        KeyError::ProviderAway(_) => "the provider of its key does not answer now".to_owned(),
        _ => "the host cannot use its key".to_owned(),
    }
}
