//! All keys of a host: who may use a reference, for what and how long, and which provider does it.

use std::collections::BTreeMap;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use aws_lc_rs::digest::{SHA256, digest};
use parking_lot::Mutex;
use rialto_signatures::pem;

use crate::attributes::{Algorithm, Attributes, Purpose};
use crate::callers::Callers;
use crate::error::KeyError;
use crate::handed_out::{self, HandedOut};
use crate::master::MasterKeys;
use crate::own::OwnKey;
use crate::pin::{self, Format};
use crate::provider::{Key, Made, Provider, Unwrapping};
use crate::software;

mod hash;
mod outside;
mod reference;

pub use hash::{Hash, hash};
use reference::Unsealed;

/// The longest message, in bytes.
pub const MESSAGE_BYTES_MAX: usize = 1024 * 1024;
/// What a ciphertext may have in addition to its message, in bytes: nonce, tag, and a data key that a remote provider
/// has wrapped.
const CIPHERTEXT_BYTES_MORE_MAX: usize = 2 * 1024;
/// The longest wrapped key, in bytes.
const WRAPPED_BYTES_MAX: usize = 16 * 1024;
/// How many keys stay open, ready for use.
const OPEN_MAX: usize = 256;
/// Why a reference of another component opens nothing.
const ANOTHERS: &str = "it is another component's";

/// The providers of a host, and the seal around what they make. A clone is the same keys.
#[derive(Clone)]
pub struct Keys {
    all: Arc<All>,
    /// The host's own key, if it is one of these.
    own: Option<Arc<OwnKey>>,
    /// Whether this thread may wait for remote providers.
    calls_remote: bool,
}

struct All {
    masters: MasterKeys,
    providers: BTreeMap<String, Arc<dyn Provider>>,
    /// The threads that call remote providers, by the names of these.
    callers: BTreeMap<String, Callers>,
    /// Keys that were used lately, by the hash of their references.
    open: Mutex<HashMap<[u8; 32], Arc<Opened>>>,
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Keys({:?})", self.all.providers.keys())
    }
}

impl Default for Keys {
    /// No provider, so that there are no keys.
    fn default() -> Self {
        Self::new(MasterKeys::none(), BTreeMap::new())
    }
}

/// A key that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewKey {
    /// What its owner keeps.
    pub reference: String,
    /// SubjectPublicKeyInfo as PEM, of key pairs.
    pub public_key: Option<String>,
}

/// A provider, as owners of keys see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderView {
    /// Its name in the operator's document.
    pub name: String,
    /// Its kind.
    pub kind: &'static str,
    /// The algorithms of keys that it can make.
    pub algorithms: Vec<Algorithm>,
}

/// One side of the translation of a PIN block.
#[derive(Clone, Copy, Debug)]
pub struct PinSide<'a> {
    /// The reference of the zone's key.
    pub zone: &'a str,
    /// The format of the block.
    pub format: Format,
}

struct Opened {
    owner: String,
    provider: String,
    attributes: Attributes,
    key: Box<dyn Key>,
}

impl Keys {
    /// The keys of these providers, under the seal of these master keys, for use within turns: remote providers are
    /// not called, because a turn holds locks.
    #[must_use]
    pub fn new(masters: MasterKeys, providers: BTreeMap<String, Arc<dyn Provider>>) -> Self {
        let remote = providers
            .iter()
            .filter(|(_, provider)| provider.is_remote());
        let callers = remote.map(|(name, provider)| (name.clone(), Callers::of(name, &**provider)));
        Self {
            all: Arc::new(All {
                callers: callers.collect(),
                masters,
                providers,
                open: Mutex::default(),
            }),
            own: None,
            calls_remote: false,
        }
    }

    /// The same keys with this one as the host's own.
    pub(crate) fn signing_as(self, own: OwnKey) -> Self {
        Self {
            own: Some(Arc::new(own)),
            ..self
        }
    }

    /// The host's own key, if it is one of these.
    #[must_use]
    pub fn own(&self) -> Option<Arc<OwnKey>> {
        self.own.clone()
    }

    /// What is said of a key of this owner, and its provider, which is not asked.
    ///
    /// # Errors
    /// When the key is not the owner's.
    pub fn attributes(
        &self,
        owner: &str,
        reference: &str,
    ) -> Result<(Attributes, String), KeyError> {
        let key = self.owned(owner, reference)?;
        Ok((key.attributes, key.provider))
    }

    /// The providers, in the order of their names.
    #[must_use]
    pub fn providers(&self) -> Vec<ProviderView> {
        let views = self
            .all
            .providers
            .iter()
            .map(|(name, provider)| ProviderView {
                name: name.clone(),
                kind: provider.kind(),
                algorithms: provider.algorithms(),
            });
        views.collect()
    }

    /// Make a new key for this owner.
    ///
    /// # Errors
    /// When there is no such provider, it cannot make such a key, or the attributes do not fit each other.
    pub fn generate(
        &self,
        owner: &str,
        provider: &str,
        attributes: &Attributes,
    ) -> Result<NewKey, KeyError> {
        attributes.check()?;
        let made = self
            .supporting(provider, attributes.algorithm)?
            .generate(attributes)?;
        self.sealed(owner, provider, attributes, made)
    }

    /// Load a wrapped key for this owner. `unwraps` is the reference of a key of the same owner and provider.
    ///
    /// # Errors
    /// When the key cannot be unwrapped, or is none of the wanted algorithm.
    pub fn load(
        &self,
        owner: &str,
        provider: &str,
        attributes: &Attributes,
        unwraps: &str,
        wrapped: &[u8],
    ) -> Result<NewKey, KeyError> {
        attributes.check()?;
        bounded(wrapped.len(), WRAPPED_BYTES_MAX)?;
        let unwraps = self.owned(owner, unwraps)?;
        if unwraps.provider != provider {
            let why = "a key is loaded into the provider that unwraps it".to_owned();
            return Err(KeyError::Unsupported(why));
        }
        if unwraps.attributes.purpose != Purpose::Unwrap {
            return Err(KeyError::WrongPurpose);
        }
        let loading = self.supporting(provider, attributes.algorithm)?;
        let unwrapping = Unwrapping {
            attributes: &unwraps.attributes,
            material: &unwraps.material,
        };
        let made = loading.load(attributes, unwrapping, wrapped)?;
        self.sealed(owner, provider, attributes, made)
    }

    /// Destroy a key of this owner, so that its reference opens nothing any more. A key that is gone is no error.
    /// A key in software is in its references alone: forget them all.
    ///
    /// # Errors
    /// When the key is not the owner's, or its provider does not answer.
    pub fn destroy(&self, owner: &str, reference: &str) -> Result<(), KeyError> {
        let key = self.owned(owner, reference)?;
        self.provider(&key.provider)?.destroy(&key.material)?;
        self.all.open.lock().remove(&name_of(reference));
        Ok(())
    }

    /// A key pair for the receiver of this RSA key.
    ///
    /// # Errors
    /// As [`handed_out::hand_out`].
    pub fn hand_out(&self, algorithm: Algorithm, receiver: &str) -> Result<HandedOut, KeyError> {
        handed_out::hand_out(algorithm, receiver)
    }

    /// Sign a message, or make its code, at this time (UTC, milliseconds since 1970).
    ///
    /// # Errors
    /// When the key is not the owner's, is for something else, or has reached its end.
    pub fn sign(
        &self,
        owner: &str,
        reference: &str,
        now: u64,
        message: &[u8],
    ) -> Result<Vec<u8>, KeyError> {
        bounded(message.len(), MESSAGE_BYTES_MAX)?;
        self.lasting(owner, reference, now)?.key.sign(message)
    }

    /// Whether the key made this signature or code.
    ///
    /// # Errors
    /// When the key is not the owner's or is for something else.
    pub fn verify(
        &self,
        owner: &str,
        reference: &str,
        message: &[u8],
        signature: &[u8],
    ) -> Result<bool, KeyError> {
        bounded(message.len(), MESSAGE_BYTES_MAX)?;
        self.opened(owner, reference)?
            .key
            .verify(message, signature)
    }

    /// Whether this public key (SubjectPublicKeyInfo as PEM) made the signature.
    ///
    /// # Errors
    /// When it is no such key, or the algorithm is none of public keys.
    pub fn verify_with(
        &self,
        public_key: &str,
        algorithm: Algorithm,
        message: &[u8],
        signature: &[u8],
    ) -> Result<bool, KeyError> {
        bounded(message.len(), MESSAGE_BYTES_MAX)?;
        software::public_key_that_verifies(public_key, algorithm, message, signature)
    }

    /// Encrypt at this time.
    ///
    /// # Errors
    /// When the key is not the owner's, is for something else, or has reached its end.
    pub fn encrypt(
        &self,
        owner: &str,
        reference: &str,
        now: u64,
        plaintext: &[u8],
        associated: &[u8],
    ) -> Result<Vec<u8>, KeyError> {
        bounded(plaintext.len() + associated.len(), MESSAGE_BYTES_MAX)?;
        let opened = self.lasting(owner, reference, now)?;
        opened.key.encrypt(plaintext, associated)
    }

    /// Decrypt what [`Self::encrypt`] made.
    ///
    /// # Errors
    /// When the key is not the owner's, is for something else, or did not encrypt this.
    pub fn decrypt(
        &self,
        owner: &str,
        reference: &str,
        ciphertext: &[u8],
        associated: &[u8],
    ) -> Result<Vec<u8>, KeyError> {
        let most = MESSAGE_BYTES_MAX + CIPHERTEXT_BYTES_MORE_MAX;
        bounded(ciphertext.len() + associated.len(), most)?;
        self.opened(owner, reference)?
            .key
            .decrypt(ciphertext, associated)
    }

    /// Translate a PIN block for this account number, at this time: the new zone's key must not have reached its end.
    ///
    /// # Errors
    /// When a key is not the owner's, has reached its end, or is not for blocks of the format; when the formats exclude each other; or when the
    /// block is not one of this zone and account, which is always the same error.
    pub fn translate_pin(
        &self,
        owner: &str,
        now: u64,
        from: PinSide<'_>,
        to: PinSide<'_>,
        account: &str,
        block: &[u8],
    ) -> Result<Vec<u8>, KeyError> {
        let refused = |error: pin::PinKeyError| KeyError::Unsupported(error.to_string());
        pin::check_pair(from.format, to.format).map_err(refused)?;
        let source = self.opened(owner, from.zone)?;
        let target = self.lasting(owner, to.zone, now)?;
        let source = pin::Zone::new(source.key.pin_zone()?, from.format).map_err(refused)?;
        let target = pin::Zone::new(target.key.pin_zone()?, to.format).map_err(refused)?;
        pin::translate(block, &source, &target, account).map_err(|_| KeyError::NotOpened)
    }

    fn supporting(&self, name: &str, algorithm: Algorithm) -> Result<&dyn Provider, KeyError> {
        let provider = self.provider(name)?;
        // A remote provider that has not answered yet has no list, and says itself what it supports.
        if !provider.is_remote() && !provider.algorithms().contains(&algorithm) {
            let why = format!("the provider `{name}` has no keys of the algorithm {algorithm:?}");
            return Err(KeyError::Unsupported(why));
        }
        Ok(provider)
    }

    /// The provider, if it may be called. Every call of a provider passes here.
    fn provider(&self, name: &str) -> Result<&dyn Provider, KeyError> {
        let provider = self.all.providers.get(name).ok_or(KeyError::NoProvider)?;
        if provider.is_remote() && !self.calls_remote {
            let why = format!(
                "the provider `{name}` ({}) is remote, and cannot be called within a turn",
                provider.kind()
            );
            return Err(KeyError::Unsupported(why));
        }
        Ok(&**provider)
    }

    fn sealed(
        &self,
        owner: &str,
        provider: &str,
        attributes: &Attributes,
        made: Made,
    ) -> Result<NewKey, KeyError> {
        let reference = reference::seal(&self.all.masters, owner, provider, attributes, &made)?;
        let public_key = made.public_key.as_deref();
        Ok(NewKey {
            reference,
            public_key: public_key.map(|der| pem::write("PUBLIC KEY", der)),
        })
    }

    /// The key of a reference, if it is this owner's.
    fn opened(&self, owner: &str, reference: &str) -> Result<Arc<Opened>, KeyError> {
        let name = name_of(reference);
        let known = self.all.open.lock().get(&name).cloned();
        let opened = match known {
            Some(opened) => opened,
            None => {
                let key = reference::unseal(&self.all.masters, reference)?;
                let provider = self.provider(&key.provider)?;
                let opened = Arc::new(Opened {
                    provider: key.provider,
                    key: provider.open(&key.attributes, &key.material)?,
                    owner: key.owner,
                    attributes: key.attributes,
                });
                let mut open = self.all.open.lock();
                if open.len() >= OPEN_MAX {
                    open.clear();
                }
                open.insert(name, opened.clone());
                opened
            }
        };
        if opened.owner != owner {
            return Err(KeyError::NoKey(ANOTHERS));
        }
        Ok(opened)
    }

    /// What a reference says, if the key is this owner's.
    fn owned(&self, owner: &str, reference: &str) -> Result<Unsealed, KeyError> {
        let key = reference::unseal(&self.all.masters, reference)?;
        if key.owner != owner {
            return Err(KeyError::NoKey(ANOTHERS));
        }
        Ok(key)
    }

    /// The key of a reference, if it may still make something.
    fn lasting(&self, owner: &str, reference: &str, now: u64) -> Result<Arc<Opened>, KeyError> {
        let opened = self.opened(owner, reference)?;
        match opened.attributes.not_after {
            Some(end) if now > end => Err(KeyError::Expired),
            _ => Ok(opened),
        }
    }
}

/// The name of a reference among the open keys: its hash.
fn name_of(reference: &str) -> [u8; 32] {
    let mut name = [0; 32];
    name.copy_from_slice(digest(&SHA256, reference.as_bytes()).as_ref());
    name
}

fn bounded(length: usize, most: usize) -> Result<(), KeyError> {
    if length > most {
        let why = format!("{length} bytes where at most {most} are taken");
        return Err(KeyError::BadInput(why));
    }
    Ok(())
}
