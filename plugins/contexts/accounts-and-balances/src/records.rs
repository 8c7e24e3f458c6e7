//! The documents that say what happened: entries, which are only ever added, and reservations.

use crate::accounts::Units;
use crate::bindings::rialto::accounts_and_balances::types::SettlementTiming;
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
    /// Liquidity set aside as cover.
    CoverReserve,
    /// Cover given back.
    CoverRelease,
    /// Settled funds moved to another settlement model of their owner.
    SettlementMove,
    /// A committed transfer, in its settlement batch.
    SettlementRecord,
    /// Settled funds set aside.
    SettlementHold,
    /// Settled funds that were set aside, given back.
    SettlementHoldRelease,
    /// An obligation moved from a batch to its settlement.
    SettlementConsolidate,
    /// Settled funds of who owes, against its position.
    SettlementPay,
    /// Settled funds to who is owed, against its position.
    SettlementReceive,
    /// The opposite of an earlier entry of a settlement.
    SettlementReversal,
}

/// The id of the entry of a cause and a step. It begins with the cause's id, so that all entries of
/// one cause are neighbours.
#[must_use]
pub fn entry_id(cause: &str, step: &str) -> String {
    format!("{cause}:{step}")
}

/// The steps of a cause that post one entry each. A transfer's id is its FSP's choice, and may be that
/// of an instruction: no step of the one is a step of the other. Lists of settlement have steps that
/// their request names.
pub mod steps {
    /// Of a transfer: funds are reserved.
    pub const PREPARE: &str = "prepare";
    /// Of a transfer: the payee has them.
    pub const FULFIL: &str = "fulfil";
    /// Of a transfer: the payer has them back.
    pub const RELEASE: &str = "release";
    /// Of a transfer that is settled at once: settled funds are held.
    pub const PREPARE_HOLD: &str = "prepare-hold";
    /// Of a transfer that is settled at once: they are given back.
    pub const RELEASE_HOLD: &str = "release-hold";
    /// Of a deposit or a withdrawal, in the settlement book.
    pub const FUNDS_SETTLEMENT: &str = "funds-settlement";
    /// Of a deposit or a withdrawal, in the liquidity book.
    pub const FUNDS_LIQUIDITY: &str = "funds-liquidity";
    /// Of an instruction that moves settled funds between models.
    pub const BETWEEN_MODELS: &str = "between-models";
    /// Of an instruction about cover.
    pub const COVER: &str = "cover";
    /// Of a transfer: the list with which Settlements records it.
    pub const SETTLEMENT: &str = "settlement";
}

impl EntryType {
    /// As documents and callers write it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::TransferPrepare => "TRANSFER_PREPARE",
            Self::TransferFulfil => "TRANSFER_FULFIL",
            Self::TransferRelease => "TRANSFER_RELEASE",
            Self::DepositSettlement => "DEPOSIT_SETTLEMENT",
            Self::DepositLiquidity => "DEPOSIT_LIQUIDITY",
            Self::WithdrawalSettlement => "WITHDRAWAL_SETTLEMENT",
            Self::WithdrawalLiquidity => "WITHDRAWAL_LIQUIDITY",
            Self::CoverReserve => "COVER_RESERVE",
            Self::CoverRelease => "COVER_RELEASE",
            Self::SettlementMove => "SETTLEMENT_MOVE",
            Self::SettlementRecord => "SETTLEMENT_RECORD",
            Self::SettlementHold => "SETTLEMENT_HOLD",
            Self::SettlementHoldRelease => "SETTLEMENT_HOLD_RELEASE",
            Self::SettlementConsolidate => "SETTLEMENT_CONSOLIDATE",
            Self::SettlementPay => "SETTLEMENT_PAY",
            Self::SettlementReceive => "SETTLEMENT_RECEIVE",
            Self::SettlementReversal => "SETTLEMENT_REVERSAL",
        }
    }
}

/// A document of the collection `entries`: one debit and one credit of the same amount. Never
/// changed, never removed; corrections are entries of their own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Entry {
    /// See [`entry_id`].
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
    /// The transfer's, the instruction's or the settlement's id.
    pub correlation_id: String,
    /// UTC, milliseconds since 1970.
    pub posted_at: u64,
}

impl Entry {
    /// The part of the id after the cause.
    #[must_use]
    pub fn step(&self) -> &str {
        let step = self.id.strip_prefix(&self.correlation_id);
        step.and_then(|step| step.strip_prefix(':'))
            .unwrap_or(&self.id)
    }
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
    /// It was fulfilled or released, and is in an archive with its entries. What is left of it keeps its id.
    Archived,
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

/// Settled funds of the payer that are held as long as a reservation is open, by the accounts' ids.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SettlementHold {
    /// Where they came from.
    pub settlement: String,
    /// Where they are.
    pub reserved: String,
}

/// When a transfer is settled.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Timing {
    /// With others: until then it counts as unsettled.
    #[default]
    Deferred,
    /// By itself, right after its commit; with what is held until then.
    Immediate(Option<SettlementHold>),
}

impl Timing {
    /// Whether it is settled with others: what documents leave out.
    #[must_use]
    pub fn is_deferred(&self) -> bool {
        *self == Self::Deferred
    }

    /// What is held.
    #[must_use]
    pub const fn hold(&self) -> Option<&SettlementHold> {
        match self {
            Self::Immediate(Some(hold)) => Some(hold),
            Self::Immediate(None) | Self::Deferred => None,
        }
    }
}

impl From<SettlementTiming> for Timing {
    fn from(timing: SettlementTiming) -> Self {
        match timing {
            SettlementTiming::Deferred => Self::Deferred,
            SettlementTiming::Immediate(hold) => Self::Immediate(hold.map(|hold| SettlementHold {
                settlement: hold.settlement,
                reserved: hold.reserved,
            })),
        }
    }
}

/// A document of the collection `unsettled-changes`: transfers that a settlement has settled, or
/// opened again. Never changed, never removed: with the entries it explains what an account has
/// unsettled, and makes a repeat harmless.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct UnsettledChange {
    /// As an entry's: the cause and the step.
    pub id: String,
    /// Of each account, by its id.
    pub accounts: Vec<UnsettledOfAccount>,
    /// UTC, milliseconds since 1970.
    pub posted_at: u64,
}

/// What of one account changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct UnsettledOfAccount {
    /// The account's id.
    pub account: String,
    /// In minor units.
    pub amount: Units,
    /// Whether it counts no more, or counts again.
    pub settled: bool,
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
    /// When it is settled.
    #[serde(default, skip_serializing_if = "Timing::is_deferred")]
    pub settlement: Timing,
    /// Open until it is fulfilled or released.
    pub state: ReservationState,
    /// UTC, milliseconds since 1970.
    pub opened_at: u64,
    /// When it was fulfilled or released.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closed_at: Option<u64>,
}
