//! What the browser is given: PublicKeyCredentialCreationOptionsJSON and PublicKeyCredentialRequestOptionsJSON (Web
//! Authentication Level 3, sections 5.1.9 and 5.1.10).

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};

use crate::RelyingParty;
use crate::public_key::ES256;

/// Who registers an authenticator.
#[derive(Debug, Clone, Copy)]
pub struct User<'a> {
    /// What authenticators know the user by: at most 64 bytes as base64url, which say nothing.
    pub handle: &'a str,
    /// The name of the account, which authenticators show.
    pub name: &'a str,
    /// The name of the person.
    pub display_name: &'a str,
}

/// A challenge that is given out.
#[derive(Debug, Clone, Copy)]
pub struct Challenge<'a> {
    /// Random bytes as base64url.
    pub bytes: &'a str,
    /// For how long it is valid, in seconds.
    pub seconds: u64,
}

/// A credential that the browser may use, or must not register again.
#[derive(Debug, Clone, Copy)]
pub struct Known<'a> {
    /// Its id: base64url without padding.
    pub id: &'a str,
    /// How browsers reach the authenticator.
    pub transports: &'a [String],
}

/// Whether the authenticator must verify its user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UserVerification {
    /// It must.
    Required,
    /// It should.
    Preferred,
}

/// Bytes as base64url without padding.
#[must_use]
pub fn base64url(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// Options for `navigator.credentials.create`. An authenticator with one of the `known` credentials registers no other.
#[must_use]
pub fn creation<'a>(
    party: &RelyingParty,
    user: User<'_>,
    challenge: Challenge<'_>,
    known: impl IntoIterator<Item = Known<'a>>,
) -> Value {
    json!({
        "rp": { "id": party.id, "name": party.name },
        "user": { "id": user.handle, "name": user.name, "displayName": user.display_name },
        "challenge": challenge.bytes,
        "pubKeyCredParams": [{ "type": "public-key", "alg": ES256 }],
        "timeout": challenge.seconds * 1_000,
        "excludeCredentials": descriptors(known),
        "authenticatorSelection": { "userVerification": "required" },
        "attestation": "none",
    })
}

/// Options for `navigator.credentials.get`, for one of the `known` credentials.
#[must_use]
pub fn request<'a>(
    party: &RelyingParty,
    challenge: Challenge<'_>,
    verification: UserVerification,
    known: impl IntoIterator<Item = Known<'a>>,
) -> Value {
    let verification = match verification {
        UserVerification::Required => "required",
        UserVerification::Preferred => "preferred",
    };
    json!({
        "rpId": party.id,
        "challenge": challenge.bytes,
        "timeout": challenge.seconds * 1_000,
        "allowCredentials": descriptors(known),
        "userVerification": verification,
    })
}

fn descriptors<'a>(known: impl IntoIterator<Item = Known<'a>>) -> Vec<Value> {
    let each = known.into_iter().map(|credential| {
        let mut descriptor = json!({ "type": "public-key", "id": credential.id });
        if !credential.transports.is_empty() {
            descriptor["transports"] = json!(credential.transports);
        }
        descriptor
    });
    each.collect()
}
