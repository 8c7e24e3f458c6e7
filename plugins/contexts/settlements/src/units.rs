//! Amounts in minor units, as documents and operators read them.

use crate::bindings::rialto::accounts_and_balances::types::AccountStatus;
use rialto_sdk::bindings::rialto::common::types::Money;
use rialto_sdk::money::{format_amount, minor_units, money, units_text};
use serde::{Deserialize, Serialize};

/// An amount in minor units, as decimal text in documents.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Units(#[serde(with = "units_text")] pub u128);

/// An amount as operators read it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Amount {
    /// ISO 4217.
    pub currency: String,
    /// Decimal text.
    pub amount: String,
}

impl Amount {
    /// An amount of minor units of a currency.
    #[must_use]
    pub fn of(currency: &str, scale: u8, units: Units) -> Self {
        Self {
            currency: currency.to_owned(),
            amount: format_amount(&money(currency, scale, units.0)),
        }
    }
}

/// The net of a sum of debits and a sum of credits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Net {
    /// More paid than received.
    Pays(Units),
    /// More received than paid.
    Receives(Units),
    /// Equal sums.
    Even,
}

impl Net {
    /// The net of debits and credits.
    #[must_use]
    pub fn of(debits: Units, credits: Units) -> Self {
        match debits.cmp(&credits) {
            std::cmp::Ordering::Greater => Self::Pays(Units(debits.0 - credits.0)),
            std::cmp::Ordering::Less => Self::Receives(Units(credits.0 - debits.0)),
            std::cmp::Ordering::Equal => Self::Even,
        }
    }

    /// The net of an account of the ledger.
    #[must_use]
    pub fn on(account: &AccountStatus) -> Self {
        let position = &account.position;
        let (debits, credits) = (&position.debit_balance, &position.credit_balance);
        assert!(
            (&debits.currency, debits.scale) == (&credits.currency, credits.scale),
            "account {} has debits in {} and credits in {}",
            position.account_id,
            debits.currency,
            credits.currency
        );
        Self::of(units(debits), units(credits))
    }
}

/// The amount of this money, without its currency.
#[must_use]
pub fn units(money: &Money) -> Units {
    Units(minor_units(money))
}
