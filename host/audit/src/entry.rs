//! An entry: who did what to what, when and where, and with which outcome. It is JSON, and its bytes are what is hashed.

use serde::{Deserialize, Serialize};

/// The longest entry, in bytes: what the public format allows.
pub const ENTRY_BYTES_MAX: usize = u16::MAX as usize;

/// Who has acted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ActorKind {
    /// A person or a program of the operator's document.
    Operator,
    /// A client of the scheme that has proven its name, or that a sandbox believes.
    Client,
    /// A component, by an event, a reminder or a report.
    Component,
    /// The host itself.
    Host,
}

/// Who has acted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Actor {
    /// The kind.
    pub kind: ActorKind,
    /// The name.
    pub name: String,
    /// The operator of `rialto.toml` whose credential was used, where it is not the name.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub operator: String,
    /// The personal token or the session that was shown, by its public name: `token 5f0c1e9a77b2d340`. Empty for any other
    /// credential.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub credential: String,
}

/// An entry of the audit log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Entry {
    /// When: UTC, milliseconds since 1970.
    pub at: u64,
    /// Who.
    pub actor: Actor,
    /// Who has written the entry: a component, `host`, or a program outside.
    pub writer: String,
    /// What was done, in lower-case letters, digits, dots and hyphens.
    pub action: String,
    /// What it was done to, such as `transfer:7c23e80c-…`. Empty for nothing in particular.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub about: String,
    /// How it ended: `done`, `refused`, `failed`, or `begun` for what is yet to end.
    pub outcome: String,
    /// More about it, for people: why it was done, or why it was refused.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
    /// More about it, for programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<serde_json::Value>,
    /// What names people of the entry, encrypted: Base64. `about`, `note` or `details` are missing then, or have a pseudonym.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub sealed: String,
    /// The release on which it happened; none before the first one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub release: Option<u64>,
    /// The turn that did it, by which the history finds it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<u64>,
    /// The trace (W3C Trace Context) that it belongs to.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub trace: String,
}
