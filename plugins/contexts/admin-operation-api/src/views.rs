//! Postings and reservations as operators see them.

use crate::bindings::rialto::accounts_and_balances::types as ledger;
use crate::bindings::rialto::participant_lifecycle_management::get_reservations as reservations;
use rialto_sdk::operators::Amount;
use serde::Serialize;

/// An entry from the point of view of one of its accounts.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Posting {
    journal_entry_id: String,
    entry_id: String,
    r#type: String,
    debit_account: String,
    credit_account: String,
    amount: Amount,
    #[serde(skip_serializing_if = "Option::is_none")]
    balances_after: Option<Balances>,
    cause: String,
    posted_at: u64,
}

/// The two sums of an account.
#[derive(Debug, Serialize)]
struct Balances {
    debit: Amount,
    credit: Amount,
}

impl From<&ledger::Posting> for Posting {
    fn from(posting: &ledger::Posting) -> Self {
        let balances = |balances: &ledger::Balances| Balances {
            debit: Amount::from(&balances.debit_balance),
            credit: Amount::from(&balances.credit_balance),
        };
        Self {
            journal_entry_id: posting.journal_entry_id.clone(),
            entry_id: posting.entry_id.clone(),
            r#type: posting.entry_type.clone(),
            debit_account: posting.debit_account.clone(),
            credit_account: posting.credit_account.clone(),
            amount: Amount::from(&posting.amount),
            balances_after: posting.balances_after.as_ref().map(balances),
            cause: posting.correlation_id.clone(),
            posted_at: posting.posted_at,
        }
    }
}

/// The reservation of an account.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Reservation {
    account_id: String,
    liquidity_cover: Amount,
    #[serde(skip_serializing_if = "Option::is_none")]
    since: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    request: Option<String>,
    transfers_in_flight: Amount,
}

impl From<&reservations::Reservation> for Reservation {
    fn from(reservation: &reservations::Reservation) -> Self {
        Self {
            account_id: reservation.currency.clone(),
            liquidity_cover: Amount::from(&reservation.liquidity_cover.available),
            since: reservation.since,
            request: reservation.request_id.clone(),
            transfers_in_flight: Amount::from(&reservation.position.available),
        }
    }
}
