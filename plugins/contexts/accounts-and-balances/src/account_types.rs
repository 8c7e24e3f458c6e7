//! Types, states and ids of accounts.

use crate::bindings::rialto::accounts_and_balances::types as contract;
use serde::{Deserialize, Serialize};

/// The type of an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum AccountType {
    /// Funds that the participant may still spend through the scheme.
    Liquidity,
    /// Reserved for transfers in flight.
    Position,
    /// Cover set aside by an approved reservation.
    LiquidityCover,
    /// Settled funds held for the participant.
    Settlement,
    /// Settled funds set aside for a settlement, or for an immediate transfer.
    SettlementReserved,
    /// The participant's obligation in a settlement batch.
    SettlementPosition,
    /// The hub: real money at the settlement bank, contra of the settlement accounts.
    HubReconciliation,
    /// The hub: liquidity granted, contra of liquidity, position and liquidity cover.
    HubLiquidityControl,
}

/// A book. An entry never has accounts of both books.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Book {
    /// Moves with every transfer.
    Liquidity,
    /// Moves with deposits, withdrawals and settlement.
    Settlement,
}

impl AccountType {
    /// The four accounts that a participant gets in each of its currencies.
    pub const OF_PARTICIPANTS: [Self; 4] = [
        Self::Liquidity,
        Self::Position,
        Self::LiquidityCover,
        Self::Settlement,
    ];

    /// The third part of an account's id.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Liquidity => "LIQUIDITY",
            Self::Position => "POSITION",
            Self::LiquidityCover => "LIQUIDITY_COVER",
            Self::Settlement => "SETTLEMENT",
            Self::SettlementReserved => "SETTLEMENT_RESERVED",
            Self::SettlementPosition => "SETTLEMENT_POSITION",
            Self::HubReconciliation => "HUB_RECONCILIATION",
            Self::HubLiquidityControl => "HUB_LIQUIDITY_CONTROL",
        }
    }

    /// Whether its normal balance is a debit.
    #[must_use]
    pub const fn is_debit_normal(self) -> bool {
        matches!(self, Self::HubReconciliation | Self::HubLiquidityControl)
    }

    /// Whether its balance is unlimited on both sides.
    #[must_use]
    pub const fn is_boundless(self) -> bool {
        matches!(self, Self::SettlementPosition)
    }

    /// The book that the account belongs to.
    #[must_use]
    pub const fn book(self) -> Book {
        match self {
            Self::Liquidity | Self::Position | Self::LiquidityCover | Self::HubLiquidityControl => {
                Book::Liquidity
            }
            Self::Settlement
            | Self::SettlementReserved
            | Self::SettlementPosition
            | Self::HubReconciliation => Book::Settlement,
        }
    }
}

impl From<AccountType> for contract::LedgerAccountType {
    fn from(account_type: AccountType) -> Self {
        match account_type {
            AccountType::Liquidity => Self::Liquidity,
            AccountType::Position => Self::Position,
            AccountType::LiquidityCover => Self::LiquidityCover,
            AccountType::Settlement => Self::Settlement,
            AccountType::SettlementReserved => Self::SettlementReserved,
            AccountType::SettlementPosition => Self::SettlementPosition,
            AccountType::HubReconciliation => Self::HubReconciliation,
            AccountType::HubLiquidityControl => Self::HubLiquidityControl,
        }
    }
}

/// Whether an account takes new entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum AccountState {
    /// It takes entries.
    Enabled,
    /// It refuses new reservations and funds movements. Existing reservations still end in it, and it is
    /// settled.
    Disabled,
    /// It also refuses records, and cannot be enabled again. A settlement position is still settled. Any other
    /// account was empty when it was closed, and existing reservations still end in it.
    Closed,
}

impl From<AccountState> for contract::AccountState {
    fn from(state: AccountState) -> Self {
        match state {
            AccountState::Enabled => Self::Enabled,
            AccountState::Disabled => Self::Disabled,
            AccountState::Closed => Self::Closed,
        }
    }
}

/// The id of an account, for example `payerfsp:USD:LIQUIDITY`. Currency and type have no colon, so the id is
/// unique.
#[must_use]
pub fn account_id(owner: &str, currency: &str, account_type: AccountType) -> String {
    format!("{owner}:{currency}:{}", account_type.name())
}

/// The id of an account of a settlement model other than the first, or of a batch. Its last part is a
/// [name](is_name).
#[must_use]
pub fn account_id_of(
    owner: &str,
    currency: &str,
    account_type: AccountType,
    of: Option<&str>,
) -> String {
    let id = account_id(owner, currency, account_type);
    match of {
        Some(of) => format!("{id}:{of}"),
        None => id,
    }
}

/// Whether this is a valid name of a settlement model or a batch: 1 to 96 letters, digits, `_`, `.`, `-`.
#[must_use]
pub fn is_name(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-');
    (1..=96).contains(&name.len()) && name.bytes().all(fits)
}

/// Whether this is a valid participant's id: 1 to 32 letters, digits, `.`, `_`, `-`.
#[must_use]
pub fn is_owner(participant: &str) -> bool {
    participant.len() <= 32 && is_name(participant)
}

/// Whether this is the code of a currency: three upper-case letters.
#[must_use]
pub fn is_currency(code: &str) -> bool {
    code.len() == 3 && code.bytes().all(|byte| byte.is_ascii_uppercase())
}

/// Whether this is a valid id of a transfer, an instruction or a settlement: 1 to 128 visible ASCII characters.
/// Ids of entries contain it, and lists of them are separated by spaces.
#[must_use]
pub fn is_cause(cause: &str) -> bool {
    (1..=128).contains(&cause.len()) && cause.bytes().all(|byte| byte.is_ascii_graphic())
}
