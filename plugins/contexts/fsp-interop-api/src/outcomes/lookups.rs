//! Outcomes of Account Lookup.

use super::tell;
use crate::Component;
use crate::bindings::exports::rialto::account_lookup as lookup;
use crate::media::{Resource, shaping};
use crate::notice::{Cause, Frame, Notice, PartyDone, Worth, participant_body, parties_body};
use crate::report::{OnFailure, ReportKind};
use rialto_sdk::bindings::rialto::common::types::{Message, PartyId};
use rialto_sdk::messages::{PartyDocument, party_path};

/// PUT /participants/{Type}/{ID} to the requester: the party's FSP, or none after a disassociation.
#[must_use]
pub fn participant(
    frame: &Frame<'_>,
    requester: &str,
    party: &PartyId,
    fsp: Option<&str>,
    cause: &Message,
) -> Notice {
    frame.originate(
        Cause::message(cause),
        ("PUT", cause.path.clone()),
        participant_body(fsp),
        requester,
        (ReportKind::Lookup, &party_path(party)),
    )
}

/// PUT /participants/{ID} to the requester: each party with its error, if it has one.
#[must_use]
pub fn batch_processed(
    frame: &Frame<'_>,
    event: &lookup::participants_association_processed::Event,
) -> Notice {
    let done = event.parties.iter().map(|one| PartyDone {
        party: &one.party,
        fsp: &one.fsp,
        error: one.error.as_ref(),
    });
    frame.originate(
        Cause::message(&event.message),
        ("PUT", format!("/participants/{}", event.request_id)),
        parties_body(event.currency.as_deref(), done),
        &event.requester_fsp,
        (ReportKind::Parties, &event.request_id),
    )
}

/// PUT /participants/{ID}/error to the requester.
#[must_use]
pub fn batch_failed(
    frame: &Frame<'_>,
    event: &lookup::participants_association_failed::Event,
) -> Notice {
    frame.originate_error(
        Cause::message(&event.message),
        &format!("/participants/{}", event.request_id),
        &event.error,
        &event.requester_fsp,
        (ReportKind::Parties, &event.request_id),
    )
}

/// GET /parties/{Type}/{ID}, forwarded to the party's FSP.
#[must_use]
pub fn party_info_requested(
    frame: &Frame<'_>,
    event: lookup::party_info_requested::Event,
) -> Notice {
    let on_failure = OnFailure::AnswerParty {
        requester: event.requester_fsp,
        party: PartyDocument::from(&event.party),
        cause: shaping(&event.message.headers, Resource::Parties),
    };
    let subject = party_path(&event.party);
    let notice = frame.forward(
        event.message,
        event.destination_fsp,
        ReportKind::Lookup,
        subject,
    );
    Notice {
        worth: Worth::Until(frame.request_deadline()),
        on_failure: Some(on_failure),
        ..notice
    }
}

/// PUT /parties/{Type}/{ID} or its error twin, forwarded to the requester.
#[must_use]
pub fn party_query_response(
    frame: &Frame<'_>,
    event: lookup::party_query_response::Event,
) -> Notice {
    let subject = party_path(&event.party);
    frame.forward(
        event.message,
        event.requester_fsp,
        ReportKind::Lookup,
        subject,
    )
}

/// PUT …/error to the requester.
#[must_use]
pub fn failed(frame: &Frame<'_>, event: &lookup::account_lookup_failed::Event) -> Notice {
    frame.originate_error(
        Cause::message(&event.message),
        &event.message.path,
        &event.error,
        &event.requester_fsp,
        (ReportKind::Lookup, &party_path(&event.party)),
    )
}

impl lookup::participant_association_created::Guest for Component {
    fn participant_association_created(event: lookup::participant_association_created::Event) {
        tell("party", &party_path(&event.party), |frame| {
            let fsp = Some(event.fsp.as_str());
            [participant(
                frame,
                &event.requester_fsp,
                &event.party,
                fsp,
                &event.message,
            )]
        });
    }
}

impl lookup::participants_association_processed::Guest for Component {
    fn participants_association_processed(
        event: lookup::participants_association_processed::Event,
    ) {
        tell("parties", &event.request_id, |frame| {
            [batch_processed(frame, &event)]
        });
    }
}

impl lookup::participants_association_failed::Guest for Component {
    fn participants_association_failed(event: lookup::participants_association_failed::Event) {
        tell("parties", &event.request_id, |frame| {
            [batch_failed(frame, &event)]
        });
    }
}

impl lookup::participant_association_removed::Guest for Component {
    fn participant_association_removed(event: lookup::participant_association_removed::Event) {
        tell("party", &party_path(&event.party), |frame| {
            [participant(
                frame,
                &event.requester_fsp,
                &event.party,
                None,
                &event.message,
            )]
        });
    }
}

impl lookup::participant_query_response::Guest for Component {
    fn participant_query_response(event: lookup::participant_query_response::Event) {
        tell("party", &party_path(&event.party), |frame| {
            let fsp = Some(event.fsp.as_str());
            [participant(
                frame,
                &event.requester_fsp,
                &event.party,
                fsp,
                &event.message,
            )]
        });
    }
}

impl lookup::party_info_requested::Guest for Component {
    fn party_info_requested(event: lookup::party_info_requested::Event) {
        let party = party_path(&event.party);
        tell("party", &party, |frame| {
            [party_info_requested(frame, event)]
        });
    }
}

impl lookup::party_query_response::Guest for Component {
    fn party_query_response(event: lookup::party_query_response::Event) {
        let party = party_path(&event.party);
        tell("party", &party, |frame| {
            [party_query_response(frame, event)]
        });
    }
}

impl lookup::account_lookup_failed::Guest for Component {
    fn account_lookup_failed(event: lookup::account_lookup_failed::Event) {
        tell("party", &party_path(&event.party), |frame| {
            [failed(frame, &event)]
        });
    }
}
