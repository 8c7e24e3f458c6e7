//! `auditing`: entries of the audit log, by components, and by the host for what operators' requests do.

use rialto_audit::{Actor, ActorKind, Entry};
use rialto_engine::Turn;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::interrupt;
use crate::bindings::rialto::host::auditing::{Entry as Wanted, Host, Outcome, Refusal};
use crate::denials::Denial;
use crate::external_calls::{Call, Client};
use crate::guest::Guest;
use crate::http::{Caller, Request};

/// The longest action, subject, note and details, in bytes.
const ACTION_BYTES_MAX: usize = 64;
const ABOUT_BYTES_MAX: usize = 256;
const NOTE_BYTES_MAX: usize = 1 << 10;
const DETAILS_BYTES_MAX: usize = 8 << 10;
/// Bytes of a request's path that are kept.
const PATH_BYTES_MAX: usize = 256;
/// The role of participants (`http-handler`). Others are operators.
const CLIENT: &str = "client";

impl Host for Guest {
    fn write(&mut self, entry: Wanted) -> wasmtime::Result<()> {
        let details = checked(&entry);
        let details = details.map_err(|why| {
            wasmtime::format_err!(
                "`{}` writes an entry of the audit log {why}",
                self.identity.name
            )
        })?;
        let outcome = match entry.outcome {
            Outcome::Done => "done",
            Outcome::Refused => "refused",
            Outcome::Failed => "failed",
        };
        let written = self.entry(entry.action, outcome)?;
        let body = Entry {
            about: entry.about,
            note: entry.note,
            details,
            ..written
        };
        append(self.turn()?, &body)
    }

    fn write_refusal(&mut self, refusal: Refusal) -> wasmtime::Result<()> {
        let trace = self.turn()?.trace().to_string();
        let writer = &self.identity.name;
        let fits = refusal_fits(&refusal);
        fits.map_err(|why| wasmtime::format_err!("`{writer}` keeps a refusal {why}"))?;
        let active = self.active.as_ref();
        let actor = active.and_then(|active| active.actor.as_ref());
        self.identity.denials.keep(Denial {
            action: refusal.action,
            kind: actor.map_or(ActorKind::Client, |actor| actor.kind),
            source: refusal.source,
            about: refusal.about,
            why: refusal.note,
            writer: writer.to_string(),
            trace,
        });
        Ok(())
    }
}

impl Guest {
    /// An entry with what the host knows.
    fn entry(&self, action: String, outcome: &str) -> wasmtime::Result<Entry> {
        let turn = self.turn_ref()?;
        let active = self.active.as_ref();
        let component = &*self.identity.name;
        let actor = active.and_then(|active| active.actor.clone());
        let actor = actor.map(|actor| (*actor).clone());
        Ok(Entry {
            at: turn.now().0,
            actor: actor.unwrap_or_else(|| Actor {
                kind: ActorKind::Component,
                name: component.to_owned(),
                operator: String::new(),
                credential: String::new(),
            }),
            writer: component.to_owned(),
            action,
            about: String::new(),
            outcome: outcome.to_owned(),
            note: String::new(),
            details: None,
            sealed: String::new(),
            release: active.map(|active| active.release.number),
            turn: Some(turn.id().0),
            trace: turn.trace().to_string(),
        })
    }

    /// Write the entry of an operator's request that this component has answered. What strangers and participants send, and
    /// what only reads, has none.
    pub(crate) fn audit_request(&mut self, request: &Request, status: u16) -> wasmtime::Result<()> {
        let is_operators = request.caller.as_ref().is_some_and(is_operator);
        if !is_operators || ["GET", "HEAD"].contains(&&*request.method) {
            return Ok(());
        }
        let outcome = if status < 400 { "done" } else { "refused" };
        let mut entry = self.entry(action_of(&request.operation_id), outcome)?;
        let path = &request.path[..request.path.floor_char_boundary(PATH_BYTES_MAX)];
        entry.about = format!("{} {path}", request.method);
        let body = request.body.as_deref().unwrap_or_default();
        // The body may have a secret. Its hash proves which one it was to whoever has it.
        let digest = data_encoding::HEXLOWER.encode(&Sha256::digest(body));
        entry.details = Some(serde_json::json!({
            "operation": request.operation_id,
            "status": status,
            "bodySha256": digest,
        }));
        append(self.turn()?, &entry)
    }
}

impl Guest {
    /// Write the entry of a program's call that has changed something. A call that changes nothing, refused or not, has none:
    /// a program that asks for what is not there would fill the log.
    pub(crate) fn audit_call(&mut self, call: &Call, is_refused: bool) -> wasmtime::Result<()> {
        if !self.turn_ref()?.has_changes() {
            return Ok(());
        }
        let outcome = if is_refused { "refused" } else { "done" };
        let mut entry = self.entry(action_of(&format!("call.{}", call.function)), outcome)?;
        let interface = &call.interface;
        entry.about = interface[..interface.floor_char_boundary(ABOUT_BYTES_MAX)].to_owned();
        let arguments = serde_json::to_vec(&call.arguments)?;
        // The arguments may have a secret, and may be long.
        let digest = data_encoding::HEXLOWER.encode(&Sha256::digest(arguments));
        entry.details = Some(serde_json::json!({ "argumentsSha256": digest }));
        append(self.turn()?, &entry)
    }
}

/// The actor of a program's call.
pub(crate) fn actor_of_call(client: &Client) -> Actor {
    Actor {
        kind: ActorKind::Operator,
        name: client.name.to_string(),
        operator: String::new(),
        credential: client.credential.to_string(),
    }
}

/// The actor of a request, with the credential that was shown.
pub(crate) fn actor(caller: &Caller, credential: Option<&str>) -> Actor {
    Actor {
        kind: if is_operator(caller) {
            ActorKind::Operator
        } else {
            ActorKind::Client
        },
        name: caller.name.clone(),
        operator: String::new(),
        credential: credential.unwrap_or_default().to_owned(),
    }
}

fn is_operator(caller: &Caller) -> bool {
    caller.roles.iter().any(|role| role != CLIENT)
}

fn append(turn: &mut Turn, entry: &Entry) -> wasmtime::Result<()> {
    let body = serde_json::to_string(entry)?;
    interrupt(turn.audit(body))
}

/// Whether an entry's action and texts are as the contract wants them; an error says what is not.
fn texts_fit(action: &str, texts: &[(&str, &str, usize)]) -> Result<(), String> {
    let is_part = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b"-.".contains(&b);
    if !(1..=ACTION_BYTES_MAX).contains(&action.len()) || !action.bytes().all(is_part) {
        return Err(format!("with the action {action:?}"));
    }
    for (name, text, most) in texts {
        if text.len() > *most {
            let bytes = text.len();
            return Err(format!(
                "whose `{name}` has {bytes} bytes; at most {most} are allowed"
            ));
        }
    }
    Ok(())
}

fn refusal_fits(refusal: &Refusal) -> Result<(), String> {
    let Refusal {
        action,
        source,
        about,
        note,
    } = refusal;
    texts_fit(
        action,
        &[
            ("source", source, ABOUT_BYTES_MAX),
            ("about", about, ABOUT_BYTES_MAX),
            ("note", note, NOTE_BYTES_MAX),
        ],
    )?;
    if source.is_empty() {
        return Err("without a `source`".to_owned());
    }
    Ok(())
}

/// The details of an entry; an error says what is wrong with it.
fn checked(entry: &Wanted) -> Result<Option<Value>, String> {
    texts_fit(
        &entry.action,
        &[
            ("about", &entry.about, ABOUT_BYTES_MAX),
            ("note", &entry.note, NOTE_BYTES_MAX),
        ],
    )?;
    let Some(details) = &entry.details else {
        return Ok(None);
    };
    if details.len() > DETAILS_BYTES_MAX {
        return Err(format!(
            "whose `details` have {} bytes; at most {DETAILS_BYTES_MAX} are allowed",
            details.len()
        ));
    }
    match serde_json::from_str(details) {
        Ok(value @ Value::Object(_)) => Ok(Some(value)),
        _ => Err("whose `details` are no JSON object".to_owned()),
    }
}

/// An operation's id as an action: `approveFunds` is `approve-funds`.
fn action_of(operation: &str) -> String {
    let mut action = String::new();
    for c in operation.chars() {
        if c.is_ascii_uppercase() {
            if !action.is_empty() && !action.ends_with('-') {
                action.push('-');
            }
            action.push(c.to_ascii_lowercase());
        } else if c.is_ascii_lowercase() || c.is_ascii_digit() || "-.".contains(c) {
            action.push(c);
        } else {
            action.push('-');
        }
    }
    action.truncate(ACTION_BYTES_MAX);
    action
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_are_actions() {
        for (operation, action) in [
            ("approveFunds", "approve-funds"),
            ("ApproveFunds", "approve-funds"),
            ("post_it", "post-it"),
            ("KMSKey2", "k-m-s-key2"),
        ] {
            assert_eq!(action_of(operation), action);
        }
        assert_eq!(action_of(&"a".repeat(100)).len(), ACTION_BYTES_MAX);
    }
}
