//! What accounts are for, the states that they have, and the ids that follow.

use crate::bindings::rialto::accounts_and_balances::types as contract;
use serde::{Deserialize, Serialize};

/// What an account is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum AccountType {
    /// What the participant may still spend through the scheme.
    Liquidity,
    /// Reserved for transfers in flight.
    Position,
    /// Cover set aside by an approved reservation.
    LiquidityCover,
    /// Settled funds held for the participant.
    Settlement,
    /// Settled funds set aside for a settlement, or for a transfer that is settled at once.
    SettlementReserved,
    /// What the participant owes or is owed in a settlement batch.
    SettlementPosition,
    /// The hub: real money at the settlement bank, contra of the settlement accounts.
    HubReconciliation,
    /// The hub: liquidity granted, contra of liquidity, position and liquidity cover.
    HubLiquidityControl,
}

/// Entries never cross from one book to the other.
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

    /// Whether the account normally has more debits than credits.
    #[must_use]
    pub const fn is_debit_normal(self) -> bool {
        matches!(self, Self::HubReconciliation | Self::HubLiquidityControl)
    }

    /// Whether the account may stand on either side, however far.
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
    /// It does.
    Enabled,
    /// It refuses new reservations and funds movements; reservations that exist still end in it,
    /// and it is settled.
    Disabled,
    /// It refuses also to be recorded on, and to be enabled again. A settlement position is settled
    /// all the same, whatever it holds; any other account was empty when it was closed, and what is
    /// still reserved for it ends in it.
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

/// The id of an account, for example `payerfsp:USD:LIQUIDITY`. Currency and type hold no colon,
/// so two accounts never share an id.
#[must_use]
pub fn account_id(owner: &str, currency: &str, account_type: AccountType) -> String {
    format!("{owner}:{currency}:{}", account_type.name())
}

/// The id of one of several accounts of a type: of a settlement model other than the first, or of a
/// batch. The last part is a [name](is_name).
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

/// Whether a settlement model or a batch may be called so: 1 to 96 letters, digits, `_`, `.`, `-`.
#[must_use]
pub fn is_name(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-');
    (1..=96).contains(&name.len()) && name.bytes().all(fits)
}

/// Whether a participant may be called so: 1 to 32 letters, digits, `.`, `_`, `-`.
#[must_use]
pub fn is_owner(participant: &str) -> bool {
    participant.len() <= 32 && is_name(participant)
}

/// Whether this is the code of a currency: three upper-case letters.
#[must_use]
pub fn is_currency(code: &str) -> bool {
    code.len() == 3 && code.bytes().all(|byte| byte.is_ascii_uppercase())
}

/// Whether a transfer, an instruction or a settlement may be called so: 1 to 128 visible ASCII
/// characters. Entries' ids are made of it, and a space separates them.
#[must_use]
pub fn is_cause(cause: &str) -> bool {
    (1..=128).contains(&cause.len()) && cause.bytes().all(|byte| byte.is_ascii_graphic())
}
