//! The provider's public keys (RFC 7517), and the algorithms that they verify (RFC 7518, RFC 8037).

use jsonwebtoken::crypto::verify;
use jsonwebtoken::{Algorithm, DecodingKey};
use serde::Deserialize;
use serde_json::Value;

/// The most keys of a provider that are used.
const KEYS_MAX: usize = 64;

/// The kind of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Rsa,
    P256,
    P384,
    Ed25519,
}

/// The algorithms that an ID token may be signed with. All are of public keys: whoever knows the client's secret or the
/// public key makes no signature with them.
const ALGORITHMS: [(&str, Algorithm, Kind); 9] = [
    ("RS256", Algorithm::RS256, Kind::Rsa),
    ("RS384", Algorithm::RS384, Kind::Rsa),
    ("RS512", Algorithm::RS512, Kind::Rsa),
    ("PS256", Algorithm::PS256, Kind::Rsa),
    ("PS384", Algorithm::PS384, Kind::Rsa),
    ("PS512", Algorithm::PS512, Kind::Rsa),
    ("ES256", Algorithm::ES256, Kind::P256),
    ("ES384", Algorithm::ES384, Kind::P384),
    ("EdDSA", Algorithm::EdDSA, Kind::Ed25519),
];

/// The keys of a provider.
#[derive(Debug, Default)]
pub(crate) struct Keys(Vec<Key>);

#[derive(Debug)]
struct Key {
    id: Option<String>,
    kind: Kind,
    /// The one algorithm that it is for, if it says so.
    algorithm: Option<String>,
    key: DecodingKey,
}

/// Why no key verifies a signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoKey {
    /// The provider had no such key when its keys were read. It may have one by now.
    Unknown,
    /// The algorithm is none of a public key, or none that is known.
    Algorithm,
    /// Several keys may be meant.
    Ambiguous,
    /// The signature is not of the key.
    Signature,
}

/// A key as its JSON says.
#[derive(Deserialize)]
struct Written {
    kty: String,
    kid: Option<String>,
    #[serde(rename = "use")]
    usage: Option<String>,
    key_ops: Option<Vec<String>>,
    alg: Option<String>,
    crv: Option<String>,
    n: Option<String>,
    e: Option<String>,
    x: Option<String>,
    y: Option<String>,
}

impl Keys {
    /// The keys of a set that can verify signatures. Others are left out.
    pub(crate) fn read(body: &[u8]) -> Option<Self> {
        #[derive(Deserialize)]
        struct Set {
            keys: Vec<Value>,
        }
        let set: Set = serde_json::from_slice(body).ok()?;
        let keys = set.keys.into_iter().take(KEYS_MAX);
        Some(Self(keys.filter_map(Key::read).collect()))
    }

    /// Check a signature.
    pub(crate) fn verify(
        &self,
        algorithm: &str,
        key_id: Option<&str>,
        message: &[u8],
        signature: &str,
    ) -> Result<(), NoKey> {
        let known = ALGORITHMS.iter().find(|(name, ..)| *name == algorithm);
        let (_, known, kind) = known.ok_or(NoKey::Algorithm)?;
        let fits = |key: &&Key| {
            key.kind == *kind
                && key
                    .algorithm
                    .as_deref()
                    .is_none_or(|only| only == algorithm)
                && (key_id.is_none() || key.id.as_deref() == key_id)
        };
        let mut fitting = self.0.iter().filter(fits);
        let key = fitting.next().ok_or(NoKey::Unknown)?;
        if fitting.next().is_some() {
            return Err(NoKey::Ambiguous);
        }
        match verify(signature, message, &key.key, *known) {
            Ok(true) => Ok(()),
            Ok(false) | Err(_) => Err(NoKey::Signature),
        }
    }
}

impl Key {
    fn read(value: Value) -> Option<Self> {
        let written: Written = serde_json::from_value(value).ok()?;
        let for_signatures = written.usage.as_deref().is_none_or(|usage| usage == "sig");
        let verifies = |operations: &Vec<String>| operations.iter().any(|one| one == "verify");
        if !for_signatures || !written.key_ops.as_ref().is_none_or(verifies) {
            return None;
        }
        let (kind, key) = match (written.kty.as_str(), written.crv.as_deref()) {
            ("RSA", _) => {
                let key = DecodingKey::from_rsa_components(&written.n?, &written.e?);
                (Kind::Rsa, key)
            }
            ("EC", Some("P-256")) => (Kind::P256, point(&written.x?, &written.y?)),
            ("EC", Some("P-384")) => (Kind::P384, point(&written.x?, &written.y?)),
            ("OKP", Some("Ed25519")) => {
                (Kind::Ed25519, DecodingKey::from_ed_components(&written.x?))
            }
            _ => return None,
        };
        Some(Self {
            id: written.kid,
            kind,
            algorithm: written.alg,
            key: key.ok()?,
        })
    }
}

fn point(x: &str, y: &str) -> jsonwebtoken::errors::Result<DecodingKey> {
    DecodingKey::from_ec_components(x, y)
}
