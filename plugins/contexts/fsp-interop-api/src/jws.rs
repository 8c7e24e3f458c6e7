//! FSPIOP-Signature: what a signed message must say, and the signatures of the hub's own messages.
//!
//! The signature is over the body's octets and a protected header, which repeats what else matters: who
//! says it, to whom, on which path. It is judged against the headers and against the request itself,
//! so that what was signed for one path cannot be said on another one. The keys are the host's.

use crate::bindings::exports::rialto::host::http_handler::Request;
use crate::bindings::rialto::host::crypto::{self, Algorithm, Signed, Verdict};
use crate::headers::spelt;
use crate::media::Resource;
use crate::settings::{Settings, UnsignedPutParties};
use rialto_sdk::bindings::rialto::common::types::ErrorInformation;
use rialto_sdk::canonical::decode_base64url;
use rialto_sdk::errors::error;
use rialto_sdk::headers::{each, first, push};
use rialto_sdk::time::parse_http_date;
use serde::de::{Deserializer, Error as _, MapAccess, Visitor};
use serde::{Deserialize, Serialize};
use std::fmt;

const SIGNATURE: &str = "fspiop-signature";
const URI: &str = "fspiop-uri";
const METHOD: &str = "fspiop-http-method";

/// Headers that a protected header repeats always, and that its sender has set.
const REQUIRED: [&str; 3] = ["FSPIOP-URI", "FSPIOP-HTTP-Method", "FSPIOP-Source"];
/// Headers that are protected if they are there.
const PROTECTED_IF_THERE: [&str; 2] = ["FSPIOP-Destination", "FSPIOP-Encryption"];
/// Members of a protected header that are no HTTP headers and say nothing about the message: what kind
/// of thing this is, and which of the signer's keys was used. All of them are tried.
const SAYING_NOTHING: [&str; 3] = ["typ", "cty", "kid"];

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

/// The members of a protected header, in their order; each name once, each value a text.
#[derive(Debug)]
struct Members(Vec<(String, String)>);

impl Judge<'_> {
    /// Accept a message of a participant: one that has a key has signed it.
    ///
    /// # Errors
    /// 3105, with what is wrong.
    pub fn check(
        &self,
        request: &Request,
        headers: &str,
        source: &str,
    ) -> Result<(), ErrorInformation> {
        // Without a body there is nothing that the signature of deployed clients could be over.
        if matches!(request.method.as_str(), "GET" | "DELETE") || !self.keys.has_key(source) {
            return Ok(());
        }
        self.judge(request, headers, source)
            .map_err(|detail| error("3105", &detail))
    }

    fn judge(&self, request: &Request, headers: &str, source: &str) -> Result<(), String> {
        let Some(value) = only(headers, SIGNATURE)? else {
            return if self.may_be_unsigned(request) {
                Ok(())
            } else {
                Err(format!(
                    "header FSPIOP-Signature: {source} has a key, so it must sign"
                ))
            };
        };
        let Flattened {
            signature,
            protected_header,
        } = serde_json::from_str(value)
            .map_err(|problem| format!("header FSPIOP-Signature: {problem}"))?;
        for (name, text, max) in [
            ("signature", &signature, SIGNATURE_MAX),
            ("protectedHeader", &protected_header, PROTECTED_HEADER_MAX),
        ] {
            if text.is_empty() || text.len() > max {
                return Err(format!(
                    "header FSPIOP-Signature: {name} has {} characters, and 1 to {max} are taken",
                    text.len()
                ));
            }
        }
        let json = decode_base64url(&protected_header)
            .ok_or("protected header: not base64url without padding")?;
        let members: Members = serde_json::from_slice(&json)
            .map_err(|problem| format!("protected header: {problem}"))?;
        let algorithm = members.algorithm()?;
        members.compare(headers)?;
        same("FSPIOP-URI", only(headers, URI)?, &request.path)?;
        same(
            "FSPIOP-HTTP-Method",
            only(headers, METHOD)?,
            &request.method,
        )?;
        self.fresh(headers)?;
        let body = request.body.as_deref().unwrap_or_default();
        match self
            .keys
            .verify(source, algorithm, &protected_header, body, &signature)
        {
            Verdict::Valid => Ok(()),
            Verdict::Invalid => Err(format!("no key of {source} has signed this body so")),
            // Its last key went a moment ago.
            Verdict::NoKey => Err(format!("{source} has no key")),
        }
    }

    /// Deployed clients sign PUT /parties only if they are told to; such a message moves no money.
    fn may_be_unsigned(&self, request: &Request) -> bool {
        request.method == "PUT"
            && Resource::of_path(&request.path) == Some(Resource::Parties)
            && self.settings.unsigned_put_parties == UnsignedPutParties::Accept
    }

    /// A signed message is of now: one from long ago is said again by somebody who has kept it.
    fn fresh(&self, headers: &str) -> Result<(), String> {
        let date = only(headers, "date")?.unwrap_or_default();
        let at = parse_http_date(date)
            .ok_or("header Date: a signed message has it as Tue, 15 Nov 1994 08:12:31 GMT")?;
        let (age, max) = (at.abs_diff(self.now), self.settings.signed_message_age_ms);
        if age <= max {
            return Ok(());
        }
        let side = if at < self.now { "old" } else { "early" };
        Err(format!(
            "header Date: {} s too {side} for a signed message",
            (age - max).div_ceil(1000)
        ))
    }
}

impl Members {
    fn get(&self, name: &str) -> Option<&str> {
        let member = self.0.iter().find(|(candidate, _)| candidate == name);
        member.map(|(_, value)| value.as_str())
    }

    /// The algorithm, of those that are taken; `none` is not among them.
    fn algorithm(&self) -> Result<Algorithm, String> {
        match self.get("alg") {
            Some("RS256") => Ok(Algorithm::Rs256),
            Some("RS384") => Ok(Algorithm::Rs384),
            Some("RS512") => Ok(Algorithm::Rs512),
            Some("ES256") => Ok(Algorithm::Es256),
            Some(other) => Err(format!(
                "protected alg: {other:?}, and RS256, RS384, RS512 and ES256 are taken"
            )),
            None => Err("protected alg: is required".to_owned()),
        }
    }

    /// What is protected is what the headers say, and what must be protected is.
    fn compare(&self, headers: &str) -> Result<(), String> {
        for name in REQUIRED {
            if self.get(name).is_none() {
                return Err(format!("protected {name}: is required"));
            }
        }
        for name in PROTECTED_IF_THERE {
            let header = name.to_ascii_lowercase();
            // All of them: behind an empty one another reader may find one that says something.
            let mut values = each(headers).filter(|(candidate, _)| *candidate == header);
            let is_there = values.any(|(_, value)| !value.trim().is_empty());
            if is_there && self.get(name).is_none() {
                return Err(format!("header {name}: is not protected"));
            }
        }
        for (name, value) in &self.0 {
            if name != "alg" && !SAYING_NOTHING.contains(&name.as_str()) {
                same(name, only(headers, &name.to_ascii_lowercase())?, value)?;
            }
        }
        Ok(())
    }
}

/// Whether a header says what it must.
fn same(name: &str, header: Option<&str>, must: &str) -> Result<(), String> {
    match header {
        Some(value) if value == must => Ok(()),
        Some(_) if REQUIRED.contains(&name) => Err(format!(
            "header {name}: the header, its protected copy and the request differ"
        )),
        Some(_) => Err(format!("header {name}: is not as it is protected")),
        None => Err(format!("header {name}: is protected and not there")),
    }
}

/// The one header of this name (lower case), trimmed. With several of them, each reader could mean
/// another one.
fn only<'a>(headers: &'a str, name: &str) -> Result<Option<&'a str>, String> {
    let mut values = each(headers).filter(|(candidate, _)| *candidate == name);
    let value = values.next().map(|(_, value)| value.trim());
    match values.next() {
        None => Ok(value),
        Some(_) => Err(format!(
            "header {}: more than one in a signed message",
            spelt(name)
        )),
    }
}

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Members;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of texts")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
                let mut members: Vec<(String, String)> = Vec::new();
                while let Some((name, value)) = map.next_entry::<String, String>()? {
                    if members.iter().any(|(known, _)| *known == name) {
                        return Err(A::Error::custom(format_args!("{name} is there twice")));
                    }
                    members.push((name, value));
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Reader)
    }
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
