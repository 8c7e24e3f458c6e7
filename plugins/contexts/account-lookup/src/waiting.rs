//! What this context stores of queries that wait for an answer: a document for each party, requester and
//! FSP that was asked. A query is not signed: who asks in another's name, of another FSP, takes nothing from
//! what waits already.

use rialto_sdk::bindings::rialto::common::types::Message;
use rialto_sdk::canonical::sha256_hex;
use rialto_sdk::media::{Resource, shaping};
use rialto_sdk::messages::{MessageDocument, PartyDocument};
use serde::{Deserialize, Serialize};

/// What stands between a party's key and the rest. No key has three slashes in a row or ends with one: a
/// party's identifier and sub-id are never empty.
const BETWEEN: &str = "///";

/// Who waits for whose answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pair<'a> {
    /// Who asked.
    pub requester: &'a str,
    /// Who was asked; empty in a reminder that was set before this was part of it.
    pub responder: &'a str,
}

/// The id under which a requester's query for a party waits, and that of its reminder: at most 187
/// bytes, of the 256 that the host allows.
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

/// How the ids of all queries for one party begin.
#[must_use]
pub fn waiting_prefix(party_key: &str) -> String {
    format!("{party_key}{BETWEEN}")
}

/// A requester's query for a party, of one FSP. Asking that FSP again takes its place: until when, and in
/// which version the requester is told of a failure are those of the latest query. What is counted
/// is how many answers the FSP still owes, for each query was passed on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Waiting {
    /// The party.
    pub party: PartyDocument,
    /// Who asked.
    pub requester: String,
    /// Who was asked.
    pub responder: String,
    /// When waiting ends: UTC, milliseconds since 1970.
    pub due: u64,
    /// How many answers of the responder are still to be passed on; at least one.
    pub answers: u32,
    /// As much of the query as it takes to tell its sender that it failed.
    pub message: MessageDocument,
}

impl Waiting {
    /// Who waits for whom.
    #[must_use]
    pub fn pair(&self) -> Pair<'_> {
        Pair {
            requester: &self.requester,
            responder: &self.responder,
        }
    }

    /// Take the place of what waited here.
    pub fn replace(&mut self, query: Self) {
        assert_eq!(self.pair(), query.pair(), "another's place is taken");
        let before = self.answers;
        *self = query;
        self.answers = self.answers.saturating_add(before);
    }

    /// One answer has come. Answers whether another one is owed.
    pub fn is_answered_and_waits_on(&mut self) -> bool {
        self.answers = self.answers.saturating_sub(1);
        self.answers > 0
    }
}

/// As much of a query as it takes to tell its sender that it failed: of the headers the version in
/// which to speak, and the trace.
#[must_use]
pub fn remembered(message: &Message) -> MessageDocument {
    MessageDocument {
        method: message.method.clone(),
        path: message.path.clone(),
        headers: shaping(&message.headers, Resource::Parties),
        body: String::new(),
    }
}

/// The queries for one party, as they were kept before each had a document of its own. None is added;
/// those that waited when the release changed still end.
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
    /// Who asked.
    pub requester: String,
    /// Who was asked.
    pub responder: String,
    /// When waiting ends: UTC, milliseconds since 1970.
    pub due: u64,
    /// The query.
    pub message: MessageDocument,
}

impl WaitingTogether {
    /// The query that an answer is for: of the requester that the answer names, or the oldest one
    /// that its sender was asked.
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

    /// The requester's queries that have waited long enough.
    pub fn take_elapsed(&mut self, requester: &str, now: u64) -> Vec<WaitingQuery> {
        let elapsed =
            |waiting: &mut WaitingQuery| waiting.requester == requester && waiting.due <= now;
        self.queries.extract_if(.., elapsed).collect()
    }

    /// When the first of the requester's queries has waited long enough, if it has any.
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
