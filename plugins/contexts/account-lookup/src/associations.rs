//! Associations of parties with FSPs: associate, disassociate, query.

use crate::bindings::exports::rialto::fsp_interop_api as asked;
use crate::bindings::rialto::account_lookup as events;
use crate::documents::{Association, PartyAssociations, party_key};
use crate::settings::Takeover;
use crate::surroundings::{Outcome, Participant, Surroundings, check_requester};
use asked::participants_association_request_received::RequestedParty;
use events::participants_association_processed::ProcessedParty;
use rialto_sdk::bindings::rialto::common::types::{ErrorInformation, Message, PartyId};
use rialto_sdk::errors::error;

/// A01: associates a party with the FSP that asks.
pub fn associate(
    around: &mut impl Surroundings,
    event: asked::participant_association_request_received::Event,
) {
    let outcome = match try_associate(around, &event) {
        Ok(()) => Outcome::Associated(events::participant_association_created::Event {
            requester_fsp: event.requester_fsp,
            party: event.party,
            fsp: event.fsp,
            currency: event.currency,
            message: event.message,
        }),
        Err(error) => failed(event.requester_fsp, event.party, error, event.message),
    };
    around.publish(outcome);
}

fn try_associate(
    around: &mut impl Surroundings,
    event: &asked::participant_association_request_received::Event,
) -> Result<(), ErrorInformation> {
    let requester = check_requester(around, &event.requester_fsp)?;
    if event.fsp != event.requester_fsp {
        return Err(error("3003", "an FSP associates parties with itself only"));
    }
    let currency = event.currency.as_deref();
    check_currency(&requester, &event.fsp, currency)?;
    associate_one(around, &event.party, &event.fsp, currency)
}

/// A01 for many parties: each by itself, so that a failure does not affect the others.
pub fn associate_batch(
    around: &mut impl Surroundings,
    event: asked::participants_association_request_received::Event,
) {
    let asked::participants_association_request_received::Event {
        requester_fsp,
        request_id,
        parties,
        currency,
        message,
    } = event;
    let may = check_requester(around, &requester_fsp)
        .and_then(|requester| check_currency(&requester, &requester_fsp, currency.as_deref()));
    if let Err(error) = may {
        return around.publish(Outcome::BatchFailed(
            events::participants_association_failed::Event {
                requester_fsp,
                request_id,
                error,
                message,
            },
        ));
    }
    let mut associate = |asked: RequestedParty| {
        let RequestedParty {
            party,
            fsp,
            error: refusal,
        } = asked;
        let done = match refusal {
            Some(refusal) => Err(refusal),
            // As in deployed switches, which answer 3003 for a single party.
            None if fsp != requester_fsp => {
                Err(error("3204", "an FSP associates parties with itself only"))
            }
            None => associate_one(around, &party, &fsp, currency.as_deref()),
        };
        ProcessedParty {
            party,
            fsp,
            error: done.err(),
        }
    };
    let parties = parties.into_iter().map(&mut associate).collect();
    around.publish(Outcome::BatchAssociated(
        events::participants_association_processed::Event {
            requester_fsp,
            request_id,
            parties,
            currency,
            message,
        },
    ));
}

/// Checks that the FSP has an account in the currency.
fn check_currency(
    participant: &Participant,
    fsp: &str,
    currency: Option<&str>,
) -> Result<(), ErrorInformation> {
    match currency {
        Some(currency) if !participant.currencies.iter().any(|own| own == currency) => {
            let detail = format!("{fsp} has no account in {currency}");
            Err(error("3003", &detail))
        }
        _ => Ok(()),
    }
}

/// Associates a party with an FSP, if allowed.
fn associate_one(
    around: &mut impl Surroundings,
    party: &PartyId,
    fsp: &str,
    currency: Option<&str>,
) -> Result<(), ErrorInformation> {
    let key = party_key(party);
    let mut whole = whole_of(party).map(|whole| kept(around, &whole));
    let mut document = kept(around, party);
    if around.settings().takeover == Takeover::Refuse {
        let taken = document.is_taken(fsp, currency);
        let whole_taken = whole.as_ref();
        if taken || whole_taken.is_some_and(|whole| whole.is_taken(fsp, currency)) {
            return Err(error("3003", "the party is associated with another FSP"));
        }
        if document.has_parts_elsewhere(fsp, currency) {
            let why = "a sub-id of the party is associated with another FSP";
            return Err(error("3003", why));
        }
    }
    let before = document.associations.clone();
    document.associate(Association {
        fsp: fsp.to_owned(),
        currency: currency.map(str::to_owned),
        associated_at: around.now(),
    });
    store(around, &key, &document, &before, whole.as_mut());
    Ok(())
}

/// The business that a party is a part of. The sub-id of a personal id is the kind of document and names no
/// part.
///
/// A business and its parts belong to one FSP in each currency. Otherwise an FSP could get the money of a shop,
/// an employee or a whole chain by associating it first. Parts of a business that nobody has associated may
/// belong to several FSPs.
fn whole_of(party: &PartyId) -> Option<PartyId> {
    let is_part = party.id_type == "BUSINESS" && party.sub_id_or_type.is_some();
    is_part.then(|| PartyId {
        sub_id_or_type: None,
        ..party.clone()
    })
}

/// The associations of a party, held for a change.
fn kept(around: &impl Surroundings, party: &PartyId) -> PartyAssociations {
    let known = around.associations_for_update(&party_key(party));
    known.unwrap_or_else(|| PartyAssociations::new(party))
}

/// Stores a party with changed associations, and updates the counts of its business.
fn store(
    around: &mut impl Surroundings,
    key: &str,
    document: &PartyAssociations,
    before: &[Association],
    whole: Option<&mut PartyAssociations>,
) {
    if let Some(whole) = whole {
        let parts = whole.parts.clone();
        whole.part_changed(before, &document.associations);
        if whole.parts != parts {
            let key = party_key(&PartyId::from(whole.party.clone()));
            around.store_associations(&key, whole);
        }
    }
    around.store_associations(key, document);
}

/// A02: ends the association of a party with the FSP that asks.
pub fn disassociate(
    around: &mut impl Surroundings,
    event: asked::participant_disassociate_request_received::Event,
) {
    let outcome = match try_disassociate(around, &event) {
        Ok(()) => Outcome::Disassociated(events::participant_association_removed::Event {
            requester_fsp: event.requester_fsp,
            party: event.party,
            message: event.message,
        }),
        Err(error) => failed(event.requester_fsp, event.party, error, event.message),
    };
    around.publish(outcome);
}

fn try_disassociate(
    around: &mut impl Surroundings,
    event: &asked::participant_disassociate_request_received::Event,
) -> Result<(), ErrorInformation> {
    check_requester(around, &event.requester_fsp)?;
    let key = party_key(&event.party);
    // The answer does not disclose whether the party is with another FSP.
    let unknown = || error("3204", "the party is not associated with this FSP");
    let mut whole = whole_of(&event.party).map(|whole| kept(around, &whole));
    let mut document = around.associations_for_update(&key).ok_or_else(unknown)?;
    let before = document.associations.clone();
    if !document.disassociate(&event.requester_fsp, event.currency.as_deref()) {
        return Err(unknown());
    }
    store(around, &key, &document, &before, whole.as_mut());
    Ok(())
}

/// A03: answers which FSP a party is with.
pub fn query(around: &mut impl Surroundings, event: asked::participant_query_received::Event) {
    let found = check_requester(around, &event.requester_fsp)
        .and_then(|_| find_fsp(around, &event.party, event.currency.as_deref()));
    let outcome = match found {
        Ok(fsp) => Outcome::Participant(events::participant_query_response::Event {
            requester_fsp: event.requester_fsp,
            party: event.party,
            fsp,
            message: event.message,
        }),
        Err(error) => failed(event.requester_fsp, event.party, error, event.message),
    };
    around.publish(outcome);
}

/// The FSP that a party is with.
pub fn find_fsp(
    around: &impl Surroundings,
    party: &PartyId,
    currency: Option<&str>,
) -> Result<String, ErrorInformation> {
    around
        .associations(&party_key(party))
        .and_then(|document| document.fsp_for(currency).map(str::to_owned))
        .ok_or_else(|| error("3204", ""))
}

/// The FSP that the payee of a quote is with, in this currency. A part that nobody has associated belongs to
/// the FSP of the whole. Otherwise a made-up part would have no FSP, and any FSP could be named for it. A
/// personal id has no parts.
#[must_use]
pub fn find_payee_fsp(
    around: &impl Surroundings,
    payee: &PartyId,
    currency: &str,
) -> Option<String> {
    let find = |party: &PartyId| find_fsp(around, party, Some(currency)).ok();
    let is_part = payee.id_type != "PERSONAL_ID" && payee.sub_id_or_type.is_some();
    let whole = is_part.then(|| PartyId {
        sub_id_or_type: None,
        ..payee.clone()
    });
    find(payee).or_else(|| find(&whole?))
}

/// The failure, for the FSP that asked.
#[must_use]
pub fn failed(
    requester_fsp: String,
    party: PartyId,
    error: ErrorInformation,
    message: Message,
) -> Outcome {
    Outcome::Failed(events::account_lookup_failed::Event {
        requester_fsp,
        party,
        error,
        message,
    })
}
