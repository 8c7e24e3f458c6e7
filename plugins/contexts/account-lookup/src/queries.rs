//! Party queries: forwards queries to the party's FSP, and its answers to the requesters.

use crate::associations::{failed, find_fsp};
use crate::bindings::exports::rialto::fsp_interop_api as asked;
use crate::bindings::rialto::account_lookup as events;
use crate::documents::party_key;
use crate::surroundings::{Outcome, Surroundings, check_requester};
use crate::waiting::{Pair, Waiting, remembered};
use rialto_sdk::bindings::rialto::common::types::{ErrorInformation, PartyId};
use rialto_sdk::errors::error;
use rialto_sdk::messages::{MessageDocument, PartyDocument, party_path};

/// A04, first half: forwards the query to the party's FSP, and waits for the answer.
pub fn ask(around: &mut impl Surroundings, event: asked::party_query_received::Event) {
    let outcome = match find_responder(around, &event) {
        Ok(responder) => {
            wait(around, &event, &responder);
            Outcome::Asked(events::party_info_requested::Event {
                requester_fsp: event.requester_fsp,
                destination_fsp: responder,
                party: event.party,
                message: event.message,
            })
        }
        Err(error) => failed(event.requester_fsp, event.party, error, event.message),
    };
    around.publish(outcome);
}

/// The FSP that the requester names, or the one that the party is with.
fn find_responder(
    around: &impl Surroundings,
    event: &asked::party_query_received::Event,
) -> Result<String, ErrorInformation> {
    check_requester(around, &event.requester_fsp)?;
    let responder = match &event.destination_fsp {
        Some(named) => named.clone(),
        None => find_fsp(around, &event.party, None)?,
    };
    match around.participant(&responder) {
        None => Err(error("3201", &format!("{responder} is not a participant"))),
        Some(participant) if !participant.active => {
            Err(error("3201", &format!("{responder} is not active")))
        }
        Some(_) => Ok(responder),
    }
}

/// Stores the query by its requester and FSP, until the FSP answers or the time is over.
fn wait(
    around: &mut impl Surroundings,
    event: &asked::party_query_received::Event,
    responder: &str,
) {
    let key = party_key(&event.party);
    let due = around
        .now()
        .saturating_add(around.settings().party_query_timeout_ms);
    let query = Waiting {
        party: PartyDocument::from(&event.party),
        requester: event.requester_fsp.clone(),
        responder: responder.to_owned(),
        due,
        answers: 1,
        message: remembered(&event.message),
    };
    match around.waiting_for_update(&key, query.pair()) {
        // The existing reminder elapses first, and is then set again if it is too early.
        Some(mut waiting) => {
            waiting.replace(query);
            around.store_waiting(&key, &waiting);
        }
        None => {
            around.store_waiting(&key, &query);
            around.remind(&key, query.pair(), due);
        }
    }
}

/// A04, second half: forwards the answer to the requester. An unexpected answer is dropped.
pub fn answer(around: &mut impl Surroundings, event: asked::party_info_available::Event) {
    let named = event.destination_fsp.as_deref();
    let Some(query) = answered(around, &event.party, &event.requester_fsp, named) else {
        return nobody_waits(around, &event.requester_fsp, &event.party);
    };
    around.publish(Outcome::Answered(events::party_query_response::Event {
        requester_fsp: query.requester,
        responder_fsp: event.requester_fsp,
        party: event.party,
        message: event.message,
    }));
}

/// The second half for an answer that is not forwarded: tells the requester and the responder why. An
/// unexpected answer is dropped.
pub fn refuse_answer(around: &mut impl Surroundings, event: asked::party_info_refused::Event) {
    let named = event.destination_fsp.as_deref();
    let Some(query) = answered(around, &event.party, &event.requester_fsp, named) else {
        return nobody_waits(around, &event.requester_fsp, &event.party);
    };
    let is_its_own = query.requester == event.requester_fsp;
    around.publish(failed(
        query.requester,
        event.party.clone(),
        event.error.clone(),
        query.message.into(),
    ));
    if !is_its_own {
        let sender = event.requester_fsp;
        around.publish(failed(sender, event.party, event.error, event.message));
    }
}

/// A query that has its answer.
struct Answered {
    requester: String,
    message: MessageDocument,
}

fn nobody_waits(around: &impl Surroundings, responder: &str, party: &PartyId) {
    around.note(&format!(
        "{responder} answered for party {}, but no query waits for the answer",
        party_path(party)
    ));
}

/// Ends the query that an FSP has answered: that of the named requester, or else the one that has waited
/// longest. Returns the query, if one waits for this FSP.
fn answered(
    around: &mut impl Surroundings,
    party: &PartyId,
    responder: &str,
    named: Option<&str>,
) -> Option<Answered> {
    let party_key = party_key(party);
    let requester = match named {
        Some(named) => Some(named.to_owned()),
        None => longest_waiting(around, &party_key, responder),
    };
    let waiting = requester.and_then(|requester| {
        let pair = Pair {
            requester: &requester,
            responder,
        };
        around.waiting_for_update(&party_key, pair)
    });
    let Some(mut waiting) = waiting else {
        return answered_together(around, &party_key, responder, named);
    };
    if waiting.is_answered_and_waits_on() {
        around.store_waiting(&party_key, &waiting);
    } else {
        around.end_waiting(&party_key, waiting.pair());
        around.forget(&party_key, waiting.pair());
    }
    Some(Answered {
        requester: waiting.requester,
        message: waiting.message,
    })
}

/// The requester that has waited longest for an answer of this FSP.
fn longest_waiting(around: &impl Surroundings, party_key: &str, responder: &str) -> Option<String> {
    let all = around.all_waiting(party_key).into_iter();
    let for_it = all.filter(|waiting| waiting.responder == responder);
    let first = for_it.min_by_key(|waiting| waiting.due)?;
    Some(first.requester)
}

/// As [`answered`], for queries of the older layout with one document per party. Their reminders then find
/// nothing.
fn answered_together(
    around: &mut impl Surroundings,
    party_key: &str,
    responder: &str,
    named: Option<&str>,
) -> Option<Answered> {
    let mut waiting = around.waiting_together_for_update(party_key)?;
    let query = waiting.take_answered(responder, named)?;
    around.store_waiting_together(party_key, &waiting);
    Some(Answered {
        requester: query.requester,
        message: query.message,
    })
}

/// Handles the reminder of a query: tells the requester if the time is over. Returns the party, for the turn's
/// history.
pub fn elapse(around: &mut impl Surroundings, party_key: &str, pair: Pair<'_>) -> Option<PartyId> {
    let requester = pair.requester;
    let (mut party, mut next) = (None, None);
    let mut elapsed = Vec::new();
    // The query may have been answered meanwhile, or asked again.
    if let Some(waiting) = around.waiting_for_update(party_key, pair) {
        party = Some(waiting.party.clone());
        if waiting.due > around.now() {
            next = Some(waiting.due);
        } else {
            around.end_waiting(party_key, pair);
            elapsed.push((waiting.responder, waiting.message));
        }
    }
    if let Some(mut together) = around.waiting_together_for_update(party_key) {
        let queries = together.take_elapsed(requester, around.now());
        around.store_waiting_together(party_key, &together);
        elapsed.extend(
            queries
                .into_iter()
                .map(|query| (query.responder, query.message)),
        );
        next = next.into_iter().chain(together.due(requester)).min();
        party = Some(together.party);
    }
    if let Some(due) = next {
        around.remind(party_key, pair, due);
    }
    let party = PartyId::from(party?);
    for (responder, query) in elapsed {
        let reason = error("2004", &format!("no answer from {responder}"));
        around.publish(failed(
            requester.to_owned(),
            party.clone(),
            reason,
            query.into(),
        ));
    }
    Some(party)
}
