//! The messages from and to FSPs in a case. Consumed events are compared with them.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, bail, ensure};
use rialto_simulator::{Direction, Recorded};
use rialto_tests::witness::Told;
use serde_json::Value;

/// The messages from and to FSPs.
#[derive(Debug, Default)]
pub struct Facts {
    said: Vec<Recorded>,
    told: Vec<Recorded>,
}

impl Facts {
    /// From what FSPs recorded.
    pub fn of(messages: impl Iterator<Item = Recorded>) -> Self {
        let (told, said) = messages.partition(|message| message.direction == Direction::In);
        Self { said, told }
    }

    /// Compares an event with the messages. Returns whether there was a message to compare.
    ///
    /// # Errors
    /// When it says something else.
    pub fn compare(&self, told: &Told) -> Result<bool> {
        let content = &told.content;
        let compared = if content.get("delivered").is_some() {
            Ok(self.is_reported(content))
        } else if told.event == "notify-requested" {
            Ok(self.is_sent(content))
        } else if content
            .get("message")
            .is_some_and(|message| !message.is_null())
        {
            self.is_of_message(content).map(|()| true)
        } else {
            self.is_of_transfer(content)
        };
        compared.with_context(|| format!("{} says {content}", told.event))
    }

    /// The message of a report has come to its FSP.
    fn is_reported(&self, content: &Value) -> bool {
        content["delivered"] == true
            && self.told.iter().any(|told| {
                content["destination"] == *told.fsp.to_string()
                    && content["method"] == *told.method.as_str()
                    && content["path"] == *told.path
            })
    }

    /// The message that was to be sent has come to its FSP, with these headers and this body.
    fn is_sent(&self, content: &Value) -> bool {
        let headers = headers(content);
        self.told.iter().any(|told| {
            content["destination"] == *told.fsp.to_string()
                && content["method"] == *told.method.as_str()
                && content["path"] == *told.path
                && content["body"].as_str().unwrap_or_default().as_bytes() == told.body
                && headers
                    .iter()
                    .all(|(name, value)| told.header(name) == *value)
        })
    }

    /// Checks an event with the contents of a message of an FSP.
    fn is_of_message(&self, content: &Value) -> Result<()> {
        let message = &content["message"];
        if message["method"] == "POST" && message["path"] == "/participants" {
            return self.is_of_request_for_many(content);
        }
        let headers = headers(message);
        let text = |name: &str| message[name].as_str().unwrap_or_default();
        let header = |name: &str| headers.get(name).copied().unwrap_or_default();
        let said = self.said.iter().find(|said| {
            text("method") == said.method.as_str()
                && pure(text("path")) == pure(&said.path)
                && text("body").as_bytes() == said.body
                && header("fspiop-source") == said.header("fspiop-source")
                && header("date") == said.header("date")
        });
        let Some(said) = said else {
            return self.is_of_hub(content);
        };
        for name in ["transfer_id", "quote_id"] {
            if let Some(id) = content[name].as_str() {
                let body = String::from_utf8_lossy(&said.body);
                ensure!(
                    said.path.contains(id) || body.contains(id),
                    "{name} is another"
                );
            }
        }
        // An answer names the responder and the requester.
        let speaker = ["responder_fsp", "requester_fsp"]
            .iter()
            .find_map(|name| content[*name].as_str());
        if let Some(speaker) = speaker {
            ensure!(
                speaker == said.header("fspiop-source"),
                "another has said it"
            );
        }
        if said.method == "POST" && said.path == "/transfers" {
            agree(content, &said.json())?;
        }
        Ok(())
    }

    /// The event is of a request for many parties: it has the list, and of the message only what an answer needs.
    fn is_of_request_for_many(&self, content: &Value) -> Result<()> {
        let mut said = self.said.iter();
        let said = said.find(|said| {
            said.path == "/participants"
                && said.json()["requestId"] == content["request_id"]
                && content["requester_fsp"] == *said.header("fspiop-source")
        });
        let said = said.context("that FSP has sent no request for many parties with that id")?;
        let identifiers = |list: &Value, name: &str, pointer: &str| -> Vec<Value> {
            let parties = list[name].as_array().into_iter().flatten();
            parties
                .map(|one| one.pointer(pointer).cloned().unwrap_or_default())
                .collect()
        };
        ensure!(
            content["parties"].is_null()
                || identifiers(content, "parties", "/party/identifier")
                    == identifiers(&said.json(), "partyList", "/partyIdentifier"),
            "the parties are others"
        );
        let message = &content["message"];
        let headers = headers(message);
        ensure!(
            headers.get("content-type").copied() == Some(said.header("content-type"))
                && headers
                    .keys()
                    .all(|name| ["content-type", "traceparent"].contains(name))
                && message["body"] == "",
            "more of the message goes on than an answer needs"
        );
        Ok(())
    }

    /// Checks an event about a message of the hub in the place of an absent FSP: its error was sent, about the
    /// same subject.
    fn is_of_hub(&self, content: &Value) -> Result<()> {
        let path = content["message"]["path"].as_str().unwrap_or_default();
        let about = pure(path).trim_end_matches("/error");
        let code = content["error"]["code"].as_str();
        let code = code.or_else(|| content["outcome"]["Failed"]["code"].as_str());
        let body = content["message"]["body"].as_str().unwrap_or_default();
        let mut told = self.told.iter();
        let is_told = told.any(|told| {
            let text = String::from_utf8_lossy(&told.body);
            told.path.starts_with(about)
                && code.map_or(!body.is_empty() && text == body, |code| text.contains(code))
        });
        ensure!(
            is_told,
            "no FSP has sent that message, and nobody is told of it"
        );
        Ok(())
    }

    /// The event is of a transfer that an FSP has asked for, and no message is its cause.
    fn is_of_transfer(&self, content: &Value) -> Result<bool> {
        let Some(id) = content["transfer_id"].as_str() else {
            return Ok(false);
        };
        let mut said = self.said.iter();
        let asked = said.find(|said| said.path == "/transfers" && said.json()["transferId"] == *id);
        let asked = asked.context("no FSP has asked for that transfer")?;
        agree(content, &asked.json())?;
        let code = content["error"]["code"].as_str();
        if let Some(code) = code {
            let path = format!("/transfers/{id}");
            let mut told = self.told.iter().filter(|told| told.path.starts_with(&path));
            let is_told = told.any(|told| String::from_utf8_lossy(&told.body).contains(code));
            ensure!(is_told, "nobody is told {code}");
        }
        Ok(true)
    }
}

/// An event about a transfer names its FSPs as the request for it does.
fn agree(content: &Value, body: &Value) -> Result<()> {
    for (name, member) in [("payer_fsp", "payerFsp"), ("payee_fsp", "payeeFsp")] {
        let (found, expected) = (&content[name], &body[member]);
        if !found.is_null() && found != expected {
            bail!("{name} is {found}, not {expected}");
        }
    }
    Ok(())
}

/// A path without its query.
fn pure(path: &str) -> &str {
    path.split('?').next().unwrap_or_default()
}

/// The headers of a message of the contracts, by their names.
fn headers(message: &Value) -> BTreeMap<&str, &str> {
    let section = message["headers"].as_str().unwrap_or_default();
    let lines = section.lines().filter_map(|line| line.split_once(':'));
    lines
        .map(|(name, value)| (name.trim(), value.trim()))
        .collect()
}
