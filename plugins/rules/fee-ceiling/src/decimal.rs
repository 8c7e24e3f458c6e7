//! Decimal numbers of the settings, and the whole minor units that they allow.
//!
//! A fee is a whole number of minor units. It is at most a ceiling exactly if it is at most the ceiling rounded down. So
//! every ceiling is rounded down to whole minor units, and no verdict depends on the rounding.

use schemars::JsonSchema;
use serde::Deserialize;

/// The most digits before the point, and after it: 36 digits fit in 128 bits.
const DIGITS_MAX: usize = 18;
/// The parts of a whole: a share is a number of them.
const WHOLE: u128 = 10_u128.pow(18);

/// A share of an amount, from 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Share {
    /// Parts of [`WHOLE`], at most all.
    parts: u128,
}

impl Share {
    /// The share of an amount of minor units, rounded down. The result is exact and at most the amount.
    #[must_use]
    pub fn of(self, minor_units: u128) -> u128 {
        // With `parts` at most `WHOLE`, neither product overflows: the first is at most `minor_units`, the second less
        // than the square of `WHOLE`, 10 to the power of 36.
        let (wholes, rest) = (minor_units / WHOLE, minor_units % WHOLE);
        wholes * self.parts + rest * self.parts / WHOLE
    }
}

impl TryFrom<String> for Share {
    type Error = String;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let (units, decimals) = digits(&text).ok_or_else(|| {
            format!("{text:?} is not a share: use a decimal text, as in \"0.01\"")
        })?;
        // Parts of 10 to the power of 18 have 18 decimals: fewer decimals get zeros at their end.
        let missing = u32::try_from(DIGITS_MAX - decimals).unwrap_or(0);
        let parts = units.checked_mul(10_u128.pow(missing));
        match parts.filter(|parts| *parts <= WHOLE) {
            Some(parts) => Ok(Self { parts }),
            None => Err(format!("the share {text:?} is more than 1: use 0 to 1")),
        }
    }
}

/// An amount of a currency that the settings name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Amount {
    /// The digits before and after the point.
    units: u128,
    /// How many of them are after the point.
    decimals: u32,
}

impl Amount {
    /// The amount in minor units of a currency with this scale, rounded down; the largest number if the amount is larger.
    #[must_use]
    pub fn minor_units(self, scale: u8) -> u128 {
        let scale = u32::from(scale);
        if scale < self.decimals {
            return self.units / 10_u128.pow(self.decimals - scale);
        }
        if self.units == 0 {
            return 0;
        }
        let factor = 10_u128.checked_pow(scale - self.decimals);
        factor
            .and_then(|factor| self.units.checked_mul(factor))
            .unwrap_or(u128::MAX)
    }
}

impl TryFrom<String> for Amount {
    type Error = String;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let read = digits(&text).and_then(|(units, decimals)| {
            let decimals = u32::try_from(decimals).ok()?;
            Some(Self { units, decimals })
        });
        read.ok_or_else(|| {
            format!("{text:?} is not an amount: use a decimal text, as in \"2\" or \"2.50\"")
        })
    }
}

/// The digits of a number such as `1`, `0.5` or `1000.00`, and how many of them are after the point. None for any other
/// text, and for more than 18 digits before or after the point.
fn digits(text: &str) -> Option<(u128, usize)> {
    let (integer, decimals) = match text.split_once('.') {
        None => (text, ""),
        Some((_, "")) => return None,
        Some(parts) => parts,
    };
    let has_needless_zero = integer.len() > 1 && integer.starts_with('0');
    let lengths_fit = (1..=DIGITS_MAX).contains(&integer.len()) && decimals.len() <= DIGITS_MAX;
    if has_needless_zero || !lengths_fit {
        return None;
    }
    let mut units: u128 = 0;
    for byte in integer.bytes().chain(decimals.bytes()) {
        if !byte.is_ascii_digit() {
            return None;
        }
        // At most 36 digits: no overflow.
        units = units * 10 + u128::from(byte - b'0');
    }
    Some((units, decimals.len()))
}

/// The schema of a decimal text.
fn decimal_schema() -> schemars::Schema {
    schemars::json_schema!({
        "type": "string",
        "pattern": r"^(0|[1-9][0-9]{0,17})(\.[0-9]{1,18})?$",
    })
}

impl JsonSchema for Share {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Share".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        decimal_schema()
    }
}

impl JsonSchema for Amount {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Amount".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        decimal_schema()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rialto_sdk::testing::Dice;

    fn share(text: &str) -> Share {
        Share::try_from(text.to_owned()).unwrap()
    }

    fn amount(text: &str) -> Amount {
        Amount::try_from(text.to_owned()).unwrap()
    }

    #[test]
    fn only_plain_decimal_texts_are_read() {
        for text in ["0", "1", "0.5", "1.00", "0.999999999999999999"] {
            assert!(Share::try_from(text.to_owned()).is_ok(), "{text}");
            assert!(Amount::try_from(text.to_owned()).is_ok(), "{text}");
        }
        for text in [
            "",
            ".",
            "1.",
            ".5",
            "-1",
            "+1",
            "1e3",
            "01",
            "00",
            " 1",
            "1 ",
            "1,000",
            "1.2.3",
            "٣",
            "1%",
            "1000000000000000000",
            "0.1000000000000000000",
        ] {
            assert!(Share::try_from(text.to_owned()).is_err(), "{text}");
            assert!(Amount::try_from(text.to_owned()).is_err(), "{text}");
        }
        let largest = "999999999999999999.999999999999999999";
        assert!(Amount::try_from(largest.to_owned()).is_ok());
        for text in [largest, "1.000000000000000001", "2"] {
            assert!(Share::try_from(text.to_owned()).is_err(), "{text}");
        }
    }

    #[test]
    fn share_is_rounded_down() {
        for (text, minor_units, expected) in [
            ("0.01", 0, 0),
            ("0.01", 99, 0),
            ("0.01", 100, 1),
            ("0.01", 199, 1),
            ("0.015", 9999, 149),
            ("0.015", 10_000, 150),
            ("0", u128::MAX, 0),
            ("1", u128::MAX, u128::MAX),
            ("1.000", 7, 7),
            ("0.5", u128::MAX, u128::MAX / 2),
            ("0.1", u128::MAX, u128::MAX / 10),
            ("0.000000000000000001", WHOLE - 1, 0),
            ("0.000000000000000001", WHOLE, 1),
            ("0.000000000000000001", u128::MAX, u128::MAX / WHOLE),
            ("0.999999999999999999", WHOLE, WHOLE - 1),
            // All but one in 10 to the power of 18, rounded down.
            (
                "0.999999999999999999",
                u128::MAX,
                u128::MAX - u128::MAX / WHOLE - 1,
            ),
        ] {
            assert_eq!(
                share(text).of(minor_units),
                expected,
                "{text} {minor_units}"
            );
        }
    }

    #[test]
    fn share_is_the_largest_number_below_the_exact_product() {
        let mut dice = Dice::new(23);
        for _ in 0..50_000 {
            let decimals = usize::try_from(dice.below(10)).unwrap_or(0);
            let whole = 10_u64.pow(u32::try_from(decimals).unwrap_or(0));
            let parts = dice.below(whole + 1);
            let text = if decimals == 0 {
                parts.to_string()
            } else {
                format!("{}.{:0decimals$}", parts / whole, parts % whole)
            };
            let minor_units = u128::from(dice.any() >> dice.below(64));
            // 64 bits times 30 bits: the product is exact in 128 bits.
            let exact = minor_units * u128::from(parts);
            let expected = exact / u128::from(whole);
            assert_eq!(
                share(&text).of(minor_units),
                expected,
                "{text} {minor_units}"
            );
        }
    }

    #[test]
    fn share_never_overflows() {
        let mut dice = Dice::new(29);
        for _ in 0..50_000 {
            let text = format!("0.{:018}", dice.below(1_000_000_000_000_000_000));
            let any = (u128::from(dice.any()) << 64) | u128::from(dice.any());
            let minor_units = any >> dice.below(128);
            let (one, next) = (
                share(&text).of(minor_units),
                share(&text).of(minor_units.saturating_add(1)),
            );
            assert!(one <= next && next <= one + 1, "{text} {minor_units}");
            assert!(one <= minor_units, "{text} {minor_units}");
        }
    }

    #[test]
    fn amount_is_in_minor_units_of_any_scale() {
        for (text, scale, expected) in [
            ("2.50", 2, 250),
            ("2.50", 4, 25_000),
            ("2.50", 1, 25),
            ("2.50", 0, 2),
            ("0.009", 2, 0),
            ("25", 0, 25),
            ("0", 255, 0),
            ("0.00", 255, 0),
            ("1", 38, 10_u128.pow(38)),
            ("1", 39, u128::MAX),
            ("0.1", 39, 10_u128.pow(38)),
            ("4", 38, u128::MAX),
            ("1", 255, u128::MAX),
            (
                "999999999999999999.999999999999999999",
                18,
                10_u128.pow(36) - 1,
            ),
            ("999999999999999999.999999999999999999", 0, WHOLE - 1),
        ] {
            assert_eq!(amount(text).minor_units(scale), expected, "{text} {scale}");
        }
    }
}
