//! Lookups from outside: events in, outcomes out, in surroundings that remember everything.

mod asking;
mod associating;

use crate::bindings::exports::rialto::fsp_interop_api as asked;
use crate::documents::PartyAssociations;
use crate::settings::{Settings, Takeover};
use crate::surroundings::{Outcome, Participant, Surroundings};
use crate::waiting::{Pair, Waiting, WaitingTogether, waiting_key, waiting_prefix};
use crate::{associations, queries};
use rialto_sdk::bindings::rialto::common::types::{ErrorInformation, Message, PartyId};
use rialto_sdk::errors::error;
use std::collections::BTreeMap;

#[derive(Default)]
struct World {
    now: u64,
    settings: Settings,
    participants: BTreeMap<String, Participant>,
    associations: BTreeMap<String, PartyAssociations>,
    waiting: BTreeMap<String, String>,
    together: BTreeMap<String, WaitingTogether>,
    reminders: BTreeMap<(String, String, String), u64>,
    outcomes: Vec<Outcome>,
    notes: std::cell::RefCell<Vec<String>>,
}

impl Surroundings for World {
    fn now(&self) -> u64 {
        self.now
    }
    fn settings(&self) -> &Settings {
        &self.settings
    }
    fn participant(&self, fsp: &str) -> Option<Participant> {
        self.participants.get(fsp).cloned()
    }
    fn associations(&self, party_key: &str) -> Option<PartyAssociations> {
        self.associations.get(party_key).cloned()
    }
    fn associations_for_update(&self, party_key: &str) -> Option<PartyAssociations> {
        self.associations(party_key)
    }
    fn store_associations(&mut self, party_key: &str, associations: &PartyAssociations) {
        if associations.is_empty() {
            self.associations.remove(party_key);
        } else {
            self.associations
                .insert(party_key.to_owned(), associations.clone());
        }
    }
    fn waiting_for_update(&self, party_key: &str, pair: Pair<'_>) -> Option<Waiting> {
        let body = self.waiting.get(&waiting_key(party_key, pair))?;
        Some(serde_json::from_str(body).unwrap())
    }
    fn all_waiting(&self, party_key: &str) -> Vec<Waiting> {
        let prefix = waiting_prefix(party_key);
        let all = self
            .waiting
            .iter()
            .filter(|(id, _)| id.starts_with(&prefix));
        all.map(|(_, body)| serde_json::from_str(body).unwrap())
            .collect()
    }
    fn store_waiting(&mut self, party_key: &str, waiting: &Waiting) {
        let body = serde_json::to_string(waiting).unwrap();
        self.waiting
            .insert(waiting_key(party_key, waiting.pair()), body);
    }
    fn end_waiting(&mut self, party_key: &str, pair: Pair<'_>) {
        self.waiting.remove(&waiting_key(party_key, pair));
    }
    fn waiting_together_for_update(&self, party_key: &str) -> Option<WaitingTogether> {
        self.together.get(party_key).cloned()
    }
    fn store_waiting_together(&mut self, party_key: &str, waiting: &WaitingTogether) {
        if waiting.queries.is_empty() {
            self.together.remove(party_key);
        } else {
            self.together.insert(party_key.to_owned(), waiting.clone());
        }
    }
    fn remind(&mut self, party_key: &str, pair: Pair<'_>, due: u64) {
        let (requester, responder) = (pair.requester.to_owned(), pair.responder.to_owned());
        self.reminders
            .insert((party_key.to_owned(), requester, responder), due);
    }
    fn forget(&mut self, party_key: &str, pair: Pair<'_>) {
        let (requester, responder) = (pair.requester.to_owned(), pair.responder.to_owned());
        self.reminders
            .remove(&(party_key.to_owned(), requester, responder));
    }
    fn publish(&mut self, outcome: Outcome) {
        self.outcomes.push(outcome);
    }
    fn note(&self, words: &str) {
        self.notes.borrow_mut().push(words.to_owned());
    }
}

impl World {
    fn new() -> Self {
        let mut world = Self {
            now: 1000,
            ..Self::default()
        };
        for (fsp, active) in [
            ("payerfsp", true),
            ("payeefsp", true),
            ("otherfsp", true),
            ("barred", false),
        ] {
            let participant = Participant {
                active,
                currencies: vec!["USD".to_owned(), "RWF".to_owned()],
            };
            world.participants.insert(fsp.to_owned(), participant);
        }
        world
    }

    fn associate(&mut self, requester: &str, fsp: &str, currency: Option<&str>) -> String {
        self.associate_party(party(), requester, fsp, currency)
    }

    fn associate_party(
        &mut self,
        party: PartyId,
        requester: &str,
        fsp: &str,
        currency: Option<&str>,
    ) -> String {
        let event = asked::participant_association_request_received::Event {
            requester_fsp: requester.to_owned(),
            party,
            fsp: fsp.to_owned(),
            currency: currency.map(str::to_owned),
            message: message("POST", requester),
        };
        associations::associate(self, event);
        self.last()
    }

    fn disassociate(&mut self, requester: &str, currency: Option<&str>) -> String {
        let event = asked::participant_disassociate_request_received::Event {
            requester_fsp: requester.to_owned(),
            party: party(),
            currency: currency.map(str::to_owned),
            message: message("DELETE", requester),
        };
        associations::disassociate(self, event);
        self.last()
    }

    fn query(&mut self, requester: &str, currency: Option<&str>) -> String {
        let event = asked::participant_query_received::Event {
            requester_fsp: requester.to_owned(),
            party: party(),
            currency: currency.map(str::to_owned),
            message: message("GET", requester),
        };
        associations::query(self, event);
        self.last()
    }

    fn ask(&mut self, requester: &str, destination: Option<&str>) -> String {
        self.ask_with(requester, destination, "")
    }

    /// Ask with further headers.
    fn ask_with(&mut self, requester: &str, destination: Option<&str>, headers: &str) -> String {
        let mut message = message("GET", requester);
        message.headers.insert_str(0, headers);
        let event = asked::party_query_received::Event {
            requester_fsp: requester.to_owned(),
            destination_fsp: destination.map(str::to_owned),
            party: party(),
            message,
        };
        queries::ask(self, event);
        self.last()
    }

    fn answer(&mut self, responder: &str, requester: Option<&str>) -> Option<String> {
        let before = self.outcomes.len();
        let event = asked::party_info_available::Event {
            requester_fsp: responder.to_owned(),
            destination_fsp: requester.map(str::to_owned),
            party: party(),
            error: None::<ErrorInformation>,
            message: message("PUT", responder),
        };
        queries::answer(self, event);
        (self.outcomes.len() > before).then(|| self.last())
    }

    /// Let time pass; reminders that come due end their queries.
    fn pass(&mut self, ms: u64) {
        self.now += ms;
        let due: Vec<_> = self
            .reminders
            .iter()
            .filter(|(_, due)| **due <= self.now)
            .map(|(id, _)| id.clone())
            .collect();
        for id in due {
            self.reminders.remove(&id);
            let pair = Pair {
                requester: &id.1,
                responder: &id.2,
            };
            queries::elapse(self, &id.0, pair);
        }
    }

    /// The last outcome in a few words.
    fn last(&self) -> String {
        match self.outcomes.last().expect("an outcome") {
            Outcome::Associated(event) => format!("{} associated", event.fsp),
            Outcome::BatchAssociated(event) => {
                let results = event.parties.iter().map(|done| {
                    let code = done
                        .error
                        .as_ref()
                        .map_or("ok", |error| error.code.as_str());
                    format!("{} {code}", done.party.identifier)
                });
                results.collect::<Vec<_>>().join(", ")
            }
            Outcome::BatchFailed(event) => {
                format!("{} for {}", event.error.code, event.requester_fsp)
            }
            Outcome::Disassociated(event) => format!("{} disassociated", event.requester_fsp),
            Outcome::Participant(event) => format!("{} is with {}", event.requester_fsp, event.fsp),
            Outcome::Asked(event) => {
                format!("{} asks {}", event.requester_fsp, event.destination_fsp)
            }
            Outcome::Answered(event) => {
                format!("{} answers {}", event.responder_fsp, event.requester_fsp)
            }
            Outcome::Failed(event) => format!("{} for {}", event.error.code, event.requester_fsp),
        }
    }
}

fn party() -> PartyId {
    PartyId {
        id_type: "MSISDN".to_owned(),
        identifier: "123".to_owned(),
        sub_id_or_type: None,
    }
}

fn message(method: &str, source: &str) -> Message {
    Message {
        method: method.to_owned(),
        path: "/parties/MSISDN/123".to_owned(),
        headers: format!("fspiop-source: {source}\naccept: a\nx-private: 1\n"),
        body: String::new(),
    }
}
