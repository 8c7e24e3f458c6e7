//! The signed bytes of a JSON Web Signature: the protected header and the payload, each as base64url, with a dot between
//! them.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Map, Value};

use crate::key::{Algorithm, PrivateKey, PublicKey, SignError};

/// A detached signature: the payload is sent beside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signed {
    /// The header that was signed too, as base64url.
    pub protected_header: String,
    /// The signature, as base64url.
    pub signature: String,
}

/// Why nothing was signed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JwsError {
    /// The members are no JSON object.
    #[error("the members of the protected header are no JSON object")]
    NoObject,
    /// The members name an algorithm, but the key decides it.
    #[error("the members of the protected header name `alg`, which the key decides")]
    NamesAlgorithm,
    /// The key did not sign.
    #[error(transparent)]
    Key(#[from] SignError),
}

/// Whether the signature of the header and the payload is by one of these keys and by this algorithm.
pub fn verifies<'a>(
    keys: impl IntoIterator<Item = &'a PublicKey>,
    algorithm: Algorithm,
    protected_header: &str,
    payload: &[u8],
    signature: &str,
) -> bool {
    // One text for one signature: neither padding nor bits that say nothing.
    let Ok(signature) = URL_SAFE_NO_PAD.decode(signature) else {
        return false;
    };
    let input = signing_input(protected_header, payload);
    keys.into_iter()
        .any(|key| key.verifies(algorithm, input.as_bytes(), &signature))
}

/// Sign a payload with a protected header of these members (a JSON object), to which `alg` is added.
///
/// # Errors
/// When the members are not such an object, or the key does not sign.
pub fn sign(key: &PrivateKey, members: &str, payload: &[u8]) -> Result<Signed, JwsError> {
    let unsigned = unsigned(key.algorithm(), members, payload)?;
    let signature = key.sign(unsigned.input.as_bytes())?;
    Ok(unsigned.signed(&signature))
}

/// What a key elsewhere is to sign.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsigned {
    /// The protected header as base64url.
    protected_header: String,
    /// The bytes to sign.
    pub input: String,
}

impl Unsigned {
    /// With its signature, as RFC 7518 has it.
    #[must_use]
    pub fn signed(self, signature: &[u8]) -> Signed {
        Signed {
            protected_header: self.protected_header,
            signature: URL_SAFE_NO_PAD.encode(signature),
        }
    }
}

/// The same without the signature, for a key of this algorithm that is elsewhere.
///
/// # Errors
/// When the members are not such an object.
pub fn unsigned(algorithm: Algorithm, members: &str, payload: &[u8]) -> Result<Unsigned, JwsError> {
    let members = read_members(members)?;
    let mut header = Map::with_capacity(members.len() + 1);
    header.insert("alg".to_owned(), algorithm.name().into());
    header.extend(members);
    let protected_header = URL_SAFE_NO_PAD.encode(Value::Object(header).to_string());
    Ok(Unsigned {
        input: signing_input(&protected_header, payload),
        protected_header,
    })
}

/// Whether these can be the members of a protected header.
///
/// # Errors
/// When they are no JSON object, or name `alg`.
pub fn check_members(members: &str) -> Result<(), JwsError> {
    read_members(members).map(drop)
}

fn read_members(members: &str) -> Result<Map<String, Value>, JwsError> {
    let Ok(Value::Object(members)) = serde_json::from_str(members) else {
        return Err(JwsError::NoObject);
    };
    if members.contains_key("alg") {
        return Err(JwsError::NamesAlgorithm);
    }
    Ok(members)
}

fn signing_input(protected_header: &str, payload: &[u8]) -> String {
    let mut input = String::with_capacity(protected_header.len() + 2 + payload.len() * 4 / 3 + 3);
    input.push_str(protected_header);
    input.push('.');
    URL_SAFE_NO_PAD.encode_string(payload, &mut input);
    input
}
