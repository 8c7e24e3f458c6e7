//! The ID token, and what is checked of it (OpenID Connect Core 1.0, section 3.1.3.7).

use data_encoding::BASE64URL_NOPAD;
use serde::Deserialize;
use serde_json::Value;

use crate::keys::{Keys, NoKey};

/// How far the provider's clock may be from the host's, in seconds.
const CLOCKS_APART: u64 = 60;
/// The longest token, in characters.
const TOKEN_CHARS_MAX: usize = 64 * 1024;
/// The longest subject, in characters (OpenID Connect Core 1.0, section 2).
const SUBJECT_CHARS_MAX: usize = 255;

/// What an ID token must say.
pub(crate) struct Expected<'a> {
    pub(crate) issuer: &'a str,
    pub(crate) client_id: &'a str,
    pub(crate) nonce: &'a str,
    /// Seconds since 1970.
    pub(crate) now: u64,
}

/// Why an ID token proves nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Unfit {
    /// Its key is not among the known ones.
    UnknownKey,
    /// It is wrong, whatever the keys.
    Wrong(&'static str),
}

#[derive(Deserialize)]
struct Header {
    alg: String,
    kid: Option<String>,
    /// Extensions that must be understood, of which none are.
    crit: Option<Value>,
}

#[derive(Deserialize)]
struct Claims {
    iss: String,
    sub: String,
    aud: Audience,
    azp: Option<String>,
    exp: f64,
    iat: f64,
    nbf: Option<f64>,
    nonce: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Audience {
    One(String),
    Several(Vec<String>),
}

impl Audience {
    fn all(&self) -> &[String] {
        match self {
            Self::One(one) => std::slice::from_ref(one),
            Self::Several(several) => several,
        }
    }
}

/// Verify a token. Returns its subject.
pub(crate) fn verify(token: &str, keys: &Keys, expected: &Expected<'_>) -> Result<String, Unfit> {
    if token.len() > TOKEN_CHARS_MAX {
        return Err(Unfit::Wrong("the ID token is too long"));
    }
    let malformed = Unfit::Wrong("the ID token is not of three parts");
    let (message, signature) = token.rsplit_once('.').ok_or(malformed.clone())?;
    let (head, payload) = message.split_once('.').ok_or(malformed.clone())?;
    if payload.contains('.') {
        return Err(malformed);
    }
    let header: Header = part(head).ok_or(Unfit::Wrong("the ID token's header is malformed"))?;
    if header.crit.is_some() {
        return Err(Unfit::Wrong(
            "the ID token has extensions that are not known",
        ));
    }
    let key_id = header.kid.as_deref();
    let verified = keys.verify(&header.alg, key_id, message.as_bytes(), signature);
    verified.map_err(|no_key| match no_key {
        NoKey::Unknown => Unfit::UnknownKey,
        NoKey::Algorithm => Unfit::Wrong("the ID token's algorithm is none that is accepted"),
        NoKey::Ambiguous => Unfit::Wrong("the ID token does not say which key signed it"),
        NoKey::Signature => Unfit::Wrong("the ID token's signature is wrong"),
    })?;
    let claims: Claims = part(payload).ok_or(Unfit::Wrong(
        "the ID token lacks a claim, or one is malformed",
    ))?;
    claims.check(expected).map_err(Unfit::Wrong)?;
    Ok(claims.sub)
}

fn part<T: for<'de> Deserialize<'de>>(text: &str) -> Option<T> {
    let bytes = BASE64URL_NOPAD.decode(text.as_bytes()).ok()?;
    serde_json::from_slice(&bytes).ok()
}

impl Claims {
    fn check(&self, expected: &Expected<'_>) -> Result<(), &'static str> {
        #[allow(
            clippy::cast_precision_loss,
            reason = "seconds since 1970 are exact in a float for millions of years"
        )]
        let (now, apart) = (expected.now as f64, CLOCKS_APART as f64);
        let audience = self.aud.all();
        let is_subject = |text: &str| {
            (1..=SUBJECT_CHARS_MAX).contains(&text.len()) && text.bytes().all(|b| b.is_ascii())
        };
        let is_for_another = self
            .azp
            .as_ref()
            .is_some_and(|client| client != expected.client_id);
        let checks = [
            (
                self.iss == expected.issuer,
                "the ID token is of another issuer",
            ),
            (
                audience.iter().any(|one| one == expected.client_id),
                "the ID token is for another audience",
            ),
            (
                !is_for_another && (audience.len() == 1 || self.azp.is_some()),
                "the ID token was issued to another client",
            ),
            (self.exp + apart > now, "the ID token has expired"),
            (self.iat - apart <= now, "the ID token is of the future"),
            (
                self.nbf.is_none_or(|from| from - apart <= now),
                "the ID token is not valid yet",
            ),
            (
                self.nonce.as_deref() == Some(expected.nonce),
                "the ID token has another nonce",
            ),
            (is_subject(&self.sub), "the ID token's subject is none"),
        ];
        match checks.iter().find(|(holds, _)| !holds) {
            None => Ok(()),
            Some((_, why)) => Err(why),
        }
    }
}
