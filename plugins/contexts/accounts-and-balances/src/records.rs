//! The documents of the journal: entries, which are never changed, and reservations.

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
    /// Settled funds of a net payer, against its position.
    SettlementPay,
    /// Settled funds to a net payee, against its position.
    SettlementReceive,
    /// The opposite of an earlier entry of a settlement.
    SettlementReversal,
}

/// The id of the entry of a cause and a step. It begins with the cause's id, so that entries of a cause are
/// adjacent.
#[must_use]
pub fn entry_id(cause: &str, step: &str) -> String {
    format!("{cause}:{step}")
}

/// The steps of a cause that post one entry each. FSPs choose transfer ids, which may equal an instruction's
/// id, so transfers and instructions share no step. For lists of settlement, the request names the steps.
pub mod steps {
    /// Of a transfer: funds are reserved.
    pub const PREPARE: &str = "prepare";
    /// Of a transfer: the payee has them.
    pub const FULFIL: &str = "fulfil";
    /// Of a transfer: the payer has them back.
    pub const RELEASE: &str = "release";
    /// Of an immediate transfer: settled funds are held.
    pub const PREPARE_HOLD: &str = "prepare-hold";
    /// Of an immediate transfer: they are given back.
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
    /// The name in documents and for callers.
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

/// A document of the collection `entries`: one debit and one credit of the same amount. Entries are never
/// changed; corrections are further entries.
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

/// The state of a reservation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReservationState {
    /// The funds are on the payer's position account.
    Open,
    /// The payee has them; final.
    Fulfilled,
    /// The payer has them back; final.
    Released,
    /// It was fulfilled or released, and is archived with its entries. This shortened document keeps the id.
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

/// The accounts of settled funds of the payer that are held while a reservation is open, by their ids.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SettlementHold {
    /// The account they came from.
    pub settlement: String,
    /// The account that holds them.
    pub reserved: String,
}

/// When a transfer is settled.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Timing {
    /// In a batch; until then it counts as unsettled.
    #[default]
    Deferred,
    /// By itself, right after its commit; with the hold until then.
    Immediate(Option<SettlementHold>),
}

impl Timing {
    /// Whether it is settled in a batch. Documents leave this value out.
    #[must_use]
    pub fn is_deferred(&self) -> bool {
        *self == Self::Deferred
    }

    /// The hold.
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

/// A document of the collection `unsettled-changes`: transfers that a settlement has settled, or reopened. It
/// is never changed. Together with the entries it explains an account's unsettled amount, and prevents a
/// repeat.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct UnsettledChange {
    /// Cause and step, as of an entry.
    pub id: String,
    /// The change of each account, by its id.
    pub accounts: Vec<UnsettledOfAccount>,
    /// UTC, milliseconds since 1970.
    pub posted_at: u64,
}

/// The change of one account.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct UnsettledOfAccount {
    /// The account's id.
    pub account: String,
    /// In minor units.
    pub amount: Units,
    /// Whether the amount is settled, or reopened.
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
    /// Its accounts.
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
