//! Reads a token: which texts are tokens, and what one says.
//!
//! Parsing is strict, because the issuer is known and writes one form. What is not needed is refused in the header
//! and ignored among the claims.

use std::fmt;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Map, Value};

use crate::invalid::Invalid;
use crate::rules::Rules;
use crate::strict;

/// The longest token, in bytes.
pub const TOKEN_BYTES_MAX: usize = 4 << 10;
/// How far the issuer's clock may be ahead of the host's, in seconds.
pub const LEEWAY_SECONDS: u64 = 5;
/// The bytes of an ES256 signature.
const SIGNATURE_BYTES: usize = 64;
/// The members of a token's header. Others could say where to find a key, or what else must be understood.
const HEADER_MEMBERS: [&str; 3] = ["alg", "typ", "kid"];
/// The types of access tokens (RFC 9068).
const TYPES: [&str; 2] = ["at+jwt", "application/at+jwt"];
/// The member of `cnf` with a certificate's thumbprint (RFC 8705).
const THUMBPRINT: &str = "x5t#S256";

/// The SHA-256 of a certificate's DER.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Thumbprint(pub [u8; 32]);

impl Thumbprint {
    fn parse(text: &str) -> Option<Self> {
        let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
        Some(Self(bytes.try_into().ok()?))
    }
}

/// As `x5t#S256`: base64url without padding.
impl fmt::Display for Thumbprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&URL_SAFE_NO_PAD.encode(self.0))
    }
}

impl fmt::Debug for Thumbprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A client to which tokens are issued, as its issuer knows it now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Client {
    /// Who it is.
    pub name: Arc<str>,
    /// The generation of its valid tokens.
    pub generation: u64,
}

/// What a token with a right signature says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claims {
    /// The id of the client to which the token was issued.
    pub client: Arc<str>,
    /// Who the client is.
    pub name: Arc<str>,
    /// The generation of the token.
    pub generation: u64,
    /// When it was issued: UTC, seconds since 1970, as the others.
    pub issued_at: u64,
    /// Before this it is not valid.
    pub not_before: Option<u64>,
    /// From this on it is not valid.
    pub expires_at: u64,
    /// The certificate that it is bound to.
    pub certificate: Option<Thumbprint>,
    issuer: Box<str>,
    audiences: Box<[Box<str>]>,
}

/// The parts of a token.
pub(crate) struct Parts<'t> {
    /// The key's id.
    pub key: String,
    /// The signed text.
    pub message: &'t str,
    pub signature: [u8; SIGNATURE_BYTES],
    claims: &'t str,
}

impl<'t> Parts<'t> {
    /// The parts of a token, whose signature is not verified yet.
    pub fn of(token: &'t str) -> Result<Self, Invalid> {
        if token.len() > TOKEN_BYTES_MAX {
            return Err(Invalid::TooLong);
        }
        let mut parts = token.split('.');
        let (Some(header), Some(claims), Some(signature), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(Invalid::Malformed("it does not have three parts"));
        };
        let key = key_of(header)?;
        let signature = decoded(signature)
            .and_then(|bytes| bytes.try_into().ok())
            .ok_or(Invalid::Malformed("its signature is not 64 bytes"))?;
        Ok(Self {
            key,
            message: &token[..header.len() + 1 + claims.len()],
            signature,
            claims,
        })
    }

    /// What the token says. Ask only after its signature was verified.
    pub fn claims(&self) -> Result<Claims, Invalid> {
        Claims::of(self.claims)
    }
}

/// The key's id of a header that has nothing else than it must.
fn key_of(header: &str) -> Result<String, Invalid> {
    let wrong = Invalid::Malformed("its header is not one of an access token");
    let header = decoded(header).and_then(|bytes| strict::object(&bytes));
    let header = header.ok_or(wrong)?;
    // The algorithm first: it is what attackers change.
    if text(&header, "alg") != Some("ES256") {
        return Err(Invalid::Algorithm);
    }
    let kind = text(&header, "typ").unwrap_or_default();
    if !TYPES.iter().any(|known| known.eq_ignore_ascii_case(kind)) {
        return Err(Invalid::Type);
    }
    let mut members = header.keys();
    if !members.all(|member| HEADER_MEMBERS.contains(&member.as_str())) {
        return Err(wrong);
    }
    text(&header, "kid").map(str::to_owned).ok_or(wrong)
}

impl Claims {
    fn of(part: &str) -> Result<Self, Invalid> {
        let claims = decoded(part).and_then(|bytes| strict::object(&bytes));
        let claims = claims.ok_or(Invalid::Malformed("its claims are no JSON object"))?;
        let named = |name| text(&claims, name);
        let seconds = |name| claims.get(name).and_then(Value::as_u64);
        let missing = Invalid::Malformed;
        if named("jti").is_none() {
            return Err(missing("it has no id"));
        }
        Ok(Self {
            client: named("client_id")
                .ok_or(missing("it names no client"))?
                .into(),
            name: named("sub").ok_or(missing("it has no subject"))?.into(),
            generation: seconds("generation").ok_or(missing("it has no generation"))?,
            issued_at: seconds("iat").ok_or(missing("it does not say when it was issued"))?,
            not_before: match claims.get("nbf") {
                None => None,
                Some(time) => Some(time.as_u64().ok_or(missing("its beginning is no time"))?),
            },
            expires_at: seconds("exp").ok_or(missing("it does not say when it expires"))?,
            certificate: certificate_of(&claims)?,
            issuer: named("iss").ok_or(missing("it has no issuer"))?.into(),
            audiences: audiences_of(&claims).ok_or(missing("it has no audience"))?,
        })
    }

    /// Check that the issuer and the audience are those of the rules.
    pub(crate) fn check_rules(&self, rules: &Rules) -> Result<(), Invalid> {
        if *self.issuer != *rules.issuer {
            return Err(Invalid::Issuer);
        }
        if !self
            .audiences
            .iter()
            .any(|audience| **audience == *rules.audience)
        {
            return Err(Invalid::Audience);
        }
        Ok(())
    }

    /// Check that the token is valid at this time: UTC, seconds since 1970.
    ///
    /// # Errors
    /// [`Invalid::Expired`] or [`Invalid::NotYetValid`].
    pub fn check_time(&self, now: u64) -> Result<(), Invalid> {
        if now >= self.expires_at {
            return Err(Invalid::Expired);
        }
        let begins = self.not_before.unwrap_or(0).max(self.issued_at);
        if begins > now.saturating_add(LEEWAY_SECONDS) {
            return Err(Invalid::NotYetValid);
        }
        Ok(())
    }

    /// Check the token against its client as the issuer knows it now; none if the issuer has no such client.
    ///
    /// # Errors
    /// When the client may not use this token.
    pub fn check_client(&self, client: Option<&Client>) -> Result<(), Invalid> {
        let client = client.ok_or(Invalid::UnknownClient)?;
        if client.name != self.name {
            return Err(Invalid::Name);
        }
        if client.generation != self.generation {
            return Err(Invalid::Revoked);
        }
        Ok(())
    }

    /// Check the token against the certificate of the connection that it came by; none if it has none. If
    /// `must_be_bound`, the token must name a certificate. If the token names one, it must be the connection's,
    /// whether it must or not.
    ///
    /// # Errors
    /// [`Invalid::Unbound`] or [`Invalid::OtherCertificate`].
    pub fn check_certificate(
        &self,
        certificate: Option<&Thumbprint>,
        must_be_bound: bool,
    ) -> Result<(), Invalid> {
        match &self.certificate {
            None if must_be_bound => Err(Invalid::Unbound),
            None => Ok(()),
            Some(bound) if certificate == Some(bound) => Ok(()),
            Some(_) => Err(Invalid::OtherCertificate),
        }
    }
}

/// The certificate that a token is bound to. A binding to something else than a certificate is refused, because nobody
/// would check it.
fn certificate_of(claims: &Map<String, Value>) -> Result<Option<Thumbprint>, Invalid> {
    let Some(binding) = claims.get("cnf") else {
        return Ok(None);
    };
    let wrong = Invalid::Malformed("it is bound to something else than a certificate");
    let members = binding.as_object().filter(|members| members.len() == 1);
    let thumbprint = members.and_then(|members| members.get(THUMBPRINT)?.as_str());
    let thumbprint = thumbprint.and_then(Thumbprint::parse);
    thumbprint.map(Some).ok_or(wrong)
}

/// The audiences: one or more texts.
fn audiences_of(claims: &Map<String, Value>) -> Option<Box<[Box<str>]>> {
    let of = |value: &Value| {
        value
            .as_str()
            .filter(|text| !text.is_empty())
            .map(Into::into)
    };
    match claims.get("aud")? {
        Value::Array(several) if !several.is_empty() => several.iter().map(of).collect(),
        one => Some([of(one)?].into()),
    }
}

/// A member that is a text and not empty.
fn text<'v>(members: &'v Map<String, Value>, name: &str) -> Option<&'v str> {
    members.get(name)?.as_str().filter(|text| !text.is_empty())
}

/// The bytes of base64url without padding. Each text of the same bytes but one is refused.
fn decoded(part: &str) -> Option<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(part).ok()
}
