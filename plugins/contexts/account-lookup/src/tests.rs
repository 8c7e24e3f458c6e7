//! Lookups from outside: events in, outcomes out.

use crate::bindings::exports::rialto::fsp_interop_api as asked;
use crate::documents::PartyAssociations;
use crate::settings::{Settings, Takeover};
use crate::surroundings::{Outcome, Participant, Surroundings};
use crate::waiting::{Waiting, WaitingTogether, waiting_key, waiting_prefix};
use crate::{associations, queries};
use rialto_sdk::bindings::rialto::common::types::{ErrorInformation, Message, PartyId};
use rialto_sdk::errors::error;
use rialto_sdk::testing::Dice;
use std::collections::BTreeMap;

#[derive(Default)]
struct World {
    now: u64,
    settings: Settings,
    participants: BTreeMap<String, Participant>,
    associations: BTreeMap<String, PartyAssociations>,
    waiting: BTreeMap<String, String>,
    together: BTreeMap<String, WaitingTogether>,
    reminders: BTreeMap<(String, String), u64>,
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
    fn waiting_for_update(&self, party_key: &str, requester: &str) -> Option<Waiting> {
        let body = self.waiting.get(&waiting_key(party_key, requester))?;
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
            .insert(waiting_key(party_key, &waiting.requester), body);
    }
    fn end_waiting(&mut self, party_key: &str, requester: &str) {
        self.waiting.remove(&waiting_key(party_key, requester));
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
    fn remind(&mut self, party_key: &str, requester: &str, due: u64) {
        self.reminders
            .insert((party_key.to_owned(), requester.to_owned()), due);
    }
    fn forget(&mut self, party_key: &str, requester: &str) {
        self.reminders
            .remove(&(party_key.to_owned(), requester.to_owned()));
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
            queries::elapse(self, &id.0, &id.1);
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

#[test]
fn an_fsp_associates_a_party_with_itself_only() {
    let mut world = World::new();
    assert_eq!(
        world.associate("payeefsp", "payeefsp", None),
        "payeefsp associated"
    );
    assert_eq!(
        world.associate("payeefsp", "otherfsp", None),
        "3003 for payeefsp"
    );
    assert_eq!(
        world.associate("payeefsp", "payeefsp", Some("EUR")),
        "3003 for payeefsp"
    );
    assert_eq!(
        world.associate("stranger", "stranger", None),
        "3200 for stranger"
    );
    assert_eq!(world.associate("barred", "barred", None), "3200 for barred");
    assert_eq!(world.query("payerfsp", None), "payerfsp is with payeefsp");
}

#[test]
fn a_party_of_another_fsp_is_taken_over_only_where_the_scheme_allows_it() {
    let mut world = World::new();
    world.associate("payeefsp", "payeefsp", None);
    assert_eq!(
        world.associate("otherfsp", "otherfsp", None),
        "3003 for otherfsp"
    );
    assert_eq!(
        world.associate("payeefsp", "payeefsp", None),
        "payeefsp associated"
    );
    world.settings.takeover = Takeover::Allow;
    assert_eq!(
        world.associate("otherfsp", "otherfsp", None),
        "otherfsp associated"
    );
    assert_eq!(world.query("payerfsp", None), "payerfsp is with otherfsp");
}

#[test]
fn of_many_parties_each_is_associated_or_has_its_error() {
    use asked::participants_association_request_received::{Event, RequestedParty};
    let asks = |identifier: &str, fsp: &str, refused: bool| RequestedParty {
        party: PartyId {
            identifier: identifier.to_owned(),
            ..party()
        },
        fsp: fsp.to_owned(),
        error: refused.then(|| error("3101", "")),
    };
    let batch = |requester: &str, currency: Option<&str>| Event {
        requester_fsp: requester.to_owned(),
        request_id: "r1".to_owned(),
        parties: vec![
            asks("1", requester, false),
            asks("2", "otherfsp", false),
            asks("3", requester, true),
            asks("123", requester, false),
            asks("+1", requester, false),
            asks("4", requester, false),
        ],
        currency: currency.map(str::to_owned),
        message: message("POST", requester),
    };
    let mut world = World::new();
    world.associate("otherfsp", "otherfsp", None);
    associations::associate_batch(&mut world, batch("payeefsp", Some("USD")));
    let told = "1 ok, 2 3204, 3 3101, 123 3003, +1 ok, 4 ok";
    assert_eq!(world.last(), told);
    // The same again comes to the same.
    let before = world.associations.clone();
    associations::associate_batch(&mut world, batch("payeefsp", Some("USD")));
    assert_eq!(world.last(), told);
    assert_eq!(world.associations, before);
    let has = |world: &World, identifier: &str| {
        let party = PartyId {
            identifier: identifier.to_owned(),
            ..party()
        };
        associations::find_fsp(world, &party, Some("USD")).ok()
    };
    for identifier in ["1", "4"] {
        assert_eq!(has(&world, identifier).as_deref(), Some("payeefsp"));
    }
    for identifier in ["2", "3"] {
        assert_eq!(has(&world, identifier), None);
    }
    for (requester, currency, code) in [
        ("stranger", None, "3200"),
        ("barred", None, "3200"),
        ("payeefsp", Some("EUR"), "3003"),
    ] {
        associations::associate_batch(&mut world, batch(requester, currency));
        assert_eq!(world.last(), format!("{code} for {requester}"));
        assert_eq!(world.associations, before);
    }
}

#[test]
fn a_party_of_another_fsp_is_not_taken_by_naming_a_currency_or_none() {
    for (theirs, ours, outcome, answers) in [
        (None, None, "3003 for otherfsp", "payeefsp"),
        (None, Some("USD"), "3003 for otherfsp", "payeefsp"),
        (Some("USD"), None, "3003 for otherfsp", "payeefsp"),
        (Some("USD"), Some("USD"), "3003 for otherfsp", "payeefsp"),
        (Some("USD"), Some("RWF"), "otherfsp associated", "payeefsp"),
    ] {
        let mut world = World::new();
        world.associate("payeefsp", "payeefsp", theirs);
        let found = world.associate("otherfsp", "otherfsp", ours);
        assert_eq!(found, outcome, "{theirs:?} {ours:?}");
        // Who has the party keeps answering for it, also after saying so again.
        world.associate("payeefsp", "payeefsp", theirs);
        for currency in [None, Some("USD")] {
            let found = world.query("payerfsp", currency);
            let expected = format!("payerfsp is with {answers}");
            assert_eq!(found, expected, "{theirs:?} {ours:?} {currency:?}");
        }
        assert_eq!(world.ask("payerfsp", None), "payerfsp asks payeefsp");
    }
}

#[test]
fn a_party_of_another_fsp_is_not_taken_by_another_spelling() {
    let mut world = World::new();
    world.associate("payeefsp", "payeefsp", None);
    let spelt = |id_type: &str, identifier: &str| PartyId {
        id_type: id_type.to_owned(),
        identifier: identifier.to_owned(),
        sub_id_or_type: None,
    };
    let mut try_to_take = |party| world.associate_party(party, "otherfsp", "otherfsp", None);
    assert_eq!(try_to_take(spelt("MSISDN", "+123")), "3003 for otherfsp");
    assert_eq!(
        try_to_take(spelt("EMAIL", "a@b.org")),
        "otherfsp associated"
    );
    let mine = world.associate_party(spelt("EMAIL", "A@B.org"), "payeefsp", "payeefsp", None);
    assert_eq!(mine, "3003 for payeefsp");
}

#[test]
fn a_part_of_a_business_goes_with_the_business_and_a_personal_id_has_no_parts() {
    for (id_type, outcome) in [
        ("BUSINESS", "3003 for otherfsp"),
        ("PERSONAL_ID", "otherfsp associated"),
    ] {
        let mut world = World::new();
        let party = |sub_id: Option<&str>| PartyId {
            id_type: id_type.to_owned(),
            identifier: "acme".to_owned(),
            sub_id_or_type: sub_id.map(str::to_owned),
        };
        world.associate_party(party(None), "payeefsp", "payeefsp", None);
        let found = world.associate_party(party(Some("PASSPORT")), "otherfsp", "otherfsp", None);
        assert_eq!(found, outcome, "{id_type}");
        let own = world.associate_party(party(Some("x")), "payeefsp", "payeefsp", Some("USD"));
        assert_eq!(own, "payeefsp associated", "{id_type}");
    }
}

fn business(sub_id: Option<&str>) -> PartyId {
    PartyId {
        id_type: "BUSINESS".to_owned(),
        identifier: "acme".to_owned(),
        sub_id_or_type: sub_id.map(str::to_owned),
    }
}

#[test]
fn who_has_a_part_of_a_business_and_who_wants_the_whole_are_one_fsp() {
    let mut world = World::new();
    let shop = business(Some("shop-7"));
    let tries = |world: &mut World, party: &PartyId, fsp: &str, currency: Option<&str>| {
        world.associate_party(party.clone(), fsp, fsp, currency)
    };
    assert_eq!(
        tries(&mut world, &shop, "otherfsp", Some("USD")),
        "otherfsp associated"
    );
    // Again, which counts once.
    assert_eq!(
        tries(&mut world, &shop, "otherfsp", Some("USD")),
        "otherfsp associated"
    );
    let whole = business(None);
    assert_eq!(
        tries(&mut world, &whole, "payeefsp", None),
        "3003 for payeefsp"
    );
    assert_eq!(
        tries(&mut world, &whole, "payeefsp", Some("USD")),
        "3003 for payeefsp"
    );
    assert_eq!(
        tries(&mut world, &whole, "payeefsp", Some("RWF")),
        "payeefsp associated"
    );
    assert_eq!(
        tries(&mut world, &whole, "otherfsp", Some("USD")),
        "otherfsp associated"
    );
    // Parts of what is with nobody may be with several.
    let other = PartyId {
        identifier: "other".to_owned(),
        ..business(Some("a"))
    };
    assert_eq!(
        tries(&mut world, &other, "payeefsp", None),
        "payeefsp associated"
    );
    let other = PartyId {
        identifier: "other".to_owned(),
        ..business(Some("b"))
    };
    assert_eq!(
        tries(&mut world, &other, "otherfsp", None),
        "otherfsp associated"
    );
}

#[test]
fn a_business_is_free_when_the_last_of_its_parts_is() {
    let mut world = World::new();
    // The first one twice, which counts once.
    for shop in ["1", "1", "2"] {
        let shop = business(Some(shop));
        world.associate_party(shop, "otherfsp", "otherfsp", None);
    }
    for (shop, outcome) in [("1", "3003 for payeefsp"), ("2", "payeefsp associated")] {
        let event = asked::participant_disassociate_request_received::Event {
            requester_fsp: "otherfsp".to_owned(),
            party: business(Some(shop)),
            currency: None,
            message: message("DELETE", "otherfsp"),
        };
        associations::disassociate(&mut world, event);
        assert_eq!(world.last(), "otherfsp disassociated");
        let whole = business(None);
        let found = world.associate_party(whole, "payeefsp", "payeefsp", None);
        assert_eq!(found, outcome, "without shop {shop}");
    }
}

#[test]
fn where_takeover_is_allowed_parts_and_whole_are_parties_of_their_own() {
    let mut world = World::new();
    world.settings.takeover = Takeover::Allow;
    for (sub_id, fsp) in [
        (Some("1"), "otherfsp"),
        (None, "payeefsp"),
        (Some("1"), "payeefsp"),
        (Some("2"), "otherfsp"),
    ] {
        let found = world.associate_party(business(sub_id), fsp, fsp, None);
        assert_eq!(found, format!("{fsp} associated"));
    }
    // The part that was taken over no longer counts for the one who had it.
    let whole = &world.associations["BUSINESS/acme"];
    let parts: Vec<_> = whole
        .parts
        .iter()
        .map(|p| (p.fsp.as_str(), p.count))
        .collect();
    assert_eq!(parts, [("payeefsp", 1), ("otherfsp", 1)]);
}

#[test]
fn only_the_partys_own_fsp_ends_its_association() {
    let mut world = World::new();
    assert_eq!(world.disassociate("payeefsp", None), "3204 for payeefsp");
    world.associate("payeefsp", "payeefsp", None);
    assert_eq!(world.disassociate("otherfsp", None), "3204 for otherfsp");
    assert_eq!(
        world.disassociate("payeefsp", Some("USD")),
        "3204 for payeefsp"
    );
    assert_eq!(
        world.disassociate("payeefsp", None),
        "payeefsp disassociated"
    );
    assert_eq!(world.query("payerfsp", None), "3204 for payerfsp");
}

#[test]
fn a_query_for_a_party_is_passed_on_and_its_answer_back() {
    let mut world = World::new();
    world.associate("payeefsp", "payeefsp", None);
    assert_eq!(world.ask("payerfsp", None), "payerfsp asks payeefsp");
    assert_eq!(world.reminders.len(), 1);
    let answer = world.answer("payeefsp", Some("payerfsp"));
    assert_eq!(answer.as_deref(), Some("payeefsp answers payerfsp"));
    assert!(world.reminders.is_empty());
    world.pass(60_000);
    assert_eq!(world.last(), "payeefsp answers payerfsp");
}

#[test]
fn a_query_without_an_fsp_to_ask_fails() {
    let mut world = World::new();
    assert_eq!(world.ask("payerfsp", None), "3204 for payerfsp");
    assert_eq!(world.ask("payerfsp", Some("stranger")), "3201 for payerfsp");
    assert_eq!(world.ask("payerfsp", Some("barred")), "3201 for payerfsp");
    assert_eq!(world.ask("stranger", Some("payeefsp")), "3200 for stranger");
    assert_eq!(
        world.ask("payerfsp", Some("payeefsp")),
        "payerfsp asks payeefsp"
    );
}

#[test]
fn an_answer_that_names_another_fsp_ends_the_query_and_both_are_told() {
    let mut world = World::new();
    let refused = |responder: &str, requester: Option<&str>| asked::party_info_refused::Event {
        requester_fsp: responder.to_owned(),
        destination_fsp: requester.map(str::to_owned),
        party: party(),
        error: error("3101", ""),
        message: message("PUT", responder),
    };
    let told = |world: &World| -> Vec<String> {
        let failed = world.outcomes.iter().filter_map(|outcome| match outcome {
            Outcome::Failed(event) => {
                let by = event.message.method.as_str();
                Some(format!("{} {by} {}", event.error.code, event.requester_fsp))
            }
            _ => None,
        });
        failed.collect()
    };
    world.ask("payerfsp", Some("payeefsp"));
    // Of one that was not asked it changes nothing.
    queries::refuse_answer(&mut world, refused("otherfsp", Some("payerfsp")));
    queries::refuse_answer(&mut world, refused("payeefsp", Some("otherfsp")));
    queries::refuse_answer(&mut world, refused("otherfsp", None));
    assert_eq!((told(&world).len(), world.notes.borrow().len()), (0, 3));
    queries::refuse_answer(&mut world, refused("payeefsp", None));
    // The requester in the words of its question, the responder in those of its answer.
    assert_eq!(told(&world), ["3101 GET payerfsp", "3101 PUT payeefsp"]);
    assert!(world.waiting.is_empty() && world.reminders.is_empty());
    assert_eq!(world.answer("payeefsp", Some("payerfsp")), None);
    // Who asks itself is told once.
    world.ask("payeefsp", Some("payeefsp"));
    queries::refuse_answer(&mut world, refused("payeefsp", Some("payeefsp")));
    assert_eq!(told(&world).len(), 3);
}

#[test]
fn an_answer_that_nobody_waits_for_is_dropped_with_a_note() {
    let mut world = World::new();
    assert_eq!(world.answer("payeefsp", Some("payerfsp")), None);
    world.ask("payerfsp", Some("payeefsp"));
    assert_eq!(world.answer("otherfsp", Some("payerfsp")), None);
    assert_eq!(world.answer("payeefsp", Some("otherfsp")), None);
    assert_eq!(world.notes.borrow().len(), 3);
    assert!(world.answer("payeefsp", Some("payerfsp")).is_some());
    assert_eq!(world.answer("payeefsp", Some("payerfsp")), None);
}

#[test]
fn the_first_of_several_requesters_gets_an_answer_that_names_none() {
    let mut world = World::new();
    world.ask("payerfsp", Some("payeefsp"));
    world.pass(1);
    world.ask("otherfsp", Some("payeefsp"));
    assert_eq!(
        world.answer("payeefsp", None).as_deref(),
        Some("payeefsp answers payerfsp")
    );
    assert_eq!(
        world.answer("payeefsp", None).as_deref(),
        Some("payeefsp answers otherfsp")
    );
    assert_eq!(world.answer("payeefsp", None), None);
}

#[test]
fn a_query_that_nobody_answers_ends() {
    let mut world = World::new();
    world.ask("payerfsp", Some("payeefsp"));
    world.pass(29_999);
    assert_eq!(world.last(), "payerfsp asks payeefsp");
    world.pass(1);
    assert_eq!(world.last(), "2004 for payerfsp");
    let Some(Outcome::Failed(event)) = world.outcomes.last() else {
        panic!()
    };
    assert_eq!(
        event.message.headers,
        "content-type: application/vnd.interoperability.parties+json;version=1.1\n"
    );
    assert_eq!(world.answer("payeefsp", Some("payerfsp")), None);
}

#[test]
fn every_query_of_a_requester_gets_an_answer_of_its_own() {
    let mut world = World::new();
    for _ in 0..3 {
        world.ask("payerfsp", Some("payeefsp"));
    }
    for _ in 0..3 {
        assert_eq!(
            world.answer("payeefsp", Some("payerfsp")).as_deref(),
            Some("payeefsp answers payerfsp")
        );
    }
    assert_eq!(world.answer("payeefsp", Some("payerfsp")), None);
    assert!(world.reminders.is_empty());
}

#[test]
fn a_query_asked_again_takes_the_place_of_the_one_before() {
    let mut world = World::new();
    let version = |version: &str| {
        format!("accept: application/vnd.interoperability.parties+json;version={version}\n")
    };
    world.ask_with("payerfsp", Some("payeefsp"), &version("1.1"));
    world.pass(20_000);
    world.ask_with("payerfsp", Some("otherfsp"), &version("1.0"));
    assert_eq!((world.waiting.len(), world.reminders.len()), (1, 1));
    // Who was asked before is not waited for.
    assert_eq!(world.answer("payeefsp", Some("payerfsp")), None);
    // The reminder of the first one ends nothing.
    world.pass(10_000);
    assert_eq!(world.last(), "payerfsp asks otherfsp");
    world.pass(19_999);
    assert_eq!(world.last(), "payerfsp asks otherfsp");
    world.pass(1);
    assert_eq!(world.last(), "2004 for payerfsp");
    assert_eq!(world.outcomes.len(), 3, "it is told once");
    let Some(Outcome::Failed(event)) = world.outcomes.last() else {
        panic!()
    };
    assert_eq!(
        event.message.headers,
        "content-type: application/vnd.interoperability.parties+json;version=1.0\n"
    );
    assert!(event.error.description.contains("otherfsp"));
    assert!(world.waiting.is_empty() && world.reminders.is_empty());
}

#[test]
fn nobodys_queries_however_many_and_long_block_a_lookup_of_others() {
    let mut world = World::new();
    let item = "application/vnd.interoperability.parties+json;version=9.9,";
    let headers = format!(
        "accept: {}\ntracestate: {}\n",
        item.repeat(1_000),
        "a".repeat(60_000)
    );
    for _ in 0..1_000 {
        world.ask_with("payerfsp", Some("payeefsp"), &headers);
    }
    assert_eq!(world.waiting.len(), 1);
    let bytes: usize = world.waiting.values().map(String::len).sum();
    assert!(bytes < 1_000, "{:?}", world.waiting);
    assert_eq!(
        world.ask("otherfsp", Some("payeefsp")),
        "otherfsp asks payeefsp"
    );
    let answer = world.answer("payeefsp", Some("otherfsp"));
    assert_eq!(answer.as_deref(), Some("payeefsp answers otherfsp"));
}

#[test]
fn what_waited_before_each_query_had_a_document_of_its_own_still_ends() {
    let stored = r#"{"party":{"idType":"MSISDN","identifier":"123"},"queries":[
        {"requester":"payerfsp","responder":"payeefsp","due":31000,"message":
            {"method":"GET","path":"/parties/MSISDN/123","headers":"accept: a\n","body":""}},
        {"requester":"otherfsp","responder":"payeefsp","due":32000,"message":
            {"method":"GET","path":"/parties/MSISDN/123","headers":"accept: a\n","body":""}}]}"#;
    let mut world = World::new();
    let stored = serde_json::from_str(stored).unwrap();
    world.together.insert("MSISDN/123".to_owned(), stored);
    for (requester, due) in [("payerfsp", 31_000), ("otherfsp", 32_000)] {
        world.remind("MSISDN/123", requester, due);
    }
    assert_eq!(world.answer("otherfsp", Some("payerfsp")), None);
    let answer = world.answer("payeefsp", Some("payerfsp"));
    assert_eq!(answer.as_deref(), Some("payeefsp answers payerfsp"));
    // Asked again, it waits in the new way beside what waits in the old one.
    world.ask("otherfsp", Some("barred"));
    world.ask("otherfsp", Some("payerfsp"));
    world.pass(31_000);
    assert_eq!(world.last(), "2004 for otherfsp");
    assert!(world.together.is_empty());
    world.pass(60_000);
    let told = world
        .outcomes
        .iter()
        .filter(|o| matches!(o, Outcome::Failed(_)));
    assert_eq!(told.count(), 3, "one of them because barred is not active");
    assert!(world.waiting.is_empty() && world.reminders.is_empty());
}

#[test]
fn every_requester_that_waits_is_told_and_nobody_is_told_too_much() {
    for seed in 0..200 {
        let mut dice = Dice::new(seed);
        let mut world = World::new();
        let fsps = ["payerfsp", "payeefsp", "otherfsp"];
        // Of each requester: whom it asked last, and how many answers that FSP owes.
        let mut open: BTreeMap<String, (String, u32)> = BTreeMap::new();
        for _ in 0..60 {
            let (one, two) = (*dice.pick(&fsps), *dice.pick(&fsps));
            let before = world.outcomes.len();
            match dice.below(4) {
                0 => {
                    world.ask(one, Some(two));
                    let place = open.entry(one.to_owned()).or_default();
                    if place.0 != two {
                        *place = (two.to_owned(), 0);
                    }
                    place.1 += 1;
                }
                1 => drop(world.answer(one, Some(two))),
                2 => drop(world.answer(one, None)),
                _ => world.pass(dice.below(20_000)),
            }
            for outcome in &world.outcomes[before..] {
                match outcome {
                    Outcome::Answered(event) => {
                        let place = open.get_mut(&event.requester_fsp).unwrap();
                        assert_eq!(place.0, event.responder_fsp, "seed {seed}");
                        place.1 = place.1.checked_sub(1).expect("an answer too many");
                    }
                    Outcome::Failed(event) => {
                        let place = open.remove(&event.requester_fsp).unwrap();
                        assert!(place.1 > 0, "seed {seed}: told of nothing");
                    }
                    _ => {}
                }
            }
            open.retain(|_, place| place.1 > 0);
            assert_eq!(world.reminders.len(), open.len(), "seed {seed}");
            assert_eq!(world.waiting.len(), open.len(), "seed {seed}");
        }
        // A reminder that finds a younger query waits on for that one.
        let before = world.outcomes.len();
        world.pass(60_000);
        world.pass(60_000);
        assert_eq!(world.outcomes.len() - before, open.len(), "seed {seed}");
        assert!(world.waiting.is_empty(), "seed {seed}");
    }
}
