//! Which agreed quote a transfer is about.

use crate::bindings::rialto::rules::types::{Agreement, Transfer};

/// Whether a transfer is the one that was agreed on, in time. `now` is in milliseconds since 1970.
#[must_use]
pub fn is_agreed(agreement: &Agreement, transfer: &Transfer, now: u64) -> bool {
    let Agreement { request, response } = agreement;
    (&request.payer_fsp, &request.payee_fsp) == (&transfer.payer_fsp, &transfer.payee_fsp)
        && response.transfer_amount == transfer.amount
        && now < response.expiration
}
