//! A ledger account: its document, its limits, and how an amount is posted to it.

use crate::bindings::rialto::accounts_and_balances::types::{AccountPosition, LedgerError};
use rialto_sdk::bindings::rialto::common::types::Money;
use rialto_sdk::money::{minor_units, money, units_text};
use serde::{Deserialize, Serialize};

/// An amount in minor units, as decimal text in documents.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Units(#[serde(with = "units_text")] pub u128);

impl Units {
    /// The amount of this money, without its currency.
    #[must_use]
    pub fn of(money: &Money) -> Self {
        Self(minor_units(money))
    }
}

/// What an account is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
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
    /// The hub: real money at the settlement bank, contra of the settlement accounts.
    HubReconciliation,
    /// The hub: liquidity granted, contra of liquidity, position and liquidity cover.
    HubLiquidityControl,
}

impl AccountType {
    /// The four accounts that a participant has in each of its currencies.
    pub const OF_PARTICIPANTS: [Self; 4] = [
        Self::Liquidity,
        Self::Position,
        Self::LiquidityCover,
        Self::Settlement,
    ];

    /// The last part of an account's id.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Liquidity => "LIQUIDITY",
            Self::Position => "POSITION",
            Self::LiquidityCover => "LIQUIDITY_COVER",
            Self::Settlement => "SETTLEMENT",
            Self::HubReconciliation => "HUB_RECONCILIATION",
            Self::HubLiquidityControl => "HUB_LIQUIDITY_CONTROL",
        }
    }

    /// Whether the account normally has more debits than credits.
    #[must_use]
    pub const fn is_debit_normal(self) -> bool {
        matches!(self, Self::HubReconciliation | Self::HubLiquidityControl)
    }
}

/// The id of an account, for example `payerfsp:USD:LIQUIDITY`. Currency and type hold no colon,
/// so two accounts never share an id.
#[must_use]
pub fn account_id(participant: &str, currency: &str, account_type: AccountType) -> String {
    format!("{participant}:{currency}:{}", account_type.name())
}

/// Whether an account takes new entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum AccountState {
    /// It does.
    Enabled,
    /// It refuses new reservations and funds movements; reservations that exist still end in it.
    Disabled,
}

/// A document of the collection `accounts`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Account {
    /// See [`account_id`].
    pub id: String,
    /// The participant, or the hub.
    pub participant: String,
    /// What the account is for.
    pub account_type: AccountType,
    /// ISO 4217.
    pub currency: String,
    /// Decimal places of the currency in this scheme.
    pub scale: u8,
    /// Whether it takes new entries.
    pub state: AccountState,
    /// Sum of all debits, ever.
    pub debit_balance: Units,
    /// Sum of all credits, ever.
    pub credit_balance: Units,
    /// How far debits may exceed credits.
    pub debit_limit: Units,
    /// Of a liquidity account: the highest net debit position; none when cover alone decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub net_debit_cap: Option<Units>,
    /// Of a liquidity account: what is available below this is warned of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub liquidity_threshold: Option<Units>,
    /// Sum of fulfilled transfers that wait for settlement: paid ones on a position account,
    /// received ones on a liquidity account. They stand where the fulfilment posts anyway, so
    /// that a transfer touches no third account.
    pub unsettled: Units,
    /// UTC, milliseconds since 1970.
    pub created_at: u64,
}

impl Account {
    /// A new account without balance.
    #[must_use]
    pub fn new(
        participant: &str,
        account_type: AccountType,
        currency: &str,
        scale: u8,
        created_at: u64,
    ) -> Self {
        Self {
            id: account_id(participant, currency, account_type),
            participant: participant.to_owned(),
            account_type,
            currency: currency.to_owned(),
            scale,
            state: AccountState::Enabled,
            debit_balance: Units(0),
            credit_balance: Units(0),
            debit_limit: Units(0),
            net_debit_cap: None,
            liquidity_threshold: None,
            unsettled: Units(0),
            created_at,
        }
    }

    /// What the account holds on its normal side.
    #[must_use]
    pub fn balance(&self) -> u128 {
        let (debit, credit) = (self.debit_balance.0, self.credit_balance.0);
        if self.account_type.is_debit_normal() {
            debit.saturating_sub(credit)
        } else {
            credit.saturating_sub(debit)
        }
    }

    /// What can still be debited: credits minus debits plus the debit limit.
    #[must_use]
    pub fn available(&self) -> u128 {
        self.credit_balance
            .0
            .saturating_add(self.debit_limit.0)
            .saturating_sub(self.debit_balance.0)
    }

    /// The account as callers see it.
    #[must_use]
    pub fn position(&self) -> AccountPosition {
        let money = |units| money(&self.currency, self.scale, units);
        AccountPosition {
            account_id: self.id.clone(),
            debit_balance: money(self.debit_balance.0),
            credit_balance: money(self.credit_balance.0),
            available: money(self.available()),
            threshold: self.liquidity_threshold.map(|threshold| money(threshold.0)),
        }
    }

    /// Whether amounts of this money can be posted.
    ///
    /// # Errors
    /// When the currency or its scale differs.
    pub fn holds(&self, money: &Money) -> Result<(), LedgerError> {
        if self.currency == money.currency && self.scale == money.scale {
            Ok(())
        } else {
            Err(LedgerError::CurrencyMismatch)
        }
    }

    /// Whether the account takes new entries.
    ///
    /// # Errors
    /// When it is disabled.
    pub fn takes_entries(&self) -> Result<(), LedgerError> {
        match self.state {
            AccountState::Enabled => Ok(()),
            AccountState::Disabled => Err(LedgerError::AccountDisabled(self.id.clone())),
        }
    }

    /// Debit the account.
    ///
    /// # Errors
    /// When debits would exceed credits by more than the limit, or 128 bits.
    pub fn debit(&mut self, amount: Units) -> Result<(), LedgerError> {
        let within = |debits: &u128| {
            self.account_type.is_debit_normal()
                || *debits <= self.credit_balance.0.saturating_add(self.debit_limit.0)
        };
        let debits = self.debit_balance.0.checked_add(amount.0).filter(within);
        self.debit_balance = Units(debits.ok_or_else(|| self.exceeded())?);
        Ok(())
    }

    /// Credit the account.
    ///
    /// # Errors
    /// When credits of the hub's account would exceed its debits, or 128 bits.
    pub fn credit(&mut self, amount: Units) -> Result<(), LedgerError> {
        let within = |credits: &u128| {
            !self.account_type.is_debit_normal() || *credits <= self.debit_balance.0
        };
        let credits = self.credit_balance.0.checked_add(amount.0).filter(within);
        self.credit_balance = Units(credits.ok_or_else(|| self.exceeded())?);
        Ok(())
    }

    /// Count a fulfilled transfer that waits for settlement.
    ///
    /// # Errors
    /// When the sum exceeds 128 bits.
    pub fn add_unsettled(&mut self, amount: Units) -> Result<(), LedgerError> {
        let sum = self.unsettled.0.checked_add(amount.0);
        self.unsettled = Units(sum.ok_or_else(|| self.exceeded())?);
        Ok(())
    }

    fn exceeded(&self) -> LedgerError {
        LedgerError::ExceedsLimits(self.position())
    }
}

/// Whether the net debit cap covers a further reservation: with N = reserved + unsettled debits -
/// unsettled credits, `N + amount <= cap`. The terms are moved so that none is negative.
#[must_use]
pub fn is_within_net_debit_cap(liquidity: &Account, position: &Account, amount: Units) -> bool {
    let Some(cap) = liquidity.net_debit_cap else {
        return true;
    };
    let used = position
        .balance()
        .checked_add(position.unsettled.0)
        .and_then(|used| used.checked_add(amount.0));
    used.is_some_and(|used| used <= cap.0.saturating_add(liquidity.unsettled.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_document_reads_as_an_operator_expects() {
        let mut account = Account::new("payerfsp", AccountType::Liquidity, "USD", 2, 7);
        account.credit(Units(100_000)).unwrap();
        account.net_debit_cap = Some(Units(50_000));
        assert_eq!(
            serde_json::to_string(&account).unwrap(),
            concat!(
                r#"{"id":"payerfsp:USD:LIQUIDITY","participant":"payerfsp","accountType":"LIQUIDITY","#,
                r#""currency":"USD","scale":2,"state":"ENABLED","debitBalance":"0","creditBalance":"100000","#,
                r#""debitLimit":"0","netDebitCap":"50000","unsettled":"0","createdAt":7}"#
            )
        );
    }

    #[test]
    fn a_debit_stops_exactly_at_the_limit() {
        let mut account = Account::new("a", AccountType::Liquidity, "USD", 2, 0);
        account.credit(Units(10)).unwrap();
        account.debit_limit = Units(5);
        account.debit(Units(15)).unwrap();
        let refused = account.debit(Units(1));
        assert_eq!(refused, Err(LedgerError::ExceedsLimits(account.position())));
        assert_eq!(account.available(), 0);
    }

    #[test]
    fn sums_beyond_128_bits_are_refused_and_change_nothing() {
        let mut account = Account::new("a", AccountType::Settlement, "USD", 2, 0);
        account.credit(Units(u128::MAX)).unwrap();
        let before = account.clone();
        assert!(account.credit(Units(1)).is_err());
        assert_eq!(account, before);
    }

    #[test]
    fn the_hub_grants_no_less_than_nothing() {
        let mut hub = Account::new("Hub", AccountType::HubLiquidityControl, "USD", 2, 0);
        hub.debit(Units(10)).unwrap();
        assert!(hub.credit(Units(11)).is_err());
        hub.credit(Units(10)).unwrap();
        assert_eq!(hub.balance(), 0);
    }

    #[test]
    fn the_net_debit_cap_counts_reserved_paid_and_received() {
        let mut liquidity = Account::new("a", AccountType::Liquidity, "USD", 2, 0);
        let mut position = Account::new("a", AccountType::Position, "USD", 2, 0);
        position.credit(Units(30)).unwrap();
        position.add_unsettled(Units(50)).unwrap();
        liquidity.add_unsettled(Units(20)).unwrap();
        assert!(is_within_net_debit_cap(
            &liquidity,
            &position,
            Units(u128::MAX)
        ));
        liquidity.net_debit_cap = Some(Units(100));
        assert!(is_within_net_debit_cap(&liquidity, &position, Units(40)));
        assert!(!is_within_net_debit_cap(&liquidity, &position, Units(41)));
        assert!(!is_within_net_debit_cap(
            &liquidity,
            &position,
            Units(u128::MAX)
        ));
    }
}
