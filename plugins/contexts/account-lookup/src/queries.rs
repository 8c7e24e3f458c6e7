//! Who a party is: queries are passed to the party's FSP, and its answers to those who asked.

use crate::associations::{failed, find_fsp};
use crate::bindings::exports::rialto::fsp_interop_api as asked;
use crate::bindings::rialto::account_lookup as events;
use crate::documents::{WaitingQueries, WaitingQuery, party_key};
use crate::surroundings::{Outcome, Surroundings, check_requester};
use rialto_sdk::bindings::rialto::common::types::{ErrorInformation, Message, PartyId};
use rialto_sdk::errors::error;
use rialto_sdk::headers::kept;
use rialto_sdk::messages::{MessageDocument, party_path};

/// A04, first half: have the party's FSP asked, and wait for its answer.
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
        None => Err(error("3201", &format!("{responder} is no participant"))),
        Some(participant) if !participant.active => {
            Err(error("3201", &format!("{responder} is not active")))
        }
        Some(_) => Ok(responder),
    }
}

fn wait(
    around: &mut impl Surroundings,
    event: &asked::party_query_received::Event,
    responder: &str,
) {
    let key = party_key(&event.party);
    let due = around
        .now()
        .saturating_add(around.settings().party_query_timeout_ms);
    let mut waiting = around
        .waiting_for_update(&key)
        .unwrap_or_else(|| WaitingQueries::new(&event.party));
    let is_first = waiting.due(&event.requester_fsp).is_none();
    waiting.add(WaitingQuery {
        requester: event.requester_fsp.clone(),
        responder: responder.to_owned(),
        due,
        message: remembered(&event.message),
    });
    around.store_waiting(&key, &waiting);
    // The reminder of a requester is for the first of its queries.
    if is_first {
        around.remind(&key, &event.requester_fsp, due);
    }
}

/// As much of a query as it takes to tell its sender that it failed.
fn remembered(message: &Message) -> MessageDocument {
    MessageDocument {
        method: message.method.clone(),
        path: message.path.clone(),
        headers: kept(&message.headers, |name| {
            matches!(
                name,
                "accept" | "content-type" | "fspiop-source" | "traceparent" | "tracestate"
            )
        }),
        body: String::new(),
    }
}

/// A04, second half: pass the answer to the one who asked. What nobody asked for is dropped.
pub fn answer(around: &mut impl Surroundings, event: asked::party_info_available::Event) {
    let key = party_key(&event.party);
    let waiting = around.waiting_for_update(&key);
    let answered = waiting.and_then(|mut waiting| {
        let requester = event.destination_fsp.as_deref();
        let query = waiting.take_answered(&event.requester_fsp, requester)?;
        Some((waiting, query))
    });
    let Some((waiting, query)) = answered else {
        let party = party_path(&event.party);
        around.note(&format!(
            "{} answered for party {party}, but nobody waits for that answer",
            event.requester_fsp
        ));
        return;
    };
    around.store_waiting(&key, &waiting);
    // With queries left the reminder stays: it finds what it is for when it comes.
    if waiting.due(&query.requester).is_none() {
        around.forget(&key, &query.requester);
    }
    around.publish(Outcome::Answered(events::party_query_response::Event {
        requester_fsp: query.requester,
        responder_fsp: event.requester_fsp,
        party: event.party,
        message: event.message,
    }));
}

/// A requester's queries may have waited long enough: tell it. Answers the party, for the turn's
/// history.
pub fn elapse(around: &mut impl Surroundings, party_key: &str, requester: &str) -> Option<PartyId> {
    let mut waiting = around.waiting_for_update(party_key)?;
    // The queries that the reminder was set for may have been answered meanwhile.
    let elapsed = waiting.take_elapsed(requester, around.now());
    around.store_waiting(party_key, &waiting);
    if let Some(due) = waiting.due(requester) {
        around.remind(party_key, requester, due);
    }
    let party = PartyId::from(waiting.party);
    for query in elapsed {
        let reason = error("2004", &format!("no answer from {}", query.responder));
        around.publish(failed(
            query.requester,
            party.clone(),
            reason,
            query.message.into(),
        ));
    }
    Some(party)
}
