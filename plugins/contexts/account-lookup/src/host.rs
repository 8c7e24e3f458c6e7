//! The component's surroundings in the host, and its exports.

use crate::Component;
use crate::bindings::exports::rialto::account_lookup::get_party_fsp;
use crate::bindings::exports::rialto::fsp_interop_api as asked;
use crate::bindings::exports::rialto::host::{
    configuration_schema, reminder_handler, settings_handler,
};
use crate::bindings::exports::rialto::participant_lifecycle_management::participant_endpoints_updated;
use crate::bindings::rialto::account_lookup as events;
use crate::bindings::rialto::participant_lifecycle_management::get_participant_info::get_participant_info;
use crate::documents::PartyAssociations;
use crate::settings::Settings;
use crate::surroundings::{Outcome, Participant, Surroundings};
use crate::waiting::{Pair, Waiting, WaitingTogether, waiting_key, waiting_prefix};
use crate::{associations, queries};
use rialto_sdk::bindings::rialto::common::types::PartyId;
use rialto_sdk::bindings::rialto::host::{clock, scheduling};
use rialto_sdk::documents::{Collection, Range};
use rialto_sdk::messages::party_path;
use rialto_sdk::scheme::settings;
use rialto_sdk::{info, logging};
use serde::{Deserialize, Serialize};

const ASSOCIATIONS: Collection<PartyAssociations> = crate::documents::ASSOCIATIONS;
const WAITING: Collection<Waiting> = Collection::new("party-queries");
const WAITING_TOGETHER: Collection<WaitingTogether> = Collection::new("waiting-queries");

/// Documents of one page of a scan.
const PAGE: u32 = 100;

struct Host;

/// The subject of a reminder.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Reminder {
    party_key: String,
    requester: String,
    #[serde(default)]
    responder: String,
}

impl Surroundings for Host {
    fn now(&self) -> u64 {
        clock::now()
    }

    fn settings(&self) -> &Settings {
        settings()
    }

    fn participant(&self, fsp: &str) -> Option<Participant> {
        let info = get_participant_info(fsp)?;
        let enabled = info.accounts.into_iter().filter(|account| account.enabled);
        Some(Participant {
            active: info.may_transact,
            currencies: enabled.map(|account| account.currency).collect(),
        })
    }

    fn associations(&self, party_key: &str) -> Option<PartyAssociations> {
        ASSOCIATIONS.get(party_key)
    }

    fn associations_for_update(&self, party_key: &str) -> Option<PartyAssociations> {
        ASSOCIATIONS.get_for_update(party_key)
    }

    fn store_associations(&mut self, party_key: &str, associations: &PartyAssociations) {
        if associations.is_empty() {
            ASSOCIATIONS.delete(party_key);
        } else {
            ASSOCIATIONS.put(party_key, associations);
        }
    }

    fn waiting_for_update(&self, party_key: &str, pair: Pair<'_>) -> Option<Waiting> {
        WAITING.get_for_update(&waiting_key(party_key, pair))
    }

    fn all_waiting(&self, party_key: &str) -> Vec<Waiting> {
        let range = Range::Prefix(waiting_prefix(party_key));
        let (mut all, mut cursor) = (Vec::new(), None);
        loop {
            let page = WAITING.scan(&range, cursor.as_deref(), PAGE);
            all.extend(page.documents.into_iter().map(|(_, waiting)| waiting));
            cursor = page.cursor;
            // At most one per pair of participants, and each waits a short time.
            if cursor.is_none() {
                return all;
            }
        }
    }

    fn store_waiting(&mut self, party_key: &str, waiting: &Waiting) {
        WAITING.put(&waiting_key(party_key, waiting.pair()), waiting);
    }

    fn end_waiting(&mut self, party_key: &str, pair: Pair<'_>) {
        WAITING.delete(&waiting_key(party_key, pair));
    }

    fn waiting_together_for_update(&self, party_key: &str) -> Option<WaitingTogether> {
        WAITING_TOGETHER.get_for_update(party_key)
    }

    fn store_waiting_together(&mut self, party_key: &str, waiting: &WaitingTogether) {
        if waiting.queries.is_empty() {
            WAITING_TOGETHER.delete(party_key);
        } else {
            WAITING_TOGETHER.put(party_key, waiting);
        }
    }

    fn remind(&mut self, party_key: &str, pair: Pair<'_>, due: u64) {
        let reminder = Reminder {
            party_key: party_key.to_owned(),
            requester: pair.requester.to_owned(),
            responder: pair.responder.to_owned(),
        };
        let payload = serde_json::to_string(&reminder).expect("strings always have a JSON text");
        scheduling::set_reminder(&waiting_key(party_key, pair), due, &payload);
    }

    fn forget(&mut self, party_key: &str, pair: Pair<'_>) {
        scheduling::cancel_reminder(&waiting_key(party_key, pair));
    }

    fn publish(&mut self, outcome: Outcome) {
        match outcome {
            Outcome::Associated(event) => {
                events::participant_association_created::participant_association_created(&event);
            }
            Outcome::Disassociated(event) => {
                events::participant_association_removed::participant_association_removed(&event);
            }
            Outcome::BatchAssociated(event) => {
                events::participants_association_processed::participants_association_processed(
                    &event,
                );
            }
            Outcome::BatchFailed(event) => {
                events::participants_association_failed::participants_association_failed(&event);
            }
            Outcome::Participant(event) => {
                events::participant_query_response::participant_query_response(&event);
            }
            Outcome::Asked(event) => events::party_info_requested::party_info_requested(&event),
            Outcome::Answered(event) => events::party_query_response::party_query_response(&event),
            Outcome::Failed(event) => events::account_lookup_failed::account_lookup_failed(&event),
        }
    }

    fn note(&self, words: &str) {
        info!("{words}");
    }
}

fn about(party: &PartyId) {
    logging::subject("party", &party_path(party));
}

impl asked::participant_association_request_received::Guest for Component {
    fn participant_association_request_received(
        event: asked::participant_association_request_received::Event,
    ) {
        about(&event.party);
        associations::associate(&mut Host, event);
    }
}

impl asked::participants_association_request_received::Guest for Component {
    fn participants_association_request_received(
        event: asked::participants_association_request_received::Event,
    ) {
        logging::subject("parties", &event.request_id);
        // Their paths are ids of the documents that are written.
        for asked in &event.parties {
            logging::party(&asked.party);
        }
        associations::associate_batch(&mut Host, event);
    }
}

impl asked::participant_disassociate_request_received::Guest for Component {
    fn participant_disassociate_request_received(
        event: asked::participant_disassociate_request_received::Event,
    ) {
        about(&event.party);
        associations::disassociate(&mut Host, event);
    }
}

impl asked::participant_query_received::Guest for Component {
    fn participant_query_received(event: asked::participant_query_received::Event) {
        about(&event.party);
        associations::query(&mut Host, event);
    }
}

impl asked::party_query_received::Guest for Component {
    fn party_query_received(event: asked::party_query_received::Event) {
        about(&event.party);
        queries::ask(&mut Host, event);
    }
}

impl asked::party_info_available::Guest for Component {
    fn party_info_available(event: asked::party_info_available::Event) {
        about(&event.party);
        queries::answer(&mut Host, event);
    }
}

impl asked::party_info_refused::Guest for Component {
    fn party_info_refused(event: asked::party_info_refused::Event) {
        about(&event.party);
        queries::refuse_answer(&mut Host, event);
    }
}

impl get_party_fsp::Guest for Component {
    fn get_party_fsp(party: PartyId, currency: String) -> Option<String> {
        associations::find_payee_fsp(&Host, &party, &currency)
    }
}

impl participant_endpoints_updated::Guest for Component {
    fn participant_endpoints_updated(event: participant_endpoints_updated::Event) {
        rialto_sdk::logging::heard("participant-endpoints-updated", &event.participant);
    }
}

rialto_sdk::judges_settings!(settings_handler, Component, Settings);
rialto_sdk::describes_settings!(configuration_schema, Component, version 1, "../settings.schema.json");

impl reminder_handler::Guest for Component {
    fn reminder_due(id: String, _due: u64, payload: String) {
        let Reminder {
            party_key,
            requester,
            responder,
        } = rialto_sdk::documents::read(&payload)
            .unwrap_or_else(|problem| panic!("the reminder {id:?} cannot be read: {problem}"));
        let pair = Pair {
            requester: &requester,
            responder: &responder,
        };
        if let Some(party) = queries::elapse(&mut Host, &party_key, pair) {
            about(&party);
        }
    }
}
