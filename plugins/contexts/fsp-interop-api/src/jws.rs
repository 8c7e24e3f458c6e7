//! FSPIOP-Signature: what a signed message must say, and the signatures of the hub's own messages.
//!
//! The signature is over the body's octets and a protected header, which repeats what else matters: who
//! says it, to whom, on which path. It is judged against the headers and against the request itself,
//! so that what was signed for one path cannot be said on another one. A message that changes something
//! and has no id that would make it idempotent is taken once: its `Date` is signed too, and it is
//! remembered for as long as that counts as now. The keys are the host's.
//!
//! | To see | Read |
//! |---|---|
//! | what a protected header must have | `protected` |
//! | what FSPIOP-URI must name | [`target`] |
//! | what is remembered of signers and of signed messages | [`memory`] |

use crate::bindings::exports::rialto::host::http_handler::Request;
use crate::bindings::rialto::host::crypto::{self, Algorithm, Signed, Verdict};
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

/// Who signs with what. The host has the keys.
pub trait Keys: fmt::Debug {
    /// Whether somebody has a key.
    fn has_key(&self, signer: &str) -> bool;
    /// Judge a signature.
    fn verify(
        &self,
        signer: &str,
        algorithm: Algorithm,
        protected_header: &str,
        payload: &str,
        signature: &str,
    ) -> Verdict;
    /// Sign as the hub; none if it has no key.
    fn sign(&self, members: &str, payload: &str) -> Option<Signed>;
}

/// The keys that the host has.
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

    fn sign(&self, members: &str, payload: &str) -> Option<Signed> {
        crypto::sign(members, payload)
    }
}

/// What signatures are judged by, beside the message.
#[derive(Debug, Clone, Copy)]
pub struct Judge<'a> {
    /// The keys.
    pub keys: &'a dyn Keys,
    /// What is remembered of signers.
    pub memory: &'a dyn Memory,
    /// The component's settings.
    pub settings: &'a Settings,
    /// The turn's instant, in milliseconds since 1970.
    pub now: u64,
}

/// The value of FSPIOP-Signature.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Flattened {
    signature: String,
    protected_header: String,
}

/// What is asked of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Duty {
    /// Nothing: it is not verified.
    None,
    /// If it is signed, it must be signed well.
    IfSigned,
    /// It must be signed.
    Signed,
}

impl Judge<'_> {
    /// Accept a message of a participant, signed as the scheme requires it. Returns what is to be given to
    /// [`Self::take`] when the message is taken, if it must not be taken again.
    ///
    /// # Errors
    /// 3105, with what is wrong.
    pub fn check(
        &self,
        request: &Request,
        headers: &str,
        source: &str,
    ) -> Result<Option<Fingerprint>, ErrorInformation> {
        self.judge(request, headers, source)
            .map_err(|detail| error("3105", &detail))
    }

    /// A message that [`Self::check`] has accepted is taken: it is not taken again.
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
        // What may come unsigned too gains nothing by this.
        let only_once = duty == Duty::Signed && !is_idempotent(request);
        if only_once && members.get("Date").is_none() {
            return Err(
                "header Date: is not protected, and this message must not be repeated".into(),
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
            // Whoever has a key must sign from now on: the host tells of keys too, but of one that was there
            // before its participant only after a while.
            Verdict::Valid => {
                self.memory.note_key(source, self.now);
            }
            Verdict::Invalid => return Err(format!("no key of {source} has signed this body so")),
            // None is there, or its last one went a moment ago.
            Verdict::NoKey => return Err(format!("{source} has no key")),
        }
        if !only_once {
            return Ok(None);
        }
        let message = Fingerprint::of(&protected_header, body, date);
        match self.memory.taken_at(&message) {
            None => Ok(Some(message)),
            Some(at) if self.may_come_again(request, at) => Ok(None),
            Some(_) => Err("this signed message was taken before".to_owned()),
        }
    }

    /// What the scheme asks of a message of this sender.
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
            (true, false) => Err(format!("{source} must sign, and the hub has no key of it")),
            (false, true) => Ok(Duty::IfSigned),
            (false, false) => Ok(Duty::None),
        }
    }

    /// Deployed clients sign neither DELETE nor, unless they are told to, PUT /parties: a scheme may
    /// take both as they are.
    fn may_be_unsigned(&self, request: &Request) -> bool {
        let setting = match exemption(request) {
            Some(Exemption::Delete) => self.settings.unsigned_delete,
            Some(Exemption::PutParties) => self.settings.unsigned_put_parties,
            None => Unsigned::Refuse,
        };
        setting == Unsigned::Accept
    }

    /// The request is what the signed headers name.
    fn compare(&self, request: &Request, headers: &str) -> Result<(), String> {
        // That it is there and as it is protected was seen before.
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

    /// A signed message is of now: one from long ago is said again by somebody who has kept it. Returns its
    /// instant, in milliseconds since 1970.
    fn fresh(&self, headers: &str) -> Result<u64, String> {
        let date = only(headers, "date")?.unwrap_or_default();
        let at = parse_http_date(date)
            .ok_or("header Date: a signed message has it as Tue, 15 Nov 1994 08:12:31 GMT")?;
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

    /// Two answers about one party to one FSP within a second are one signed message, for `Date` has
    /// seconds. So an answer may come again for a moment; that it is as old as that changes nothing.
    fn may_come_again(&self, request: &Request, taken_at: u64) -> bool {
        exemption(request) == Some(Exemption::PutParties)
            && self.now.saturating_sub(taken_at) < self.settings.repeated_put_parties_ms
    }
}

/// Messages that have a setting of their own for those that are not signed.
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

/// Whether the message has an id by which a second one is known: a quote's or a transfer's. Associations
/// have none, nor have answers about parties.
fn is_idempotent(request: &Request) -> bool {
    matches!(
        Resource::of_path(&request.path),
        Some(Resource::Quotes | Resource::Transfers)
    )
}

/// Why a message without a signature is refused, with the setting by which a scheme takes it.
fn must_sign(request: &Request, source: &str) -> String {
    let see = match exemption(request) {
        Some(Exemption::Delete) => "; see unsignedDelete",
        Some(Exemption::PutParties) => "; see unsignedPutParties",
        None => "",
    };
    format!("header FSPIOP-Signature: {source} has a key, so it must sign{see}")
}

impl Flattened {
    /// Read the header's value.
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
                    "header FSPIOP-Signature: {name} has {} characters, and 1 to {max} are taken",
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

/// Whether a message says that its signature protects the header of this name (lower case).
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

/// The headers of a message that the hub makes, with its signature if it has a key.
#[must_use]
pub fn signed(
    keys: &dyn Keys,
    mut headers: String,
    method: &str,
    path: &str,
    body: &str,
) -> String {
    let own = Own {
        uri: path,
        method,
        source: first(&headers, "fspiop-source"),
        destination: first(&headers, "fspiop-destination"),
        date: first(&headers, "date"),
    };
    let members = to_text(&own);
    let Some(Signed {
        protected_header,
        signature,
    }) = keys.sign(&members, body)
    else {
        return headers;
    };
    let value = to_text(&Flattened {
        signature,
        protected_header,
    });
    push(&mut headers, URI, path);
    push(&mut headers, METHOD, method);
    push(&mut headers, SIGNATURE, &value);
    headers
}

fn to_text(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("a struct of strings always has a JSON text")
}

#[cfg(test)]
pub(crate) mod fake;
#[cfg(test)]
mod tests;
