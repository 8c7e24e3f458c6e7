//! The browser's responses as JSON: RegistrationResponseJSON and AuthenticationResponseJSON (Web Authentication Level 3,
//! section 5.1). Here they are only read. A response that cannot be read changes nothing.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ciborium::Value;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::authenticator_data::{self, AuthenticatorData, NewCredential};
use crate::client_data::ClientData;
use crate::public_key::numbers;
use crate::{Failure, cbor};

/// Bytes of a response's JSON text, at most.
pub const RESPONSE_MAX: usize = 65_536;
/// Transports of a credential that are kept, at most.
const TRANSPORTS_MAX: usize = 8;

/// A response to a registration.
#[derive(Debug)]
pub struct Registration {
    /// The client data as it was hashed.
    pub client_data_json: Vec<u8>,
    /// The client data.
    pub client_data: ClientData,
    /// The authenticator data.
    pub data: AuthenticatorData,
    /// The new credential.
    pub credential: NewCredential,
    /// Whether the attestation is `none`, and then whether its statement is empty.
    pub none_attestation: Option<bool>,
    /// How the browser reaches the authenticator.
    pub transports: Vec<String>,
}

/// A response to an authentication.
#[derive(Debug)]
pub struct Assertion {
    /// The credential's id: base64url without padding.
    pub id: String,
    /// The client data as it was hashed.
    pub client_data_json: Vec<u8>,
    /// The client data.
    pub client_data: ClientData,
    /// The authenticator data as it was signed.
    pub signed: Vec<u8>,
    /// The authenticator data.
    pub data: AuthenticatorData,
    /// The two numbers of the signature.
    pub signature: Vec<u8>,
    /// The handle of the user, if the authenticator tells it.
    pub user_handle: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Sent<R> {
    id: String,
    raw_id: String,
    r#type: String,
    response: R,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SentRegistration {
    #[serde(rename = "clientDataJSON")]
    client_data_json: String,
    attestation_object: String,
    #[serde(default)]
    transports: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SentAssertion {
    #[serde(rename = "clientDataJSON")]
    client_data_json: String,
    authenticator_data: String,
    signature: String,
    #[serde(default)]
    user_handle: Option<String>,
}

/// Reads a RegistrationResponseJSON.
///
/// # Errors
/// [`Failure::Malformed`].
pub fn registration(text: &str) -> Result<Registration, Failure> {
    let sent: Sent<SentRegistration> = json(text)?;
    let id = sent.id()?;
    let (client_data_json, client_data) = client_data(&sent.response.client_data_json)?;
    let place = "response.attestationObject";
    let object = bytes(place, &sent.response.attestation_object)?;
    let (object, rest) = cbor::first_map(&object).map_err(|why| malformed(place, why))?;
    if !rest.is_empty() {
        return Err(malformed(place, "has bytes behind its end"));
    }
    let member = |name: &str| {
        let found = cbor::member(&object, &name.into());
        found.map_err(|why| malformed(place, why))
    };
    let format = member("fmt")?.and_then(Value::as_text);
    let format = format.ok_or_else(|| malformed(place, "has no text `fmt`"))?;
    let statement = member("attStmt")?.and_then(Value::as_map);
    let statement = statement.ok_or_else(|| malformed(place, "has no map `attStmt`"))?;
    let data = member("authData")?.and_then(Value::as_bytes);
    let data = data.ok_or_else(|| malformed(place, "has no bytes `authData`"))?;
    let mut data = authenticator_data::read(data)
        .map_err(|why| malformed(place, &format!("has authenticator data that {why}")))?;
    let credential = data.credential.take();
    let credential = credential.ok_or_else(|| malformed(place, "has no credential"))?;
    if credential.id != id {
        return Err(malformed(
            "id",
            "is not the id in `response.attestationObject`",
        ));
    }
    let is_transport =
        |name: &String| (1..=16).contains(&name.len()) && name.bytes().all(is_of_a_transport);
    let mut transports = sent.response.transports;
    transports.retain(is_transport);
    transports.truncate(TRANSPORTS_MAX);
    Ok(Registration {
        client_data_json,
        client_data,
        data,
        credential,
        none_attestation: (format == "none").then_some(statement.is_empty()),
        transports,
    })
}

fn is_of_a_transport(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte == b'-'
}

/// Reads an AuthenticationResponseJSON.
///
/// # Errors
/// [`Failure::Malformed`].
pub fn assertion(text: &str) -> Result<Assertion, Failure> {
    let sent: Sent<SentAssertion> = json(text)?;
    sent.id()?;
    let (client_data_json, client_data) = client_data(&sent.response.client_data_json)?;
    let place = "response.authenticatorData";
    let signed = bytes(place, &sent.response.authenticator_data)?;
    let data = authenticator_data::read(&signed).map_err(|why| malformed(place, &why))?;
    let place = "response.signature";
    let signature = bytes(place, &sent.response.signature)?;
    let signature = numbers(&signature).map_err(|why| malformed(place, why))?;
    let user_handle = sent.response.user_handle;
    if let Some(handle) = &user_handle {
        bytes("response.userHandle", handle)?;
    }
    Ok(Assertion {
        id: sent.id,
        client_data_json,
        client_data,
        signed,
        data,
        signature,
        user_handle,
    })
}

impl<R> Sent<R> {
    /// The credential's id.
    fn id(&self) -> Result<Vec<u8>, Failure> {
        if self.r#type != "public-key" {
            return Err(malformed("type", "must be `public-key`"));
        }
        if self.raw_id != self.id {
            return Err(malformed("rawId", "must be the same as `id`"));
        }
        let id = bytes("id", &self.id)?;
        if !(1..=authenticator_data::CREDENTIAL_ID_MAX).contains(&id.len()) {
            return Err(malformed("id", "must have 1 to 1023 bytes"));
        }
        Ok(id)
    }
}

/// A response's JSON. The reader's message names members and types. It may show a value, so it is not told.
fn json<T: DeserializeOwned>(text: &str) -> Result<T, Failure> {
    if text.len() > RESPONSE_MAX {
        let why = format!(
            "`credential` has {} bytes; it may have {RESPONSE_MAX}",
            text.len()
        );
        return Err(Failure::Malformed(why));
    }
    serde_json::from_str(text).map_err(|error| {
        let why = format!(
            "`credential` is not the JSON form of the browser's response (toJSON), at its column {}",
            error.column()
        );
        Failure::Malformed(why)
    })
}

fn client_data(text: &str) -> Result<(Vec<u8>, ClientData), Failure> {
    let place = "response.clientDataJSON";
    let json = bytes(place, text)?;
    let read = serde_json::from_slice(&json);
    let read = read.map_err(|_| malformed(place, "is not the client data as JSON in UTF-8"))?;
    Ok((json, read))
}

fn bytes(place: &str, text: &str) -> Result<Vec<u8>, Failure> {
    let decoded = URL_SAFE_NO_PAD.decode(text);
    decoded.map_err(|_| {
        malformed(
            place,
            "must be base64url without padding (RFC 4648, section 5)",
        )
    })
}

fn malformed(place: &str, why: &str) -> Failure {
    Failure::Malformed(format!("`credential.{place}` {why}"))
}
