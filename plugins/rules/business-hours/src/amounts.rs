//! Currencies and amounts: how settings write them, and how they are compared with money.

use rialto_sdk::money::parse_configured_amount;
use rialto_sdk::rule::{Money, minor_units};
use schemars::JsonSchema;
use serde::Deserialize;

/// The most decimal places of an amount in settings, and the most digits before the point.
const DIGITS_MAX: u8 = 18;

/// The code of a currency (ISO 4217), such as `USD`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(extend("pattern" = "^[A-Z]{3}$"))]
pub struct Currency(String);

impl Currency {
    /// The code.
    #[must_use]
    pub fn code(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for Currency {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        if text.len() == 3 && text.bytes().all(|letter| letter.is_ascii_uppercase()) {
            Ok(Self(text))
        } else {
            Err("must be a currency of three capital letters, such as \"USD\"")
        }
    }
}

/// An exact amount as text, such as `1000.50`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(extend("pattern" = "^[0-9]{1,18}([.][0-9]{1,18})?$"))]
pub struct Amount(String);

impl Amount {
    /// Whether money of the same currency is more than this amount.
    #[must_use]
    pub fn is_less_than(&self, money: &Money) -> bool {
        // Money has whole minor units. It is more than an amount if it is more than the amount's whole minor units.
        let whole = match self.0.split_once('.') {
            Some((integer, _)) if money.scale == 0 => integer,
            Some((integer, decimals)) if decimals.len() > money.scale.into() => {
                &self.0[..integer.len() + 1 + usize::from(money.scale)]
            }
            _ => &self.0,
        };
        match parse_configured_amount(whole, &money.currency, money.scale) {
            Ok(amount) => minor_units(money) > minor_units(&amount),
            // The amount has more minor units than any money.
            Err(_) => false,
        }
    }
}

impl TryFrom<String> for Amount {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let parts = text.split_once('.').unwrap_or((&text, ""));
        let fits = [parts.0, parts.1]
            .iter()
            .all(|part| part.len() <= DIGITS_MAX.into());
        if fits && parse_configured_amount(&text, "", DIGITS_MAX).is_ok() {
            Ok(Self(text))
        } else {
            Err(
                "must be an amount without sign, such as \"1000.50\", at most 18 digits on each side",
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rialto_sdk::money::money;
    use rialto_sdk::testing::Dice;

    #[test]
    fn currencies_are_three_capital_letters() {
        assert!(Currency::try_from("USD".to_owned()).is_ok());
        for text in ["", "usd", "US", "USDT", "US1", "Ü1"] {
            assert!(Currency::try_from(text.to_owned()).is_err(), "{text}");
        }
    }

    fn amount(text: &str) -> Amount {
        Amount::try_from(text.to_owned()).unwrap()
    }

    #[test]
    fn only_plain_decimal_numbers_are_amounts() {
        for text in [
            "0",
            "0.5",
            "1000.00",
            "999999999999999999.999999999999999999",
        ] {
            assert_eq!(amount(text).0, text);
        }
        for text in [
            "",
            ".",
            "1.",
            ".5",
            "-1",
            "+1",
            "1e3",
            " 1",
            "1,000",
            "1.2.3",
            "٣",
            "1000000000000000000",
            "0.1000000000000000000",
        ] {
            assert!(Amount::try_from(text.to_owned()).is_err(), "{text}");
        }
    }

    #[test]
    fn money_is_compared_exactly_at_every_scale() {
        for (text, scale, units, is_more) in [
            ("1000", 2, 100_000, false),
            ("1000", 2, 100_001, true),
            ("1000.00", 0, 1000, false),
            ("1000.00", 0, 1001, true),
            ("0.5", 0, 0, false),
            ("0.5", 0, 1, true),
            ("0.009", 2, 0, false),
            ("0.009", 2, 1, true),
            ("0.019", 2, 1, false),
            ("0", 255, 0, false),
            ("0", 255, 1, true),
            ("1", 38, 10_u128.pow(38), false),
            ("1", 38, u128::MAX, true),
            ("1", 39, u128::MAX, false),
            ("999999999999999999", 255, u128::MAX, false),
        ] {
            let is_less = amount(text).is_less_than(&money("USD", scale, units));
            assert_eq!(is_less, is_more, "{text} {scale} {units}");
        }
    }

    #[test]
    fn comparing_money_agrees_with_comparing_fractions() {
        let mut dice = Dice::new(7);
        for _ in 0..20_000 {
            let (amount_scale, scale) = (dice.below(5) as u32, dice.below(5) as u32);
            let (value, units) = (
                u128::from(dice.below(30_000)),
                u128::from(dice.below(30_000)),
            );
            let unit = 10_u128.pow(amount_scale);
            let text = match amount_scale {
                0 => value.to_string(),
                places => format!("{}.{:02$}", value / unit, value % unit, places as usize),
            };
            let is_more = units * unit > value * 10_u128.pow(scale);
            let is_less = amount(&text).is_less_than(&money("USD", scale as u8, units));
            assert_eq!(is_less, is_more, "{text} {units} at {scale}");
        }
    }
}
