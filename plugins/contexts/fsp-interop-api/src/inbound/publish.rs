//! Handing an event to the host.

use super::{Inbound, events};

/// Publishes the event that a message causes.
pub fn publish(inbound: &Inbound) {
    match inbound {
        Inbound::AssociateParty(event) => {
            events::participant_association_request_received::participant_association_request_received(event);
        }
        Inbound::AssociateParties(event) => {
            events::participants_association_request_received::participants_association_request_received(event);
        }
        Inbound::DisassociateParty(event) => {
            events::participant_disassociate_request_received::participant_disassociate_request_received(event);
        }
        Inbound::QueryParticipant(event) => {
            events::participant_query_received::participant_query_received(event);
        }
        Inbound::QueryParty(event) => events::party_query_received::party_query_received(event),
        Inbound::AnswerParty(event) => events::party_info_available::party_info_available(event),
        Inbound::RefuseAnswer(event) => events::party_info_refused::party_info_refused(event),
        Inbound::RequestQuote(event) => {
            events::quote_request_received::quote_request_received(event)
        }
        Inbound::AnswerQuote(event) => {
            events::quote_response_received::quote_response_received(event)
        }
        Inbound::RefuseQuote(event) => {
            events::quote_reject_requested::quote_reject_requested(event)
        }
        Inbound::QueryQuote(event) => events::quote_query_received::quote_query_received(event),
        Inbound::RequestTransfer(event) => {
            events::transfer_prepare_requested::transfer_prepare_requested(event);
        }
        Inbound::FulfilTransfer(event) => {
            events::transfer_fulfil_committed_requested::transfer_fulfil_committed_requested(event);
        }
        Inbound::RejectTransfer(event) => {
            events::transfer_reject_requested::transfer_reject_requested(event);
        }
        Inbound::QueryTransfer(event) => {
            events::transfer_query_received::transfer_query_received(event);
        }
    }
}
