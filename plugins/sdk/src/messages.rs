//! Paths of parties, and documents of messages, parties and errors.

use crate::bindings::rialto::common::types::{ErrorInformation, Message, PartyId};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// A party's path below `/participants` or `/parties`, and its name in subjects and log lines:
/// `MSISDN/123456789` or `BUSINESS/acme/shop-7`, not percent-encoded.
#[must_use]
pub fn party_path(party: &PartyId) -> String {
    let mut path = format!("{}/{}", party.id_type, party.identifier);
    if let Some(sub_id) = &party.sub_id_or_type {
        path.push('/');
        path.push_str(sub_id);
    }
    path
}

/// An identifier for comparison: a telephone number with and without `+` is one number, and mailboxes do not
/// differ in case alone. Messages are forwarded unchanged.
#[must_use]
pub fn spelt_once<'a>(id_type: &str, identifier: &'a str) -> Cow<'a, str> {
    match id_type {
        "MSISDN" => Cow::Borrowed(identifier.strip_prefix('+').unwrap_or(identifier)),
        "EMAIL" => Cow::Owned(identifier.to_lowercase()),
        _ => Cow::Borrowed(identifier),
    }
}

/// Whether two ids are of one party, in any spelling.
#[must_use]
pub fn is_same_party(one: &PartyId, other: &PartyId) -> bool {
    let identifier = |party: &PartyId| spelt_once(&party.id_type, &party.identifier).into_owned();
    one.id_type == other.id_type
        && one.sub_id_or_type == other.sub_id_or_type
        && (one.identifier == other.identifier || identifier(one) == identifier(other))
}

/// A party's path with its identifier for comparison.
#[must_use]
pub fn path_spelt_once(path: &str) -> String {
    let Some((id_type, rest)) = path.split_once('/') else {
        return path.to_owned();
    };
    // Identifiers of the API have no slash.
    let (identifier, sub_id) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    format!("{id_type}/{}{sub_id}", spelt_once(id_type, identifier))
}

/// The document of a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MessageDocument {
    /// The HTTP method.
    pub method: String,
    /// The path as received.
    pub path: String,
    /// A header section: see [`crate::headers`].
    pub headers: String,
    /// The body as received.
    pub body: String,
}

impl From<Message> for MessageDocument {
    fn from(message: Message) -> Self {
        let Message {
            method,
            path,
            headers,
            body,
        } = message;
        Self {
            method,
            path,
            headers,
            body,
        }
    }
}

impl From<MessageDocument> for Message {
    fn from(document: MessageDocument) -> Self {
        let MessageDocument {
            method,
            path,
            headers,
            body,
        } = document;
        Self {
            method,
            path,
            headers,
            body,
        }
    }
}

/// The document of a party's id.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PartyDocument {
    /// FSPIOP's PartyIdType.
    pub id_type: String,
    /// FSPIOP's PartyIdentifier.
    pub identifier: String,
    /// FSPIOP's PartySubIdOrType.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sub_id_or_type: Option<String>,
}

impl From<&PartyId> for PartyDocument {
    fn from(party: &PartyId) -> Self {
        Self {
            id_type: party.id_type.clone(),
            identifier: party.identifier.clone(),
            sub_id_or_type: party.sub_id_or_type.clone(),
        }
    }
}

impl From<PartyDocument> for PartyId {
    fn from(document: PartyDocument) -> Self {
        let PartyDocument {
            id_type,
            identifier,
            sub_id_or_type,
        } = document;
        Self {
            id_type,
            identifier,
            sub_id_or_type,
        }
    }
}

/// The document of an error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ErrorDocument {
    /// Four digits.
    pub code: String,
    /// 1 to 128 characters.
    pub description: String,
}

impl From<&ErrorInformation> for ErrorDocument {
    fn from(error: &ErrorInformation) -> Self {
        Self {
            code: error.code.clone(),
            description: error.description.clone(),
        }
    }
}

impl From<ErrorDocument> for ErrorInformation {
    fn from(document: ErrorDocument) -> Self {
        let ErrorDocument { code, description } = document;
        Self { code, description }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_party_has_one_path_however_it_is_spelt() {
        for (path, once) in [
            ("MSISDN/+123", "MSISDN/123"),
            ("MSISDN/123/+1", "MSISDN/123/+1"),
            ("EMAIL/A.B@Example.ORG", "EMAIL/a.b@example.org"),
            ("EMAIL/A@b/Sub", "EMAIL/a@b/Sub"),
            ("ALIAS/+A", "ALIAS/+A"),
            ("ALIAS", "ALIAS"),
        ] {
            assert_eq!(path_spelt_once(path), once);
        }
    }

    #[test]
    fn spellings_of_a_party_are_one_party() {
        let party = |id_type: &str, identifier: &str, sub_id: Option<&str>| PartyId {
            id_type: id_type.to_owned(),
            identifier: identifier.to_owned(),
            sub_id_or_type: sub_id.map(str::to_owned),
        };
        let number = party("MSISDN", "123", None);
        assert!(is_same_party(&number, &party("MSISDN", "+123", None)));
        let mailbox = party("EMAIL", "A.B@Example.ORG", None);
        assert!(is_same_party(
            &mailbox,
            &party("EMAIL", "a.b@example.org", None)
        ));
        let shop = party("BUSINESS", "acme", Some("shop"));
        assert!(is_same_party(&shop, &shop.clone()));
        for (one, other) in [
            (&number, party("MSISDN", "124", None)),
            (&number, party("ALIAS", "123", None)),
            (&number, party("MSISDN", "123", Some("1"))),
            (&shop, party("BUSINESS", "acme", Some("Shop"))),
            (&shop, party("BUSINESS", "acme", None)),
            (&shop, party("BUSINESS", "Acme", Some("shop"))),
        ] {
            assert!(!is_same_party(one, &other), "{one:?} {other:?}");
        }
    }

    #[test]
    fn documents_give_back_what_they_were_made_of() {
        let party = PartyId {
            id_type: "BUSINESS".to_owned(),
            identifier: "acme".to_owned(),
            sub_id_or_type: Some("shop-7".to_owned()),
        };
        assert_eq!(party_path(&party), "BUSINESS/acme/shop-7");
        let json = serde_json::to_string(&PartyDocument::from(&party)).unwrap();
        assert_eq!(
            json,
            r#"{"idType":"BUSINESS","identifier":"acme","subIdOrType":"shop-7"}"#
        );
        let document: PartyDocument = serde_json::from_str(&json).unwrap();
        assert_eq!(PartyId::from(document), party);

        let message = Message {
            method: "PUT".to_owned(),
            path: "/quotes/1".to_owned(),
            headers: "date: x\n".to_owned(),
            body: "{ }".to_owned(),
        };
        let document = MessageDocument::from(message.clone());
        let json = serde_json::to_string(&document).unwrap();
        let document: MessageDocument = serde_json::from_str(&json).unwrap();
        assert_eq!(Message::from(document), message);
    }
}
