//! Which FSP a party is with: associate, disassociate, query.

use crate::bindings::exports::rialto::fsp_interop_api as asked;
use crate::bindings::rialto::account_lookup as events;
use crate::documents::{Association, PartyAssociations, party_key};
use crate::settings::Takeover;
use crate::surroundings::{Outcome, Surroundings, check_requester};
use rialto_sdk::bindings::rialto::common::types::{ErrorInformation, Message, PartyId};
use rialto_sdk::errors::error;

/// A01: associate a party with the FSP that asks for it.
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
    let requester = &event.requester_fsp;
    let participant = check_requester(around, requester)?;
    if event.fsp != *requester {
        return Err(error("3003", "an FSP associates parties with itself only"));
    }
    let currency = event.currency.as_deref();
    if let Some(currency) = currency
        && !participant.currencies.iter().any(|own| own == currency)
    {
        return Err(error(
            "3003",
            &format!("{requester} has no account in {currency}"),
        ));
    }
    let key = party_key(&event.party);
    let mut whole = whole_of(&event.party).map(|whole| kept(around, &whole));
    let mut document = kept(around, &event.party);
    if around.settings().takeover == Takeover::Refuse {
        let taken = document.is_taken(requester, currency);
        let whole_taken = whole.as_ref();
        if taken || whole_taken.is_some_and(|whole| whole.is_taken(requester, currency)) {
            return Err(error("3003", "the party is associated with another FSP"));
        }
        if document.has_parts_elsewhere(requester, currency) {
            let why = "a part of the business is associated with another FSP";
            return Err(error("3003", why));
        }
    }
    let before = document.associations.clone();
    document.associate(Association {
        fsp: event.fsp.clone(),
        currency: event.currency.clone(),
        associated_at: around.now(),
    });
    store(around, &key, &document, &before, whole.as_mut());
    Ok(())
}

/// The business that a party is a part of. (The sub-id of a personal id says what kind of document
/// it is: it names no part of anything.)
///
/// A business and its parts are with one FSP in each currency, or an FSP could have a shop's or an
/// employee's money by being the first to name it, or a whole chain's by naming the chain. Parts of
/// a business that is with nobody may be with several.
fn whole_of(party: &PartyId) -> Option<PartyId> {
    let is_part = party.id_type == "BUSINESS" && party.sub_id_or_type.is_some();
    is_part.then(|| PartyId {
        sub_id_or_type: None,
        ..party.clone()
    })
}

/// What is known of a party, in order to change it.
fn kept(around: &impl Surroundings, party: &PartyId) -> PartyAssociations {
    let known = around.associations_for_update(&party_key(party));
    known.unwrap_or_else(|| PartyAssociations::new(party))
}

/// Store a party that had other associations before, and with the whole what changed in its part.
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

/// A02: end the association of a party with the FSP that asks for it.
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
    // Whether the party is with another FSP is not disclosed.
    let unknown = || error("3204", "not associated with this FSP");
    let mut whole = whole_of(&event.party).map(|whole| kept(around, &whole));
    let mut document = around.associations_for_update(&key).ok_or_else(unknown)?;
    let before = document.associations.clone();
    if !document.disassociate(&event.requester_fsp, event.currency.as_deref()) {
        return Err(unknown());
    }
    store(around, &key, &document, &before, whole.as_mut());
    Ok(())
}

/// A03: tell which FSP a party is with.
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

/// What cannot be done, for the one who asked.
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
