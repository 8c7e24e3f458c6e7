//! FSPIOP-Signature: checks of signed messages, and what the host signs of the hub's own messages.
//!
//! The signature covers the body's octets and a protected header, which repeats sender, receiver and path. It
//! is checked against the headers and the request itself, so that a message signed for one path is not valid on
//! another. A message that changes something and has no id for idempotency is accepted once: its `Date` is
//! signed too, and the message is remembered while that is recent. The host has the keys.
//!
//! | To see | Read |
//! |---|---|
//! | what a protected header must have | `protected` |
//! | what FSPIOP-URI must name | [`target`] |
//! | what is remembered of signers and of signed messages | [`memory`] |

use crate::bindings::exports::rialto::host::http_handler::Request;
use crate::bindings::rialto::fsp_interop_api::notify_requested::HubSignature;
use crate::bindings::rialto::host::crypto::{self, Algorithm, Verdict};
use crate::media::Resource;
use crate::settings::{Required, Settings, Unsigned};
use memory::{Fingerprint, Memory};
use protected::{Members, differs, only, same};
use rialto_sdk::bindings::rialto::common::types::ErrorInformation;
use rialto_sdk::canonical::decode_base64url;
use rialto_sdk::errors::error;
use rialto_sdk::headers::{first, push};
use rialto_sdk::time::parse_http_date;
use serde::{Deserialize, Serialize};
use std::fmt;

pub mod memory;
mod protected;
pub mod target;

const SIGNATURE: &str = "fspiop-signature";
const URI: &str = "fspiop-uri";
const METHOD: &str = "fspiop-http-method";

/// Longest texts of FSPIOP-Signature.
const SIGNATURE_MAX: usize = 512;
const PROTECTED_HEADER_MAX: usize = 32_768;

/// The keys. The host has the keys.
pub trait Keys: fmt::Debug {
    /// Whether a participant has a key.
    fn has_key(&self, signer: &str) -> bool;
    /// Verifies a signature.
    fn verify(
        &self,
        signer: &str,
        algorithm: Algorithm,
        protected_header: &str,
        payload: &str,
        signature: &str,
    ) -> Verdict;
    /// Whether the hub has a key.
    fn has_own_key(&self) -> bool;
}

/// The host's keys.
#[derive(Debug, Clone, Copy)]
pub struct HostKeys;

impl Keys for HostKeys {
    fn has_key(&self, signer: &str) -> bool {
        crypto::has_key(signer)
    }

    fn verify(
        &self,
        signer: &str,
        algorithm: Algorithm,
        protected_header: &str,
        payload: &str,
        signature: &str,
    ) -> Verdict {
        crypto::verify(signer, algorithm, protected_header, payload, signature)
    }

    fn has_own_key(&self) -> bool {
        crypto::has_own_key()
    }
}

/// The facts for checking signatures.
#[derive(Debug, Clone, Copy)]
pub struct Judge<'a> {
    /// The keys.
    pub keys: &'a dyn Keys,
    /// The memory of signers and signed messages.
    pub memory: &'a dyn Memory,
    /// The component's settings.
    pub settings: &'a Settings,
    /// The turn's instant, in milliseconds since 1970.
    pub now: u64,
}

/// The value of FSPIOP-Signature.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Flattened {
    signature: String,
    protected_header: String,
}

/// The duty to sign a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Duty {
    /// None: the message is not verified.
    None,
    /// A signature is optional, but must be valid.
    IfSigned,
    /// It must be signed.
    Signed,
}

impl Judge<'_> {
    /// Checks that a participant's message is signed as the scheme requires. Returns the value for
    /// [`Self::take`] if the message must not be accepted twice.
    ///
    /// # Errors
    /// 3105, with the problem.
    pub fn check(
        &self,
        request: &Request,
        headers: &str,
        source: &str,
    ) -> Result<Option<Fingerprint>, ErrorInformation> {
        self.judge(request, headers, source)
            .map_err(|detail| error("3105", &detail))
    }

    /// Remembers an accepted message, so that it is not accepted again.
    pub fn take(&self, message: &Fingerprint, source: &str) {
        let window = self.settings.signed_message_age_ms;
        self.memory.take(message, source, self.now, window);
    }

    fn judge(
        &self,
        request: &Request,
        headers: &str,
        source: &str,
    ) -> Result<Option<Fingerprint>, String> {
        let duty = self.duty(request, source)?;
        if duty == Duty::None {
            return Ok(None);
        }
        let Some(value) = only(headers, SIGNATURE)? else {
            return match duty {
                Duty::Signed => Err(must_sign(request, source)),
                Duty::IfSigned | Duty::None => Ok(None),
            };
        };
        let value = Flattened::read(value)?;
        let members = value.members()?;
        let algorithm = members.algorithm()?;
        members.compare(headers)?;
        self.compare(request, headers)?;
        let date = self.fresh(headers)?;
        // This is useless for messages that may be unsigned.
        let only_once = duty == Duty::Signed && !is_idempotent(request);
        if only_once && members.get("Date").is_none() {
            return Err(
                "header Date: must be protected, because this message must not be repeated".into(),
            );
        }
        let Flattened {
            signature,
            protected_header,
        } = value;
        let body = request.body.as_deref().unwrap_or_default();
        match self
            .keys
            .verify(source, algorithm, &protected_header, body, &signature)
        {
            // A key owner must sign from now on. The host reports keys too, but later, for a key that is older
            // than its participant.
            Verdict::Valid => {
                self.memory.note_key(source, self.now);
            }
            Verdict::Invalid => {
                return Err(format!("the signature does not fit any key of {source}"));
            }
            // There is no key, or the last one was removed just now.
            Verdict::NoKey => return Err(format!("{source} has no key")),
        }
        if !only_once {
            return Ok(None);
        }
        let message = Fingerprint::of(&protected_header, body, date);
        match self.memory.taken_at(&message) {
            None => Ok(Some(message)),
            Some(at) if self.may_come_again(request, at) => Ok(None),
            Some(_) => Err("this signed message was accepted before".to_owned()),
        }
    }

    /// The duty to sign for a message of this sender.
    fn duty(&self, request: &Request, source: &str) -> Result<Duty, String> {
        // A query changes nothing, and deployed clients do not sign it.
        if request.method == "GET" {
            return Ok(Duty::None);
        }
        let has_key = self.keys.has_key(source);
        let must = match self.settings.signatures.of(source) {
            Required::None => false,
            Required::All => true,
            Required::WithKey => has_key || self.memory.has_had_key(source),
        };
        match (must, has_key) {
            (true, _) if self.may_be_unsigned(request) => Ok(Duty::IfSigned),
            (true, true) => Ok(Duty::Signed),
            (true, false) => Err(format!(
                "{source} must sign, but the hub has no key of {source}"
            )),
            (false, true) => Ok(Duty::IfSigned),
            (false, false) => Ok(Duty::None),
        }
    }

    /// Deployed clients do not sign DELETE, and sign PUT /parties only if configured. Both may be unsigned from who
    /// has proven its identity otherwise (`caller`), and a scheme may accept them from everybody.
    fn may_be_unsigned(&self, request: &Request) -> bool {
        let setting = match exemption(request) {
            Some(Exemption::Delete) => self.settings.unsigned_delete,
            Some(Exemption::PutParties) => self.settings.unsigned_put_parties,
            None => return false,
        };
        setting == Unsigned::Accept || request.caller.is_some()
    }

    /// Checks that the signed headers match the request.
    fn compare(&self, request: &Request, headers: &str) -> Result<(), String> {
        // Its presence and equality were checked before.
        let uri = only(headers, URI)?.unwrap_or_default();
        if !target::is_of(uri, request, self.settings) {
            return Err(differs("FSPIOP-URI"));
        }
        same(
            "FSPIOP-HTTP-Method",
            only(headers, METHOD)?,
            &request.method,
        )
    }

    /// Checks that a signed message is recent: an old one is a replay. Returns its instant, in milliseconds
    /// since 1970.
    fn fresh(&self, headers: &str) -> Result<u64, String> {
        let date = only(headers, "date")?.unwrap_or_default();
        let at = parse_http_date(date)
            .ok_or("header Date: must be like Tue, 15 Nov 1994 08:12:31 GMT in a signed message")?;
        let (age, max) = (at.abs_diff(self.now), self.settings.signed_message_age_ms);
        if age <= max {
            return Ok(at);
        }
        let side = if at < self.now { "old" } else { "early" };
        Err(format!(
            "header Date: {} s too {side} for a signed message",
            (age - max).div_ceil(1000)
        ))
    }

    /// `Date` has whole seconds, so two answers about one party to one FSP within a second are the same signed
    /// message. So an answer may be repeated for a short time. Such an old answer does no harm.
    fn may_come_again(&self, request: &Request, taken_at: u64) -> bool {
        exemption(request) == Some(Exemption::PutParties)
            && self.now.saturating_sub(taken_at) < self.settings.repeated_put_parties_ms
    }
}

/// Messages with a setting for accepting them unsigned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Exemption {
    Delete,
    PutParties,
}

fn exemption(request: &Request) -> Option<Exemption> {
    let is_of_parties = || Resource::of_path(&request.path) == Some(Resource::Parties);
    match request.method.as_str() {
        "DELETE" => Some(Exemption::Delete),
        "PUT" if is_of_parties() => Some(Exemption::PutParties),
        _ => None,
    }
}

/// Whether the message has an id that shows a repeat: a quote's or a transfer's. Associations and answers about
/// parties have none.
fn is_idempotent(request: &Request) -> bool {
    matches!(
        Resource::of_path(&request.path),
        Some(Resource::Quotes | Resource::Transfers)
    )
}

/// The error for an unsigned message, with the setting that would accept it.
fn must_sign(request: &Request, source: &str) -> String {
    let see = match exemption(request) {
        Some(Exemption::Delete) => "; see unsignedDelete",
        Some(Exemption::PutParties) => "; see unsignedPutParties",
        None => "",
    };
    format!("header FSPIOP-Signature: {source} has a key, so it must sign{see}")
}

impl Flattened {
    /// Parses the header's value.
    fn read(value: &str) -> Result<Self, String> {
        let value: Self = serde_json::from_str(value)
            .map_err(|problem| format!("header FSPIOP-Signature: {problem}"))?;
        for (name, text, max) in [
            ("signature", &value.signature, SIGNATURE_MAX),
            (
                "protectedHeader",
                &value.protected_header,
                PROTECTED_HEADER_MAX,
            ),
        ] {
            if text.is_empty() || text.len() > max {
                return Err(format!(
                    "header FSPIOP-Signature: {name} has {} characters; it must have 1 to {max}",
                    text.len()
                ));
            }
        }
        Ok(value)
    }

    /// The members of the protected header.
    fn members(&self) -> Result<Members, String> {
        let json = decode_base64url(&self.protected_header)
            .ok_or("protected header: not base64url without padding")?;
        serde_json::from_slice(&json).map_err(|problem| format!("protected header: {problem}"))
    }
}

/// Whether a message's signature protects the header of this name (lower case).
#[must_use]
pub fn protects(headers: &str, name: &str) -> bool {
    let members = first(headers, SIGNATURE)
        .and_then(|value| Flattened::read(value).ok())
        .and_then(|value| value.members().ok());
    members.is_some_and(|members| members.has_header(name))
}

/// The protected header of the hub's messages, without `alg`.
#[derive(Serialize)]
struct Own<'a> {
    #[serde(rename = "FSPIOP-URI")]
    uri: &'a str,
    #[serde(rename = "FSPIOP-HTTP-Method")]
    method: &'a str,
    #[serde(rename = "FSPIOP-Source")]
    source: Option<&'a str>,
    #[serde(rename = "FSPIOP-Destination")]
    destination: Option<&'a str>,
    #[serde(rename = "Date")]
    date: Option<&'a str>,
}

/// The signature that the host makes of a message of the hub before it leaves, if the hub has a key. The headers
/// that it repeats are added. Messages of others, and signed ones, are forwarded as they are.
#[must_use]
pub fn hub_signature(
    keys: &dyn Keys,
    hub: &str,
    headers: &mut String,
    (method, path): (&str, &str),
) -> Option<HubSignature> {
    let source = first(headers, "fspiop-source");
    if source != Some(hub) || first(headers, SIGNATURE).is_some() || !keys.has_own_key() {
        return None;
    }
    let own = Own {
        uri: path,
        method,
        source,
        destination: first(headers, "fspiop-destination"),
        date: first(headers, "date"),
    };
    let members = serde_json::to_string(&own).expect("a struct of strings always has a JSON text");
    push(headers, URI, path);
    push(headers, METHOD, method);
    Some(HubSignature {
        header: SIGNATURE.to_owned(),
        members,
    })
}

#[cfg(test)]
pub(crate) mod fake;
#[cfg(test)]
mod tests;
