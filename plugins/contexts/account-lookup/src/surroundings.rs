//! What the logic of this context needs from outside, so that tests can stand in for the host.

use crate::bindings::rialto::account_lookup as events;
use crate::documents::PartyAssociations;
use crate::settings::Settings;
use crate::waiting::{Pair, Waiting, WaitingTogether};
use rialto_sdk::bindings::rialto::common::types::ErrorInformation;
use rialto_sdk::errors::error;

/// What this context publishes.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// A party is associated.
    Associated(events::participant_association_created::Event),
    /// A party is no longer associated.
    Disassociated(events::participant_association_removed::Event),
    /// What became of many parties that were to be associated.
    BatchAssociated(events::participants_association_processed::Event),
    /// Many parties cannot be associated at all.
    BatchFailed(events::participants_association_failed::Event),
    /// The FSP that a party is with.
    Participant(events::participant_query_response::Event),
    /// The FSP that is to be asked for a party.
    Asked(events::party_info_requested::Event),
    /// The answer for the one who asked.
    Answered(events::party_query_response::Event),
    /// What cannot be done.
    Failed(events::account_lookup_failed::Event),
}

/// A participant, as far as lookups care.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Participant {
    /// Whether it may take part now.
    pub active: bool,
    /// Currencies of its enabled accounts.
    pub currencies: Vec<String>,
}

/// The world around a turn.
pub trait Surroundings {
    /// The turn's instant, in milliseconds since 1970.
    fn now(&self) -> u64;
    /// The scheme's settings for this component.
    fn settings(&self) -> &Settings;
    /// A participant, or none of that id.
    fn participant(&self, fsp: &str) -> Option<Participant>;
    /// The FSPs that a party is with.
    fn associations(&self, party_key: &str) -> Option<PartyAssociations>;
    /// The same, in order to change it.
    fn associations_for_update(&self, party_key: &str) -> Option<PartyAssociations>;
    /// Store the FSPs that a party is with; a party that is with nobody, nor a part of it, is
    /// forgotten.
    fn store_associations(&mut self, party_key: &str, associations: &PartyAssociations);
    /// A requester's query that waits for a party, in order to change it.
    fn waiting_for_update(&self, party_key: &str, pair: Pair<'_>) -> Option<Waiting>;
    /// All queries that wait for a party.
    fn all_waiting(&self, party_key: &str) -> Vec<Waiting>;
    /// Store a query that waits.
    fn store_waiting(&mut self, party_key: &str, waiting: &Waiting);
    /// A requester no longer waits for a party.
    fn end_waiting(&mut self, party_key: &str, pair: Pair<'_>);
    /// The queries for a party that waited before each had a document of its own, in order to change
    /// them.
    fn waiting_together_for_update(&self, party_key: &str) -> Option<WaitingTogether>;
    /// Store them; nothing is kept when none waits.
    fn store_waiting_together(&mut self, party_key: &str, waiting: &WaitingTogether);
    /// Be reminded of what a requester waits for, in place of an earlier reminder of it.
    fn remind(&mut self, party_key: &str, pair: Pair<'_>, due: u64);
    /// No longer be reminded of it.
    fn forget(&mut self, party_key: &str, pair: Pair<'_>);
    /// Publish an outcome.
    fn publish(&mut self, outcome: Outcome);
    /// Tell the operator of an answer that nobody waits for.
    fn note(&self, words: &str);
}

/// The one who asks must be an active participant.
pub fn check_requester(
    around: &impl Surroundings,
    fsp: &str,
) -> Result<Participant, ErrorInformation> {
    match around.participant(fsp) {
        None => Err(error("3200", &format!("{fsp} is no participant"))),
        Some(participant) if !participant.active => {
            Err(error("3200", &format!("{fsp} is not active")))
        }
        Some(participant) => Ok(participant),
    }
}
