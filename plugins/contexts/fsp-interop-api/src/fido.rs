//! `/app-fido-register`: a participant registers a user's authenticator, answered at once.
//!
//! The user belongs to the participant. Security (crypto) verifies and keeps; see `rialto:security-crypto/fido`. This is
//! no message of the API definition: its media type is `application/json`, without a version, and there is no callback.

use crate::bindings::exports::rialto::host::http_handler::{Request, Response};
use crate::bindings::rialto::security_crypto::fido::{
    self, Begun, FidoError, Owner, OwnerKind, Registered, User,
};
use crate::inbound::{is_its_sender, not_a_participant};
use crate::jws::Judge;
use crate::refusal;
use rialto_sdk::bindings::rialto::common::types::ErrorInformation;
use rialto_sdk::errors::error;
use rialto_sdk::headers::first;
use serde::Deserialize;
use serde_json::{Value, json};

/// The operation's id in the OpenAPI document.
pub const OPERATION: &str = "registerFidoUser";

/// The calls to Security (crypto), in the same turn.
pub trait Registrar {
    /// Begins a registration.
    ///
    /// # Errors
    /// As Security (crypto) says.
    fn begin(&self, owner: &Owner, user: &User) -> Result<Begun, FidoError>;
    /// Finishes a registration.
    ///
    /// # Errors
    /// As Security (crypto) says.
    fn finish(&self, owner: &Owner, id: &str, credential: &str) -> Result<Registered, FidoError>;
}

/// Security (crypto).
#[derive(Debug, Clone, Copy)]
pub struct SecurityCrypto;

impl Registrar for SecurityCrypto {
    fn begin(&self, owner: &Owner, user: &User) -> Result<Begun, FidoError> {
        fido::begin_registration(owner, user)
    }

    fn finish(&self, owner: &Owner, id: &str, credential: &str) -> Result<Registered, FidoError> {
        fido::finish_registration(owner, id, credential)
    }
}

/// A body that begins (`user`) or finishes (`id`, `credential`). The OpenAPI document has validated which.
#[derive(Deserialize)]
struct Asked {
    user: Option<AskedUser>,
    id: Option<String>,
    credential: Option<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AskedUser {
    id: String,
    name: String,
    display_name: Option<String>,
}

/// Answers a request, whose header section is `headers`.
///
/// # Errors
/// Why it is refused.
pub fn answer(
    request: &Request,
    headers: &str,
    judge: Judge<'_>,
    is_participant: impl FnOnce(&str) -> bool,
    registrar: &impl Registrar,
) -> Result<Response, ErrorInformation> {
    let (status, body) = register(request, headers, judge, is_participant, registrar)?;
    Ok(Response {
        status,
        headers: vec![
            json_type(),
            ("cache-control".to_owned(), "no-store".to_owned()),
        ],
        body: Some(body.to_string()),
    })
}

/// The header of answers.
pub(crate) fn json_type() -> (String, String) {
    ("content-type".to_owned(), refusal::JSON.to_owned())
}

/// The status and the body of an answer. The sender is judged as that of any other message.
fn register(
    request: &Request,
    headers: &str,
    judge: Judge<'_>,
    is_participant: impl FnOnce(&str) -> bool,
    registrar: &impl Registrar,
) -> Result<(u16, Value), ErrorInformation> {
    let source = first(headers, "fspiop-source").unwrap_or_default();
    is_its_sender(request, source)?;
    let signed = judge.check(request, headers, source)?;
    if !is_participant(source) {
        return Err(not_a_participant(source));
    }
    let body = request.body.as_deref().unwrap_or("{}");
    let asked: Asked = serde_json::from_str(body).map_err(|_| neither())?;
    let owner = Owner {
        kind: OwnerKind::Participant,
        name: source.to_owned(),
    };
    let answer = match (asked.user, asked.id, asked.credential) {
        (Some(user), None, None) => {
            let user = User {
                id: user.id,
                display_name: user.display_name.unwrap_or_else(|| user.name.clone()),
                name: user.name,
            };
            let begun = registrar
                .begin(&owner, &user)
                .map_err(|error| worded(&error))?;
            // The options are JSON that Security (crypto) has made.
            let options: Value = serde_json::from_str(&begun.public_key).unwrap_or_default();
            let body =
                json!({ "id": begun.id, "publicKey": options, "expiresAt": begun.expires_at });
            (201, body)
        }
        (None, Some(id), Some(credential)) => {
            let done = registrar.finish(&owner, &id, &credential.to_string());
            let done = done.map_err(|error| worded(&error))?;
            let body = json!({
                "user": done.user,
                "credential": done.credential,
                "registeredAt": done.registered_at,
            });
            (200, body)
        }
        _ => return Err(neither()),
    };
    // A refused message may be sent again.
    if let Some(message) = signed {
        judge.take(&message, source);
    }
    Ok(answer)
}

fn neither() -> ErrorInformation {
    error(
        "3101",
        "body: begin with `user`, or finish with `id` and `credential`",
    )
}

/// An error of Security (crypto) in the API's form.
fn worded(refused: &FidoError) -> ErrorInformation {
    let (code, detail) = match refused {
        FidoError::NotSet => ("2002", "the scheme has no relying party of FIDO2"),
        FidoError::Malformed(why) => ("3101", why.as_str()),
        FidoError::UnknownUser => ("3200", "there is no such user: begin again"),
        FidoError::UnknownChallenge => ("3200", "there is no such challenge: begin again"),
        FidoError::TooManyCredentials => {
            ("3100", "the user has as many credentials as are allowed")
        }
        FidoError::ChallengeUsed => ("3100", "a response has used the challenge up: begin again"),
        FidoError::ChallengeExpired => ("3100", "the challenge has expired: begin again"),
        FidoError::CredentialKnown => (
            "3100",
            "the credential was registered before: make a new one",
        ),
        FidoError::CredentialSuspect => ("3100", "the credential no longer works: make a new one"),
        FidoError::Refused(why) => ("3100", why.as_str()),
    };
    error(code, detail)
}

#[cfg(test)]
mod tests;
