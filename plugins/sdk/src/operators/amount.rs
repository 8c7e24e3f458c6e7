//! Amounts in operators' APIs: `{"currency":"USD","amount":"100.5"}`.

use super::{Kind, Problem};
use crate::bindings::rialto::common::types::Money;
use crate::money::{AmountError, format_amount, minor_units, parse_configured_amount};
use crate::scheme::Scheme;
use serde::{Deserialize, Serialize};

/// An amount of a currency.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Amount {
    /// ISO 4217.
    pub currency: String,
    /// Decimal text without a sign.
    pub amount: String,
}

impl From<&Money> for Amount {
    fn from(money: &Money) -> Self {
        Self {
            currency: money.currency.clone(),
            amount: format_amount(money),
        }
    }
}

impl Amount {
    /// The amount in the scheme's minor units. The OpenAPI document has validated its form.
    ///
    /// # Errors
    /// If the scheme does not use the currency, or only with fewer decimals.
    pub fn money(&self, scheme: &Scheme) -> Result<Money, Problem> {
        let Self { currency, amount } = self;
        let Some(scale) = scheme.scale_of(currency) else {
            let detail = format!("the scheme does not use {currency}");
            return Err(Problem::new(Kind::CurrencyUnused, detail));
        };
        parse_configured_amount(amount, currency, scale).map_err(|error| match error {
            AmountError::OverPrecise { scale } => {
                let detail = format!(
                    "{amount} {currency} is too precise: {currency} has {scale} decimal places"
                );
                Problem::new(Kind::AmountTooPrecise, detail)
            }
            AmountError::Malformed | AmountError::TooLarge => {
                Problem::new(Kind::Malformed, format!("`{amount}` is {error}"))
            }
        })
    }

    /// As [`Self::money`], and not zero.
    ///
    /// # Errors
    /// As [`Self::money`], or when it is zero.
    pub fn some_money(&self, scheme: &Scheme) -> Result<Money, Problem> {
        let money = self.money(scheme)?;
        if minor_units(&money) == 0 {
            let detail = "the amount is zero: there is nothing to do";
            return Err(Problem::new(Kind::AmountZero, detail));
        }
        Ok(money)
    }

    /// Checks the currency.
    ///
    /// # Errors
    /// If it is another one.
    pub fn is_in(&self, currency: &str) -> Result<(), Problem> {
        if self.currency == currency {
            return Ok(());
        }
        let detail = format!(
            "the amount is in {}, but the account is in {currency}",
            self.currency
        );
        Err(Problem::new(Kind::Malformed, detail))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_amount_is_read_exactly_or_refused_with_its_kind() {
        let scheme: Scheme = serde_json::from_str(
            r#"{"name":"t","hub":"Hub","currencies":[{"code":"USD","scale":2}]}"#,
        )
        .unwrap();
        let read = |currency: &str, amount: &str| {
            let amount = Amount {
                currency: currency.to_owned(),
                amount: amount.to_owned(),
            };
            let money = amount.some_money(&scheme);
            money.map(|money| minor_units(&money)).map_err(|p| p.kind)
        };
        assert_eq!(read("USD", "100.50"), Ok(10_050));
        assert_eq!(
            read("USD", "999999999999999999.99"),
            Ok(99_999_999_999_999_999_999)
        );
        assert_eq!(read("USD", "1.001"), Err(Kind::AmountTooPrecise));
        assert_eq!(read("USD", "0.00"), Err(Kind::AmountZero));
        assert_eq!(read("EUR", "1"), Err(Kind::CurrencyUnused));
        assert_eq!(read("USD", "-1"), Err(Kind::Malformed));
    }
}
