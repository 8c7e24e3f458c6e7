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
    let mut document = around
        .associations_for_update(&key)
        .unwrap_or_else(|| PartyAssociations::new(&event.party));
    let is_taken = document.is_taken(requester, currency)
        || whole_is_taken(around, &event.party, requester, currency);
    if is_taken && around.settings().takeover == Takeover::Refuse {
        return Err(error("3003", "the party is associated with another FSP"));
    }
    document.associate(Association {
        fsp: event.fsp.clone(),
        currency: event.currency.clone(),
        associated_at: around.now(),
    });
    around.store_associations(&key, &document);
    Ok(())
}

/// Whether the party is a part of a business that is with another FSP. (The sub-id of a personal id
/// says what kind of document it is: it names no part of anything.)
fn whole_is_taken(
    around: &impl Surroundings,
    party: &PartyId,
    requester: &str,
    currency: Option<&str>,
) -> bool {
    if party.id_type != "BUSINESS" || party.sub_id_or_type.is_none() {
        return false;
    }
    let whole = PartyId {
        sub_id_or_type: None,
        ..party.clone()
    };
    around
        .associations(&party_key(&whole))
        .is_some_and(|document| document.is_taken(requester, currency))
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
    let mut document = around.associations_for_update(&key).ok_or_else(unknown)?;
    if !document.disassociate(&event.requester_fsp, event.currency.as_deref()) {
        return Err(unknown());
    }
    around.store_associations(&key, &document);
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
