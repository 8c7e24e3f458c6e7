//! An entry that is exported, and what the formats for other systems have in common.

use rialto_audit::Entry;
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// An entry as the store has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exported {
    /// Its place in the log.
    pub index: u64,
    /// When it was written: UTC, milliseconds since 1970.
    pub at: u64,
    /// Its bytes: those that are hashed and signed.
    pub body: String,
    /// The entry; none if the bytes are no entry that this version can read.
    pub entry: Option<Entry>,
}

impl Exported {
    /// An entry of the store.
    pub fn new(index: u64, at: u64, body: &str) -> Self {
        Self {
            index,
            at,
            body: body.to_owned(),
            entry: serde_json::from_str(body).ok(),
        }
    }

    /// The entry as JSON in one line. Its bytes are as in the log, so that their hash can be proven.
    pub fn json(&self) -> String {
        let raw: Result<&RawValue, _> = serde_json::from_str(&self.body);
        match raw {
            Ok(raw) if !self.body.contains(['\n', '\r']) => {
                format!("{{\"index\":{},\"entry\":{}}}", self.index, raw.get())
            }
            _ => json!({ "index": self.index, "at": self.at, "unreadable": self.body }).to_string(),
        }
    }
}

/// How much an entry asks for somebody's attention.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Attention {
    /// As it should be.
    None,
    /// Something was refused, as rules want it.
    Low,
    /// Something failed, or somebody was refused for who they are.
    Medium,
    /// Somebody may have changed something.
    High,
}

/// The attention for an entry. An action that ends with `.refused` is of somebody who was refused for who they are.
pub fn attention(entry: &Entry) -> Attention {
    match &*entry.outcome {
        "done" | "begun" => Attention::None,
        "refused" if entry.action == "audit.quarantined" => Attention::High,
        "refused" if entry.action.ends_with(".refused") => Attention::Medium,
        "refused" => Attention::Low,
        _ => Attention::Medium,
    }
}

/// What an entry says for people: its note, and the host's reason.
pub(super) fn reason(entry: &Entry) -> String {
    let reason = detail(entry, "reason").and_then(Value::as_str);
    let texts = [Some(&*entry.note), reason];
    let texts: Vec<&str> = texts
        .into_iter()
        .flatten()
        .filter(|t| !t.is_empty())
        .collect();
    texts.join(": ")
}

/// A member of an entry's details.
pub(super) fn detail<'e>(entry: &'e Entry, name: &str) -> Option<&'e Value> {
    entry.details.as_ref()?.get(name)
}

/// How many events an entry tells of, where it tells of several.
pub(super) fn count(entry: &Entry) -> Option<u64> {
    detail(entry, "count")?.as_u64()
}

/// The address of an actor that is known by nothing else.
pub(super) fn address(entry: &Entry) -> Option<&str> {
    entry.actor.name.strip_prefix("address ")
}

#[cfg(test)]
mod tests {
    use super::super::tests as examples;
    use super::*;

    #[test]
    fn lines_of_json_have_the_bytes_of_the_log() {
        let one = examples::committed();
        assert_eq!(
            one.json(),
            format!("{{\"index\":7,\"entry\":{}}}", one.body)
        );
        assert_eq!(
            examples::unreadable().json(),
            r#"{"index":12,"at":1767225600128,"unreadable":"{\"at\":\n1|"}"#
        );
        let spaced = Exported::new(1, 2, "{\n}");
        assert_eq!(spaced.json(), r#"{"index":1,"at":2,"unreadable":"{\n}"}"#);
    }

    #[test]
    fn refusals_and_failures_ask_for_attention() {
        let of = |exported: Exported| attention(&exported.entry.unwrap());
        assert_eq!(of(examples::committed()), Attention::None);
        assert_eq!(of(examples::request()), Attention::Low);
        assert_eq!(of(examples::refused()), Attention::Medium);
        assert_eq!(of(examples::token()), Attention::None);
    }
}
