//! The history of a participant's changes: a chain of hashes, so that tampering is detected.
//!
//! An entry is inserted once and never changed. Each has the hash of the entry before it, and the participant's
//! document has the hash of the last. `rialto ledger check` verifies the chain.

use crate::participants::Participant;
use rialto_sdk::canonical::request_hash;
use rialto_sdk::documents::{Collection, Store};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Changes by participant and number.
pub const CHANGES: Collection<Change> = Collection::new("changes");
/// The same as raw JSON: hashes cover all members, of any release.
const WRITTEN: Collection<Value> = Collection::new("changes");

/// The authors of a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct By {
    /// The operator who asked for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub maker: Option<String>,
    /// Who decided it: an operator, or `automatic`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checker: Option<String>,
    /// The release that made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub release: Option<u64>,
}

/// A document of the collection `changes`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Change {
    /// Numbered from 0.
    pub n: u64,
    /// UTC, milliseconds since 1970.
    pub at: u64,
    /// The kind of request, or `release`.
    pub kind: String,
    /// The request's state then; `RELEASE` for a release.
    pub state: String,
    /// Who.
    pub by: By,
    /// The request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
    /// The request's payload, reason, note and failure. None for a release.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<Value>,
    /// The value before the change; null if there was none.
    pub before: Value,
    /// The value after the change.
    pub after: Value,
    /// The hash of the entry before this one; empty in the first.
    pub previous: String,
    /// SHA-256 of this entry's canonical JSON (RFC 8785) without this member.
    pub hash: String,
}

/// The members of a new entry.
#[derive(Debug, Clone)]
pub struct Note {
    /// See [`Change`].
    pub kind: String,
    /// See [`Change`].
    pub state: String,
    /// See [`Change`].
    pub by: By,
    /// See [`Change`].
    pub request: Option<String>,
    /// See [`Change`].
    pub asked: Option<Value>,
    /// See [`Change`].
    pub before: Value,
    /// See [`Change`].
    pub after: Value,
}

impl Change {
    /// The hash that the entry should have.
    #[must_use]
    pub fn hash_of(&self) -> String {
        hash_of(serde_json::to_value(self).unwrap_or_default())
    }
}

fn hash_of(mut change: Value) -> String {
    if let Some(members) = change.as_object_mut() {
        members.remove("hash");
    }
    request_hash(&change)
}

/// Appends a change to a participant's history. The caller then writes the participant.
///
/// # Panics
/// If there is an entry with this number: then the participant's document was tampered with.
pub fn append(
    store: &mut (impl Store + ?Sized),
    participant: &mut Participant,
    note: Note,
    at: u64,
) {
    let mut change = Change {
        n: participant.changes,
        at,
        kind: note.kind,
        state: note.state,
        by: note.by,
        request: note.request,
        asked: note.asked,
        before: note.before,
        after: note.after,
        previous: participant.last_change_hash.clone(),
        hash: String::new(),
    };
    change.hash = change.hash_of();
    let id = id(&participant.participant, change.n);
    let is_new = CHANGES.within(store).insert_if_absent(&id, &change);
    assert!(
        is_new,
        "the change {id} exists already: history is never written twice"
    );
    participant.changes += 1;
    participant.last_change_hash = change.hash;
}

/// The id of an entry.
#[must_use]
pub fn id(participant: &str, n: u64) -> String {
    format!("{participant}/{n:010}")
}

/// Where a participant's chain is broken; none if it is valid.
#[must_use]
pub fn broken(store: &mut (impl Store + ?Sized), participant: &Participant) -> Option<u64> {
    let mut previous = String::new();
    for n in 0..participant.changes {
        let change = WRITTEN.within(store).get(&id(&participant.participant, n));
        let Some(change) = change else {
            return Some(n);
        };
        let follows = change["n"] == n && change["previous"] == *previous;
        let hash = change["hash"].as_str().unwrap_or_default().to_owned();
        if !follows || hash != hash_of(change) {
            return Some(n);
        }
        previous = hash;
    }
    (previous != participant.last_change_hash).then(|| participant.changes.saturating_sub(1))
}
