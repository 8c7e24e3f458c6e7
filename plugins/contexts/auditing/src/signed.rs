//! An entry as a program has signed it: a JSON Web Signature in compact form (RFC 7515) whose payload is the entry. The
//! whole text is kept with the entry, so that everybody can verify later who has written it.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rialto_sdk::auditing::{ABOUT_BYTES_MAX, ACTION_BYTES_MAX, NOTE_BYTES_MAX};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::bindings::rialto::host::auditing::Outcome;
use crate::bindings::rialto::security_authz::verify_signature::Signed;
use crate::world::World;

/// The most characters of a key's id.
const KEY_ID_CHARS_MAX: usize = 64;

#[derive(Deserialize)]
struct Header {
    alg: String,
    kid: String,
    /// Extensions that must be understood (RFC 7515, 4.1.11). None are.
    #[serde(default)]
    crit: Option<Value>,
}

/// How something ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ended {
    /// It was done.
    Done,
    /// It was not allowed, or not possible.
    Refused,
    /// It could not be done.
    Failed,
}

impl From<Ended> for Outcome {
    fn from(ended: Ended) -> Self {
        match ended {
            Ended::Done => Self::Done,
            Ended::Refused => Self::Refused,
            Ended::Failed => Self::Failed,
        }
    }
}

/// What a program says has happened.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Said {
    /// When: UTC, milliseconds since 1970.
    pub at: u64,
    /// What was done.
    pub action: String,
    /// What it was done to.
    #[serde(default)]
    pub about: String,
    /// How it ended.
    pub outcome: Ended,
    /// For people.
    #[serde(default)]
    pub note: String,
    /// For programs.
    #[serde(default)]
    pub details: Option<Map<String, Value>>,
}

/// An entry whose writer is proven.
#[derive(Debug, Clone, PartialEq)]
pub struct Proven {
    /// What it says.
    pub said: Said,
    /// The key that has signed it.
    pub key_id: String,
    /// Whose key it is, such as `operator/switch`.
    pub writer: String,
}

/// Read an entry and verify its signature. `caller` is the name of who sends it, which must be the writer.
///
/// # Errors
/// When it is none, or the signature is not good: a sentence that says why.
pub fn verified(world: &mut impl World, text: &str, caller: &str) -> Result<Proven, String> {
    let malformed =
        || "it is no JSON Web Signature in compact form with `alg` and `kid`".to_owned();
    let (message, signature) = text.rsplit_once('.').ok_or_else(malformed)?;
    let (header, payload) = message.split_once('.').ok_or_else(malformed)?;
    let bytes = |part: &str| URL_SAFE_NO_PAD.decode(part).map_err(|_| malformed());
    let header: Header = serde_json::from_slice(&bytes(header)?).map_err(|_| malformed())?;
    if header.crit.is_some() {
        return Err("it needs extensions (`crit`), and none are known here".to_owned());
    }
    let is_id = header.kid.bytes().all(|byte| byte.is_ascii_graphic());
    if !is_id || !(1..=KEY_ID_CHARS_MAX).contains(&header.kid.len()) {
        return Err(malformed());
    }
    let signed = Signed {
        key_id: header.kid,
        algorithm: header.alg,
        message: message.as_bytes().to_vec(),
        signature: bytes(signature)?,
    };
    let writer = world.verify(&signed)?;
    // A program outside is an operator of rialto.toml, and perhaps a context (`context/switch`).
    let is_sender = ["operator", "context"]
        .iter()
        .any(|kind| writer == format!("{kind}/{caller}"));
    if !is_sender {
        return Err(format!("it is signed by {writer}, and `{caller}` sends it"));
    }
    let said: Said = serde_json::from_slice(&bytes(payload)?)
        .map_err(|error| format!("its payload is no entry: {error}"))?;
    check(&said)?;
    Ok(Proven {
        said,
        key_id: signed.key_id,
        writer,
    })
}

fn check(said: &Said) -> Result<(), String> {
    let is_part = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b"-.".contains(&b);
    let action = &said.action;
    if !(1..=ACTION_BYTES_MAX).contains(&action.len()) || !action.bytes().all(is_part) {
        return Err(format!(
            "`action` is 1 to {ACTION_BYTES_MAX} lower-case letters, digits, dots and hyphens"
        ));
    }
    for (name, text, most) in [
        ("about", &said.about, ABOUT_BYTES_MAX),
        ("note", &said.note, NOTE_BYTES_MAX),
    ] {
        if text.len() > most || text.chars().any(char::is_control) {
            return Err(format!(
                "`{name}` has at most {most} bytes and no control characters"
            ));
        }
    }
    Ok(())
}
