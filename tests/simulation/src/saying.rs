//! Messages of FSPs to the hub, numbered in their order. A message's number is its trace id, so that the host's
//! actions can be assigned to it.

use http::{HeaderMap, HeaderValue};
use serde_json::{Value, json};

use crate::time::{date_time, http_date};

/// An ILP packet: opaque to the scheme.
const ILP_PACKET: &str = "AQAAAAAAAADIEHByaXZhdGUucGF5ZWVmc3A";

/// A request for a transfer.
#[derive(Clone, Debug, PartialEq)]
pub struct Prepare {
    /// The transfer's id.
    pub transfer_id: String,
    /// Who pays.
    pub payer: String,
    /// The payee.
    pub payee: String,
    /// In cents of US dollars.
    pub cents: u64,
    /// 43 characters of base64url.
    pub condition: String,
    /// Milliseconds since 1970.
    pub expiration: u64,
    /// Something that makes it another request.
    pub note: Option<String>,
}

impl Prepare {
    /// The body of POST /transfers.
    pub fn body(&self) -> Value {
        let mut body = json!({
            "transferId": self.transfer_id,
            "payerFsp": self.payer,
            "payeeFsp": self.payee,
            "amount": money(self.cents),
            "ilpPacket": ILP_PACKET,
            "condition": self.condition,
            "expiration": date_time(self.expiration),
        });
        if let Some(note) = &self.note {
            body["extensionList"] = json!({ "extension": [{ "key": "note", "value": note }] });
        }
        body
    }
}

/// An amount as FSPIOP has it.
pub fn money(cents: u64) -> Value {
    let (dollars, cents) = (cents / 100, cents % 100);
    let text = match cents {
        0 => dollars.to_string(),
        cents if cents % 10 == 0 => format!("{dollars}.{}", cents / 10),
        cents => format!("{dollars}.{cents:02}"),
    };
    json!({ "currency": "USD", "amount": text })
}

/// The contents of a message.
#[derive(Clone, Debug, PartialEq)]
pub enum Saying {
    /// POST /transfers
    Prepare(Prepare),
    /// PUT /transfers/{ID}
    Fulfil {
        /// Whether the payee FSP commits in reserved mode.
        reserved: bool,
        /// 43 characters of base64url.
        fulfilment: String,
        /// Milliseconds since 1970, if it says so.
        completed: Option<u64>,
    },
    /// PUT /transfers/{ID}/error
    Reject {
        /// Its own error code.
        code: String,
    },
    /// GET /transfers/{ID}
    Query,
    /// POST /quotes, with its body.
    AskQuote(Value),
    /// PUT /quotes/{ID}, with its body.
    AnswerQuote(Value),
}

/// A planned message.
#[derive(Clone, Debug)]
pub struct Draft {
    /// Its sender.
    pub fsp: String,
    /// The transfer's or the quote's id.
    pub subject: String,
    /// What.
    pub saying: Saying,
    /// For whom, if the sender says so.
    pub destination: Option<String>,
    /// Whether the JSON has blanks and line ends in it.
    pub spacious: bool,
}

/// The hub's synchronous answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Nothing: it ended before.
    Nothing,
    /// This status.
    Status(u16),
}

/// A message that was said.
#[derive(Clone, Debug)]
pub struct Message {
    /// From 1.
    pub number: u64,
    /// A sent message.
    pub draft: Draft,
    /// The HTTP method.
    pub method: &'static str,
    /// The path.
    pub path: String,
    /// The body, byte for byte; empty for none.
    pub body: String,
    /// Milliseconds since 1970.
    pub said_at: u64,
    /// The hub's answer.
    pub answer: Answer,
}

impl Message {
    /// A draft as it goes over the wire.
    pub fn new(number: u64, draft: Draft, now: u64) -> Self {
        let subject = &draft.subject;
        let (method, path, body) = match &draft.saying {
            Saying::Prepare(prepare) => ("POST", "/transfers".into(), Some(prepare.body())),
            Saying::Fulfil {
                reserved,
                fulfilment,
                completed,
            } => {
                let state = if *reserved { "RESERVED" } else { "COMMITTED" };
                let mut body = json!({ "fulfilment": fulfilment, "transferState": state });
                if let Some(completed) = completed {
                    body["completedTimestamp"] = json!(date_time(*completed));
                }
                ("PUT", format!("/transfers/{subject}"), Some(body))
            }
            Saying::Reject { code } => {
                let error = json!({ "errorCode": code, "errorDescription": "No, thank you" });
                let body = json!({ "errorInformation": error });
                ("PUT", format!("/transfers/{subject}/error"), Some(body))
            }
            Saying::Query => ("GET", format!("/transfers/{subject}"), None),
            Saying::AskQuote(body) => ("POST", "/quotes".into(), Some(body.clone())),
            Saying::AnswerQuote(body) => ("PUT", format!("/quotes/{subject}"), Some(body.clone())),
        };
        let body = body.map_or_else(String::new, |body| {
            if draft.spacious {
                format!(" {body:#}\r\n")
            } else {
                body.to_string()
            }
        });
        Self {
            number,
            draft,
            method,
            path,
            body,
            said_at: now,
            answer: Answer::Nothing,
        }
    }

    /// Its sender.
    pub fn fsp(&self) -> &str {
        &self.draft.fsp
    }

    /// Whether it is about a transfer.
    pub fn is_about_transfer(&self) -> bool {
        !matches!(
            self.draft.saying,
            Saying::AskQuote(_) | Saying::AnswerQuote(_)
        )
    }

    /// Whether the hub has taken it, and said so.
    pub fn was_taken(&self) -> bool {
        matches!(self.answer, Answer::Status(status) if (200..300).contains(&status))
    }

    /// Its headers, as a standard client sets them.
    ///
    /// # Panics
    /// Never: all of them are plain ASCII.
    pub fn headers(&self) -> HeaderMap {
        let resource = if self.is_about_transfer() {
            "transfers"
        } else {
            "quotes"
        };
        let media =
            |version| format!("application/vnd.interoperability.{resource}+json;version={version}");
        let mut pairs = vec![
            ("content-type", media("1.1")),
            ("date", http_date(self.said_at)),
            ("fspiop-source", self.fsp().to_owned()),
            (
                "traceparent",
                format!("00-{0:032x}-{0:016x}-01", self.number),
            ),
        ];
        if self.method != "PUT" {
            pairs.push(("accept", media("1.1")));
        }
        if let Some(destination) = &self.draft.destination {
            pairs.push(("fspiop-destination", destination.clone()));
        }
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            let value = HeaderValue::try_from(value).expect("plain ASCII");
            headers.insert(name, value);
        }
        headers
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_have_no_zeros_at_the_end() {
        for (cents, text) in [(100, "1"), (150, "1.5"), (101, "1.01"), (7, "0.07")] {
            assert_eq!(money(cents)["amount"], text);
        }
    }
}
