//! The current keys of each signer: those of the release, and those of the operator.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arc_swap::{ArcSwap, ArcSwapOption};

use crate::jws::{self, JwsError, Signed};
use crate::key::{Algorithm, PrivateKey, PublicKey};

/// Public keys by signer. A signer may have several valid keys while it replaces one.
#[derive(Clone, Debug, Default)]
pub struct PublicKeys(BTreeMap<String, Vec<PublicKey>>);

impl PublicKeys {
    /// Add a signer's keys.
    pub fn add(&mut self, signer: &str, keys: impl IntoIterator<Item = PublicKey>) {
        let mut keys = keys.into_iter().peekable();
        if keys.peek().is_some() {
            self.0.entry(signer.to_owned()).or_default().extend(keys);
        }
    }

    /// A signer's keys.
    #[must_use]
    pub fn of(&self, signer: &str) -> &[PublicKey] {
        self.0.get(signer).map_or(&[], Vec::as_slice)
    }

    /// The signers that have a key, in order.
    pub fn signers(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// How many keys there are, of all signers.
    #[must_use]
    pub fn count(&self) -> usize {
        self.0.values().map(Vec::len).sum()
    }
}

/// The keys that the operator keeps: they may change while the host runs.
#[derive(Debug, Default)]
pub struct Keyring {
    public: ArcSwap<PublicKeys>,
    own: ArcSwapOption<PrivateKey>,
}

impl Keyring {
    /// Replaces the public keys of signers.
    pub fn set_public(&self, keys: PublicKeys) {
        self.public.store(Arc::new(keys));
    }

    /// Replaces the host's own key.
    pub fn set_own(&self, key: PrivateKey) {
        self.own.store(Some(Arc::new(key)));
    }

    /// Sign with the host's own key; none if it has none.
    ///
    /// # Errors
    /// As [`jws::sign`].
    pub fn sign(&self, members: &str, payload: &[u8]) -> Result<Option<Signed>, JwsError> {
        let own = self.own.load();
        own.as_deref()
            .map(|key| jws::sign(key, members, payload))
            .transpose()
    }
}

/// The result of verifying a signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// One of the signer's keys has made it, for this header and payload.
    Valid,
    /// None of the signer's keys has made it.
    Invalid,
    /// The signer has no key.
    NoKey,
}

/// All keys that are valid on one release.
#[derive(Clone, Debug, Default)]
pub struct Signers {
    given: Arc<PublicKeys>,
    ring: Arc<Keyring>,
}

impl Signers {
    /// The release's keys, and those of a ring.
    #[must_use]
    pub const fn new(given: Arc<PublicKeys>, ring: Arc<Keyring>) -> Self {
        Self { given, ring }
    }

    /// Whether a signer has a key.
    #[must_use]
    pub fn has_key(&self, signer: &str) -> bool {
        !self.given.of(signer).is_empty() || !self.ring.public.load().of(signer).is_empty()
    }

    /// All signers that have a key now.
    #[must_use]
    pub fn names(&self) -> BTreeSet<String> {
        let ring = self.ring.public.load();
        let names = self.given.signers().chain(ring.signers());
        names.map(str::to_owned).collect()
    }

    /// Verifies a signature.
    #[must_use]
    pub fn verify(
        &self,
        signer: &str,
        algorithm: Algorithm,
        protected_header: &str,
        payload: &[u8],
        signature: &str,
    ) -> Verdict {
        let ring = self.ring.public.load();
        let keys = || self.given.of(signer).iter().chain(ring.of(signer));
        if keys().next().is_none() {
            return Verdict::NoKey;
        }
        if jws::verifies(keys(), algorithm, protected_header, payload, signature) {
            Verdict::Valid
        } else {
            Verdict::Invalid
        }
    }

    /// Sign with the host's own key; none if it has none.
    ///
    /// # Errors
    /// As [`jws::sign`].
    pub fn sign(&self, members: &str, payload: &[u8]) -> Result<Option<Signed>, JwsError> {
        self.ring.sign(members, payload)
    }

    /// Whether the host has a key of its own.
    #[must_use]
    pub fn has_own_key(&self) -> bool {
        self.ring.own.load().is_some()
    }
}
