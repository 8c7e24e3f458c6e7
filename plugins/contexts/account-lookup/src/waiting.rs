//! Waiting queries: a document for each party, requester and responder. Queries are not signed. So a query in
//! another's name, to another FSP, must not affect those that already wait.

use rialto_sdk::bindings::rialto::common::types::Message;
use rialto_sdk::canonical::sha256_hex;
use rialto_sdk::media::{Resource, shaping};
use rialto_sdk::messages::{MessageDocument, PartyDocument};
use serde::{Deserialize, Serialize};

/// Separates a party's key from the rest. No key has three slashes in a row or ends with a slash, since a
/// party's identifier and sub-id are never empty.
const BETWEEN: &str = "///";

/// The requester and the responder of a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pair<'a> {
    /// The requester.
    pub requester: &'a str,
    /// The FSP that was asked. Empty in a reminder of an earlier version.
    pub responder: &'a str,
}

/// The id of a requester's query for a party and of its reminder: at most 187 of the 256 bytes that the host
/// allows.
#[must_use]
pub fn waiting_key(party_key: &str, pair: Pair<'_>) -> String {
    let text = serde_json::to_string(&[pair.requester, pair.responder]);
    let text = text.expect("strings always have a JSON text");
    format!(
        "{}{}",
        waiting_prefix(party_key),
        sha256_hex(text.as_bytes())
    )
}

/// The prefix of the ids of all queries for one party.
#[must_use]
pub fn waiting_prefix(party_key: &str) -> String {
    format!("{party_key}{BETWEEN}")
}

/// A requester's query for a party, to one FSP. A repeated query replaces it: the latest one sets the end of
/// waiting and the version for errors. It counts the answers that the FSP still owes, since each query was
/// forwarded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Waiting {
    /// The party.
    pub party: PartyDocument,
    /// The requester.
    pub requester: String,
    /// Who was asked.
    pub responder: String,
    /// When waiting ends: UTC, milliseconds since 1970.
    pub due: u64,
    /// The number of answers still to forward; at least one.
    pub answers: u32,
    /// The parts of the query that an error to its sender needs.
    pub message: MessageDocument,
}

impl Waiting {
    /// The requester and the responder.
    #[must_use]
    pub fn pair(&self) -> Pair<'_> {
        Pair {
            requester: &self.requester,
            responder: &self.responder,
        }
    }

    /// Replaces an earlier query.
    pub fn replace(&mut self, query: Self) {
        assert_eq!(self.pair(), query.pair(), "another's place is taken");
        let before = self.answers;
        *self = query;
        self.answers = self.answers.saturating_add(before);
    }

    /// Counts an answer. Returns whether another one is owed.
    pub fn is_answered_and_waits_on(&mut self) -> bool {
        self.answers = self.answers.saturating_sub(1);
        self.answers > 0
    }
}

/// The parts of a query that an error to its sender needs: of the headers, the version and the trace.
#[must_use]
pub fn remembered(message: &Message) -> MessageDocument {
    MessageDocument {
        method: message.method.clone(),
        path: message.path.clone(),
        headers: shaping(&message.headers, Resource::Parties),
        body: String::new(),
    }
}

/// The queries for one party in the older layout. None is added; those that waited at the upgrade still end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WaitingTogether {
    /// The party.
    pub party: PartyDocument,
    /// The oldest first.
    pub queries: Vec<WaitingQuery>,
}

/// One of [`WaitingTogether`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WaitingQuery {
    /// The requester.
    pub requester: String,
    /// Who was asked.
    pub responder: String,
    /// When waiting ends: UTC, milliseconds since 1970.
    pub due: u64,
    /// The query.
    pub message: MessageDocument,
}

impl WaitingTogether {
    /// The query of an answer: that of the requester that the answer names, or else the oldest one to its
    /// sender.
    pub fn take_answered(
        &mut self,
        responder: &str,
        requester: Option<&str>,
    ) -> Option<WaitingQuery> {
        let index = self.queries.iter().position(|waiting| {
            waiting.responder == responder
                && requester.is_none_or(|requester| waiting.requester == requester)
        })?;
        Some(self.queries.remove(index))
    }

    /// The requester's queries whose time is over.
    pub fn take_elapsed(&mut self, requester: &str, now: u64) -> Vec<WaitingQuery> {
        let elapsed =
            |waiting: &mut WaitingQuery| waiting.requester == requester && waiting.due <= now;
        self.queries.extract_if(.., elapsed).collect()
    }

    /// When the first of the requester's queries ends, if any.
    #[must_use]
    pub fn due(&self, requester: &str) -> Option<u64> {
        let of_requester = self.queries.iter().filter(|q| q.requester == requester);
        of_requester.map(|query| query.due).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::documents::party_key;
    use rialto_sdk::bindings::rialto::common::types::PartyId;

    fn party(identifier: &str, sub_id: Option<&str>) -> PartyId {
        PartyId {
            id_type: "ALIAS".to_owned(),
            identifier: identifier.to_owned(),
            sub_id_or_type: sub_id.map(str::to_owned),
        }
    }

    #[test]
    fn waiting_key_is_unique_per_party_requester_and_responder() {
        let long = "ü".repeat(128);
        let parties = [
            party("a", None),
            party("a", Some("b")),
            party("a", Some("b/c")),
            party(&long, None),
            party("a///b", None),
        ];
        let requesters = [
            "b",
            "c",
            "///b",
            "/",
            "%2F",
            "a:b",
            &"ü".repeat(32),
            &"/".repeat(32),
        ];
        let mut keys = std::collections::BTreeSet::new();
        for party in &parties {
            for (requester, responder) in requesters
                .iter()
                .flat_map(|one| requesters.iter().map(move |two| (one, two)))
            {
                let pair = Pair {
                    requester,
                    responder,
                };
                let key = waiting_key(&party_key(party), pair);
                assert!(key.len() <= 256, "{key}");
                for other in &parties {
                    let is_its = key.starts_with(&waiting_prefix(&party_key(other)));
                    assert_eq!(is_its, other == party, "{key}");
                }
                keys.insert(key);
            }
        }
        assert_eq!(
            keys.len(),
            parties.len() * requesters.len() * requesters.len()
        );
    }
}
