//! The protected header of a signed message, and its comparison with the headers.

use crate::bindings::rialto::host::crypto::Algorithm;
use crate::headers::spelt;
use rialto_sdk::headers::each;
use serde::Deserialize;
use serde::de::{Deserializer, Error as _, MapAccess, Visitor};
use std::fmt;

/// Headers that must always be protected.
pub(super) const REQUIRED: [&str; 3] = ["FSPIOP-URI", "FSPIOP-HTTP-Method", "FSPIOP-Source"];
/// Headers that are protected if they are there.
const PROTECTED_IF_THERE: [&str; 2] = ["FSPIOP-Destination", "FSPIOP-Encryption"];
/// Members of a protected header that are no HTTP headers: the type, and the name of the signer's key. They are
/// ignored: all keys are tried.
const SAYING_NOTHING: [&str; 3] = ["typ", "cty", "kid"];

/// The members of a protected header, in order. Each name occurs once, each value is a text.
#[derive(Debug)]
pub(super) struct Members(Vec<(String, String)>);

impl Members {
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        let member = self.0.iter().find(|(candidate, _)| candidate == name);
        member.map(|(_, value)| value.as_str())
    }

    /// Whether it has a header of this name, in any case.
    pub(super) fn has_header(&self, name: &str) -> bool {
        let mut names = self.0.iter().map(|(candidate, _)| candidate);
        names.any(|candidate| candidate.eq_ignore_ascii_case(name))
    }

    /// The algorithm, if it is accepted; `none` is not.
    pub(super) fn algorithm(&self) -> Result<Algorithm, String> {
        match self.get("alg") {
            Some("RS256") => Ok(Algorithm::Rs256),
            Some("RS384") => Ok(Algorithm::Rs384),
            Some("RS512") => Ok(Algorithm::Rs512),
            Some("ES256") => Ok(Algorithm::Es256),
            Some(other) => Err(format!(
                "protected alg: {other:?} is not supported; use RS256, RS384, RS512 or ES256"
            )),
            None => Err("protected alg: is required".to_owned()),
        }
    }

    /// Checks that protected headers equal the headers, and that all required ones are protected.
    pub(super) fn compare(&self, headers: &str) -> Result<(), String> {
        for name in REQUIRED {
            if self.get(name).is_none() {
                return Err(format!("protected {name}: is required"));
            }
        }
        for name in PROTECTED_IF_THERE {
            let header = name.to_ascii_lowercase();
            // All of them: another reader may use one that follows an empty one.
            let mut values = each(headers).filter(|(candidate, _)| *candidate == header);
            let is_there = values.any(|(_, value)| !value.trim().is_empty());
            if is_there && self.get(name).is_none() {
                return Err(format!("header {name}: must be protected"));
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

/// Checks that a header has the required value.
pub(super) fn same(name: &str, header: Option<&str>, must: &str) -> Result<(), String> {
    match header {
        Some(value) if value == must => Ok(()),
        Some(_) if REQUIRED.contains(&name) => Err(differs(name)),
        Some(_) => Err(format!("header {name}: differs from its protected copy")),
        None => Err(format!("header {name}: is protected but missing")),
    }
}

/// The error for a header that does not match the request.
pub(super) fn differs(name: &str) -> String {
    format!("header {name}: the header, its protected copy and the request differ")
}

/// The only header of this name (lower case), trimmed. Several are an error, since readers could use different
/// ones.
pub(super) fn only<'a>(headers: &'a str, name: &str) -> Result<Option<&'a str>, String> {
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
                f.write_str("an object of strings")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
                let mut members: Vec<(String, String)> = Vec::new();
                while let Some((name, value)) = map.next_entry::<String, String>()? {
                    if members.iter().any(|(known, _)| *known == name) {
                        return Err(A::Error::custom(format_args!("{name} occurs twice")));
                    }
                    members.push((name, value));
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Reader)
    }
}
