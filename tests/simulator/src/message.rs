//! What FSPIOP messages consist of: resources, paths, versions, error information.

use std::fmt::{self, Display};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::text::JsonText;

/// An FSPIOP resource that a simulated FSP speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Resource {
    /// Which FSP serves a party.
    Participants,
    /// Who a party is.
    Parties,
    /// The terms of a payment.
    Quotes,
    /// The payment.
    Transfers,
}

impl Resource {
    /// All of them, in the order of a payment.
    pub const ALL: [Self; 4] = [
        Self::Participants,
        Self::Parties,
        Self::Quotes,
        Self::Transfers,
    ];

    /// The resource's name, as it stands in paths and media types.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Participants => "participants",
            Self::Parties => "parties",
            Self::Quotes => "quotes",
            Self::Transfers => "transfers",
        }
    }
}

/// The versions that a simulated FSP speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Version {
    /// 1.0: no RESERVED answers.
    #[serde(rename = "1.0")]
    V1_0,
    /// 1.1.
    #[default]
    #[serde(rename = "1.1")]
    V1_1,
}

impl Version {
    /// The version's text.
    pub const fn text(self) -> &'static str {
        match self {
            Self::V1_0 => "1.0",
            Self::V1_1 => "1.1",
        }
    }
}

/// The media type of a resource with a version: what `Content-Type` says.
pub fn media_type(resource: &str, version: &str) -> String {
    format!("application/vnd.interoperability.{resource}+json;version={version}")
}

/// A path of the FSPIOP API, taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route<'a> {
    /// The resource.
    pub resource: Resource,
    /// What follows the resource, as it stands in the path: an id, or a party. May be empty.
    pub key: &'a str,
    /// True if the path ends in `/error`.
    pub error: bool,
}

impl<'a> Route<'a> {
    /// Takes a path apart, or nothing if it is none of the API's.
    pub fn of(path: &'a str) -> Option<Self> {
        let path = path.strip_prefix('/')?;
        let (name, key) = path.split_once('/').unwrap_or((path, ""));
        let resource = Resource::ALL
            .into_iter()
            .find(|resource| resource.name() == name)?;
        let (key, error) = match key.strip_suffix("/error") {
            Some(key) => (key, true),
            None => (key, false),
        };
        let segments = if key.is_empty() {
            0
        } else {
            key.split('/').count()
        };
        let fits = match resource {
            Resource::Participants => segments <= 3,
            Resource::Parties => (2..=3).contains(&segments),
            Resource::Quotes | Resource::Transfers => segments <= 1,
        };
        (fits && !key.split('/').skip(1).any(str::is_empty)).then_some(Self {
            resource,
            key,
            error,
        })
    }
}

/// FSPIOP's `errorInformation`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ErrorInformation {
    /// Four digits.
    #[serde(rename = "errorCode")]
    pub code: String,
    /// What went wrong, for people.
    #[serde(rename = "errorDescription")]
    pub description: String,
}

impl Display for ErrorInformation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.code, self.description)
    }
}

#[derive(Deserialize)]
struct ErrorBody {
    #[serde(rename = "errorInformation")]
    information: ErrorInformation,
}

impl ErrorInformation {
    /// The code with its description from the table, and a detail if there is one; cut to the
    /// 128 characters that the API allows.
    pub fn new(code: ErrorCode, detail: &str) -> Self {
        let table = code.description();
        let text = if detail.is_empty() {
            table.to_owned()
        } else {
            format!("{table} - {detail}")
        };
        Self {
            code: code.to_string(),
            description: text.chars().take(128).collect(),
        }
    }

    /// Reads the information from the body of an error callback or a refusal.
    pub fn of_body(body: &[u8]) -> Option<Self> {
        serde_json::from_slice::<ErrorBody>(body)
            .ok()
            .map(|body| body.information)
    }

    /// The body of an error callback or a refusal.
    pub fn body(&self) -> String {
        format!(
            r#"{{"errorInformation":{{"errorCode":"{}","errorDescription":{}}}}}"#,
            self.code,
            JsonText(&self.description)
        )
    }
}

/// An FSPIOP error code: four digits, the first one not 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrorCode(u16);

impl ErrorCode {
    /// 3002: no such path.
    pub const UNKNOWN_URI: Self = Self(3002);
    /// 3000: undisclosed fault of the client; deployments use it for a wrong method.
    pub const CLIENT_ERROR: Self = Self(3000);
    /// 3100: validation failed.
    pub const VALIDATION: Self = Self(3100);
    /// 3101: an element's form is wrong.
    pub const MALFORMED: Self = Self(3101);
    /// 3102: an element is missing.
    pub const MISSING: Self = Self(3102);
    /// 3104: the payload is too large.
    pub const TOO_LARGE: Self = Self(3104);
    /// 3204: the party is unknown.
    pub const PARTY_NOT_FOUND: Self = Self(3204);
    /// 5103: the payee FSP gives no quote.
    pub const QUOTE_REJECTED: Self = Self(5103);
    /// 5105: the payee FSP does not accept the transfer.
    pub const TRANSFER_REJECTED: Self = Self(5105);

    /// The description that the API definition gives the code. An unknown code has that of its
    /// category, as the definition demands.
    pub fn description(self) -> &'static str {
        let exact = DESCRIPTIONS.iter().find(|(code, _)| *code == self.0);
        let generic = || {
            DESCRIPTIONS
                .iter()
                .find(|(code, _)| *code == self.0 / 100 * 100)
        };
        exact
            .or_else(generic)
            .map_or("Undefined error", |(_, text)| *text)
    }
}

impl Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl FromStr for ErrorCode {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.parse() {
            Ok(code @ 1000..=9999) if text.len() == 4 => Ok(Self(code)),
            _ => Err(format!(
                "`{text}` is no error code: expected four digits such as 5105"
            )),
        }
    }
}

impl Serialize for ErrorCode {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ErrorCode {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// API definition, section 7.6.
const DESCRIPTIONS: [(u16, &str); 54] = [
    (1000, "Communication error"),
    (1001, "Destination communication error"),
    (2000, "Generic server error"),
    (2001, "Internal server error"),
    (2002, "Not implemented"),
    (2003, "Service currently unavailable"),
    (2004, "Server timed out"),
    (2005, "Server busy"),
    (3000, "Generic client error"),
    (3001, "Unacceptable version requested"),
    (3002, "Unknown URI"),
    (3003, "Add Party information error"),
    (3100, "Generic validation error"),
    (3101, "Malformed syntax"),
    (3102, "Missing mandatory element"),
    (3103, "Too many elements"),
    (3104, "Too large payload"),
    (3105, "Invalid signature"),
    (3106, "Modified request"),
    (3107, "Missing mandatory extension parameter"),
    (3200, "Generic ID not found"),
    (3201, "Destination FSP Error"),
    (3202, "Payer FSP ID not found"),
    (3203, "Payee FSP ID not found"),
    (3204, "Party not found"),
    (3205, "Quote ID not found"),
    (3206, "Transaction request ID not found"),
    (3207, "Transaction ID not found"),
    (3208, "Transfer ID not found"),
    (3300, "Generic expired error"),
    (3301, "Transaction request expired"),
    (3302, "Quote expired"),
    (3303, "Transfer expired"),
    (4000, "Generic Payer error"),
    (4001, "Payer FSP insufficient liquidity"),
    (4100, "Generic Payer rejection"),
    (4101, "Payer rejected transaction request"),
    (4102, "Payer FSP unsupported transaction type"),
    (4103, "Payer unsupported currency"),
    (4200, "Payer limit error"),
    (4300, "Payer permission error"),
    (4400, "Generic Payer blocked error"),
    (5000, "Generic Payee error"),
    (5001, "Payee FSP insufficient liquidity"),
    (5100, "Generic Payee rejection"),
    (5101, "Payee rejected quote"),
    (5102, "Payee FSP unsupported transaction type"),
    (5103, "Payee FSP rejected quote"),
    (5104, "Payee rejected transaction"),
    (5105, "Payee FSP rejected transaction"),
    (5106, "Payee unsupported currency"),
    (5200, "Payee limit error"),
    (5300, "Payee permission error"),
    (5400, "Generic Payee blocked error"),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn route(path: &str) -> Option<(Resource, &str, bool)> {
        Route::of(path).map(|route| (route.resource, route.key, route.error))
    }

    #[test]
    fn paths_are_taken_apart() {
        use Resource::{Participants, Parties, Quotes, Transfers};
        assert_eq!(
            route("/parties/MSISDN/1"),
            Some((Parties, "MSISDN/1", false))
        );
        assert_eq!(
            route("/parties/MSISDN/1/error"),
            Some((Parties, "MSISDN/1", true))
        );
        assert_eq!(
            route("/parties/BUSINESS/a/b/error"),
            Some((Parties, "BUSINESS/a/b", true))
        );
        assert_eq!(
            route("/participants/id/error"),
            Some((Participants, "id", true))
        );
        assert_eq!(route("/quotes"), Some((Quotes, "", false)));
        assert_eq!(route("/transfers/id"), Some((Transfers, "id", false)));
        for foreign in [
            "",
            "/",
            "/nothing",
            "/quotes/a/b",
            "/parties/MSISDN",
            "/parties/MSISDN/",
        ] {
            assert_eq!(route(foreign), None, "{foreign}");
        }
    }

    #[test]
    fn error_information_reads_back() {
        let code: ErrorCode = "5105".parse().expect("a code");
        let information = ErrorInformation::new(code, "not \"today\"");
        assert_eq!(
            information.description,
            "Payee FSP rejected transaction - not \"today\""
        );
        assert_eq!(
            ErrorInformation::of_body(information.body().as_bytes()),
            Some(information)
        );
        let long = ErrorInformation::new(code, &"x".repeat(300));
        assert_eq!(long.description.chars().count(), 128);
        assert_eq!(ErrorInformation::of_body(b"{}"), None);
    }

    #[test]
    fn unknown_codes_have_the_description_of_their_category() {
        let code: ErrorCode = "5242".parse().expect("a code");
        assert_eq!(code.description(), "Payee limit error");
        for wrong in ["", "12", "0123", "12345", "abcd", "+123"] {
            assert!(wrong.parse::<ErrorCode>().is_err(), "{wrong}");
        }
    }
}
