//! The documents that say what happened: entries, which are only ever added, and reservations.

use crate::accounts::Units;
use serde::{Deserialize, Serialize};

/// Why an entry was posted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum EntryType {
    /// Funds of the payer reserved for a transfer.
    TransferPrepare,
    /// Reserved funds given to the payee.
    TransferFulfil,
    /// Reserved funds given back to the payer.
    TransferRelease,
    /// Funds paid in, in the settlement book.
    DepositSettlement,
    /// Funds paid in, in the liquidity book.
    DepositLiquidity,
    /// Funds paid out, in the settlement book.
    WithdrawalSettlement,
    /// Funds paid out, in the liquidity book.
    WithdrawalLiquidity,
}

impl EntryType {
    /// The id of the entry of this type that belongs to a transfer or an instruction. It begins
    /// with the cause's id, so that all entries of one cause are neighbours.
    #[must_use]
    pub fn entry_id(self, correlation_id: &str) -> String {
        let suffix = match self {
            Self::TransferPrepare => "prepare",
            Self::TransferFulfil => "fulfil",
            Self::TransferRelease => "release",
            Self::DepositSettlement | Self::WithdrawalSettlement => "settlement",
            Self::DepositLiquidity | Self::WithdrawalLiquidity => "liquidity",
        };
        format!("{correlation_id}:{suffix}")
    }
}

/// A document of the collection `entries`: one debit and one credit of the same amount. Never
/// changed, never removed; corrections are entries of their own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Entry {
    /// See [`EntryType::entry_id`].
    pub id: String,
    /// The account that is debited.
    pub debit_account: String,
    /// The account that is credited.
    pub credit_account: String,
    /// In minor units.
    pub amount: Units,
    /// ISO 4217.
    pub currency: String,
    /// Decimal places of the currency in this scheme.
    pub scale: u8,
    /// Why.
    pub entry_type: EntryType,
    /// The transfer's or the instruction's id.
    pub correlation_id: String,
    /// UTC, milliseconds since 1970.
    pub posted_at: u64,
}

/// What became of a reservation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReservationState {
    /// The funds wait on the payer's position account.
    Open,
    /// The payee has them; final.
    Fulfilled,
    /// The payer has them back; final.
    Released,
}

/// The accounts of a reservation, by their ids.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReservationAccounts {
    /// The payer's liquidity account.
    pub payer_liquidity: String,
    /// The payer's position account.
    pub payer_position: String,
    /// The payee's liquidity account, once fulfilled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payee_liquidity: Option<String>,
}

/// A document of the collection `reservations`: one for each transfer that was prepared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Reservation {
    /// The transfer, and the document's id.
    pub transfer_id: String,
    /// The payer FSP.
    pub payer: String,
    /// In minor units.
    pub amount: Units,
    /// ISO 4217.
    pub currency: String,
    /// Decimal places of the currency in this scheme.
    pub scale: u8,
    /// Where the funds came from and where they went.
    pub accounts: ReservationAccounts,
    /// Open until it is fulfilled or released.
    pub state: ReservationState,
    /// UTC, milliseconds since 1970.
    pub opened_at: u64,
    /// When it was fulfilled or released.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closed_at: Option<u64>,
}
