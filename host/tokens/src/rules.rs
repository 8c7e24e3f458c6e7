//! Whose tokens are valid: the issuer, the audience and the keys.

use std::collections::BTreeMap;
use std::sync::Arc;

use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED, ParsedPublicKey};
use rialto_signatures::pem;

/// The most keys. More would only be kept and compared.
const KEYS_MAX: usize = 1_000;

/// What valid tokens have in common.
#[derive(Clone)]
pub struct Rules {
    /// The `iss` of tokens.
    pub(crate) issuer: String,
    /// The audience that tokens must be for.
    pub(crate) audience: String,
    /// Keys by their ids.
    pub(crate) keys: BTreeMap<String, Arc<Key>>,
}

/// A key on the curve P-256 that verifies tokens.
pub(crate) struct Key {
    parsed: ParsedPublicKey,
    /// Its SubjectPublicKeyInfo, by which keys are compared.
    der: Vec<u8>,
}

/// Why rules are unusable.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadRules {
    /// The issuer or the audience is empty.
    #[error("the issuer or the audience of tokens is empty")]
    Empty,
    /// A key is not one.
    #[error("the key `{0}` is no public key on the curve P-256 (SubjectPublicKeyInfo as PEM)")]
    Key(String),
    /// Two keys have the same id.
    #[error("two keys have the id `{0}`")]
    Twice(String),
    /// There are too many keys.
    #[error("there are more than {KEYS_MAX} keys")]
    TooMany,
}

impl Rules {
    /// Rules with this issuer, this audience and these keys: pairs of an id and a SubjectPublicKeyInfo as PEM.
    ///
    /// # Errors
    /// When one of them is unusable.
    pub fn new<I, P>(
        issuer: impl Into<String>,
        audience: impl Into<String>,
        keys: impl IntoIterator<Item = (I, P)>,
    ) -> Result<Self, BadRules>
    where
        I: Into<String>,
        P: AsRef<str>,
    {
        let mut rules = Self {
            issuer: issuer.into(),
            audience: audience.into(),
            keys: BTreeMap::new(),
        };
        if rules.issuer.is_empty() || rules.audience.is_empty() {
            return Err(BadRules::Empty);
        }
        for (id, pem) in keys {
            let id = id.into();
            let Some(key) = Key::of_pem(pem.as_ref()).filter(|_| !id.is_empty()) else {
                return Err(BadRules::Key(id));
            };
            if rules.keys.insert(id.clone(), Arc::new(key)).is_some() {
                return Err(BadRules::Twice(id));
            }
            if rules.keys.len() > KEYS_MAX {
                return Err(BadRules::TooMany);
            }
        }
        Ok(rules)
    }

    /// Whether both let the same tokens pass.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.issuer == other.issuer && self.audience == other.audience && self.keys == other.keys
    }
}

impl Key {
    fn of_pem(text: &str) -> Option<Self> {
        let der = pem::public_key(text)?;
        // The library takes also a bare point. A key must say which curve it is on.
        let is_info = der.first() == Some(&0x30);
        let parsed = ParsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, &der).ok();
        let parsed = parsed.filter(|_| is_info)?;
        Some(Self { parsed, der })
    }

    /// Whether the key has made this signature.
    pub fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        self.parsed.verify_sig(message, signature).is_ok()
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        self.der == other.der
    }
}
