//! The surroundings of this context as a trait, so that tests can replace the host.

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
    /// The results of associating many parties.
    BatchAssociated(events::participants_association_processed::Event),
    /// Many parties cannot be associated at all.
    BatchFailed(events::participants_association_failed::Event),
    /// The FSP that a party is with.
    Participant(events::participant_query_response::Event),
    /// The FSP to ask for a party.
    Asked(events::party_info_requested::Event),
    /// The answer for the requester.
    Answered(events::party_query_response::Event),
    /// A failure.
    Failed(events::account_lookup_failed::Event),
}

/// The facts about a participant that lookups need.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Participant {
    /// Whether it is active.
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
    /// A participant; none if the id is unknown.
    fn participant(&self, fsp: &str) -> Option<Participant>;
    /// The FSPs that a party is with.
    fn associations(&self, party_key: &str) -> Option<PartyAssociations>;
    /// The same, held for a change.
    fn associations_for_update(&self, party_key: &str) -> Option<PartyAssociations>;
    /// Stores the FSPs of a party. Removes the document of a party without associations and parts.
    fn store_associations(&mut self, party_key: &str, associations: &PartyAssociations);
    /// A requester's waiting query for a party, held for a change.
    fn waiting_for_update(&self, party_key: &str, pair: Pair<'_>) -> Option<Waiting>;
    /// All waiting queries for a party.
    fn all_waiting(&self, party_key: &str) -> Vec<Waiting>;
    /// Stores a waiting query.
    fn store_waiting(&mut self, party_key: &str, waiting: &Waiting);
    /// Removes a requester's waiting query.
    fn end_waiting(&mut self, party_key: &str, pair: Pair<'_>);
    /// The waiting queries of the older layout for a party, held for a change.
    fn waiting_together_for_update(&self, party_key: &str) -> Option<WaitingTogether>;
    /// Stores them, or removes the document if none waits.
    fn store_waiting_together(&mut self, party_key: &str, waiting: &WaitingTogether);
    /// Sets the reminder of a requester's query, in place of an earlier one.
    fn remind(&mut self, party_key: &str, pair: Pair<'_>, due: u64);
    /// Cancels that reminder.
    fn forget(&mut self, party_key: &str, pair: Pair<'_>);
    /// Publish an outcome.
    fn publish(&mut self, outcome: Outcome);
    /// Logs an unexpected answer for the operator.
    fn note(&self, words: &str);
}

/// Checks that the requester is an active participant.
pub fn check_requester(
    around: &impl Surroundings,
    fsp: &str,
) -> Result<Participant, ErrorInformation> {
    match around.participant(fsp) {
        None => Err(error("3200", &format!("{fsp} is not a participant"))),
        Some(participant) if !participant.active => {
            Err(error("3200", &format!("{fsp} is not active")))
        }
        Some(participant) => Ok(participant),
    }
}
