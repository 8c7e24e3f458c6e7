//! Identifiers: FSPs, parties, and the ids that a payer mints.

use std::fmt::{self, Display};
use std::str::FromStr;
use std::sync::Arc;

use http::HeaderValue;
use parking_lot::Mutex;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::text::{JsonText, path_segment};

/// Why a text is not the identifier it should be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IdError {
    /// Not an FSP id.
    #[error("`{0}` is no FSP id: expected 1 to 32 letters, digits, `.`, `_` or `-`")]
    Fsp(String),
    /// Not a party.
    #[error("`{0}` is no party: expected `TYPE/identifier` or `TYPE/identifier/subIdOrType`")]
    Party(String),
    /// Not a type of party identifier.
    #[error("`{0}` is no party identifier type: expected one of {PARTY_ID_TYPES:?}")]
    PartyIdType(String),
}

/// The types of party identifiers that FSPIOP 1.1 knows.
pub const PARTY_ID_TYPES: [&str; 8] = [
    "MSISDN",
    "EMAIL",
    "PERSONAL_ID",
    "BUSINESS",
    "DEVICE",
    "ACCOUNT_ID",
    "IBAN",
    "ALIAS",
];

/// The id of an FSP. Safe to stand in a header and in JSON as it is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FspId(Arc<str>);

impl FspId {
    /// The id's text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The id as a header's value.
    pub fn header(&self) -> HeaderValue {
        HeaderValue::from_str(&self.0).expect("an FSP id consists of visible ASCII characters")
    }
}

impl FromStr for FspId {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
        if text.is_empty() || text.len() > 32 || !text.bytes().all(allowed) {
            return Err(IdError::Fsp(text.to_owned()));
        }
        Ok(Self(text.into()))
    }
}

impl Display for FspId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// A party as FSPIOP addresses it. Written `MSISDN/27713803912`, with a third part for a sub id.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PartyId {
    kind: Arc<str>,
    identifier: Arc<str>,
    sub_id: Option<Arc<str>>,
}

impl PartyId {
    /// The identifier's type, such as `MSISDN`.
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// The identifier.
    pub fn identifier(&self) -> &str {
        &self.identifier
    }

    /// The sub id or type, if there is one.
    pub fn sub_id(&self) -> Option<&str> {
        self.sub_id.as_deref()
    }

    /// The party's part of a path, percent-encoded: `MSISDN/27713803912`.
    pub fn path(&self) -> String {
        let mut path = format!("{}/{}", self.kind, path_segment(&self.identifier));
        if let Some(sub_id) = &self.sub_id {
            path.push('/');
            path.push_str(&path_segment(sub_id));
        }
        path
    }

    /// The party's `PartyIdInfo` as JSON, with the FSP where it is known.
    pub fn json(&self, fsp: Option<&str>) -> String {
        let mut json = format!(
            r#"{{"partyIdType":"{}","partyIdentifier":{}"#,
            self.kind,
            JsonText(&self.identifier)
        );
        if let Some(sub_id) = &self.sub_id {
            json.push_str(r#","partySubIdOrType":"#);
            json.push_str(&JsonText(sub_id).to_string());
        }
        if let Some(fsp) = fsp {
            json.push_str(r#","fspId":"#);
            json.push_str(&JsonText(fsp).to_string());
        }
        json.push('}');
        json
    }
}

impl FromStr for PartyId {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        let wrong = || IdError::Party(text.to_owned());
        let mut parts = text.split('/');
        let kind = parts.next().unwrap_or_default();
        if !PARTY_ID_TYPES.contains(&kind) {
            return Err(IdError::PartyIdType(kind.to_owned()));
        }
        let identifier = parts.next().ok_or_else(wrong)?;
        let sub_id = parts.next();
        let fits = |part: &str| {
            (1..=128).contains(&part.chars().count()) && !part.chars().any(char::is_control)
        };
        if !fits(identifier) || !sub_id.is_none_or(fits) || parts.next().is_some() {
            return Err(wrong());
        }
        Ok(Self {
            kind: kind.into(),
            identifier: identifier.into(),
            sub_id: sub_id.map(Into::into),
        })
    }
}

impl Display for PartyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.kind, self.identifier)?;
        match &self.sub_id {
            Some(sub_id) => write!(f, "/{sub_id}"),
            None => Ok(()),
        }
    }
}

macro_rules! serde_as_text {
    ($type:ty) => {
        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = String::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}
serde_as_text!(FspId);
serde_as_text!(PartyId);

/// Mints correlation ids (UUID version 4, lower case) and trace contexts.
#[derive(Debug)]
pub struct IdMint {
    random: Mutex<StdRng>,
}

impl IdMint {
    /// Ids that are never met again, or, from a seed, always the same ones in the same order.
    pub fn new(seed: Option<u64>) -> Self {
        let random = match seed {
            Some(seed) => StdRng::seed_from_u64(seed),
            None => StdRng::from_rng(&mut rand::rng()),
        };
        Self {
            random: Mutex::new(random),
        }
    }

    /// A new correlation id.
    pub fn correlation_id(&self) -> String {
        let mut octets = [0; 16];
        self.random.lock().fill_bytes(&mut octets);
        uuid::Builder::from_random_bytes(octets)
            .into_uuid()
            .hyphenated()
            .to_string()
    }

    /// A new W3C trace context.
    pub fn trace(&self) -> Trace {
        let mut octets = [0; 16];
        self.random.lock().fill_bytes(&mut octets);
        Trace {
            trace_id: u128::from_be_bytes(octets) | 1, // all zeros would be invalid
        }
    }

    /// The `traceparent` of a new span in a trace.
    pub fn traceparent(&self, trace: Trace) -> HeaderValue {
        let span = self.random.lock().next_u64() | 1;
        HeaderValue::try_from(format!("00-{:032x}-{span:016x}-01", trace.trace_id))
            .expect("a traceparent consists of digits, letters and hyphens")
    }
}

/// A W3C trace: what the messages of one payment share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trace {
    trace_id: u128,
}

impl Trace {
    /// The trace that a `traceparent` header names, if it is a valid one.
    pub fn of(traceparent: &HeaderValue) -> Option<Self> {
        let text = traceparent.to_str().ok()?;
        let mut parts = text.split('-');
        let (version, trace_id) = (parts.next()?, parts.next()?);
        if version.len() != 2 || trace_id.len() != 32 {
            return None;
        }
        let trace_id = u128::from_str_radix(trace_id, 16).ok()?;
        (trace_id != 0).then_some(Self { trace_id })
    }
}

impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.trace_id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fsp_ids_are_checked() {
        assert!("payerfsp".parse::<FspId>().is_ok());
        for wrong in ["", "a b", "a\"b", "ünlü", &"x".repeat(33)] {
            assert!(wrong.parse::<FspId>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn parties_read_back_as_they_were_written() {
        for text in [
            "MSISDN/27713803912",
            "BUSINESS/acme/till-4",
            "EMAIL/a@b.example",
        ] {
            let party: PartyId = text.parse().expect("a party");
            assert_eq!(party.to_string(), text);
        }
        for wrong in [
            "",
            "MSISDN",
            "MSISDN/",
            "PHONE/1",
            "MSISDN/1/2/3",
            "MSISDN/1/",
        ] {
            assert!(wrong.parse::<PartyId>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_party_in_json_is_escaped() {
        let party: PartyId = "ALIAS/say \"hi\"".parse().expect("a party");
        let json: serde_json::Value =
            serde_json::from_str(&party.json(Some("fsp"))).expect("valid JSON");
        assert_eq!(json["partyIdentifier"], "say \"hi\"");
        assert_eq!(json["fspId"], "fsp");
        assert_eq!(party.path(), "ALIAS/say%20%22hi%22");
    }

    #[test]
    fn a_seed_gives_the_same_ids_again() {
        let (first, second) = (IdMint::new(Some(7)), IdMint::new(Some(7)));
        let id = first.correlation_id();
        assert_eq!(id, second.correlation_id());
        assert_eq!(id.len(), 36);
        assert_eq!(id.as_bytes()[14], b'4', "UUID version 4: {id}");
        assert_ne!(id, first.correlation_id());
    }

    #[test]
    fn spans_of_a_trace_share_its_id() {
        let mint = IdMint::new(Some(1));
        let trace = mint.trace();
        let (one, two) = (mint.traceparent(trace), mint.traceparent(trace));
        assert_ne!(one, two);
        assert_eq!(Trace::of(&one), Some(trace));
        assert_eq!(Trace::of(&HeaderValue::from_static("nonsense")), None);
    }
}
