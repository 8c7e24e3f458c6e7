//! Which transfer an agreement serves. An agreement is for one payment: the payer of that payment knows its
//! fulfilment, and the payee FSP has agreed once.

use crate::settings::AgreementServes;
use crate::surroundings::Surroundings;
use crate::transfer::{State, Transfer};
use rialto_sdk::bindings::rialto::common::types::ErrorInformation;
use rialto_sdk::bindings::rialto::rules::types as rules;
use rialto_sdk::errors::error;
use serde::{Deserialize, Serialize};

/// A document of the collection `agreement-uses`, whose id is the condition: the transfer that was
/// prepared last with this condition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AgreementUse {
    /// The quote that was agreed. Its payee FSP may agree to another one with the same condition.
    pub quote_id: String,
    /// The transfer.
    pub transfer_id: String,
}

/// Checks that the agreement is free for the transfer. Returns the document to write when the transfer is
/// prepared. A transfer cannot use, or use up, an agreement of other FSPs.
///
/// # Errors
/// When the agreement serves another transfer, which has not failed.
pub fn claim(
    world: &mut impl Surroundings,
    agreement: Option<&rules::Agreement>,
    transfer: &rules::Transfer,
) -> Result<Option<AgreementUse>, ErrorInformation> {
    if world.settings().agreement_serves == AgreementServes::ManyTransfers {
        return Ok(None);
    }
    let same_fsps = |agreed: &&rules::Agreement| {
        let request = &agreed.request;
        request.payer_fsp == transfer.payer_fsp && request.payee_fsp == transfer.payee_fsp
    };
    let Some(agreement) = agreement.filter(same_fsps) else {
        return Ok(None);
    };
    let quote_id = &agreement.request.quote_id;
    let other = world
        .agreement_use(&transfer.condition)
        .filter(|earlier| earlier.quote_id == *quote_id)
        .and_then(|earlier| world.read_transfer(&earlier.transfer_id));
    if other.is_some_and(|other| other.transfer_id != transfer.transfer_id && !has_failed(&other)) {
        return Err(error("3100", "the quote is used by another transfer"));
    }
    Ok(Some(AgreementUse {
        quote_id: quote_id.clone(),
        transfer_id: transfer.transfer_id.clone(),
    }))
}

const fn has_failed(transfer: &Transfer) -> bool {
    matches!(transfer.state, State::Rejected | State::Failed)
}
