//! What the browser is given: PublicKeyCredentialCreationOptionsJSON and PublicKeyCredentialRequestOptionsJSON (Web
//! Authentication Level 3, sections 5.1.9 and 5.1.10).

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};

use super::documents::{Challenge, Purpose, User};
use super::public_key::ES256;
use crate::settings::Fido;

/// Bytes as base64url without padding.
#[must_use]
pub fn base64url(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// Options for `navigator.credentials.create`.
#[must_use]
pub fn creation(party: &Fido, user: &User, given: &Challenge) -> Value {
    json!({
        "rp": { "id": party.relying_party, "name": party.name },
        "user": { "id": user.handle, "name": user.name, "displayName": user.display_name },
        "challenge": given.challenge,
        "pubKeyCredParams": [{ "type": "public-key", "alg": ES256 }],
        "timeout": party.challenge_seconds * 1_000,
        "excludeCredentials": credentials(user),
        "authenticatorSelection": { "userVerification": "required" },
        "attestation": "none",
    })
}

/// Options for `navigator.credentials.get`.
#[must_use]
pub fn request(party: &Fido, user: &User, given: &Challenge) -> Value {
    let verification = match given.purpose {
        Purpose::Authorize => "required",
        Purpose::Register | Purpose::Authenticate => "preferred",
    };
    json!({
        "rpId": party.relying_party,
        "challenge": given.challenge,
        "timeout": party.challenge_seconds * 1_000,
        "allowCredentials": credentials(user),
        "userVerification": verification,
    })
}

/// The credentials that work. An authenticator with one that does not may register again.
fn credentials(user: &User) -> Vec<Value> {
    let each = user.working().map(|credential| {
        let mut descriptor = json!({ "type": "public-key", "id": credential.id });
        if !credential.transports.is_empty() {
            descriptor["transports"] = json!(credential.transports);
        }
        descriptor
    });
    each.collect()
}
