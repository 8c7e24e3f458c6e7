//! A message to a participant, before its callback address is known.

pub use crate::bindings::rialto::fsp_interop_api::notify_requested::Worth;
use crate::headers::{forwarded, originated};
use crate::jws::Keys;
use crate::media::{Resource, Version, version_for_sender};
use crate::refusal::{ErrorInformationBody, Extension, ExtensionList, error_body};
use crate::report::{OnFailure, ReportKind};
use rialto_sdk::bindings::rialto::common::types::{ErrorInformation, Message, PartyId};
use rialto_sdk::errors::DESCRIPTION_MAX;
use rialto_sdk::time::format_date_time;
use serde::Serialize;

/// The facts of a turn that do not depend on its event.
#[derive(Debug, Clone, Copy)]
pub struct Frame<'a> {
    /// The participant id of the hub.
    pub hub: &'a str,
    /// The keys, for the hub's signatures.
    pub keys: &'a dyn Keys,
    /// The turn's instant, in milliseconds since 1970.
    pub now: u64,
    /// How long the hub tries to deliver an answer, in milliseconds from when it leaves.
    pub delivery_deadline_ms: u64,
    /// How long the hub tries to deliver a request whose sender waits, in milliseconds.
    pub request_deadline_ms: u64,
}

/// A message to a participant.
#[derive(Debug, Clone, PartialEq)]
pub struct Notice {
    /// The participant.
    pub destination: String,
    /// The HTTP method.
    pub method: String,
    /// The path of the FSPIOP resource.
    pub path: String,
    /// A header section.
    pub headers: String,
    /// None for a request without a body.
    pub body: Option<String>,
    /// No attempt begins after that.
    pub worth: Worth,
    /// The callback report for the context that caused the message.
    pub report: ReportKind,
    /// The transfer, the quote or the party that the message is about.
    pub subject: String,
    /// The action if it cannot be delivered, besides the report.
    pub on_failure: Option<OnFailure>,
}

/// The cause of a message of the hub.
#[derive(Debug, Clone, Copy)]
pub struct Cause<'a> {
    /// Its header section.
    headers: &'a str,
    /// The version that the receiver has asked for, if it is not in the headers.
    version: Option<Version>,
}

impl<'a> Cause<'a> {
    /// A participant's message.
    #[must_use]
    pub fn message(message: &'a Message) -> Self {
        Self::headers(&message.headers)
    }

    /// The stored part of a participant's message.
    #[must_use]
    pub fn headers(headers: &'a str) -> Self {
        Self {
            headers,
            version: None,
        }
    }

    /// No message: a timeout.
    #[must_use]
    pub fn none() -> Self {
        Self::headers("")
    }

    /// The same, for a receiver who has asked for this version. An invalid version is ignored.
    #[must_use]
    pub fn in_version(self, version: Option<&str>) -> Self {
        Self {
            version: version.and_then(Version::of_text),
            ..self
        }
    }
}

impl Frame<'_> {
    /// Forwards a participant's message byte for byte.
    #[must_use]
    pub fn forward(
        &self,
        message: Message,
        destination: String,
        report: ReportKind,
        subject: String,
    ) -> Notice {
        let Message {
            method,
            path,
            headers,
            body,
        } = message;
        Notice {
            headers: forwarded(headers, &destination, self.hub),
            // Only a GET or DELETE is forwarded without a body.
            body: (!body.is_empty()).then_some(body),
            worth: self.worth(),
            on_failure: None,
            destination,
            method,
            path,
            report,
            subject,
        }
    }

    /// A message of the hub, in the version of the cause's sender.
    #[must_use]
    pub fn originate(
        &self,
        cause: Cause<'_>,
        (method, path): (&str, String),
        body: String,
        destination: &str,
        (report, subject): (ReportKind, &str),
    ) -> Notice {
        let resource = Resource::of_path(&path).unwrap_or_else(|| {
            panic!("the hub makes a message for {path:?}, which is not the path of a resource")
        });
        let asked = cause.version;
        let spoken = asked.unwrap_or_else(|| version_for_sender(cause.headers, resource));
        // PATCH is new in 1.1; its receiver has asked for it.
        let version = if method == "PATCH" {
            spoken.max(Version::V1_1)
        } else {
            spoken
        };
        let headers = originated(
            resource,
            version,
            destination,
            self.hub,
            self.now,
            cause.headers,
        );
        Notice {
            destination: destination.to_owned(),
            method: method.to_owned(),
            path,
            headers,
            body: Some(body),
            worth: self.worth(),
            report,
            subject: subject.to_owned(),
            on_failure: None,
        }
    }

    /// PUT …/error of the hub. `path` is that of the resource, without `/error`.
    #[must_use]
    pub fn originate_error(
        &self,
        cause: Cause<'_>,
        path: &str,
        error: &ErrorInformation,
        destination: &str,
        about: (ReportKind, &str),
    ) -> Notice {
        let path = format!("{path}/error");
        self.originate(cause, ("PUT", path), error_body(error), destination, about)
    }

    /// The deadline of a request whose sender waits, in milliseconds since 1970.
    #[must_use]
    pub fn request_deadline(&self) -> u64 {
        self.now.saturating_add(self.request_deadline_ms)
    }

    fn worth(&self) -> Worth {
        Worth::Lasting(self.delivery_deadline_ms)
    }
}

/// FSPIOP's PUT and PATCH /transfers/{ID}. Its members are in alphabetical order, as in all bodies of the hub:
/// deployed validators sort the members before they verify the hub's signature.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct TransferBody<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    completed_timestamp: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    extension_list: Option<ExtensionList<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fulfilment: Option<&'a str>,
    transfer_state: &'a str,
}

/// The body of PUT or PATCH /transfers/{ID}. `completed` is in milliseconds since 1970.
#[must_use]
pub fn transfer_body(state: &str, fulfilment: Option<&str>, completed: Option<u64>) -> String {
    to_text(&TransferBody {
        fulfilment,
        completed_timestamp: completed.map(format_date_time),
        transfer_state: state,
        extension_list: None,
    })
}

/// The body of a PATCH /transfers/{ID} for an aborted transfer, with the reason.
#[must_use]
pub fn aborted_body(completed: u64, error: &ErrorInformation) -> String {
    let cause = format!("{}: {}", error.code, error.description);
    let cause: String = cause.chars().take(DESCRIPTION_MAX).collect();
    to_text(&TransferBody {
        fulfilment: None,
        completed_timestamp: Some(format_date_time(completed)),
        transfer_state: "ABORTED",
        extension_list: Some(ExtensionList {
            extension: vec![Extension {
                key: "cause",
                value: &cause,
            }],
        }),
    })
}

/// The body of PUT /participants/{Type}/{ID}: the FSP, or nothing after a disassociation.
#[must_use]
pub fn participant_body(fsp: Option<&str>) -> String {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Body<'a> {
        #[serde(skip_serializing_if = "Option::is_none")]
        fsp_id: Option<&'a str>,
    }
    to_text(&Body { fsp_id: fsp })
}

/// The result of one party in a PUT /participants/{ID}.
#[derive(Debug, Clone, Copy)]
pub struct PartyDone<'a> {
    /// The party.
    pub party: &'a PartyId,
    /// The FSP of the association.
    pub fsp: &'a str,
    /// Why it was not associated.
    pub error: Option<&'a ErrorInformation>,
}

/// FSPIOP's PartyIdInfo.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PartyIdInfo<'a> {
    fsp_id: &'a str,
    party_id_type: &'a str,
    party_identifier: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    party_sub_id_or_type: Option<&'a str>,
}

/// FSPIOP's PartyResult.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PartyResult<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    error_information: Option<ErrorInformationBody<'a>>,
    party_id: PartyIdInfo<'a>,
}

impl<'a> From<PartyDone<'a>> for PartyResult<'a> {
    fn from(done: PartyDone<'a>) -> Self {
        Self {
            error_information: done.error.map(ErrorInformationBody::from),
            party_id: PartyIdInfo {
                fsp_id: done.fsp,
                party_id_type: &done.party.id_type,
                party_identifier: &done.party.identifier,
                party_sub_id_or_type: done.party.sub_id_or_type.as_deref(),
            },
        }
    }
}

/// The body of PUT /participants/{ID}.
#[must_use]
pub fn parties_body<'a>(
    currency: Option<&str>,
    parties: impl IntoIterator<Item = PartyDone<'a>>,
) -> String {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Body<'a> {
        #[serde(skip_serializing_if = "Option::is_none")]
        currency: Option<&'a str>,
        party_list: Vec<PartyResult<'a>>,
    }
    to_text(&Body {
        currency,
        party_list: parties.into_iter().map(PartyResult::from).collect(),
    })
}

fn to_text(body: &impl Serialize) -> String {
    serde_json::to_string(body).expect("a struct of strings always has a JSON text")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_have_the_members_of_the_specification() {
        assert_eq!(
            transfer_body("COMMITTED", Some("f"), Some(1_464_093_488_699)),
            r#"{"completedTimestamp":"2016-05-24T12:38:08.699Z","fulfilment":"f","transferState":"COMMITTED"}"#
        );
        assert_eq!(
            transfer_body("RESERVED", None, None),
            r#"{"transferState":"RESERVED"}"#
        );
        assert_eq!(
            participant_body(Some("payeefsp")),
            r#"{"fspId":"payeefsp"}"#
        );
        assert_eq!(participant_body(None), "{}");
        let party = |sub_id: Option<&str>| PartyId {
            id_type: "BUSINESS".to_owned(),
            identifier: "acme".to_owned(),
            sub_id_or_type: sub_id.map(str::to_owned),
        };
        let (one, other) = (party(None), party(Some("till1")));
        let error = ErrorInformation {
            code: "3003".to_owned(),
            description: "no".to_owned(),
        };
        let done = |party, error| PartyDone {
            party,
            fsp: "payeefsp",
            error,
        };
        assert_eq!(
            parties_body(Some("USD"), [done(&one, None), done(&other, Some(&error))]),
            r#"{"currency":"USD","partyList":[{"partyId":{"fspId":"payeefsp","partyIdType":"BUSINESS","partyIdentifier":"acme"}},{"errorInformation":{"errorCode":"3003","errorDescription":"no"},"partyId":{"fspId":"payeefsp","partyIdType":"BUSINESS","partyIdentifier":"acme","partySubIdOrType":"till1"}}]}"#
        );
        assert_eq!(parties_body(None, []), r#"{"partyList":[]}"#);
    }

    #[test]
    fn an_aborted_transfer_says_why() {
        let error = ErrorInformation {
            code: "3303".to_owned(),
            description: "Transfer expired".to_owned(),
        };
        assert_eq!(
            aborted_body(0, &error),
            r#"{"completedTimestamp":"1970-01-01T00:00:00.000Z","extensionList":{"extension":[{"key":"cause","value":"3303: Transfer expired"}]},"transferState":"ABORTED"}"#
        );
        let long = ErrorInformation {
            description: "ü".repeat(128),
            ..error
        };
        let body: serde_json::Value = serde_json::from_str(&aborted_body(0, &long)).unwrap();
        let cause = body["extensionList"]["extension"][0]["value"]
            .as_str()
            .unwrap();
        assert_eq!(cause.chars().count(), 128);
    }
}
